"""Starting and stopping: locks, ports, folders, first tokens."""

import socket
from pathlib import Path

import aiohttp
import pytest

from wikisync.errors import ServiceError
from wikisync.service.server import running_service


async def status_of(url: str, token: str) -> int:
    async with (
        aiohttp.ClientSession(headers={"PRIVATE-TOKEN": token}) as session,
        session.get(f"{url}/api/v4/version") as answer,
    ):
        return answer.status


async def test_first_start_makes_a_token_and_later_ones_do_not(tmp_path: Path) -> None:
    async with running_service(tmp_path / "data") as first:
        token = first.first_token
        assert token is not None
        assert await status_of(first.url, token) == 200

    async with running_service(tmp_path / "data") as second:
        assert second.first_token is None
        assert await status_of(second.url, token) == 200
        assert await status_of(second.url, await second.new_token()) == 200


async def test_service_listens_on_loopback_by_default(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        assert service.url.startswith("http://127.0.0.1:")


async def test_data_folder_belongs_to_one_process(tmp_path: Path) -> None:
    async with running_service(tmp_path):
        with pytest.raises(ServiceError, match="in use by another"):
            async with running_service(tmp_path):
                pass


async def test_data_folder_is_free_again_afterwards(tmp_path: Path) -> None:
    async with running_service(tmp_path):
        pass

    async with running_service(tmp_path) as service:
        assert service.url


async def test_data_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()

    with pytest.raises(ServiceError, match="cannot write to the data folder"):
        async with running_service(file / "data"):
            pass


async def test_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServiceError, match=f"port {port}: something else") as error:
            async with running_service(tmp_path, port=port):
                pass

    assert "--port" in (error.value.hint or "")


async def test_address_that_is_not_ours_is_named(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match=r"cannot listen on 192\.0\.2\.1"):
        async with running_service(tmp_path, host="192.0.2.1"):
            pass


async def test_left_over_bodies_are_cleared_at_the_start(tmp_path: Path) -> None:
    left = tmp_path / "spool" / "half" / "body"
    left.parent.mkdir(parents=True)
    left.touch()

    async with running_service(tmp_path):
        assert not left.exists()
