"""The configuration of a workspace, read where this user may obey it."""

from __future__ import annotations

import os
from pathlib import Path

from wikisync.config import Config, load_config

FOLDERS_ABOVE_MAX = 64
"""A workspace is looked for in no more folders above."""


def read_config(path: Path) -> Config:
    """A workspace's configuration, where this user may obey it.

    Raises:
        ConfigError: it is wrong, gone, or another user's.
    """
    return load_config(path, os.environ)
