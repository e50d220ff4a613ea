"""Attacks on what wikisync runs, and what becomes of them."""
