"""Folders of wikis to one static website."""
