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
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.security.service_readers import ask_and_read_a_little
from tests.support.commands import Run
from tests.support.machine import code_blocks

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


def token_and_url(process: subprocess.Popen[str]) -> list[str]:
    """What a new service says of itself."""
    return [line.partition(": ")[2] for line in url_line(process)]


def version(url: str, token: str) -> int:
    headers = {"PRIVATE-TOKEN": token}
    request = urllib.request.Request(f"{url}/api/v4/version", headers=headers)
    with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
        return int(answer.status)


def import_of_a_folder(url: str, token: str) -> int:
    """The answer to an import of a folder, which is refused for some reason."""
    headers = {"PRIVATE-TOKEN": token, "Content-Type": "application/json"}
    wish = b'{"name": "a", "import_url": "file:///srv/x.git"}'
    request = urllib.request.Request(f"{url}/api/v4/projects", wish, headers)
    with pytest.raises(urllib.error.HTTPError) as wrong:
        urllib.request.urlopen(request, timeout=WAIT_S)
    wrong.value.close()
    return wrong.value.code


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
        token, url = token_and_url(process)
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
    """A third one shows it, to other machines, too, where that is allowed."""
    data = tmp_path / "data"
    starts = []
    for _ in range(2):
        with serving("--data", data) as process:
            starts.append(url_line(process))
            process.send_signal(signal.SIGINT)
            _stdout, stderr = process.communicate(timeout=WAIT_S)
        assert process.returncode == 0
    remote = ("--host", "0.0.0.0", "--allow-remote")
    with serving("--data", data, "--new-token", *remote) as process:
        token, url = token_and_url(process)
        status = version(url, token)
        process.send_signal(signal.SIGTERM)
        _stdout, warned = process.communicate(timeout=WAIT_S)

    first, (second,) = starts
    assert len(first) == 2
    assert token not in first[0]
    assert re.fullmatch(r"url: http://127\.0\.0\.1:\d+", second)
    assert f"wikisync serve --data {data} --new-token" in stderr
    assert status == 200
    assert url.startswith("http://0.0.0.0:")
    assert "connections are not encrypted" in warned.replace("\n", " ")


async def test_token_is_shown_if_loading_fails(run_alone: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    words = ("--data", tmp_path / "data", "--load", tmp_path / "empty")
    ran = await run_alone("serve", *words)

    assert ran.code == 1
    assert ran.out.startswith("token: glpat-")
    assert "nothing to load" in ran.err


def test_connections_of_one_address_may_be_fewer(tmp_path: Path) -> None:
    """And nothing is imported where that is not allowed."""
    options = ("--data", tmp_path / "data", "--connections-per-address", "2")
    with serving(*options) as process:
        token, url = token_and_url(process)
        status = import_of_a_folder(url, token)
        address = urllib.parse.urlsplit(url)
        assert address.hostname is not None
        assert address.port is not None
        place = (address.hostname, address.port)
        with (
            socket.create_connection(place),
            socket.create_connection(place),
            socket.create_connection(place, timeout=WAIT_S) as third,
        ):
            answer = third.recv(1000)

    assert status == 403
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
        imports = ("--allow-imports-from", "git.example.com")
        words = ("--load", folder, "--hook", hook, *file, *imports)
        with serving("--data", tmp_path / "data", *words) as process:
            token, url = token_and_url(process)
            page = f"{url}/api/v4/projects/docs%2Fhandbook/wikis/home?content=2"
            headers = {"PRIVATE-TOKEN": token}
            request = urllib.request.Request(page, method="PUT", headers=headers)
            with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
                assert answer.status == 200
            server.handle_request()
            # a folder of this machine is refused for its own reason
            assert import_of_a_folder(url, token) == 400

    [(secret, event)] = told
    assert secret == "s3cret"
    assert isinstance(event, dict)
    assert event["object_attributes"]["slug"] == "home"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--load /nowhere/at/all", "error: there is no folder /nowhere/at/all"),
        ("--host 0.0.0.0", "--allow-remote"),
        ("--hook ftp://127.0.0.1/", "--hook"),
        ("--hook 127.0.0.1:8000", "--hook"),
        ("--hook http://", "--hook"),
        ("--hook http://127.0.0.1:x/", "--hook"),
        ("--hook http://127.0.0.1:0/", "--hook"),
        ("--hook http://127.0.0.1/ --hook-secret-file /nowhere", "--hook"),
        (f"--hook http://127.0.0.1/ --hook-secret-file {__file__}", "--hook"),
    ],
)
async def test_what_cannot_be_served_is_refused(
    run_alone: Run, tmp_path: Path, words: str, told: str
) -> None:
    ran = await run_alone("serve", "--data", tmp_path / "data", *words.split())

    ran.ended(2, told)
    assert not (tmp_path / "data").exists()
