"""Deciding what a wiki and its folder owe each other, and carrying it out.

Pure: ``plan``, ``reconcile``, ``two_way``, ``renames``, ``change``, ``capabilities``,
``safety``, ``merge``, ``diff``, ``conflict``.  Effects: ``state`` (SQLite), ``apply``,
``cycle``.
"""
