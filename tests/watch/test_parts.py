"""What hangs on a watch, each by itself: its log, its calls, its report."""

import asyncio
import json
import logging
import resource
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.api.faketime import budget_at
from wikisync.api.budget import Area, shown_time
from wikisync.cli.console import Console
from wikisync.cli.main import main
from wikisync.config.sections import WikiSection
from wikisync.core.layout import HEALTH_FILE
from wikisync.errors import FolderError, Halted, Unavailable, UsageError, WikisyncError
from wikisync.folder.workspace import locked
from wikisync.watch.process import (
    DESCRIPTORS,
    LOG_FILES_KEPT,
    allow_descriptors,
    logging_to,
)
from wikisync.watch.report import (
    WatchReport,
    health_lines,
    health_of_watch,
    metrics,
    read_health,
    status_line,
)
from wikisync.watch.run import QUIET_S, TO_REPLACE, Caller, PublishedSite
from wikisync.workspace.attention import ATTENTION_FILE
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.failures import Condition
from wikisync.workspace.opening import Synced
from wikisync.workspace.runner import CYCLE, Outage, WikiRun
from wikisync.workspace.service import Credentials
from wikisync.workspace.status import notes_of_watch

SECTION = WikiSection("project", "docs/handbook", "handbook")
AWAY = Unavailable("no answer", hint="wait")
log = logging.getLogger("wikisync.cli.test")

# -- the log -----------------------------------------------------------------------


def test_log_as_text_bears_time_level_and_cycle(tmp_path: Path) -> None:
    with logging_to(tmp_path, "text") as path:
        CYCLE.set("docs#3")
        log.info("pushed %s", "home\nforged line")
        CYCLE.set("")
    (line,) = path.read_text().splitlines()
    assert line.endswith("INFO [docs#3] pushed home␊forged line")


def test_log_does_nothing_to_a_terminal_that_shows_it(tmp_path: Path) -> None:
    """Names come from anybody, in messages and in the errors of a traceback."""
    with logging_to(tmp_path, "text") as path:
        log.error("failed: %s", "\x1b]0;title\x07", exc_info=OSError("\x1b[2J"))
    text = path.read_text()
    assert "\x1b" not in text
    assert "failed: ␛]0;title␇" in text
    assert "OSError: ␛[2J" in text


def test_log_as_json_is_an_object_a_line(tmp_path: Path) -> None:
    with logging_to(tmp_path, "json") as path:
        try:
            int("ours")
        except ValueError:
            log.exception("a cycle failed")
    (line,) = path.read_text().splitlines()
    said = json.loads(line)
    assert said["level"] == "error"
    assert said["message"] == "a cycle failed"
    assert "ValueError: invalid" in said["traceback"]


def test_log_never_takes_more_than_its_share_of_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wikisync.watch.process.LOG_BYTES_MAX", 2000)
    with logging_to(tmp_path, "text"):
        for number in range(1000):
            log.info("line %d", number)
    files = sorted(tmp_path.iterdir())
    assert len(files) == LOG_FILES_KEPT + 1
    assert all(path.stat().st_size <= 2000 for path in files)
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_log_is_let_go_of(tmp_path: Path) -> None:
    logger = logging.getLogger("wikisync")
    before = logger.level, len(logger.handlers)
    with logging_to(tmp_path, "text"):
        assert len(logger.handlers) == before[1] + 1
    assert (logger.level, len(logger.handlers)) == before


def test_log_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(FolderError, match="something else has this name") as caught,
        logging_to(tmp_path / "file", "text"),
    ):
        pass
    assert caught.value.hint == "move it away"


# -- calling a person --------------------------------------------------------------


def caller(tmp_path: Path, script: str) -> Caller:
    return Caller(("sh", "-c", script), tmp_path)


async def test_person_is_called_once_for_each_change(tmp_path: Path) -> None:
    calls = caller(tmp_path, 'cat >> told; echo "$WIKISYNC_ATTENTION" >> told')
    for text in ("one\n", "one\n", "two\n", "", "two\n"):
        await calls.call(text)
    told = (tmp_path / "told").read_text().splitlines()
    assert told == [
        line
        for one in ("one", "two", "two")
        for line in (one, str(tmp_path / ATTENTION_FILE))
    ]


async def test_command_that_hangs_is_ended_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wikisync.watch.run.CALL_S_MAX", 0.2)
    calls = caller(tmp_path, "sleep 60 & sleep 60")
    async with asyncio.timeout(5):
        await calls.call("one\n")


@pytest.mark.parametrize("script", ["exit 7", "exec <&-; exit 0"])
async def test_command_that_fails_is_no_trouble(
    tmp_path: Path, script: str, caplog: pytest.LogCaptureFixture
) -> None:
    await caller(tmp_path, script).call("x" * 200_000)
    assert all("Traceback" not in record.message for record in caplog.records)


async def test_command_that_does_not_exist_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    calls = Caller(("/no/such/command",), tmp_path)
    await calls.call("one\n")
    assert "cannot be started" in caplog.text


