"""Merging three texts of one page: base, here, on the wiki.  Pure; knows no sync."""
