"""Names of what is ours in a workspace: ``.wikisync`` and all below it.  Pure."""

from __future__ import annotations

PRIVATE_FOLDER = ".wikisync"
"""Holds everything of ours in a workspace."""

LOCK_FILE = "lock"
FOLDER_ID_FILE = "folder-id"
"""The marker: a random number that a workspace keeps for ever."""
STATE_FILE = "state.db"
LOG_FILE = "log"
HEALTH_FILE = "health.json"
ASK_FILE = "ask"
"""Asks a running watch for a cycle."""

TEMPORARY_FOLDER = "tmp"
LIMBO_FOLDER = "limbo"
"""Replaced files, until no program can write to them."""
TRASH_FOLDER = "trash"
SCANS_FOLDER = "scans"
"""What the files of each wiki's folder held when they were read."""
CACHE_FOLDER = "cache"