# -- the secret of webhooks --------------------------------------------------------


def secret_of(file: Path | str, **environment: str) -> str:
    return Credentials(Console(), env=environment).hook_secret(str(file), "the setting")


def test_secret_of_the_variable_goes_before_the_file(tmp_path: Path) -> None:
    place = tmp_path / "secret"
    place.write_text("of the file\n")
    assert secret_of(place) == "of the file"
    assert secret_of(place, WIKISYNC_HOOK_SECRET="v") == "v"
    assert secret_of("") == ""
    place.write_bytes("saved on Windows\r\n".encode("utf-16"))
    assert secret_of(place) == "saved on Windows"


@pytest.mark.parametrize(("mode", "count"), [(0o600, 0), (0o640, 1), (0o604, 1)])
def test_file_of_the_secret_that_is_open_to_others_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: int, count: int
) -> None:
    place = tmp_path / "the secret"
    place.write_text("s3cret\n")
    place.chmod(mode)
    assert secret_of(place) == "s3cret"
    told = capsys.readouterr().err
    assert told.count(f"others can read the file {place} of the setting") == count
    assert told.count(f"chmod 600 '{place}'") == count
    assert "s3cret" not in told


def test_secret_that_cannot_be_had_is_an_error_of_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        secret_of(tmp_path / "none")
    (tmp_path / "empty").touch()
    with pytest.raises(UsageError, match="is empty"):
        secret_of(tmp_path / "empty")
    with pytest.raises(UsageError, match=r"~nobody-here/secret .* cannot be read"):
        secret_of("~nobody-here/secret")
    # the rest of it would be cut off, and every webhook be refused
    (tmp_path / "long").write_text("x" * 5000)
    with pytest.raises(UsageError, match="must be plain text") as caught:
        secret_of(tmp_path / "long")
    assert "up to 4096" in (caught.value.hint or "")


# -- the report -------------------------------------------------


def run_of(name: str, condition: Condition, **values: Any) -> WikiRun:
    values["failures"] = int("failure" in values)
    return WikiRun(name, cast("Any", None), condition, **values)


def report_of(*runs: WikiRun, outage: Outage | None = None) -> WatchReport:
    runner = SimpleNamespace(
        wikis={one.name: one for one in runs},
        outage=outage,
        clock=lambda: 100.0,
        condition_of=lambda one: one.condition,
    )
    wikis: list[Any] = [
        SimpleNamespace(name=one.name, synced=Synced(SECTION)) for one in runs
    ]
    budget = budget_at(lambda: 100.0, wall=lambda: 5000.0)
    budget.note_refusal(Area("git"), 3600.0, 0.0)
    return WatchReport(cast("Any", runner), wikis, budget)


def report(
    condition: Condition, outage: Outage | None = None, **values: Any
) -> WatchReport:
    return report_of(run_of("handbook", condition, **values), outage=outage)


def test_one_lost_wiki_of_two_is_named_and_is_no_reason_to_start_anew() -> None:
    gone = WikisyncError("project docs/gone does not exist or is hidden")
    lost = run_of("gone", Condition.FAILING, failure=gone, problem=gone.message)
    found = report_of(lost, run_of("handbook", Condition.IN_SYNC))
    assert found.health()["is_healthy"]
    assert health_lines(found.health()) == [
        "failing",
        "gone: failing: project docs/gone does not exist or is hidden",
    ]
    assert not report_of(lost).health()["is_healthy"]
    assert not report_of(lost, run_of("rest", Condition.PAUSED)).health()["is_healthy"]
    assert report_of(run_of("rest", Condition.PAUSED)).health()["is_healthy"]


@pytest.mark.parametrize(
    ("condition", "is_healthy"),
    [
        (Condition.IN_SYNC, True),
        (Condition.NEEDS_PERSON, True),
        (Condition.PAUSED, True),
        (Condition.STARTING, True),
        (Condition.SYNCING, True),
        (Condition.FAILING, False),
        (Condition.REFUSED, False),
        (Condition.PARTLY, True),
    ],
)
def test_health_is_that_pages_are_carried_over(
    condition: Condition, *, is_healthy: bool
) -> None:
    assert report(condition).health()["is_healthy"] is is_healthy


def test_halted_wiki_is_no_health_but_while_it_is_paused() -> None:
    """It needs a person, as a held page does, but carries nothing."""
    halted = Halted("the folder is empty")
    assert not report(Condition.NEEDS_PERSON, failure=halted).health()["is_healthy"]
    assert report(Condition.PAUSED, failure=halted).health()["is_healthy"]


def test_service_that_is_away_is_no_health_and_is_told_with_its_reason() -> None:
    outage = Outage(AWAY, Condition.OFFLINE, 90, 95, 102, 3)
    found = report(Condition.OFFLINE, outage)
    assert not found.health()["is_healthy"]
    service = cast("Mapping[str, object]", found.health()["service"])
    assert service["problem"] == "no answer"
    assert status_line(found.health()) == "1 wiki: offline"
    before = report(Condition.OFFLINE, outage, problem="page x is not UTF-8")
    assert health_lines(before.health()) == ["offline", "no answer"]
    assert found.health()["condition"] == "offline"


