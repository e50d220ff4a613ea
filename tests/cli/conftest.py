"""The command line against a running service."""

from pathlib import Path

import pytest

from tests.support.commands import clashing, cloned, proxy, run, run_alone, service
from tests.support.kept_reader import kept_reader

__all__ = ["clashing", "cloned", "kept_reader", "proxy", "run", "run_alone", "service"]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Where a workspace is to be made."""
    return tmp_path / "my-wikis"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Where a site is to be made."""
    return tmp_path / "site"
