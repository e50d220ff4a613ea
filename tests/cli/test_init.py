"""``wikisync init`` with options; ``test_init_questions`` sits in a terminal."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.api.wire import http, listening_wire
from tests.support.commands import Run
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService
from wikisync.config import Config, ServiceSection, WikiSection, load_config
from wikisync.core.model import WikiOwner
from wikisync.errors import FolderError
from wikisync.folder.ignore import parse_patterns
from wikisync.workspace.creating import PATTERNS, Planned, new_files, write_workspace
from wikisync.workspace.rights import Service

HANDBOOK = WikiOwner("project", "docs/handbook")
SECTION = WikiSection("project", "docs/handbook", "handbook")


@pytest.fixture
async def handbook(service: EmbeddedService) -> EmbeddedService:
    await service.add_project("docs/handbook", {"home": "one", "dir/page": "two"})
    return service


def words(service: EmbeddedService, workspace: Path) -> tuple[str | Path, ...]:
    return ("init", workspace, "--url", service.url, "--project", "docs/handbook")


def names_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


# -- made with options -------------------------------------------------------------


async def test_workspace_is_made(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    ran = await run(*words(handbook, workspace))
    assert ran.code == 0, ran.err
    assert "can read, write, upload and delete: you are an administrator" in ran.err
    assert names_in(workspace) == {
        ".wikisync",
        ".wikisync/folder-id",
        ".wikisync/lock",
        "handbook",
        "handbook/.wikisyncignore",
        "wikisync.toml",
    }
    config = load_config(workspace / "wikisync.toml")
    assert config.service.url == handbook.url
    assert [(wiki.owner, wiki.folder) for wiki in config.wikis] == [
        (HANDBOOK, "handbook")
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
async def test_what_root_makes_in_the_folder_of_somebody_is_theirs(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    """But for what commands obey, and what only they read."""
    somebody = 4242
    os.chown(workspace.parent, somebody, somebody)
    ran = await run(*words(handbook, workspace), "--folder", "docs/handbook=a/b")
    assert ran.code == 0, ran.err
    theirs = {name for name in names_in(workspace) if _owner(workspace / name)}
    assert theirs == {"a", "a/b", "a/b/.wikisyncignore"}
    assert _owner(workspace) == somebody


def _owner(path: Path) -> int:
    return path.stat().st_uid


async def test_first_sync_fetches_the_pages(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    await run(*words(handbook, workspace))
    ran = await run("sync", "-C", workspace)
    assert ran.code == 0, ran.err
    assert (workspace / "handbook/dir/page.md").read_text() == "two"


async def test_pages_that_are_here_stay_and_the_first_sync_takes_them(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    (workspace / "handbook").mkdir(parents=True)
    (workspace / "handbook/home.md").write_text("one")
    (workspace / "handbook/mine.md").write_text("mine")
    ran = await run(*words(handbook, workspace))
    assert "2 pages, 2 here already" in ran.err
    assert "--adopt push" in ran.err
    assert "--adopt hold" in ran.err
    synced = await run("sync", "-C", workspace, "--adopt", "push")
    assert synced.code == 0, synced.err
    assert (await handbook.files(HANDBOOK))["mine.md"] == b"mine"


async def test_pages_beside_the_wikis_folders_are_warned_of(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    workspace.mkdir()
    (workspace / "home.md").write_text("one")
    ran = await run(*words(handbook, workspace))
    assert ran.code == 0
    assert f"{workspace} itself holds pages (1)" in ran.err


async def test_folder_is_chosen_by_option(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    ran = await run(*words(handbook, workspace), "--folder", "docs/handbook=pages")
    assert ran.code == 0
    assert load_config(workspace / "wikisync.toml").wikis[0].folder == "pages"


async def test_group_with_all_wikis_below_it(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    await handbook.add_group("docs", {"home": "group"})
    await handbook.add_project("docs/off", wiki_access_level="disabled")
    ran = await run(
        "init", workspace, "--url", handbook.url, "--group", "docs", "--all", "--json"
    )
    assert [wiki["path"] for wiki in ran.json["wikis"]] == ["docs", "docs/handbook"]
    assert [note["wiki"] for note in ran.json["skipped"]] == ["project docs/off"]


async def test_pattern_file_that_is_there_stays(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    (workspace / "handbook").mkdir(parents=True)
    (workspace / "handbook/.wikisyncignore").write_text("mine/\n")
    assert (await run(*words(handbook, workspace))).code == 0
    assert (workspace / "handbook/.wikisyncignore").read_text() == "mine/\n"


def test_patterns_are_all_comments() -> None:
    patterns, problems = parse_patterns(PATTERNS)
    assert not patterns
    assert not problems


async def test_dry_run_shows_the_file_and_writes_nothing(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    ran = await run(*words(handbook, workspace), "--dry-run")
    assert ran.code == 0
    assert f"would write {workspace / 'wikisync.toml'}" in ran.out
    assert f'url = "{handbook.url}"' in ran.out
    assert not workspace.exists()


async def test_json_tells_what_may_be_done(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    ran = await run(*words(handbook, workspace), "--json")
    answer = ran.json
    assert answer["service"]["url"] == handbook.url
    assert answer["token"]["scopes"] == ["api"]
    assert answer["wikis"][0]["pages"] == 2
    assert answer["files"][-1] == str(workspace / "wikisync.toml")
    assert handbook.token not in ran.out + ran.err


# -- the token ---------------------------------------------------------------------


async def test_token_file_is_named_in_the_configuration_and_wins(
    handbook: EmbeddedService,
    run: Run,
    workspace: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "token"
    file.write_text(handbook.token)
    file.chmod(0o600)
    monkeypatch.setenv("WIKISYNC_TOKEN", "glpat-EXAMPLE")
    ran = await run(*words(handbook, workspace), "--token-file", file)
    assert ran.code == 0, ran.err
    assert load_config(workspace / "wikisync.toml").service.token_file == str(file)
    assert "the token is not saved" not in ran.err


async def test_token_command_is_named_in_the_configuration(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    spoken = f"echo {handbook.token}"
    ran = await run(*words(handbook, workspace), "--token-command", spoken)
    assert ran.code == 0, ran.err
    config = load_config(workspace / "wikisync.toml")
    assert config.service.token_command == ("echo", handbook.token)


async def test_token_of_the_variable_is_written_nowhere(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    ran = await run(*words(handbook, workspace))
    texts = [path.read_text() for path in workspace.rglob("*") if path.is_file()]
    assert not any(handbook.token in text for text in [*texts, ran.out, ran.err])
    assert "the token is not saved" in ran.err


async def test_dead_token_makes_no_workspace(
    handbook: EmbeddedService,
    run: Run,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    token = await handbook.add_user("dana", expires_on="2020-01-31")
    monkeypatch.setenv("WIKISYNC_TOKEN", token)
    ran = await run(*words(handbook, workspace))
    assert ran.code == 1
    assert "the token has expired" in ran.err
    assert not workspace.exists()


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
    handbook: EmbeddedService,
    run: Run,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    level: int,
    scope: str,
    told: str,
) -> None:
    token = await handbook.add_user("dana", scopes=(scope,))
    await handbook.add_member("docs/handbook", "dana", level)
    monkeypatch.setenv("WIKISYNC_TOKEN", token)
    ran = await run(*words(handbook, workspace))
    assert ran.code == 0, ran.err
    assert told in ran.err


async def test_archived_project_is_read_only(
    service: EmbeddedService, run: Run, workspace: Path
) -> None:
    await service.add_project("docs/handbook", {"home": "x"}, is_archived=True)
    ran = await run(*words(service, workspace))
    assert "the project is archived" in ran.err
    assert "--pull" in ran.err


async def test_token_that_ends_soon_is_warned_of(
    handbook: EmbeddedService,
    run: Run,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    soon = datetime.now(UTC).date() + timedelta(days=5)
    token = await handbook.add_user("dana", expires_on=str(soon), is_admin=True)
    monkeypatch.setenv("WIKISYNC_TOKEN", token)
    ran = await run(*words(handbook, workspace))
    assert f"expires on {soon}" in ran.err
    assert "the token expires in 5 days" in ran.err


async def test_public_wiki_needs_no_token(
    service: EmbeddedService, run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await service.add_project("docs/handbook", {"home": "x"}, visibility="public")
    monkeypatch.delenv("WIKISYNC_TOKEN")
    ran = await run(*words(service, workspace))
    assert ran.code == 0, ran.err
    assert "no token: only public wikis can be read" in ran.err


# -- what is refused ---------------------------------------------------------------


async def test_unknown_project_is_told_with_the_nearest_names(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    ran = await run(
        "init", workspace, "--url", handbook.url, "--project", "docs/handbok"
    )
    assert ran.code == 1
    assert "docs/handbok does not exist" in ran.err
    assert "did you mean docs/handbook?" in ran.err
    assert not workspace.exists()


async def test_wiki_that_is_switched_off_makes_no_workspace(
    service: EmbeddedService, run: Run, workspace: Path
) -> None:
    await service.add_project("docs/handbook", wiki_access_level="disabled")
    ran = await run(*words(service, workspace))
    assert ran.code == 1
    assert "disabled" in ran.err
    assert not workspace.exists()


@pytest.mark.parametrize(
    "page", ["docs/handbook", "docs/handbook/-/wikis/home", "docs/handbook.wiki.git"]
)
async def test_address_of_a_page_names_service_and_wiki(
    handbook: EmbeddedService, run: Run, workspace: Path, page: str
) -> None:
    ran = await run("init", workspace, "--url", f"{handbook.url}/{page}")
    assert ran.code == 0, ran.err
    config = load_config(workspace / "wikisync.toml")
    assert config.service.url == handbook.url
    assert [wiki.owner for wiki in config.wikis] == [HANDBOOK]


async def test_address_of_a_group_names_its_wiki_and_all_those_below(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    group = f"{handbook.url}/groups/docs/-/wikis/home"
    ran = await run("init", workspace, "--url", group, "--all")
    assert ran.code == 0, ran.err
    config = load_config(workspace / "wikisync.toml")
    assert [str(wiki.owner) for wiki in config.wikis] == [
        "group docs",
        "project docs/handbook",
    ]


@pytest.mark.parametrize(
    "place",
    [
        "{}/-/profile?private_token=glpat-EXAMPLE",
        "http://user:glpat-EXAMPLE@{host}/-/x",
        "http://user:glpat-EXAMPLE@{host}/docs/handbook/-/wikis/home",
        "http://user:glpat-EXAMPLE@{host}/",
    ],
)
async def test_secret_in_a_pasted_address_is_not_repeated(
    handbook: EmbeddedService, run: Run, workspace: Path, place: str
) -> None:
    host = handbook.url.partition("://")[2]
    url = place.format(handbook.url, host=host)
    ran = await run("init", workspace, "--url", url, "--all")
    assert ran.code == 2
    assert "glpat-EXAMPLE" not in ran.out + ran.err
    assert not workspace.exists()


@pytest.mark.parametrize("url", ["", "x/-/y", "://", "http://", "https:///-/a"])
async def test_what_is_no_address_is_told(
    run_alone: Run, workspace: Path, url: str
) -> None:
    ran = await run_alone("init", workspace, "--url", url, "--all")
    assert ran.code == 2
    assert "hint:" in ran.err


async def test_secret_in_the_address_of_a_page_is_kept_nowhere(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    page = f"{handbook.url}/docs/handbook/-/wikis/home?private_token=glpat-EXAMPLE#x"
    ran = await run("init", workspace, "--url", page)
    assert ran.code == 0, ran.err
    texts = [path.read_text() for path in workspace.rglob("*") if path.is_file()]
    assert not any("glpat-EXAMPLE" in text for text in [*texts, ran.out, ran.err])


@pytest.mark.parametrize("status", [200, 404])
async def test_website_that_is_no_service_never_sees_the_token(
    run_alone: Run, workspace: Path, status: int
) -> None:
    async with listening_wire() as wire:
        wire.repeats = True
        wire.will(http(status, b"<h1>Hello</h1>", "text/html"))
        named = ("--url", wire.url, "--project", "docs/handbook")
        ran = await run_alone("init", workspace, *named)
    assert ran.code == 2
    assert f"{wire.url} does not answer as a GitLab-compatible service" in ran.err
    assert set(wire.tokens) == {None}
    assert not workspace.exists()


async def test_service_that_cannot_be_reached_is_told(
    run_alone: Run, workspace: Path
) -> None:
    ran = await run_alone(
        "init", workspace, "--url", "http://127.0.0.1:1", "--project", "a/b"
    )
    assert ran.code == 1
    assert "127.0.0.1:1" in ran.err
    assert not workspace.exists()


@pytest.mark.parametrize(
    ("missing", "told"),
    [(("--url",), "no service is given"), (("--project",), "no wiki is selected")],
)
async def test_what_is_not_said_is_asked_of_nobody_outside_a_terminal(
    handbook: EmbeddedService, run: Run, workspace: Path, missing: tuple[str], told: str
) -> None:
    given = list(words(handbook, workspace))
    place = given.index(missing[0])
    ran = await run(*given[:place], *given[place + 2 :])
    assert ran.code == 2
    assert told in ran.err
    assert not workspace.exists()


async def test_workspace_is_not_made_twice(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    await run(*words(handbook, workspace))
    before = (workspace / "wikisync.toml").read_bytes()
    ran = await run(*words(handbook, workspace), "--folder", "docs/handbook=other")
    assert ran.code == 1
    assert f"{workspace} is already a workspace" in ran.err
    assert (workspace / "wikisync.toml").read_bytes() == before


async def test_folder_in_a_workspace_is_refused(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    await run(*words(handbook, workspace))
    ran = await run(*words(handbook, workspace / "handbook" / "inner"))
    assert ran.code == 1
    assert f"is inside the workspace {workspace}" in ran.err
    assert not (workspace / "handbook/inner").exists()


async def test_folder_of_a_wiki_that_is_a_workspace_is_refused(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    await run(*words(handbook, workspace / "handbook"))
    ran = await run(*words(handbook, workspace))
    assert ran.code == 1
    assert "is another workspace" in ran.err
    assert not (workspace / "wikisync.toml").exists()


async def test_folders_that_overlap_are_refused(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    await handbook.add_project("docs/other", {"home": "x"})
    ran = await run(
        *words(handbook, workspace),
        *("--project", "docs/other"),
        *("--folder", "docs/other=handbook/other"),
    )
    assert ran.code == 2
    assert "overlaps wiki[0].folder" in ran.err
    assert not workspace.exists()


@pytest.mark.parametrize(
    ("folder", "told"),
    [
        ("pages", "does not name a folder for a wiki"),
        ("docs/none=pages", "which is not one of the wikis"),
        ("docs/handbook=../pages", "must be a folder inside the workspace"),
        ("docs/handbook=.wikisync", "is wikisync's own folder"),
    ],
)
async def test_folder_that_cannot_be_is_refused(
    handbook: EmbeddedService, run: Run, workspace: Path, folder: str, told: str
) -> None:
    ran = await run(*words(handbook, workspace), "--folder", folder)
    assert ran.code == 2
    assert told in ran.err
    assert not workspace.exists()


async def test_file_in_place_of_the_folder_is_refused(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    workspace.write_text("a file")
    ran = await run(*words(handbook, workspace))
    assert ran.code == 1
    assert f"{workspace} is not a folder" in ran.err


async def test_folder_that_cannot_be_written_is_told(
    handbook: EmbeddedService, run: Run
) -> None:
    ran = await run(*words(handbook, Path("/proc/my-wikis")))
    assert ran.code == 1
    assert "cannot write to /proc/my-wikis" in ran.err


async def test_failure_half_way_takes_everything_away_again(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    """A link to nowhere has no place for the folder's file, which is seen late."""
    workspace.mkdir()
    (workspace / "handbook").symlink_to(workspace / "gone" / "away")
    (workspace / "notes.txt").write_text("mine")
    ran = await run(*words(handbook, workspace))
    assert ran.code == 1, ran.err
    assert names_in(workspace) == {"handbook", "notes.txt"}


async def test_workspace_that_another_process_makes_is_left_alone(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    from wikisync.folder.workspace import locked

    with locked(workspace / ".wikisync", "it"):
        ran = await run(*words(handbook, workspace))
    assert ran.code == 1
    assert "another wikisync is running in" in ran.err
    assert names_in(workspace) == {".wikisync", ".wikisync/lock"}


async def test_workspace_made_meanwhile_is_not_taken_away(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    """Between the plan and the yes of a person anything may happen."""
    config = Config(ServiceSection(handbook.url), (SECTION,))
    late = Planned(
        workspace,
        Service(handbook.url, "", None),
        config,
        (),
        (),
        new_files(workspace, config),
    )
    await run(*words(handbook, workspace))
    before = names_in(workspace)
    with pytest.raises(FolderError, match="is already a workspace"):
        write_workspace(late)
    assert names_in(workspace) == before


async def test_service_without_word_of_the_token_is_no_obstacle(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    handbook.quirks = {Quirk.SILENT_TOKENS}
    ran = await run(*words(handbook, workspace))
    assert ran.code == 0, ran.err
    assert "the service does not report its scopes" in ran.err