def test_what_waits_and_until_when_is_in_the_health() -> None:
    found = report(Condition.LIMITED, not_before=160.0)
    now = time.time()
    health = cast("Any", found.health())
    (wait,) = health["waits"]
    assert (wait["what"], wait["until"]) == ("git", 8600.0)
    assert now + 899 < wait["next_try_at"] < now + 910
    assert now + 59 < health["wikis"][0]["next_try_at"] < now + 70
    assert status_line(found.health()) == "1 wiki: limited"


def test_status_tells_what_a_watch_waits_for() -> None:
    outage = Outage(AWAY, Condition.OFFLINE, 90, 95, 700, 3)
    now = time.time()
    health = report(Condition.OFFLINE, outage).health()
    first, second = notes_of_watch(health, now)
    assert first.startswith("the service accepts no git until 1970-01-01")
    assert f"next try at {shown_time(now + 900)}" in first
    assert second.startswith("the service is offline (no answer); next try at ")
    assert notes_of_watch(health, now + 3600) == []
    assert notes_of_watch({}, now) == []


def test_health_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    assert read_health(tmp_path) == {}
    (tmp_path / HEALTH_FILE).write_text("[1")
    assert read_health(tmp_path) == {}


def test_names_in_metrics_cannot_break_their_line() -> None:
    found = report_of(run_of('a"b\nc\\', Condition.IN_SYNC, cycles=3))
    assert 'wikisync_cycles_total{wiki="a\\"b\\nc\\\\"} 3\n' in metrics(found.health())


def test_a_preview_alone_reads_what_a_watch_beside_it_wrote(tmp_path: Path) -> None:
    private = tmp_path / ".wikisync"
    health = report(Condition.IN_SYNC).health()
    with locked(private, "watch", is_watch=True):
        (private / HEALTH_FILE).write_text(json.dumps(health))
        assert health_of_watch(private) == health
    with locked(private, "sync"):
        assert health_of_watch(private) == {}
    assert health_of_watch(private) == {}


# -- the published site --------------------------------------------------------------


async def test_published_site_loses_no_wiki_that_the_workspace_names_no_longer(
    tmp_path: Path,
) -> None:
    """It says which command removes it, and the last good site is kept."""
    service = '[service]\nurl = "https://gitlab.example.com"\n'
    wikis = [f'[[wiki]]\nproject = "docs/{name}"\n' for name in ("one", "two")]
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "home.md").write_text(f"# {name}\n")
    config = tmp_path / "wikisync.toml"
    config.write_text(service + "".join(wikis))
    assert await asyncio.to_thread(main, ["build", str(tmp_path), "--publish"]) == 0
    config.write_text(service + wikis[0])
    told: asyncio.Queue[str] = asyncio.Queue()
    site = PublishedSite(find_workspace(tmp_path), told.put_nowait)
    site.change()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        running = group.create_task(site.run())
        problem = await told.get()
        running.cancel()
    assert "would remove the wiki of project docs/two (1 page) from the site" in problem
    assert problem.endswith(TO_REPLACE)
    assert (tmp_path / "site/docs/two/-/wikis/index.html").exists()


async def test_published_site_rests_as_long_as_its_last_build_took(
    tmp_path: Path,
) -> None:
    """Constant edits of a large wiki would keep one core busy for good."""
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "home.md").write_text("# One\n")
    (tmp_path / "wikisync.toml").write_text(
        '[service]\nurl = "https://gitlab.example.com"\n'
        '[[wiki]]\nproject = "docs/one"\n'
    )
    rests: list[float] = []
    # a build from 100 to 160 s by the clock; 10 s later the next one could begin
    times = iter((0.0, 100.0, 160.0, 170.0))

    def clock() -> float:
        site.change()
        return next(times)

    async def sleep(seconds: float) -> None:
        rests.append(seconds)
        if len(rests) == 2:
            raise EnoughSeen

    workspace = find_workspace(tmp_path)
    site = PublishedSite(workspace, lambda _: None, clock=clock, sleep=sleep)
    site.change()
    with pytest.raises(EnoughSeen):
        await site.run()
    assert rests == [QUIET_S, 50.0]


class EnoughSeen(Exception):
    """Ends what runs until it is cancelled."""


def test_a_low_limit_on_open_files_is_raised_as_far_as_the_system_allows() -> None:
    limit = resource.RLIMIT_NOFILE
    soft, hard = resource.getrlimit(limit)
    resource.setrlimit(limit, (256, hard))
    try:
        allow_descriptors()
        raised, now_hard = resource.getrlimit(limit)
    finally:
        resource.setrlimit(limit, (soft, hard))
    allowed = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    assert (raised, now_hard) == (allowed, hard)
