"""What child processes get to know, and that nothing of the folder runs in them."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import wikisync
from tests.cli.test_preview import previewing, wait_for_page
from tests.cli.test_serve import serving, url_line
from tests.service.test_rendering import job_of
from tests.support.agreed import write_config
from tests.support.git_http import git_server
from tests.support.planting import PLANTED, Trap
from wikisync.core.model import Format, Page, Slug
from wikisync.core.system import processes
from wikisync.markup.bounded import BoundedParser
from wikisync.markup.page import parse_page
from wikisync.markup.record import AsciidocEngine, MarkupOptions
from wikisync.service.committing import Author
from wikisync.service.editing import CommitPlan
from wikisync.service.import_fetch import fetch_repository
from wikisync.service.rendering import RenderPool
from wikisync.service.repository import WikiRepository
from wikisync.service.settings import Imports, Rendering
from wikisync.site.preview.editor import Editor

TELL = """
import gc, json, os, sys
import wikisync
try:
    import resource
    limits = [resource.getrlimit(resource.RLIMIT_CORE)[0],
              resource.getrlimit(resource.RLIMIT_DATA)[0]]
except ImportError:
    limits = None
print(json.dumps({
    "words": sys.argv[1:], "environment": dict(os.environ), "folder": os.getcwd(),
    "path": sys.path, "package": wikisync.__file__, "limits": limits,
    "is_isolated": sys.flags.isolated, "is_utf8": sys.flags.utf8_mode,
    "objects_per_collection": gc.get_threshold()[0],
}))
"""
SECRETS = {"WIKISYNC_TOKEN": "glpat-EXAMPLE", "WIKISYNC_HOOK_SECRET": "hook-EXAMPLE"}


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trap]:
    """A folder full of planted modules, which is the current one."""
    trap = Trap(tmp_path / "hostile")
    monkeypatch.chdir(trap.folder)
    yield trap
    trap.check()


@pytest.fixture
def teller(tmp_path: Path) -> Path:
    """A program that says what it knows."""
    path = tmp_path / "teller.py"
    path.write_text(TELL)
    return path


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**SECRETS, "https_proxy": "http://u:pass@proxy"}.items():
        monkeypatch.setenv(name, value)


def told_by(command: list[str]) -> dict[str, object]:
    process = processes.start_worker(command)
    output, _ = process.communicate()
    told: dict[str, object] = json.loads(output)
    return told


# -- workers -----------------------------------------------------------------------


@pytest.mark.usefixtures("secrets")
def test_worker_knows_little_and_runs_nowhere_in_particular(
    trap: Trap, teller: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as `python -m` and an empty part of PYTHONPATH do
    monkeypatch.setattr(sys, "path", [str(trap.folder), "", "below", *sys.path])
    told = told_by(processes.python_worker(teller, ["a", "b"]))
    assert told["words"] == ["a", "b"]
    environment = told["environment"]
    assert isinstance(environment, dict)
    # Python itself may set the variable of the locale
    assert set(environment) <= {*processes.WORKER_VARIABLES, "LC_CTYPE"}
    assert told["folder"] == "/"
    assert told["is_isolated"]
    assert told["is_utf8"]
    # by Python's own count of 700 a page pays for several collections
    assert told["objects_per_collection"] == 10_000
    path = told["path"]
    assert isinstance(path, list)
    assert not {"", "below", str(trap.folder), str(processes._PACKAGE)} & set(path)


def test_worker_imports_this_package_whatever_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Trap(tmp_path / "another", ["wikisync"])
    monkeypatch.setattr(sys, "path", [str(other.folder)])
    target = tmp_path / "target.py"
    target.write_text(
        "import wikisync.errors, sys; sys.stdout.write(wikisync.__file__)"
    )
    process = processes.start_worker(processes.python_worker(target))
    assert process.communicate()[0].decode() == wikisync.__file__
    other.check()


def test_worker_finds_libraries_where_the_parent_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A site folder of the account, or a folder of ``PYTHONPATH``."""
    place = tmp_path / "site"
    place.mkdir()
    (place / "only_here.py").write_text("WORD = 'found'")
    monkeypatch.setattr(sys, "path", [*sys.path, str(place)])
    target = tmp_path / "target.py"
    target.write_text("import only_here, sys; sys.stdout.write(only_here.WORD)")
    process = processes.start_worker(processes.python_worker(target))
    assert process.communicate()[0] == b"found"


