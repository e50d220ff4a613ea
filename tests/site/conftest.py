"""The studio of the site tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site.sites import Studio


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    """A place with no wiki yet."""
    return Studio(tmp_path)
