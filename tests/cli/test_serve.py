"""``wikisync serve`` as a process: what it prints, refuses, and how it stops."""

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.security.service_readers import ask_and_read_a_little
from tests.support.commands import Ran
from tests.support.machine import code_blocks
from wikisync.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 120.0


@contextmanager
def serving(*arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "wikisync", "serve", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def url_line(process: subprocess.Popen[str]) -> list[str]:
    """Everything on stdout up to the line with the URL."""
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line.strip())
        if line.startswith("url: "):
            break
    return lines


def version(url: str, token: str) -> int:
    request = urllib.request.Request(
        f"{url}/api/v4/version", headers={"PRIVATE-TOKEN": token}
    )
    with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
        return int(answer.status)


Refused = Callable[..., Ran]


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """What ``serve`` says with words with which it does not begin."""

    def call(*words: str | Path) -> Ran:
        code = main(["serve", *map(str, words)])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Ran(code, captured.out, captured.err)

    return call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    wikis = tmp_path / "wikis"
    for name in ("group", "book"):
        (wikis / name).mkdir(parents=True)
        (wikis / name / "home.md").write_text("# Home")
    (wikis / "service.toml").write_text(
        '[[group]]\npath = "docs"\nwiki = "group"\n'
        '[[project]]\npath = "docs/handbook"\nwiki = "book"\n'
    )
    return wikis


def test_serve_prints_what_the_guide_says(tmp_path: Path) -> None:
    """Token and URL on standard output, the rest beside it."""
    guide = ROOT / "sample-site/handbook/getting-started/first-export.md"
    said = next(code for kind, code in code_blocks(guide) if kind == "text")
    loaded = ROOT / "sample-site"
    with serving("--data", tmp_path / "data", "--load", loaded) as process:
        token, url = (line.partition(": ")[2] for line in url_line(process))
        status = version(url, token)
        process.send_signal(signal.SIGTERM)
        stdout, stderr = process.communicate(timeout=WAIT_S)

    assert status == 200
    assert process.returncode == 0
    assert token not in stdout + stderr, "it is printed once"
    said = said.replace("glpat-EXAMPLE", token).replace("http://127.0.0.1:43121", url)
    lines = {f"token: {token}", f"url: {url}", *stderr.splitlines()}
    assert lines - {"stopping"} == set(said.splitlines())


def test_second_start_shows_no_token_but_how_to_get_one(tmp_path: Path) -> None:
    data = tmp_path / "data"
    starts = []
    for _ in range(2):
        with serving("--data", data) as process:
            starts.append(url_line(process))
            process.send_signal(signal.SIGINT)
            _stdout, stderr = process.communicate(timeout=WAIT_S)
        assert process.returncode == 0
    with serving("--data", data, "--new-token") as process:
        token, url = (line.partition(": ")[2] for line in url_line(process))
        status = version(url, token)

    first, (second,) = starts
    assert len(first) == 2
    assert token not in first[0]
    assert re.fullmatch(r"url: http://127\.0\.0\.1:\d+", second)
    assert f"wikisync serve --data {data} --new-token" in stderr
    assert status == 200


def test_token_is_shown_even_when_loading_fails(
    refused: Refused, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()

    result = refused("--data", tmp_path / "data", "--load", tmp_path / "empty")

    assert result.code == 1
    assert result.out.startswith("token: glpat-")
    assert "nothing to load" in result.err


def test_folder_to_load_that_does_not_exist_is_a_wrong_argument(
    refused: Refused, tmp_path: Path
) -> None:
    result = refused("--data", tmp_path / "data", "--load", tmp_path / "nowhere")

    assert result.code == 2
    assert f"error: there is no folder {tmp_path}/nowhere" in result.err
    assert not (tmp_path / "data").exists()


def test_address_of_other_machines_needs_to_be_allowed(
    refused: Refused, tmp_path: Path
) -> None:
    result = refused("--data", tmp_path / "data", "--host", "0.0.0.0")

    assert result.code == 2
    assert "--allow-remote" in result.err
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("flags", "status"), [(["--allow-imports-from", "git.example.com"], 400), ([], 403)]
)
def test_imports_are_made_only_where_they_are_allowed(
    tmp_path: Path, flags: list[str], status: int
) -> None:
    """A folder of this machine is refused either way, for its own reason."""
    with serving("--data", tmp_path / "data", *flags) as process:
        token, url = (line.partition(": ")[2] for line in url_line(process))
        request = urllib.request.Request(
            f"{url}/api/v4/projects",
            data=b'{"name": "a", "import_url": "file:///srv/x.git"}',
            headers={"PRIVATE-TOKEN": token, "Content-Type": "application/json"},
        )
        with pytest.raises(urllib.error.HTTPError) as wrong:
            urllib.request.urlopen(request, timeout=WAIT_S)
        wrong.value.close()

    assert wrong.value.code == status


