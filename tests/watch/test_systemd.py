import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.service import embedded_service
from tests.support.watching import OWNER, watching
from wikisync.cli.main import main
from wikisync.errors import FolderError, UsageError
from wikisync.watch.systemd import Notifier, unit_text


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """What systemd listens with."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as link:
        link.bind(str(tmp_path / "notify"))
        link.settimeout(20)
        yield link


def test_manager_hears_what_it_is_told(manager: socket.socket, tmp_path: Path) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "notify")})
    notifier.ready()
    notifier.status("two\nlines")
    notifier.alive()
    notifier.stopping()
    said = [manager.recv(4096).decode() for _ in range(4)]
    assert said == ["READY=1", "STATUS=two lines", "WATCHDOG=1", "STOPPING=1"]


def test_reload_says_when_it_began(manager: socket.socket, tmp_path: Path) -> None:
    Notifier({"NOTIFY_SOCKET": str(tmp_path / "notify")}).reloading()
    first, second = manager.recv(4096).decode().split("\n")
    assert first == "RELOADING=1"
    assert second.removeprefix("MONOTONIC_USEC=").isdigit()


def test_name_in_the_abstract_space_is_found() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as link:
        link.bind("\0wikisync-test-notify")
        Notifier({"NOTIFY_SOCKET": "@wikisync-test-notify"}).ready()
        assert link.recv(100) == b"READY=1"


@pytest.mark.parametrize("socket_name", ["", "/nowhere/at/all"])
def test_nobody_who_listens_is_no_trouble(socket_name: str) -> None:
    Notifier({"NOTIFY_SOCKET": socket_name}).ready()


def test_watchdog_is_fed_twice_as_often_as_it_asks() -> None:
    asked = {"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "60000000"}
    assert Notifier(asked).watchdog_s == 30.0
    assert Notifier({"NOTIFY_SOCKET": "/run/x"}).watchdog_s is None
    assert Notifier({**asked, "WATCHDOG_USEC": "often"}).watchdog_s is None


@pytest.mark.parametrize("is_system", [False, True])
def test_unit_is_one_that_systemd_takes(tmp_path: Path, *, is_system: bool) -> None:
    verify = shutil.which("systemd-analyze")
    if verify is None:
        pytest.skip("there is no systemd here")
    workspace = tmp_path / 'my "wikis" 50%'
    workspace.mkdir()
    unit = tmp_path / "wikisync.service"
    unit.write_text(unit_text(workspace, "/bin/true", is_system=is_system))
    ran = subprocess.run(
        [verify, "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    ours = [line for line in ran.stderr.splitlines() if "wikisync.service" in line]
    assert ours == []


@pytest.mark.parametrize("name", ["two\nlines", "tab\there", "\x1b[0m"])
def test_folder_that_a_unit_cannot_name_is_refused(name: str) -> None:
    """The second line of its path was a line of the unit."""
    with pytest.raises(FolderError, match="a unit file cannot name the folder"):
        unit_text(Path("/srv") / name, "/opt/bin/wikisync", is_system=False)


def test_unit_names_the_command_and_the_workspace() -> None:
    text = unit_text(Path("/srv/my wikis"), "/opt/bin/wikisync", is_system=False)
    assert 'ExecStart=/opt/bin/wikisync watch -C "/srv/my wikis"\n' in text
    assert "WantedBy=default.target\n" in text
    assert "User=" not in text
    system = unit_text(Path("/srv/w"), "/opt/bin/wikisync", is_system=True)
    assert "ReadWritePaths=/srv/w\n" in system
    assert "WantedBy=multi-user.target\n" in system


@pytest.mark.slow
async def test_watch_tells_its_manager_from_ready_to_stopping(
    manager: socket.socket, tmp_path: Path
) -> None:
    loop = asyncio.get_running_loop()
    manager.setblocking(False)
    environment = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "400000"}

    async def heard(word: str) -> None:
        async with asyncio.timeout(20):
            while word not in (await loop.sock_recv(manager, 4096)).decode():
                pass

    async with embedded_service(tmp_path) as running:
        await running.add_project(OWNER.full_path, {"home": "one\n"})
        async with watching(running, tmp_path / "ws", environment=environment) as watch:
            await heard("READY=1")
            await heard("WATCHDOG=1")
            await heard("STATUS=1 wiki: in sync")
            watch.signal(signal.SIGHUP)
            await heard("RELOADING=1")
            await heard("READY=1")
            watch.signal(signal.SIGTERM)
            await heard("STOPPING=1")


def test_printed_unit_has_every_option_that_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "wikisync.toml").write_text(
        '[service]\nurl = "https://gitlab.example.com"\n'
        '[[wiki]]\nproject = "docs/handbook"\nfolder = "handbook"\n'
    )
    monkeypatch.chdir(tmp_path)
    words = ["--settle", "50", "--site", "--log-format", "json", "--adopt", "push"]
    more = ["--preview", "--network-disk", "--exclude", "docs/a 100%"]
    assert main(["watch", *words, *more, "--token-file", "t", "--print-unit"]) == 0
    (line,) = [
        line
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("ExecStart=")
    ]
    assert line.partition(" watch ")[2] == (
        f"-C {tmp_path} --adopt push --settle 50 --site --preview"
        f' --log-format json --network-disk --exclude "docs/a 100%%"'
        f" --token-file {tmp_path}/t"
    )


@pytest.mark.parametrize(
    ("words", "publish", "readers"),
    [([], "false", 0), (["--site"], "false", 0o044), ([], "true", 0o044)],
)
def test_unit_lets_a_web_server_read_the_site_that_it_publishes(
    *,
    words: list[str],
    publish: str,
    readers: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "wikisync.toml").write_text(
        '[service]\nurl = "https://gitlab.example.com"\n'
        '[[wiki]]\nproject = "docs/handbook"\nfolder = "handbook"\n'
        f"[site]\npublish = {publish}\n"
    )
    asked = ["watch", "-C", str(tmp_path), *words, "--print-unit", "--system"]
    assert main(asked) == 0
    (mask,) = re.findall(r"(?m)^UMask=(\d+)$", capsys.readouterr().out)
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/home.md").write_text("home\n")
    before = os.umask(int(mask, 8))
    try:
        built = main(["build", str(tmp_path / "pages"), "-o", str(tmp_path / "site")])
    finally:
        os.umask(before)
    assert built == 0
    assert (tmp_path / "site/index.html").stat().st_mode & 0o077 == readers


def test_option_that_a_unit_cannot_name_is_refused() -> None:
    with pytest.raises(UsageError, match="a unit file cannot name"):
        unit_text(
            Path("/srv/w"), "/bin/x", is_system=False, words=["--exclude", "a\nb"]
        )
