"""A configuration that came with a repository: nobody here has agreed to it yet."""

import asyncio
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

import pytest

from tests.support.agreed import agree_to
from tests.support.commands import Run
from tests.support.service import EmbeddedService
from tests.support.terminal import run_in_terminal
from tests.support.workspaces import Cloned
from wikisync.cli.main import main
from wikisync.config.sections import Command, MarkupSection, SiteSection, SyncSection
from wikisync.config.trust import KEYS
from wikisync.errors import ExitCode, Unagreed
from wikisync.library import sync

MINE = "glpat-EXAMPLE-of-another-service"


class Server:
    """A server that somebody else named, which must not even be contacted."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"

    @property
    def is_contacted(self) -> bool:
        self._listening.setblocking(False)
        try:
            self._listening.accept()[0].close()
        except BlockingIOError:
            return False
        return True


@pytest.fixture
def theirs() -> Iterator[Server]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield Server(listening)


@pytest.fixture
def foreign(tmp_path: Path, theirs: Server, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace as ``git clone`` leaves it, whose configuration names all it can."""
    root = tmp_path / "repository"
    (root / "notes").mkdir(parents=True)
    (root / "notes/home.md").write_text("# hello\n\n```plantuml\nA -> B\n```\n")
    (root / "wikisync.toml").write_text(
        f'[service]\nurl = "{theirs.url}"\ntoken_command = ["touch", "token-ran"]\n'
        '[[wiki]]\nproject = "docs/handbook"\nfolder = "notes"\n'
        '[site]\nafter = ["touch", "after-ran"]\npublish = true\n'
        '[sync]\nattention_command = ["touch", "attention-ran"]\n'
    )
    monkeypatch.setenv("WIKISYNC_TOKEN", MINE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(root)
    return root


def has_run(root: Path) -> list[str]:
    return sorted(path.name for path in root.rglob("*-ran"))


USING = """
status
status --json
sync
sync --dry-run
sync notes/home.md
watch
doctor
diff
project show
project list
page list
page get home
page get {url}/docs/handbook/-/wikis/home
build --publish
"""


@pytest.mark.parametrize("with_token", ["variable", "file", "command"])
@pytest.mark.parametrize("words", USING.strip().split("\n"))
def test_command_that_would_obey_it_ends_and_says_how_to_agree(
    foreign: Path,
    theirs: Server,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
    with_token: str,
) -> None:
    arguments = words.format(url=theirs.url).split()
    if with_token == "file" and words != "build --publish":
        (foreign.parent / "mine").write_text(MINE)
        arguments += ["--token-file", str(foreign.parent / "mine")]
    if with_token != "variable":
        monkeypatch.delenv("WIKISYNC_TOKEN")
    assert main(arguments) == ExitCode.USAGE
    told = capsys.readouterr().err
    assert f"this user has not agreed to {foreign}/wikisync.toml" in told
    assert f'service.url = "{theirs.url}"' in told
    assert 'site.after = ["touch", "after-ran"]' in told
    hint = f"hint: if you trust who wrote it, run: wikisync init --trust {foreign}"
    assert hint in told
    assert (has_run(foreign), theirs.is_contacted) == ([], False)


WITHOUT = """
status --offline
doctor --offline
build -o out
check
render notes/home.md
log
pause notes
resume notes
adopt
"""


@pytest.mark.parametrize("words", WITHOUT.strip().split("\n"))
async def test_command_that_obeys_nothing_of_it_works(
    run_alone: Run, foreign: Path, theirs: Server, words: str
) -> None:
    ran = await run_alone(*words.split())
    assert "agreed" not in ran.told
    assert (has_run(foreign), theirs.is_contacted) == ([], False)


@pytest.mark.parametrize(
    ("lines", "words", "key"),
    [
        ('[markup]\nkroki = "{}"\n', ("-o", "out"), 'markup.kroki = "{}"'),
        ('bucket = "s3://theirs"\n', ("--publish",), 'site.bucket = "s3://theirs"'),
    ],
)
async def test_build_with_a_server_for_diagrams_or_a_bucket_asks_as_well(
    run_alone: Run,
    foreign: Path,
    theirs: Server,
    monkeypatch: pytest.MonkeyPatch,
    lines: str,
    words: tuple[str, ...],
    key: str,
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", theirs.url)
    (foreign / "wikisync.toml").write_text(
        f'[service]\nurl = "{theirs.url}"\n[[wiki]]\nproject = "docs/handbook"\n'
        f'folder = "notes"\n[site]\n{lines.format(theirs.url)}'
    )
    ran = await run_alone("build", *words)
    assert ran.code == ExitCode.USAGE
    assert key.format(theirs.url) in ran.err
    assert not theirs.is_contacted


async def test_hint_is_the_command_that_agrees(run_alone: Run, foreign: Path) -> None:
    publish = ("build", "--publish")
    assert (await run_alone(*publish)).code == ExitCode.USAGE
    agreed = await run_alone("init", "--trust", foreign)
    assert agreed.code == ExitCode.DONE
    assert 'token_command = ["touch", "token-ran"]' in agreed.out
    assert (await run_alone(*publish)).code == ExitCode.DONE
    assert has_run(foreign) == ["after-ran"]
    # for this user alone
    folder = foreign.parent / "config/wikisync/agreed"
    modes = {path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert (folder.stat().st_mode & 0o777, modes) == (0o700, {0o600})


@pytest.mark.parametrize("answer", ["y", "n"])
async def test_terminal_is_asked_once(
    foreign: Path, theirs: Server, answer: str
) -> None:
    words = ["build", "--publish"]
    question = ("Do you trust who wrote it", answer)
    ran = await run_in_terminal(words, [question], MINE)
    assert ran.code == (ExitCode.DONE if answer == "y" else ExitCode.USAGE)
    assert f'service.url = "{theirs.url}"' in ran.err
    assert has_run(foreign) == (["after-ran"] if answer == "y" else [])
    assert await asyncio.to_thread(main, words) == ran.code


@pytest.mark.parametrize(
    ("old", "new", "is_asked"),
    [
        ("after-ran", "other-ran", True),
        ("token-ran", "other-ran", True),
        ("attention-ran", "other-ran", True),
        ("127.0.0.1", "localhost", True),
        ("[site]", '[markup]\nkroki = "http://127.0.0.1:9"\n[site]', True),
        ("[site]", '[site]\nbucket = "s3://theirs"', True),
        ("[sync]", '[sync]\nhook_secret_file = "~/.netrc"', True),
        ("[site]", '[site]\ntitle = "Notes"', False),
        ("docs/handbook", "docs/guide", False),
        ("[site]", "# a note\n[site]", False),
    ],
)
def test_edit_asks_again_where_it_changes_what_is_run_or_contacted(
    foreign: Path, old: str, new: str, is_asked: bool
) -> None:
    agree_to(foreign)
    file = foreign / "wikisync.toml"
    file.write_text(file.read_text().replace(old, new, 1))
    code = main(["build", "--publish"])
    assert code == (ExitCode.USAGE if is_asked else ExitCode.DONE)


async def test_address_is_agreed_to_wherever_the_folder_is(cloned: Cloned) -> None:
    """Whoever moves or copies a workspace, or has a second one, is asked nothing."""
    other = cloned.copied()
    assert (await other.run("status")).code == ExitCode.DONE
    secret = cloned.root.with_name("secret")
    secret.write_text("glpat-OTHER")
    add(other, f'token_file = "{secret}"')
    assert (await other.run("status")).code == ExitCode.USAGE


def add(cloned: Cloned, line: str) -> None:
    """Write a line about the service into the configuration, unasked."""
    text = cloned.settings.read_text()
    cloned.settings.write_text(text.replace("[service]\n", f"[service]\n{line}\n"))


def test_copy_with_commands_is_asked_about(foreign: Path) -> None:
    agree_to(foreign)
    copy = shutil.copytree(foreign, foreign.with_name("copy"))
    assert main(["build", str(copy), "--publish"]) == ExitCode.USAGE
    assert has_run(copy) == []


async def test_agreement_that_cannot_be_kept(run_alone: Run, foreign: Path) -> None:
    (foreign.parent / "config").write_text("a file")
    ran = await run_alone("init", "--trust")
    ran.ended(ExitCode.USAGE, f"export WIKISYNC_SAFE_FOLDERS={foreign}")


def test_folder_that_the_user_allows_is_agreed_to(
    foreign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIKISYNC_SAFE_FOLDERS", str(foreign))
    assert main(["build", "--publish"]) == ExitCode.DONE
    assert has_run(foreign) == ["after-ran"]


def test_library_refuses_it(foreign: Path, theirs: Server) -> None:
    with pytest.raises(Unagreed):
        sync(foreign, token=MINE)
    assert has_run(foreign) == []
    assert not theirs.is_contacted


def test_every_command_of_a_configuration_is_asked_about() -> None:
    sections = {"sync": SyncSection, "site": SiteSection, "markup": MarkupSection}
    commands = {
        f"{name}.{key}"
        for name, section in sections.items()
        for key, hint in get_type_hints(section, include_extras=True).items()
        if hint == Command
    }
    assert len(commands) == 2
    assert commands < set(KEYS)


# -- tokens and their addresses ----------------------------------------------------


@pytest.fixture
def copied(cloned: Cloned, monkeypatch: pytest.MonkeyPatch) -> Cloned:
    """The cloned workspace in another place, as a CI job checks it out."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(cloned.root.with_name("job")))
    copied = cloned.copied()
    shutil.rmtree(copied.root / ".wikisync")
    monkeypatch.chdir(copied.root)
    return copied


async def test_address_of_the_variable_is_enough_without_commands(
    copied: Cloned, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await copied.run("sync")).code == ExitCode.USAGE
    monkeypatch.setenv("WIKISYNC_URL", copied.service.url)
    ran = await copied.run("sync")
    assert ran.code == ExitCode.DONE, ran.err


async def test_address_of_the_variable_agrees_to_no_command(
    copied: Cloned, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(copied, 'token_command = ["touch", "token-ran"]')
    monkeypatch.setenv("WIKISYNC_URL", copied.service.url)
    ran = await copied.run("status")
    assert ran.code != ExitCode.USAGE, ran.err
    monkeypatch.delenv("WIKISYNC_TOKEN")
    assert (await copied.run("status")).code == ExitCode.USAGE
    assert has_run(copied.root) == []


async def test_token_of_another_service_is_not_sent_to_an_agreed_one(
    cloned: Cloned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIKISYNC_URL", "https://gitlab.example.com")
    ran = await cloned.run("doctor")
    assert "WIKISYNC_TOKEN is for https://gitlab.example.com" in ran.err
    assert "there is no token" in ran.out


async def test_what_init_and_clone_write_is_agreed_to(
    service: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    await service.add_project("docs/handbook", {"home": "one\n"})
    named = ("--url", service.url, "--project", "docs/handbook")
    for words in (("init", "--yes"), ("clone",)):
        root = tmp_path / words[0]
        assert (await run(*words, *named, root)).code == 0
        assert (await run("sync", "-C", root)).code == 0
