"""A wiki on the desk of an author, without a server."""

from pathlib import Path

import pytest

from tests.support.preview import PAGE
from wikisync.site.preview.writing import WikiDesk


@pytest.fixture
def wiki(tmp_path: Path) -> WikiDesk:
    root = tmp_path / "handbook"
    root.mkdir()
    (root / "guide.md").write_text(PAGE)
    return WikiDesk(root, None)
