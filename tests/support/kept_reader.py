"""The processes that parse pages for builds, kept from one test to the next.

A build ends them with its last page; most tests of builds would wait for nothing as
long as for their start.
"""

from collections.abc import Iterator

import pytest

from wikisync.site.index import bounded_reader


@pytest.fixture(autouse=True, scope="session")
def kept_reader() -> Iterator[None]:
    """Let builds share them until the last test is over."""
    reader = bounded_reader()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "close", lambda: None)
        yield
    reader.close()
