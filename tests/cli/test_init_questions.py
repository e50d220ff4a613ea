"""``wikisync init`` in a terminal of its own, each answer typed when it is asked."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.support.commands import Ran, Run
from tests.support.service import EmbeddedService
from tests.support.terminal import run_in_terminal
from wikisync.cli.init import WIKIS_LISTED_MAX
from wikisync.config.reading import load_config

Ask = Callable[..., Awaitable[Ran]]
MADE = ("Make this workspace?", "")
FOLDER = ("Folder for", "")
PROJECT = ("--project", "docs/handbook")


@pytest.fixture
async def handbook(service: EmbeddedService) -> EmbeddedService:
    await service.add_project("docs/handbook", {"home": "one", "dir/page": "two"})
    return service


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of its own, where the commands keep what they keep."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


@pytest.fixture
def ask(handbook: EmbeddedService, workspace: Path) -> Ask:
    """``wikisync init`` at the service, with a token in the variable or without one."""

    async def call(
        *answers: tuple[str, str],
        words: tuple[str, ...] = (),
        url: str | None = handbook.url,
        token: str = handbook.token,
        code: int = 0,
    ) -> Ran:
        at = ("--url", url) if url else ()
        ran = await run_in_terminal(["init", workspace, *at, *words], answers, token)
        assert ran.code == code, ran.err
        return ran

    return call


def folders(workspace: Path) -> list[str]:
    config = load_config(workspace / "wikisync.toml")
    return [wiki.folder for wiki in config.wikis]


@pytest.mark.usefixtures("home")
async def test_all_is_asked_in_a_terminal(
    ask: Ask, handbook: EmbeddedService, workspace: Path
) -> None:
    ran = await ask(
        ("Address of the service", "http://127.0.0.1:1"),
        ("Address of the service", handbook.url),
        ("Token (hidden", "glpat-EXAMPLE"),
        ("Token (hidden", handbook.token),
        ("Save the token in", ""),
        ("Wikis to sync", "docs/handbok"),
        ("Wikis to sync", f"{handbook.url}/docs/handbook/-/wikis/home"),
        ("Folder for project docs/handbook", "pages"),
        ("Make this workspace?", "y"),
        url=None,
        token="",
    )
    assert ran.out == f"made the workspace {workspace}\n"
    assert "the service does not know this token" in ran.err
    assert "did you mean docs/handbook?" in ran.err
    assert handbook.token not in ran.err
    assert folders(workspace) == ["pages"]


async def test_kept_token_is_private_and_found_by_sync_and_the_next_init(
    ask: Ask, handbook: EmbeddedService, workspace: Path, home: Path
) -> None:
    token, saved = ("Token (hidden", handbook.token), ("Save the token in", "y")
    ran = await ask(token, saved, FOLDER, MADE, words=PROJECT, token="")
    assert "the token is not saved" not in ran.err
    (file,) = (home / ".config/wikisync").glob("token-*")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    section = load_config(workspace / "wikisync.toml").service
    assert section.token_file == f"~/.config/wikisync/{file.name}"
    again = await run_in_terminal(["sync", "-C", workspace], [], "")
    assert again.code == 0, again.err
    workspace.rename(workspace.with_name("first"))
    kept, wikis = ("leave empty for the one in", ""), ("Wikis to sync", "2")
    await ask(kept, wikis, FOLDER, MADE, token="")
    assert folders(workspace) == ["handbook"]


@pytest.mark.parametrize("answer", ["n", "y"])
async def test_token_is_not_kept_without_agreement_or_workspace(
    ask: Ask, handbook: EmbeddedService, workspace: Path, home: Path, answer: str
) -> None:
    """Who agrees, and then makes no workspace, has no file either."""
    ran = await ask(
        ("Token (hidden", handbook.token),
        ("Save the token in", answer),
        FOLDER,
        ("Make this workspace?", "n" if answer == "y" else "y"),
        words=PROJECT,
        token="",
    )
    assert not list((home / ".config/wikisync").glob("token-*"))
    assert workspace.exists() is (answer == "n")
    assert ("nothing was written" in ran.err) is (answer == "y")


async def test_pasted_address_of_a_wiki_leaves_nothing_to_ask_about_it(
    ask: Ask, handbook: EmbeddedService, workspace: Path
) -> None:
    address = f"{handbook.url}/docs/handbook/-/wikis/dir/page#part"
    await ask(("Address of", address), FOLDER, MADE, url=None)
    assert load_config(workspace / "wikisync.toml").service.url == handbook.url


async def test_wikis_are_listed_and_chosen_by_number(
    ask: Ask, handbook: EmbeddedService
) -> None:
    await handbook.add_project("apps/shop", {"home": "x"})
    await handbook.add_project("apps/off", wiki_access_level="disabled")
    ran = await ask(
        ("Wikis to sync, by number", "2 4"),
        ("Folder for project apps/shop", ""),
        ("Folder for project docs/handbook", ""),
        MADE,
    )
    assert (
        "   1  apps           group, 0 pages\n"
        "   2  apps/shop      project, 1 page\n"
        "   3  docs           group, 0 pages\n"
        "   4  docs/handbook  project, 2 pages\n"
    ) in ran.err


@pytest.mark.parametrize("answer", ["", "all"])
async def test_enter_takes_all_of_a_short_list(
    ask: Ask, handbook: EmbeddedService, workspace: Path, answer: str
) -> None:
    await handbook.add_group("docs", {"home": "group"})
    await ask(("Wikis to sync", answer), FOLDER, FOLDER, MADE)
    assert sorted(folders(workspace)) == ["docs", "handbook"]


async def test_all_is_refused_where_the_list_is_cut(
    ask: Ask, handbook: EmbeddedService
) -> None:
    """A list that goes on may go on for thousands of wikis."""
    for number in range(WIKIS_LISTED_MAX):
        await handbook.add_group(f"team{number}")
    wikis = [("Wikis to sync", answer) for answer in ("all", "docs/handbook")]
    ran = await ask(*wikis, FOLDER, MADE)
    assert "the list does not show all wikis" in ran.err


async def test_group_that_is_named_is_asked_about_what_is_below(
    ask: Ask, handbook: EmbeddedService, workspace: Path
) -> None:
    await handbook.add_group("docs", {"home": "group"})
    below = ("Include every wiki below docs?", "y")
    await ask(("Wikis to sync", "docs"), below, FOLDER, FOLDER, MADE)
    assert folders(workspace) == ["docs", "handbook"]


async def test_exclude_alone_leaves_out_of_what_is_asked(
    ask: Ask, handbook: EmbeddedService, workspace: Path
) -> None:
    await handbook.add_group("docs", {"home": "group"})
    below = ("Include every wiki below docs?", "y")
    words = ("--exclude", "docs/handbook")
    await ask(("Wikis to sync", "docs"), below, FOLDER, MADE, words=words)
    assert folders(workspace) == ["docs"]


async def test_yes_asks_nothing(ask: Ask, workspace: Path) -> None:
    await ask(words=(*PROJECT, "--yes"))
    assert (workspace / "wikisync.toml").exists()


async def test_wrong_answers_end_some_time(ask: Ask, workspace: Path) -> None:
    await ask(*[("Address of the service", "nonsense")] * 5, url=None, code=2)
    assert not workspace.exists()


@pytest.mark.usefixtures("home")
async def test_token_at_the_wrong_question_is_not_repeated(
    ask: Ask, handbook: EmbeddedService, workspace: Path
) -> None:
    ran = await ask(
        ("Address of the service", handbook.token),
        ("Address of the service", handbook.url),
        ("Token (hidden", handbook.token),
        ("Save the token in", handbook.token),
        ("Save the token in", "n"),
        ("Wikis to sync", handbook.token),
        ("Wikis to sync", "docs/handbook"),
        ("Folder for project docs/handbook", handbook.token),
        ("Folder for project docs/handbook", "pages"),
        MADE,
        url=None,
        token="",
    )
    # the terminal itself shows what is typed, once
    assert ran.err.count(handbook.token) == 4
    assert ran.err.count("this may be a token") == 3
    assert handbook.token not in (workspace / "wikisync.toml").read_text()


@pytest.mark.parametrize("option", ["--url", "--project", "--folder", "--token-file"])
async def test_token_as_the_wrong_option_is_not_repeated(
    handbook: EmbeddedService, workspace: Path, run: Run, option: str
) -> None:
    words = ("init", workspace, "--url", handbook.url, *PROJECT, "--yes")
    ran = await run(*words, option, handbook.token)
    assert ran.code != 0
    assert handbook.token not in ran.told
