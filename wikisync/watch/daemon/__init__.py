"""Cycles of many wikis, for months: when each is due, and what comes of failures."""
