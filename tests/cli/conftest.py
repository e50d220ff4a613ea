"""The command line against a running service."""

from pathlib import Path

import pytest

from tests.cli.exports import Export, put_handbook
from tests.support.commands import Run, clashing, cloned, proxy, run, run_alone, service
from tests.support.kept_reader import kept_reader
from tests.support.service import EmbeddedService

__all__ = ["clashing", "cloned", "kept_reader", "proxy", "run", "run_alone", "service"]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Where a workspace is to be made."""
    return tmp_path / "my-wikis"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Where a site is to be made."""
    return tmp_path / "site"


@pytest.fixture
async def export(service: EmbeddedService, run: Run, site: Path) -> Export:
    """The handbook, to be exported to a site."""
    return Export(await put_handbook(service), run, site)