def test_worker_of_a_checkout_finds_it_without_its_folder_as_current(
    teller: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ``python -m wikisync`` in a checkout that is not installed."""
    root = Path(wikisync.__file__).parents[1]
    monkeypatch.chdir(root)
    monkeypatch.setattr(sys, "path", [str(root), *sys.path])
    assert told_by(processes.python_worker(teller))["package"] == wikisync.__file__


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_DATA")
def test_worker_has_limits(teller: Path) -> None:
    limit = 300 << 20
    told = told_by(processes.python_worker(teller, memory_bytes_max=limit))
    assert told["limits"] == [0, limit]


@pytest.mark.parametrize(("seconds", "code"), [(0.0, -9), (60.0, 7)])
def test_worker_gets_a_moment_to_end_by_itself(
    tmp_path: Path, seconds: float, code: int
) -> None:
    target = tmp_path / "target.py"
    target.write_text(
        "import sys; print(flush=True); sys.stdin.read(); raise SystemExit(7)"
    )
    process = processes.start_worker(processes.python_worker(target))
    assert process.stdout is not None
    process.stdout.readline()
    assert processes.end_worker(process, seconds) == code


SOURCES = {
    Format.MARKDOWN: "# T\n\n<b>x</b>\n\n```py\nx = 1\n```\n",
    Format.RDOC: "= T\n\n*x*\n",
    Format.ASCIIDOC: "= T\n\n*x*\n",
    Format.ORG: "* T\n\n*x*\n",
    Format.REST: "T\n=\n\n**x**\n",
    Format.PLAINTEXT: "x\n",
}


@pytest.mark.parametrize("page_format", SOURCES)
def test_pages_run_nothing_of_the_current_folder(
    trap: Trap, page_format: Format, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(Slug("a"), page_format, SOURCES[page_format])
    expected = parse_page(page)
    assert not expected.is_source
    monkeypatch.setattr(sys, "path", ["", str(trap.folder), *sys.path])
    parser = BoundedParser()
    assert parser.parse(page) == expected
    parser.close()


@pytest.mark.parametrize("engine", ["quickjs", "mini-racer", "asciidoc3"])
@pytest.mark.usefixtures("trap")
def test_asciidoc_engines_run_nothing_of_the_current_folder(
    engine: AsciidocEngine,
) -> None:
    page = Page(Slug("a"), Format.ASCIIDOC, SOURCES[Format.ASCIIDOC])
    parser = BoundedParser()
    parsed = parser.parse(page, MarkupOptions(asciidoc_engine=engine))
    parser.close()
    assert not parsed.is_source


async def test_rendering_of_the_service_runs_nothing_of_the_current_folder(
    trap: Trap,
) -> None:
    folder = trap.folder.parent / "a.git"
    repository = WikiRepository(folder, "main")
    change = CommitPlan("first", writes={"home.md": b"# T\n"})
    repository.change(lambda _tree: change, Author("Dana", "dana@example.com"))
    pool = RenderPool(Rendering())
    html = await pool.render(job_of(repository, "# T\n"), is_stranger=True)
    await pool.close()
    assert "<h1" in html


@pytest.mark.usefixtures("trap")
async def test_import_runs_nothing_of_the_current_folder(tmp_path: Path) -> None:
    change = CommitPlan("first", writes={"README.md": b"# X\n"})
    WikiRepository(tmp_path / "served" / "x.git", "trunk").change(
        lambda _tree: change, Author("Dana", "dana@example.com")
    )
    async with git_server(tmp_path / "served") as url:
        await fetch_repository(f"{url}/x.git", tmp_path / "copy", Imports())
    assert WikiRepository(tmp_path / "copy").branch() == "trunk"


# -- programs ----------------------------------------------------------------------


SCRIPT = (
    "import os; print(sorted(name for name in os.environ if 'WIKISYNC' in name"
    " or name == 'EDITOR_SETTING'))"
)
PRINT_SECRETS = (sys.executable, "-c", SCRIPT)
KEEP = "; import sys; open(sys.argv[1], 'w').write(seen)"


@pytest.mark.usefixtures("secrets")
def test_programs_get_the_environment_without_secrets(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("EDITOR_SETTING", "x")
    code, output = processes.output_of(PRINT_SECRETS, 60.0, nobody)
    assert (code, output.decode().strip()) == (0, "['EDITOR_SETTING']")
    assert processes.run_program(PRINT_SECRETS) == 0
    assert capfd.readouterr().out.strip() == "['EDITOR_SETTING']"
    seen = tmp_path / "seen"
    words = [sys.executable, "-c", f"{SCRIPT.replace('print(', 'seen = repr(')}{KEEP}"]
    with processes.start_program([*words, str(seen)]) as process:
        assert process.wait() == 0
    assert seen.read_text() == "['EDITOR_SETTING']"


async def test_programs_of_the_event_loop_get_no_secret() -> None:
    process = await processes.start_program_async(
        PRINT_SECRETS, environment=SECRETS, stdout=processes.PIPE
    )
    assert (await process.communicate())[0].strip() == b"[]"


def nobody() -> None:
    """Hear nothing of a slow program."""


def test_program_that_takes_too_long_is_ended() -> None:
    with pytest.raises(TimeoutError):
        processes.output_of(
            [sys.executable, "-c", "import time; time.sleep(600)"], 0.1, nobody
        )


def test_slow_program_is_reported_once_and_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wikisync.core.system.processes.SLOW_S", 0.05)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    said: list[str] = []

    def answer() -> None:
        said.append("slow")
        pipe.write_text("late\n")

    assert processes.output_of(["cat", str(pipe)], 60.0, answer) == (0, b"late\n")
    assert said == ["slow"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_the_wait_for_a_program_inside_an_event_loop(
    tmp_path: Path, number: signal.Signals
) -> None:
    """The loop would only note it until the program has ended."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    script = (
        "import asyncio, signal, sys\n"
        "from wikisync.core.system.processes import output_of\n"
        "async def main():\n"
        "    loop = asyncio.get_running_loop()\n"
        f"    loop.add_signal_handler({int(number)}, print)\n"
        "    output_of(['cat', sys.argv[1]], 600.0, print)\n"
        "try:\n"
        "    asyncio.run(main())\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(130)\n"
    )
    words = [sys.executable, "-c", script, str(pipe)]
    with subprocess.Popen(words) as process, pipe.open("w"):
        # the pipe is open, so that the program reads it
        process.send_signal(number)
        assert process.wait(60.0) == 130