def test_connections_of_one_address_may_be_fewer(tmp_path: Path) -> None:
    options = ("--data", tmp_path / "data", "--connections-per-address", "2")
    with serving(*options) as process:
        address = urllib.parse.urlsplit(url_line(process)[-1].partition(": ")[2])
        assert address.hostname is not None
        assert address.port is not None
        place = (address.hostname, address.port)
        with (
            socket.create_connection(place),
            socket.create_connection(place),
            socket.create_connection(place, timeout=WAIT_S) as third,
        ):
            answer = third.recv(1000)

    assert answer.startswith(b"HTTP/1.1 503 ")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_lists_that_callers_break_off_leave_nothing_in_memory(tmp_path: Path) -> None:
    """A list of 16 MB, asked for again and again, each time left after its beginning.

    What is held at a time depends on how many are still being made; what callers leave
    behind would grow with each round.
    """
    wiki = tmp_path / "wikis" / "handbook"
    wiki.mkdir(parents=True)
    for number in range(500):
        (wiki / f"p{number}.md").write_text(f"{number} " + "word " * 6500)
    manifest = '[[project]]\npath = "docs/handbook"\nvisibility = "public"\n'
    manifest += 'wiki = "handbook"\n'
    (tmp_path / "wikis" / "service.toml").write_text(manifest)
    options = ("--data", tmp_path / "data", "--load", tmp_path / "wikis")
    path = "/api/v4/projects/docs%2Fhandbook/wikis?with_content=1"
    with serving(*options) as process:
        url = url_line(process)[-1].partition(": ")[2]
        held = [0]
        while len(held) < 2 or held[-1] > 1.1 * held[-2]:
            for _ in range(20):
                read = asyncio.run(ask_and_read_a_little(url, path, 200_000))
            held.append(resident_bytes(process.pid))
            assert len(held) < 8, f"grows and grows: {held}"

    assert read >= 200_000


def resident_bytes(pid: int) -> int:
    """What a process holds in memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(status.partition("VmRSS:")[2].split()[0])


def test_allowed_address_is_served_with_a_warning(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving("--data", data, "--host", "0.0.0.0", "--allow-remote") as process:
        lines = url_line(process)
        process.send_signal(signal.SIGTERM)
        _stdout, stderr = process.communicate(timeout=WAIT_S)

    assert lines[-1].startswith("url: http://0.0.0.0:")
    assert "connections are not encrypted" in stderr.replace("\n", " ")


def test_edit_is_told_to_the_hook(tmp_path: Path, folder: Path) -> None:
    told: list[tuple[str | None, object]] = []

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.append((self.headers["X-Gitlab-Token"], json.loads(body)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        server.timeout = 20
        hook = f"http://127.0.0.1:{server.server_port}/"
        (tmp_path / "secret").write_text("s3cret\n")
        file = ("--hook-secret-file", tmp_path / "secret")
        words = ("--load", folder, "--hook", hook, *file)
        with serving("--data", tmp_path / "data", *words) as process:
            token, url = (line.partition(": ")[2] for line in url_line(process))
            page = f"{url}/api/v4/projects/docs%2Fhandbook/wikis/home?content=2"
            headers = {"PRIVATE-TOKEN": token}
            request = urllib.request.Request(page, method="PUT", headers=headers)
            with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
                assert answer.status == 200
            server.handle_request()

    [(secret, event)] = told
    assert secret == "s3cret"
    assert isinstance(event, dict)
    assert event["object_attributes"]["slug"] == "home"


@pytest.mark.parametrize(
    "words",
    [
        ("--hook", "ftp://127.0.0.1/"),
        ("--hook", "127.0.0.1:8000"),
        ("--hook", "http://"),
        ("--hook", "http://127.0.0.1:x/"),
        ("--hook", "http://127.0.0.1/", "--hook-secret-file", "/nowhere"),
        ("--hook", "http://127.0.0.1/", "--hook-secret-file", __file__),
    ],
)
def test_hook_that_cannot_be_told_is_refused(
    refused: Refused, tmp_path: Path, words: tuple[str, ...]
) -> None:
    result = refused("--data", tmp_path / "data", *words)

    assert result.code == 2
    assert "--hook" in result.err
    assert not (tmp_path / "data").exists()
