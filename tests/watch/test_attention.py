"""What of a watch needs a person: in the file, told to their command once, and gone."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.api.faketime import budget_at
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService, embedded_service
from tests.support.waiting import until
from tests.support.watching import OWNER, WAIT_S, WatchProcess, make_workspace, watching
from wikisync.api.budget import Area, shown_time
from wikisync.api.client import Client
from wikisync.cli.console import Console
from wikisync.config.sections import WikiSection
from wikisync.errors import Halted, StateDamaged, Unavailable, WikisyncError
from wikisync.watch import report
from wikisync.watch.report import seen, service_sentence
from wikisync.watch.run import Watch
from wikisync.watch.systemd import Notifier
from wikisync.workspace.attention import ATTENTION_FILE
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.failures import LASTING_S, Condition
from wikisync.workspace.opening import Synced, open_workspace
from wikisync.workspace.runner import Outage, WikiRun

SECTION = WikiSection("project", "docs/handbook", "handbook")
QUICK = "poll_interval_s = 1\n"


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[EmbeddedService]:
    async with embedded_service(tmp_path) as running:
        await running.add_project(OWNER.full_path, {"home": "one\n"})
        yield running


def calling(tmp_path: Path) -> tuple[Path, str]:
    """A file that the attention command adds to, and the configuration for it."""
    told = tmp_path / "told"
    return told, f'[sync]\nattention_command = ["sh", "-c", "cat >> {told}"]\n{QUICK}'


def calls(told: Path) -> int:
    return told.read_text().count("wikisync needs you") if told.exists() else 0


def waits(watch: WatchProcess, words: str) -> Callable[[], bool]:
    """Whether the file says so."""
    path = watch.root / ATTENTION_FILE
    return lambda: path.exists() and words in path.read_text()


def is_well(watch: WatchProcess) -> Callable[[], bool]:
    return lambda: not (watch.root / ATTENTION_FILE).exists()


# -- as a process ------------------------------------------------------------------


@pytest.mark.slow
async def test_token_revoked_in_the_middle_calls_a_person_until_a_new_one_is_there(
    service: EmbeddedService, tmp_path: Path
) -> None:
    told, more = calling(tmp_path)
    token = await service.add_user("ann", is_admin=True)
    place = tmp_path / "token"
    place.write_text(token)
    place.chmod(0o600)
    words = ("--token-file", str(place))
    async with watching(service, tmp_path / "ws", *words, more=more) as watch:
        await watch.in_sync()
        await service.revoke(token)
        watch.save("home", "two\n")
        await watch.until(
            waits(
                watch, "- the service: it rejects the token, so saves wait; create a "
            )
        )
        await watch.until(lambda: calls(told) == 1)
        assert watch.health["attention"][0].startswith("the service: it rejects")
        # another token that was revoked is looked at, but is nothing new
        other = await service.add_user("eve", is_admin=True)
        await service.revoke(other)
        place.write_text(other)
        await watch.said("refused:", times=2)
        place.write_text(await service.add_user("ben", is_admin=True))
        await watch.said("1 pushed")
        await watch.until(is_well(watch))
        assert watch.health["attention"] == []
        assert calls(told) == 1


@pytest.mark.slow
async def test_wiki_that_is_gone_calls_a_person(
    service: EmbeddedService, tmp_path: Path
) -> None:
    told, more = calling(tmp_path)
    more = f'[[wiki]]\nproject = "docs/gone"\n{more}'
    async with watching(service, tmp_path / "ws", more=more) as watch:
        await watch.until(waits(watch, "- gone: "))
        await watch.said("handbook: in sync")
        await watch.until(lambda: watch.health["is_healthy"])
        assert (
            "does not exist or is hidden" in (watch.root / ATTENTION_FILE).read_text()
        )
        await service.add_project("docs/gone", {"home": "here\n"})
        (watch.root / ".wikisync" / "ask").touch()
        await watch.until(is_well(watch))
        assert calls(told) == 1


@pytest.mark.slow
async def test_workspace_whose_marker_went_calls_a_person_also_at_the_next_start(
    service: EmbeddedService, tmp_path: Path
) -> None:
    told, more = calling(tmp_path)
    async with watching(service, tmp_path / "ws", more=more) as watch:
        await watch.in_sync()
        marker = watch.root / ".wikisync" / "folder-id"
        marker.rename(tmp_path / "away")
        watch.save("home", "two\n")
        await watch.until(waits(watch, "folder-id is missing; nothing was changed"))
        assert not watch.health["is_healthy"]
        (tmp_path / "away").rename(marker)
        (watch.root / ".wikisync" / "ask").touch()
        await watch.until(is_well(watch))
        await watch.until(lambda: watch.health["is_healthy"])
        assert calls(told) == 1
    marker.unlink()
    async with watching(service, tmp_path / "ws", more=more) as watch:
        assert await watch.ended() == 4
        assert waits(watch, "- the workspace: ")()


@pytest.mark.slow
async def test_page_that_is_refused_calls_a_person_once_also_by_the_next_watch(
    service: EmbeddedService, tmp_path: Path
) -> None:
    """First it is a problem, then the page is held: in the same words.

    It is sent again when a person asks, as after a project that was archived.
    """
    told, more = calling(tmp_path)
    service.quirks = {Quirk.SMALL_LIMITS}
    for_once = watching(service, tmp_path / "ws", "--adopt", "push", more=more)
    async with for_once as watch:
        await watch.in_sync()
        watch.save("large", "x" * 70_000)
        await watch.until(waits(watch, "- handbook/large: the service rejected it"))
        await watch.until(lambda: watch.health["wikis"][0]["held"] == 1)
        await watch.until(lambda: calls(told) == 1)
    assert sum("needs a person" in line for line in watch.lines) == 1
    async with watching(service, tmp_path / "ws", more=more) as watch:
        await watch.said("needs a person")
        service.quirks = set()
        (watch.root / ".wikisync" / "ask").touch()
        await watch.until(is_well(watch))
        assert await watch.wiki_text("large") == "x" * 70_000
    assert calls(told) == 1


@pytest.mark.slow
async def test_attention_file_that_cannot_be_written_keeps_nothing_else_back(
    service: EmbeddedService, tmp_path: Path
) -> None:
    told, more = calling(tmp_path)
    (tmp_path / "ws" / ATTENTION_FILE).mkdir(parents=True)
    async with watching(service, tmp_path / "ws", more=more) as watch:
        await watch.in_sync()
        (watch.folder / "odd.md").write_bytes(b"\xff\n")
        await watch.said("needs a person: odd.md: is not UTF-8 at byte 0")
        await watch.until(lambda: calls(told) == 1)
        assert watch.health["condition"] == "needs a person"
        assert "odd.md: is not UTF-8" in watch.health["attention"][0]
        watch.save("home", "two\n")
        await watch.said("1 pushed")
        (watch.folder / "odder.md").write_bytes(b"\xff\n")
        await watch.until(lambda: calls(told) == 2)
        words = "is not a file that wikisync wrote; move the file"
        assert watch.log.count(words) == 1
        assert sum(words in line for line in watch.lines) == 1


# -- by itself ---------------------------------------------------------------------


def fared(
    failure: WikisyncError | None = None,
    outage: Outage | None = None,
    *,
    since: float = 0.0,
    condition: Condition = Condition.FAILING,
) -> Any:
    """A runner of one wiki, one second after something had lasted long."""
    run = WikiRun(
        "handbook",
        cast("Any", None),
        condition,
        failure=failure,
        failing_since=since,
        failures=1,
    )
    return SimpleNamespace(
        wikis={"handbook": run}, outage=outage, clock=lambda: LASTING_S + 1
    )


def failure_of(runner: Any) -> WikisyncError | None:
    wiki = SimpleNamespace(name="handbook", synced=Synced(SECTION))
    (synced,) = seen(runner, [cast("Any", wiki)])
    return synced.failure


def away(since: float, condition: Condition = Condition.OFFLINE) -> Outage:
    error = Unavailable("no answer", hint="wait")
    return Outage(error, condition, since, since, since, 1)


def test_service_that_is_away_calls_a_person_after_hours_alone() -> None:
    assert service_sentence(fared(outage=away(2))) == ""
    assert service_sentence(fared(outage=away(0))) == (
        "the service: unreachable for more than 4 hours; saves wait;"
        " run: wikisync doctor"
    )


@pytest.mark.parametrize("outage", [None, away(9e9, Condition.LIMITED)])
def test_limit_of_hours_calls_a_person_at_once_and_in_the_same_words(
    outage: Outage | None,
) -> None:
    """Each try is told to wait for another day."""
    now = 0.0
    budget = budget_at(lambda: now, wall=lambda: 1_700_000_000.0 + now)
    area = Area("changes", "project docs/handbook")
    budget.note_refusal(area, 100_000.0, 0.0)
    first = service_sentence(fared(outage=outage), budget.waits())
    now = 900.0
    budget.note_refusal(area, 100_000.0, 0.0)

    assert service_sentence(fared(outage=outage), budget.waits()) == first
    until = shown_time(1_700_100_000.0)
    assert first.startswith(
        f"the service: it accepts no changes of project docs/handbook until {until};"
        " requests wait, and one is tried at least every 15 minutes"
    )


def test_limit_of_minutes_calls_nobody() -> None:
    budget = budget_at(lambda: 0.0)
    budget.note_refusal(Area("git"), 600.0, 0.0)

    assert service_sentence(fared(), budget.waits()) == ""


def test_refused_token_calls_a_person_at_once() -> None:
    outage = away(LASTING_S, Condition.REFUSED)
    sentence = service_sentence(fared(outage=outage))
    assert sentence == "the service: it rejects the token, so saves wait; wait"


@pytest.mark.parametrize("error", [Unavailable("no answer"), StateDamaged("damaged")])
def test_trouble_of_one_wiki_that_should_pass_calls_a_person_after_hours_alone(
    error: WikisyncError,
) -> None:
    assert failure_of(fared(error, since=2)) is None
    lasting = failure_of(fared(error))
    assert lasting is not None
    assert lasting.message == f"{error.message}, for more than 4 hours"


def test_trouble_of_one_wiki_that_does_not_pass_calls_a_person_at_once() -> None:
    error = Halted("the folder is empty")
    assert failure_of(fared(error, since=LASTING_S)) is error


def test_service_that_is_away_is_not_told_of_each_wiki() -> None:
    assert failure_of(fared(Unavailable("no answer"), away(0))) is None


def test_paused_wiki_calls_nobody() -> None:
    wiki = SimpleNamespace(name="handbook", synced=Synced(SECTION))
    runner = fared(condition=Condition.PAUSED)
    assert seen(runner, [cast("Any", wiki)])[0].paused is not None


@asynccontextmanager
async def watch_without_service(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Watch]:
    """A watch that runs until the end; it tries its service once."""
    # not one more try, whose end would be told
    monkeypatch.setattr("wikisync.workspace.failures.BACK_OFF_MIN_S", 300.0)
    nobody = "http://127.0.0.1:9"
    workspace = find_workspace(make_workspace(root, nobody))
    with open_workspace(workspace) as opened:
        async with Client(nobody, "glpat-EXAMPLE") as client:
            watch = Watch(Console(quiet=True), opened, client, Notifier({}))
            async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
                running = group.create_task(watch.run())
                yield watch
                running.cancel()


async def test_person_is_called_in_time_though_nothing_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "LASTING_S", 0.3)
    monkeypatch.setattr("wikisync.watch.run.SHOW_AGAIN_S", 0.1)
    async with watch_without_service(tmp_path, monkeypatch):
        await until((tmp_path / ATTENTION_FILE).exists)
    assert "unreachable" in (tmp_path / ATTENTION_FILE).read_text()