async def test_program_is_gone_though_its_end_is_cancelled_twice() -> None:
    process = await processes.start_program_async(["sleep", "600"])
    async with asyncio.TaskGroup() as group:
        ending = group.create_task(processes.end_session(process))
        for _ in range(2):
            await asyncio.sleep(0)
            ending.cancel()
    assert ending.cancelled()
    assert process.returncode == -signal.SIGKILL


@pytest.mark.usefixtures("secrets")
def test_editor_of_a_preview_gets_no_token(tmp_path: Path) -> None:
    script = (
        "import os, sys, pathlib;"
        "pathlib.Path(sys.argv[1]).write_text(repr(dict(os.environ)))"
    )
    editor = Editor((sys.executable, "-c", script))
    editor.open(tmp_path / "known")
    assert editor._running[0].wait() == 0
    known = (tmp_path / "known").read_text()
    assert "EXAMPLE" not in known
    assert "PATH" in known


@pytest.mark.usefixtures("secrets")
def test_browser_gets_no_token_and_runs_nothing_here(
    trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = trap.folder.parent / "browser"
    browser.write_text('#!/bin/sh\nenv > "$0.known"; echo "$1" >> "$0.known"\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(browser))
    processes.open_browser("http://127.0.0.1:1/x")
    known = browser.with_name("browser.known").read_text()
    assert known.endswith("http://127.0.0.1:1/x\n")
    assert "EXAMPLE" not in known.replace("u:pass@", "")


# -- whole commands ----------------------------------------------------------------

COMMANDS = {
    "build": ["build", ".", "-o", "../site"],
    "build in a workspace": ["build", "--publish"],
    "check": ["check", "."],
    "render": ["render", "home.md"],
    "render asciidoc": ["render", "a.adoc"],
    "theme": ["theme", "list"],
    "status": ["status"],
    "sync": ["sync"],
    "doctor": ["doctor"],
    "log": ["log"],
    "diff": ["diff"],
    "export": ["export", "http://127.0.0.1:9/", "--project", "a/b", "-o", "../out"],
    "clone": ["clone", "http://127.0.0.1:9/", "../clone", "--project", "a/b"],
    "page": ["page", "list", "http://127.0.0.1:9/", "--project", "a/b"],
    "project": ["project", "list", "http://127.0.0.1:9/"],
    "init": ["init", ".", "--url", "http://127.0.0.1:9/"],
    "resolve": ["resolve", "home"],
    "restore": ["restore", "home"],
    "adopt": ["adopt"],
    "serve admin": ["serve", "admin", "users", "."],
}
"""Where no service is there they end with an error, after all that they load."""


@pytest.mark.parametrize(
    ("name", "start"), [*((name, "script") for name in COMMANDS), ("build", "module")]
)
async def test_command_runs_nothing_of_the_current_folder(
    trap: Trap, name: str, start: str
) -> None:
    for page_format, source in SOURCES.items():
        suffix = page_format.value.replace("asciidoc", "adoc")
        (trap.folder / f"{suffix}.{suffix}").write_text(source)
    (trap.folder / "home.md").write_text("# T\n")
    (trap.folder / "a.adoc").write_text("= T\n")
    if name in {"build in a workspace", "status", "sync", "doctor", "diff", "log"}:
        write_config(
            trap.folder,
            '[service]\nurl = "http://127.0.0.1:9/"\n'
            f'token_command = ["{sys.executable}", "-Ic", "print(1)"]\n'
            '[site]\noutput = "../site"\nafter = ["true"]\n'
            '[[wiki]]\nproject = "a/b"\nfolder = "."\n',
        )
    script = Path(sys.executable).with_name("wikisync")
    words = [str(script)] if start == "script" else [sys.executable, "-m", "wikisync"]
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(trap.folder.parent / "cache"),
        "WIKISYNC_TOKEN": "glpat-EXAMPLE",
    }
    if start == "module":
        # Python has begun with the folder before it reads a line of ours
        trap.disarm("wikisync", "contextlib")
    process = await asyncio.create_subprocess_exec(
        *words,
        *COMMANDS[name],
        cwd=trap.folder,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output = (await process.communicate())[0].decode()
    assert "Traceback" not in output
    assert process.returncode in {0, 1, 2, 3, 4}


def test_preview_runs_nothing_of_the_current_folder(
    trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(trap.folder.parent / "cache"))
    trap.disarm("wikisync", "contextlib")
    (trap.folder / "home.md").write_text("# Welcome\n")
    with previewing(".", "--port", "0") as (_, url):
        assert "Welcome" in wait_for_page(url)


def test_service_runs_nothing_of_the_current_folder(trap: Trap) -> None:
    trap.disarm("wikisync", "contextlib")
    pages = trap.folder.parent / "pages"
    pages.mkdir()
    (pages / "home.md").write_text("# Welcome\n")
    with serving("--data", "../data", "--load", pages, "--port", "0") as process:
        said = dict(line.partition(": ")[::2] for line in url_line(process))
        token = {"PRIVATE-TOKEN": said["token"]}
        path = f"{said['url']}/api/v4/projects/1/wikis/home?render_html=true"
        request = urllib.request.Request(path, headers=token)
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert "<h1" in json.load(answer)["content"]


@pytest.mark.parametrize("name", ["html", "nh3", "msgspec", "wikisync"])
async def test_planted_file_would_run(trap: Trap, name: str) -> None:
    """The trap itself: an import from the folder is seen."""
    assert name in PLANTED
    command = [sys.executable, "-c", f"import {name}"]
    process = await processes.start_program_async(command, folder=trap.folder)
    await process.wait()
    assert trap.spring() == {name}
