"""``wikisync init`` with options; ``test_init_questions`` sits in a terminal."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.api.wire import http, listening_wire
from tests.support.commands import Ran, Run
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService
from tests.support.workspaces import HANDBOOK
from wikisync.config.reading import load_config
from wikisync.config.sections import Config, ServiceSection, WikiSection
from wikisync.errors import FolderError
from wikisync.folder.ignore import parse_patterns
from wikisync.folder.workspace import locked
from wikisync.workspace.creating import PATTERNS, Planned, new_files, write_workspace
from wikisync.workspace.rights import Service


@dataclass
class Init:
    """``wikisync init`` for a wiki of two pages, with any words behind."""

    service: EmbeddedService
    run: Run
    root: Path
    environment: pytest.MonkeyPatch

    async def __call__(self, *more: str | Path, root: Path | None = None) -> Ran:
        named = ("--url", self.service.url, "--project", "docs/handbook")
        return await self.run("init", root or self.root, *named, *more)

    async def at(self, url: str, *more: str | Path) -> Ran:
        return await self.run("init", self.root, "--url", url, *more)

    async def use_user(self, **options: Any) -> None:
        token = await self.service.add_user("dana", **options)
        self.environment.setenv("WIKISYNC_TOKEN", token)

    @property
    def config(self) -> Config:
        return load_config(self.root / "wikisync.toml")

    @property
    def names(self) -> set[str]:
        return {str(path.relative_to(self.root)) for path in self.root.rglob("*")}

    @property
    def texts(self) -> str:
        """All that is written in the workspace."""
        files = [path for path in self.root.rglob("*") if path.is_file()]
        return "".join(file.read_text() for file in files)


@pytest.fixture
async def init(
    service: EmbeddedService, run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> Init:
    await service.add_project("docs/handbook", {"home": "one", "dir/page": "two"})
    return Init(service, run, workspace, monkeypatch)


# -- made with options -------------------------------------------------------------


async def test_workspace_is_made_and_the_token_written_nowhere(init: Init) -> None:
    ran = await init()
    assert ran.code == 0, ran.err
    assert "can read, write, upload and delete: you are an administrator" in ran.err
    assert "the token is not saved" in ran.err
    assert init.names == {
        ".wikisync",
        ".wikisync/.gitignore",
        ".wikisync/folder-id",
        ".wikisync/lock",
        "handbook",
        "handbook/.wikisyncignore",
        "wikisync.toml",
    }
    assert init.config.service.url == init.service.url
    (wiki,) = init.config.wikis
    assert (wiki.owner, wiki.folder) == (HANDBOOK, "handbook")
    assert init.service.token not in init.texts + ran.told


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
async def test_what_root_makes_in_the_folder_of_somebody_is_theirs(init: Init) -> None:
    """But for what commands obey, and what only they read."""
    somebody = 4242
    os.chown(init.root.parent, somebody, somebody)
    ran = await init("--folder", "docs/handbook=a/b")
    assert ran.code == 0, ran.err
    theirs = {name for name in init.names if (init.root / name).stat().st_uid}
    assert theirs == {"a", "a/b", "a/b/.wikisyncignore"}
    assert init.root.stat().st_uid == somebody


async def test_pages_that_are_here_stay_for_the_first_sync(init: Init) -> None:
    folder = init.root / "handbook"
    folder.mkdir(parents=True)
    for name, text in (("home", "one"), ("mine", "mine")):
        (folder / f"{name}.md").write_text(text)
    (folder / ".wikisyncignore").write_text("# mine\n")
    ran = await init()
    assert "2 pages, 2 here already" in ran.err
    assert "--adopt push" in ran.err
    assert "--adopt hold" in ran.err
    assert (folder / ".wikisyncignore").read_text() == "# mine\n"
    synced = await init.run("sync", "-C", init.root, "--adopt", "push")
    assert synced.code == 0, synced.err
    assert (folder / "dir/page.md").read_text() == "two"
    assert (await init.service.files(HANDBOOK))["mine.md"] == b"mine"


async def test_pages_beside_the_wikis_folders_are_warned_of(init: Init) -> None:
    init.root.mkdir()
    (init.root / "home.md").write_text("one")
    (await init()).ended(0, f"{init.root} itself holds pages (1)")


async def test_group_with_all_wikis_below_it(init: Init) -> None:
    await init.service.add_group("docs", {"home": "group"})
    await init.service.add_project("docs/off", wiki_access_level="disabled")
    ran = await init.at(init.service.url, "--group", "docs", "--all", "--json")
    assert [wiki["path"] for wiki in ran.json["wikis"]] == ["docs", "docs/handbook"]
    assert [note["wiki"] for note in ran.json["skipped"]] == ["project docs/off"]


async def test_excluded_wiki_is_left_out_of_all_of_a_group(init: Init) -> None:
    await init.service.add_project("docs/broken", {"home": "one"})
    left_out = "--group", "docs", "--all", "--exclude", "docs/broken"
    ran = await init.at(init.service.url, *left_out, "--json")
    assert "docs/broken" not in [wiki["path"] for wiki in ran.json["wikis"]]
    assert "docs/handbook" in [wiki["path"] for wiki in ran.json["wikis"]]


def test_patterns_are_all_comments() -> None:
    patterns, problems = parse_patterns(PATTERNS)
    assert not patterns
    assert not problems


async def test_dry_run_shows_the_file_and_writes_nothing(init: Init) -> None:
    ran = await init("--dry-run")
    assert ran.code == 0
    assert f"would write {init.root / 'wikisync.toml'}" in ran.out
    assert f'url = "{init.service.url}"' in ran.out
    assert not init.root.exists()
    ran = await init("--json")
    answer = ran.json
    assert answer["service"]["url"] == init.service.url
    assert answer["token"]["scopes"] == ["api"]
    assert answer["wikis"][0]["pages"] == 2
    assert answer["files"][-1] == str(init.root / "wikisync.toml")
    assert init.service.token not in ran.told


# -- the token ---------------------------------------------------------------------


async def test_token_file_is_kept_and_wins(init: Init, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text(init.service.token)
    init.environment.setenv("WIKISYNC_TOKEN", "glpat-EXAMPLE")
    words = ("--token-file", file, "--folder", "docs/handbook=pages")
    ran = await init(*words)
    assert ran.code == 0, ran.err
    assert init.config.service.token_file == str(file)
    assert init.config.wikis[0].folder == "pages"
    assert "the token is not saved" not in ran.err


async def test_token_command_is_named_in_the_configuration(init: Init) -> None:
    token = init.service.token
    ran = await init("--token-command", f"echo {token}")
    assert ran.code == 0, ran.err
    assert init.config.service.token_command == ("echo", token)


async def test_dead_token_makes_no_workspace(init: Init) -> None:
    await init.use_user(expires_on="2020-01-31")
    (await init()).ended(1, "the token has expired")
    assert not init.root.exists()


@pytest.mark.parametrize(
    ("level", "scope", "told"),
    [
        (40, "api", "can read, write, upload and delete: your role is Maintainer"),
        (30, "api", "but not delete: your role is Developer"),
        (20, "api", "can only read, not write, upload or delete: your role is Rep"),
        (40, "read_api", "the token lacks the scope api (it has read_api)"),
    ],
)
async def test_rights_are_told_in_a_sentence(
    init: Init, level: int, scope: str, told: str
) -> None:
    await init.use_user(scopes=(scope,))
    await init.service.add_member("docs/handbook", "dana", level)
    ran = await init()
    assert ran.code == 0, ran.err
    assert told in ran.err


async def test_archived_project_is_read_only(init: Init) -> None:
    await init.service.add_project("docs/handbook", is_archived=True)
    ran = await init()
    assert "the project is archived" in ran.err
    assert "--pull" in ran.err


async def test_token_that_ends_soon_is_warned_of(init: Init) -> None:
    soon = datetime.now(UTC).date() + timedelta(days=5)
    await init.use_user(expires_on=str(soon), is_admin=True)
    ran = await init()
    assert f"is valid until {soon}" in ran.err
    assert "warning: the token ends in 5 days" in ran.err


async def test_public_wiki_needs_no_token(init: Init) -> None:
    await init.service.add_project("docs/handbook", visibility="public")
    init.environment.delenv("WIKISYNC_TOKEN")
    ran = await init()
    assert ran.code == 0, ran.err
    assert "there is no token: public wikis can be read" in ran.err


async def test_service_without_word_of_the_token_is_no_obstacle(init: Init) -> None:
    init.service.quirks = {Quirk.SILENT_TOKENS}
    ran = await init()
    assert ran.code == 0, ran.err
    assert "the service does not report its scopes" in ran.err


# -- addresses ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "page", ["handbook/-/wikis/home?private_token=glpat-EXAMPLE#x", "handbook.wiki.git"]
)
async def test_address_of_a_page_names_the_wiki(init: Init, page: str) -> None:
    ran = await init.at(f"{init.service.url}/docs/{page}")
    assert ran.code == 0, ran.err
    assert init.config.service.url == init.service.url
    assert [wiki.owner for wiki in init.config.wikis] == [HANDBOOK]
    assert "glpat-EXAMPLE" not in init.texts + ran.told


async def test_address_of_a_group_names_all_wikis_below(init: Init) -> None:
    ran = await init.at(f"{init.service.url}/groups/docs/-/wikis/home", "--all")
    assert ran.code == 0, ran.err
    owners = [str(wiki.owner) for wiki in init.config.wikis]
    assert owners == ["group docs", "project docs/handbook"]


@pytest.mark.parametrize(
    "place",
    [
        "{}/-/profile?private_token=glpat-EXAMPLE",
        "http://user:glpat-EXAMPLE@{host}/-/x",
        "http://user:glpat-EXAMPLE@{host}/docs/handbook/-/wikis/home",
        "http://user:glpat-EXAMPLE@{host}/",
    ],
)
async def test_secret_in_an_address_is_not_repeated(init: Init, place: str) -> None:
    host = init.service.url.partition("://")[2]
    ran = await init.at(place.format(init.service.url, host=host), "--all")
    assert ran.code == 2
    assert "glpat-EXAMPLE" not in ran.told
    assert not init.root.exists()


@pytest.mark.parametrize("url", ["", "x/-/y", "://", "http://", "https:///-/a"])
async def test_what_is_no_address_is_told(
    run_alone: Run, workspace: Path, url: str
) -> None:
    (await run_alone("init", workspace, "--url", url, "--all")).ended(2, "hint:")


@pytest.mark.parametrize("status", [200, 404])
async def test_website_that_is_no_service_never_sees_the_token(
    run_alone: Run, workspace: Path, status: int
) -> None:
    async with listening_wire() as wire:
        wire.repeats = True
        wire.will(http(status, b"<h1>Hello</h1>", "text/html"))
        named = ("--url", wire.url, "--project", "docs/handbook")
        ran = await run_alone("init", workspace, *named)
    ran.ended(2, f"{wire.url} does not answer as a GitLab-compatible service")
    assert set(wire.tokens) == {None}
    assert not workspace.exists()


# -- what is refused ---------------------------------------------------------------

HANDBOOK_OF = "--url {url} --project docs/handbook"
BOTH_OF = f"{HANDBOOK_OF} --project team/other"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("--url http://127.0.0.1:1 --project a/b", 1, "127.0.0.1:1"),
        ("--project docs/handbook", 2, "no service is given"),
        ("--url {url}", 2, "no wiki is selected"),
        (
            "--url {url} --project docs/handbok",
            1,
            "project docs/handbok does not exist",
        ),
        ("--url {url} --project docs/handbok", 1, "did you mean docs/handbook?"),
        ("--url {url} --project team/off", 1, "disabled"),
        (f"{HANDBOOK_OF} --folder pages", 2, "does not name a folder for a wiki"),
        (f"{HANDBOOK_OF} --folder docs/none=pages", 2, "which is not one of the wikis"),
        (
            f"{HANDBOOK_OF} --folder docs/handbook=../pages",
            *(2, "must be a folder inside the workspace"),
        ),
        (
            f"{HANDBOOK_OF} --folder docs/handbook=.wikisync",
            *(2, "is wikisync's own folder"),
        ),
        (
            f"{BOTH_OF} --folder team/other=handbook/other",
            *(2, "overlaps wiki[0].folder"),
        ),
    ],
)
async def test_what_cannot_be_is_told_and_makes_no_workspace(
    init: Init, words: str, code: int, told: str
) -> None:
    await init.service.add_project("team/off", wiki_access_level="disabled")
    await init.service.add_project("team/other", {"home": "x"})
    ran = await init.run("init", init.root, *words.format(url=init.service.url).split())
    ran.ended(code, told)
    assert not init.root.exists()


async def test_workspace_is_not_made_twice(init: Init) -> None:
    await init()
    before = (init.root / "wikisync.toml").read_bytes()
    ran = await init("--folder", "docs/handbook=other")
    ran.ended(1, f"{init.root} is already a workspace")
    assert (init.root / "wikisync.toml").read_bytes() == before


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("", "handbook/inner", "is inside the workspace {root}"),
        ("handbook", "", "is another workspace"),
    ],
)
async def test_workspace_in_a_workspace_is_refused(
    init: Init, first: str, second: str, told: str
) -> None:
    await init(root=init.root / first)
    ran = await init(root=init.root / second)
    assert ran.code == 1
    assert told.format(root=init.root) in ran.err
    assert not (init.root / second / "wikisync.toml").exists()


@pytest.mark.parametrize(
    ("root", "told"),
    [
        (Path(__file__), "{} is not a folder"),
        (Path("/proc/my-wikis"), "cannot write to {}"),
    ],
)
async def test_place_that_cannot_be_a_folder_is_refused(
    init: Init, root: Path, told: str
) -> None:
    (await init(root=root)).ended(1, told.format(root))


async def test_failure_half_way_takes_everything_away_again(init: Init) -> None:
    """A link to nowhere has no place for the folder's file, which is seen late."""
    init.root.mkdir()
    (init.root / "handbook").symlink_to(init.root / "gone" / "away")
    (init.root / "notes.txt").write_text("mine")
    ran = await init()
    assert ran.code == 1, ran.err
    assert init.names == {"handbook", "notes.txt"}


async def test_workspace_that_another_process_makes_is_left_alone(init: Init) -> None:
    with locked(init.root / ".wikisync", "it"):
        ran = await init()
    ran.ended(1, "another wikisync is running in")
    assert init.names == {".wikisync", ".wikisync/lock"}


async def test_workspace_made_meanwhile_is_not_taken_away(init: Init) -> None:
    """Between the plan and the yes of a person anything may happen."""
    url = init.service.url
    section = WikiSection("project", "docs/handbook", "handbook")
    config = Config(ServiceSection(url), (section,))
    files = new_files(init.root, config)
    late = Planned(init.root, Service(url, "", None), config, (), (), files)
    await init()
    before = init.names
    with pytest.raises(FolderError, match="is already a workspace"):
        write_workspace(late)
    assert init.names == before
