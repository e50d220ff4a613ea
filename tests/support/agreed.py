"""Configurations that a test writes, as a person agrees to them."""

from contextlib import suppress
from pathlib import Path

from wikisync.config.reading import load_config
from wikisync.config.sections import FILE_NAME
from wikisync.config.trust import agree
from wikisync.errors import ConfigError


def write_config(root: Path, text: str) -> Path:
    """Write a workspace's configuration and agree to it, if it is right; its file."""
    file = root / FILE_NAME
    file.write_text(text)
    with suppress(ConfigError):
        agree_to(root)
    return file


def agree_to(root: Path) -> None:
    """Agree to the configuration of a workspace as it is now."""
    agree(root, load_config(root / FILE_NAME))
