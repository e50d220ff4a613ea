"""Deciding what a wiki and its folder owe each other, and carrying it out.

Pure: ``plan``, ``reconcile``.  Effects: ``state`` (SQLite), ``apply``, ``cycle``.
"""
