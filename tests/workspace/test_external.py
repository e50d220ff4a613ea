"""Addresses of other servers, asked of one that has every fault."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from tests.support.faulty_server import FaultyServer, faulty_server
from wikisync.core.messages import Progress
from wikisync.workspace import external
from wikisync.workspace.external import Checked, check_addresses


@pytest.fixture
async def server() -> AsyncIterator[FaultyServer]:
    async with faulty_server() as running:
        yield running


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "WAIT_S", 0.01)


async def checked(
    server: FaultyServer, cache: Path, *paths: str, ignored: Sequence[str] = ()
) -> dict[str, Checked]:
    addresses = [f"{server.url}{path}" for path in paths]
    found = await check_addresses(addresses, ignored, cache, Progress())
    return {one.removeprefix(server.url): found[one] for one in found}


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/ok/1", ""),
        ("/moved/1", ""),
        ("/nohead/1", ""),
        ("/busy/1", ""),
        ("/404/1", "status-404"),
        ("/500/1", "status-500"),
        ("/loop/1", "redirects"),
        ("/lost/1", "connection-lost"),
        ("/noise/1", "no-answer"),
    ],
)
async def test_each_fault_has_its_word(
    server: FaultyServer, tmp_path: Path, path: str, reason: str
) -> None:
    assert await checked(server, tmp_path, path) == {path: Checked(reason)}


async def test_server_that_answers_late_is_a_timeout(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external, "ANSWER_S", 0.2)

    found = await checked(server, tmp_path, "/hang/1")

    assert found == {"/hang/1": Checked("timeout")}


async def test_refused_program_is_no_broken_link(
    server: FaultyServer, tmp_path: Path
) -> None:
    found = await checked(server, tmp_path, "/403/1", "/429/1")

    assert set(found.values()) == {Checked(is_unsure=True)}


async def test_unknown_host_and_closed_port_are_broken(tmp_path: Path) -> None:
    async with faulty_server() as gone:
        address = f"{gone.url}/ok"
    names = [address, "http://no-such-host.invalid/"]

    found = await check_addresses(names, (), tmp_path, Progress())

    assert found[names[0]] == Checked("no-connection")
    assert found[names[1]].reason


async def test_address_that_answered_is_asked_once_a_day(
    server: FaultyServer, tmp_path: Path
) -> None:
    await checked(server, tmp_path, "/ok/1#part", "/ok/1", "/404/1")
    await checked(server, tmp_path, "/ok/1", "/404/1")

    assert server.asked["HEAD /ok/1"] == 1
    assert server.asked["HEAD /404/1"] == 2


async def test_ignored_addresses_and_passwords_are_not_sent(
    server: FaultyServer, tmp_path: Path
) -> None:
    with_password = server.url.replace("http://", "http://ann:secret@")

    found = await check_addresses(
        [f"{server.url}/404/1", f"{with_password}/ok"],
        ("http://127.0.0.1:*/404/*",),
        tmp_path,
        Progress(),
    )

    assert found == {f"{with_password}/ok": Checked(is_unsure=True)}
    assert not server.asked


async def test_passwords_of_other_programs_are_not_sent(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login ann password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))

    found = await checked(server, tmp_path, "/ok/1")

    assert list(found.values()) == [Checked()]
    assert not server.passwords


async def test_server_gets_few_requests_at_a_time(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external, "PER_HOST", 2)
    monkeypatch.setattr(external, "TURN_S", 600.0)

    await checked(server, tmp_path, *(f"/lost/{number}" for number in range(30)))

    assert server.most_at_once <= 2


async def test_slow_addresses_do_not_keep_the_others(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each gives its turn back, though none has an answer."""
    monkeypatch.setattr(external, "PER_HOST", 1)
    monkeypatch.setattr(external, "TURN_S", 0.01)
    monkeypatch.setattr(external, "ANSWER_S", 3.0)
    slow = [f"/hang/{number}" for number in range(10)]

    found = await checked(server, tmp_path, *slow, "/ok/1")

    assert found["/ok/1"] == Checked()
    assert server.most_at_once >= len(slow)


async def test_silent_server_is_given_up(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external, "ANSWER_S", 0.05)
    monkeypatch.setattr(external, "SILENT_MAX", 3)
    monkeypatch.setattr(external, "PER_HOST", 1)
    monkeypatch.setattr(external, "TURN_S", 600.0)

    found = await checked(server, tmp_path, *(f"/hang/{one}" for one in range(50)))

    assert set(found.values()) == {Checked("timeout")}
    assert server.asked.total() <= 3
