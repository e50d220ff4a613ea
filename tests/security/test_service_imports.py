"""An import asks only a server that the operator named."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.security.service_requests import Sent, send
from tests.support.git_http import redirecting_server, silent_server
from tests.support.service import EmbeddedService, embedded_service
from wikisync.service.import_fetch import FetchFailed, fetch_repository
from wikisync.service.settings import Imports, Settings


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[EmbeddedService]:
    """A service that imports from one server."""
    settings = Settings(imports=Imports(frozenset({"git.example.com"})))
    async with embedded_service(tmp_path, settings=settings) as running:
        yield running


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"]
)
async def test_server_that_was_not_named_is_not_asked(
    service: EmbeddedService, host: str
) -> None:
    async with silent_server() as silent:
        port = silent.url.rpartition(":")[2]
        body = {"name": "a", "import_url": f"http://{host}:{port}/x.git"}

        [answer] = await send(
            service.url, [Sent("POST", "/api/v4/projects", body)], service.token
        )
        await service.wait_for_imports()

        assert not silent.asked.is_set()
    assert answer.status == 400
    assert "not on the Allow List" in answer.text


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_redirection_leads_nowhere_else(tmp_path: Path, scheme: str) -> None:
    async with silent_server() as silent:
        target = silent.url.replace("http", scheme, 1)
        async with redirecting_server(target) as other:
            with pytest.raises(FetchFailed):
                await fetch_repository(f"{other}/x.git", tmp_path / "x", Imports())

        assert not silent.asked.is_set()
