"""Cycles against a real database, a real S3 server and the embedded service.

A worker that dies or freezes at a step is one whose ``at`` raises or waits there;
``test_processes`` does the same to real processes.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import aiohttp
import obstore
import psycopg
import pytest
from msgspec.structs import replace

from tests.support.bucket_server import got
from tests.support.service import EmbeddedService, embedded_service
from wikisync.api.client import Client
from wikisync.api.projects import Projects
from wikisync.cli.main import main
from wikisync.core.model import WikiOwner
from wikisync.core.system.locks import locked_folder
from wikisync.fleet import worker as worker_module
from wikisync.fleet.cycle import Cycle
from wikisync.fleet.metrics import Meter, metrics_at
from wikisync.fleet.parts import BucketServer
from wikisync.fleet.rows import LostClaim, Rows, Settings, pool_for
from wikisync.fleet.runner import make_fleet
from wikisync.fleet.states import States
from wikisync.fleet.worker import FleetBudget, discover
from wikisync.site.bucket import RECORD, nothing_lost, open_bucket
from wikisync.workspace.discovery import Selection

PATH = "docs/handbook"
PICTURE = "uploads/0123456789abcdef0123456789abcdef/a.png"
Step = Callable[[str], Awaitable[None]]


class Died(BaseException):
    """The worker was killed."""


async def passes(_step: str) -> None:
    pass


def dies_at(step: str, after: int = 0) -> Step:
    left = [after]

    async def at(now: str) -> None:
        if now == step:
            left[0] -= 1
            if left[0] < 0:
                raise Died

    return at


class Fleet:
    """A fleet whose cycles a test runs one by one."""

    def __init__(
        self, service: EmbeddedService, rows: Rows, server: BucketServer, folder: Path
    ) -> None:
        self.service, self.rows, self.server = service, rows, server
        self.folder, self.name = folder, folder.name
        self.settings = Settings(
            service.url,
            Selection(is_all=True),
            f"s3://site/{self.name}",
            f"s3://state/{self.name}",
        )
        self.client = Client(service.url, service.token)
        self.count = 0

    async def write(self, text: str, slug: str = "guide", path: str = PATH) -> None:
        await self.service.add_pages(WikiOwner("project", path), {slug: text})
        await self.hint()

    async def hint(self) -> None:
        await self.rows.retry([one.path for one in await self.rows.shown()])

    async def discover(self) -> None:
        await self.rows._do("UPDATE fleet SET listed_at = '-infinity'")
        await discover(self.client, self.rows, self.settings)

    def worker(self, at: Step = passes, folder: str = "") -> Cycle:
        """A worker, of another machine unless a folder is named."""
        self.count += 1
        place = self.folder / (folder or f"worker{self.count}")
        return Cycle(self.rows, self.settings, self.client, place, nothing_lost, at)

    async def work(self, worker: Cycle | None = None) -> None:
        worker = worker or self.worker()
        for key in await self.rows.due():
            await worker.run(key)

    def site(self, path: str = PATH) -> str:
        return f"{self.name}/{path}/-/wikis"

    def page(self, slug: str = "guide", path: str = PATH) -> str | None:
        found = got(self.server, f"{self.site(path)}/{slug}.html")
        return found[0].decode() if found else None

    async def problem(self) -> str:
        return next(one.problem for one in await self.rows.shown() if one.path == PATH)

    async def audit(self, path: str = PATH) -> None:
        """See that the site is what its manifest says, and nothing else."""
        bucket = open_bucket(f"s3://site/{self.site(path)}")
        found = await bucket.read("-/manifest.json")
        assert found
        said = {one["path"]: one["sha256"] for one in json.loads(found[0])["files"]}
        paths = (await bucket.etags()).keys() - {RECORD, "-/manifest.json"}
        there = {}
        for one in paths:
            content = await bucket.read(one)
            assert content
            there[one] = hashlib.sha256(content[0]).hexdigest()
        assert there == said


@pytest.fixture
async def fleet(
    database: str, s3: BucketServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Fleet]:
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(embedded_service(tmp_path))
        rows = Rows(await stack.enter_async_context(pool_for(database)))
        pages = {"home": f"# Home\n\n![a]({PICTURE})", "guide": "Words of ONE."}
        await service.add_project(PATH, pages, visibility="public")
        await service.put_file(WikiOwner("project", PATH), PICTURE, b"a picture")
        fleet = Fleet(service, rows, s3, tmp_path)
        await stack.enter_async_context(fleet.client)
        await make_fleet(rows, fleet.settings)
        await fleet.discover()
        yield fleet


async def test_wiki_is_published_and_kept_up_to_date(fleet: Fleet) -> None:
    await fleet.work()
    assert "Words of ONE" in (fleet.page() or "")
    picture = got(fleet.server, f"{fleet.site()}/{PICTURE}")
    assert picture
    assert picture[0] == b"a picture"
    await fleet.write("Words of TWO.")
    await fleet.work()
    assert "Words of TWO" in (fleet.page() or "")
    await fleet.audit()


async def test_cycle_with_nothing_to_do_writes_nothing(fleet: Fleet) -> None:
    worker = fleet.worker(folder="one")
    await fleet.work(worker)
    before = await fleet.rows.shown(), await open_bucket(fleet.settings.state).etags()
    await fleet.hint()
    await fleet.work(worker)
    after = await fleet.rows.shown(), await open_bucket(fleet.settings.state).etags()
    assert after == before
    assert await fleet.rows.due() == []


async def test_only_what_had_activity_is_due(fleet: Fleet) -> None:
    await fleet.service.add_project("docs/other", {"home": "Words."})
    await fleet.discover()
    await fleet.work()
    await fleet.discover()
    assert await fleet.rows.due() == []
    await fleet.service.add_pages(WikiOwner("project", PATH), {"guide": "TWO"})
    await fleet.discover()
    assert len(await fleet.rows.due()) == 1


@pytest.mark.parametrize("step", ["restore", "upload", "put", "state", "row", "tidy"])
async def test_worker_that_dies_at_a_step_is_replaced(fleet: Fleet, step: str) -> None:
    await fleet.work(fleet.worker(folder="dead"))
    await fleet.write("Words of TWO.")
    after = 3 if step == "put" else 0
    with suppress(Died):
        await fleet.work(fleet.worker(dies_at(step, after), folder="dead"))
        pytest.fail(f"the worker never came to {step}")
    # what it had not done, another does, which knows nothing, or the same one
    await fleet.write("Words of THREE.")
    await fleet.work(fleet.worker(folder="dead" if step == "row" else ""))
    assert "Words of THREE" in (fleet.page() or "")
    await fleet.audit()
    assert await fleet.rows.due() == []


@pytest.mark.parametrize("step", ["pull", "check", "upload", "put 1", "put 4", "row"])
async def test_worker_that_froze_at_a_step_puts_no_old_byte_over_a_newer_one(
    fleet: Fleet, step: str
) -> None:
    await fleet.work()
    name, _, after = step.partition(" ")
    left, frozen, thaw = [int(after or 0)], asyncio.Event(), asyncio.Event()

    async def freezes(now: str) -> None:
        if now == name:
            left[0] -= 1
            if left[0] < 0:
                frozen.set()
                await thaw.wait()

    await fleet.write("Words of TWO.")
    async with asyncio.TaskGroup() as group:
        old = group.create_task(fleet.work(fleet.worker(freezes)))
        async with asyncio.timeout(60):
            await frozen.wait()
        await fleet.write("Words of THREE.")
        await fleet.work()
        assert "Words of THREE" in (fleet.page() or "")
        thaw.set()
        await old
    assert "Words of THREE" in (fleet.page() or "")
    await fleet.audit()
    assert await fleet.rows.due() == []
    assert await fleet.problem() == ""


async def test_worker_that_was_silent_ends_before_it_writes(fleet: Fleet) -> None:
    await fleet.work()
    await fleet.write("Words of TWO.")

    async def silent() -> None:
        raise LostClaim

    await fleet.work(replace(fleet.worker(), check=silent))
    assert "Words of ONE" in (fleet.page() or "")
    assert (await fleet.rows.counts()).due


async def test_bucket_that_refuses_is_a_failure_that_is_tried_again(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as context:
        context.setenv("AWS_SECRET_ACCESS_KEY", "another")
        await fleet.work()
    assert "cannot read" in await fleet.problem()
    assert await fleet.rows.due() == []
    await fleet.rows.retry([PATH])
    await fleet.work()
    assert "Words of ONE" in (fleet.page() or "")
    assert await fleet.problem() == ""


async def test_defect_met_at_a_wiki_is_noted(fleet: Fleet) -> None:
    async def fails(step: str) -> None:
        if step == "build":
            raise RuntimeError("no such kind")

    await fleet.work(fleet.worker(fails))
    assert await fleet.problem() == "RuntimeError: no such kind"
    await fleet.hint()
    await fleet.work()
    assert "Words of ONE" in (fleet.page() or "")


async def test_emptied_wiki_halts_until_a_person_approves(fleet: Fleet) -> None:
    owner = WikiOwner("project", PATH)
    names = [f"page{number}" for number in range(30)]
    await fleet.service.add_pages(owner, dict.fromkeys(names, "Words."))
    await fleet.work()
    for name in names:
        await fleet.service.remove_file(owner, f"{name}.md")
    await fleet.hint()
    await fleet.work()
    assert "are missing from the wiki" in await fleet.problem()
    assert fleet.page("page1")
    await fleet.discover()
    assert "project-1" not in await fleet.rows.due()
    await fleet.rows.approve([PATH])
    await fleet.work()
    assert fleet.page("page1") is None
    assert fleet.page()
    await fleet.audit()


async def test_wiki_that_is_not_public_has_no_site_without_a_protected_place(
    fleet: Fleet,
) -> None:
    await fleet.work()
    await fleet.service.add_project(PATH, visibility="private")
    await fleet.discover()
    await fleet.work()
    assert fleet.page() is None
    assert "it is not public" in await fleet.problem()
    fleet.settings = replace(
        fleet.settings, protected=f"s3://site/{fleet.name}/protected"
    )
    await fleet.hint()
    await fleet.work()
    assert got(fleet.server, f"{fleet.name}/protected/{PATH}/-/wikis/guide.html")


async def test_wiki_for_members_of_a_public_project_is_not_public(fleet: Fleet) -> None:
    await fleet.work()
    await fleet.service.add_project(
        PATH, visibility="public", wiki_access_level="private"
    )
    await fleet.discover()
    await fleet.work()
    assert fleet.page() is None
    assert "it is not public" in await fleet.problem()


async def test_wiki_that_was_made_private_after_it_was_listed_is_not_public(
    fleet: Fleet,
) -> None:
    await fleet.work()
    await fleet.service.add_project(PATH, visibility="private")
    await fleet.write("Words for members.")
    await fleet.work()
    assert fleet.page() is None
    assert await fleet.rows.due() == []


async def test_site_is_removed_though_another_path_ends_alike(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "WHOLE_S", 0.0)
    await fleet.service.add_group("handbook", {"home": "Words."}, visibility="public")
    await fleet.discover()
    await fleet.work()
    await fleet.service.add_project(PATH, visibility="private")
    await fleet.discover()
    await fleet.work()
    assert fleet.page() is None


async def test_wiki_that_is_excluded_takes_its_site_along(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "WHOLE_S", 0.0)
    await fleet.work()
    selection = Selection(is_all=True, excluded=(PATH,))
    fleet.settings = replace(fleet.settings, selection=selection)
    await fleet.discover()
    await fleet.work()
    assert fleet.page() is None


async def test_named_project_that_is_gone_keeps_no_other_waiting(fleet: Fleet) -> None:
    await fleet.service.add_project("docs/other", {"home": "Words."})
    selection = Selection(projects=(PATH, "docs/other"))
    fleet.settings = replace(fleet.settings, selection=selection)
    await fleet.discover()
    await fleet.work()
    await Projects(fleet.client).delete_project_permanently("docs/other")
    await fleet.service.add_pages(WikiOwner("project", PATH), {"guide": "TWO"})
    await fleet.discover()
    await fleet.work()
    assert "TWO" in (fleet.page() or "")
    assert "docs/other" not in [one.path for one in await fleet.rows.shown()]


async def test_project_that_is_gone_takes_its_site_along(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "WHOLE_S", 0.0)
    for number in range(8):
        await fleet.service.add_project(f"docs/{number}", visibility="public")
    await fleet.discover()
    await fleet.work()
    await Projects(fleet.client).delete_project_permanently(PATH)
    await fleet.discover()
    await fleet.work()
    assert PATH not in [one.path for one in await fleet.rows.shown()]
    assert fleet.page() is None


async def test_path_that_another_project_took_keeps_its_site(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "WHOLE_S", 0.0)
    await fleet.work()
    await Projects(fleet.client).edit_project(PATH, path="moved")
    await fleet.service.add_project(PATH, {"guide": "NEW"}, visibility="public")
    await fleet.discover()
    # the one that came is published before the one that went takes its site along
    for number in (2, 1):
        keys = [key for key in await fleet.rows.due() if key.startswith("project")]
        assert len(keys) == number
        await fleet.worker().run(max(keys))
    assert "NEW" in (fleet.page() or "")
    assert "Words of ONE" in (fleet.page(path="docs/moved") or "")
    await fleet.audit()


@pytest.mark.parametrize("first", [min, max])
@pytest.mark.parametrize("is_deleted", [False, True])
async def test_path_that_a_project_without_pages_took_has_no_site(
    fleet: Fleet,
    monkeypatch: pytest.MonkeyPatch,
    first: Callable[[list[str]], str],
    *,
    is_deleted: bool,
) -> None:
    monkeypatch.setattr(worker_module, "WHOLE_S", 0.0)
    await fleet.work()
    projects = Projects(fleet.client)
    await projects.edit_project(PATH, path="moved")
    await fleet.service.add_project(PATH, visibility="public")
    if is_deleted:
        await projects.delete_project_permanently("docs/moved")
    await fleet.discover()
    keys = [key for key in await fleet.rows.due() if key.startswith("project")]
    assert len(keys) == 2
    await fleet.worker().run(first(keys))
    await fleet.work()
    assert fleet.page() is None
    assert is_deleted or "Words of ONE" in (fleet.page(path="docs/moved") or "")


async def test_what_a_late_write_left_in_the_bucket_is_put_right(fleet: Fleet) -> None:
    await fleet.work()
    obstore.put(fleet.server.store("site", fleet.site()), "guide.html", b"old")
    await fleet.hint()
    await fleet.work()
    assert "Words of ONE" in (fleet.page() or "")
    await fleet.audit()


async def test_rows_of_yesterday_follow_the_newest_state(fleet: Fleet) -> None:
    await fleet.work()
    yesterday = await fleet.rows._one("SELECT generation, state, claim FROM fleet_wiki")
    assert yesterday
    for words in ("TWO", "THREE", "FOUR"):
        await fleet.write(words)
        await fleet.work()
    await fleet.rows._do(
        "UPDATE fleet_wiki SET generation = %s, state = %s, claim = %s",
        tuple(yesterday.values()),
    )
    await fleet.write("FIVE")
    await fleet.work()
    assert "FIVE" in (fleet.page() or "")
    assert await fleet.problem() == ""
    numbers = {one.path: one.generation for one in await fleet.rows.shown()}
    assert numbers[PATH] == 5


async def test_lost_state_is_read_anew(fleet: Fleet) -> None:
    await fleet.work()
    bucket = open_bucket(fleet.settings.state)
    for path, etag in (await bucket.etags()).items():
        await bucket.remove(path, etag)
    await fleet.write("TWO")
    await fleet.work()
    assert "TWO" in (fleet.page() or "")
    await fleet.audit()


async def test_another_machine_builds_what_did_not_change(fleet: Fleet) -> None:
    """The texts of earlier versions were left on the first."""
    await fleet.write("Words of TWO.")
    await fleet.write("Words of THREE.")
    await fleet.work()
    before = (await fleet.rows.shown())[-1]
    await fleet.hint()
    await fleet.work()
    assert await fleet.problem() == ""
    assert (await fleet.rows.shown())[-1] == before


async def test_two_states_of_a_wiki_stay(fleet: Fleet) -> None:
    for words in ("TWO", "THREE", "FOUR"):
        await fleet.write(words)
        await fleet.work()
    bucket = open_bucket(fleet.settings.state)
    paths = sorted(await bucket.etags("project-1"))
    paths = [path for path in paths if "/files/" not in path]
    assert [path.partition("/")[2].partition(".")[0] for path in paths] == ["2", "3"]


def test_states_are_ordered_by_number() -> None:
    states = States(Path(), open_bucket("s3://state"), "project-1")
    names = [f"project-1/{name}" for name in ("10.2", "9.30", "10.1", "files/00")]
    assert states._states(names) == ["9.30", "10.1", "10.2"]


async def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    """What a command of the fleet says."""
    assert await asyncio.to_thread(main, ["fleet", *words]) == code
    return capsys.readouterr().out


async def test_commands_show_and_steer_the_fleet(
    fleet: Fleet,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WIKISYNC_DATABASE", database)
    await fleet.work()
    counts = json.loads(await said(capsys, "status", "--json", "--all"))
    assert (counts["wikis"], counts["pages"], counts["due"]) == (2, 2, 0)
    assert fleet.site() in [
        one["place"].removeprefix("s3://site/") for one in counts["shown"]
    ]
    found = await said(capsys, "doctor")
    assert f"s3://site/{fleet.name} lets one of 8 create an object" in found
    assert f"s3://state/{fleet.name} refuses to remove an object" in found
    assert await said(capsys, "drain") == "workers end within some seconds\n"
    assert "the fleet is drained" in await said(capsys, "status")
    assert await said(capsys, "drain", "--end") == "workers may be started\n"
    assert await fleet.rows.claim("project-1") is None
    await fleet.hint()
    row = await fleet.rows.claim("project-1")
    assert row
    await fleet.rows.fail(row, "it is emptied", is_halted=True)
    assert "it is emptied" in await said(capsys, "status", code=4)
    assert await said(capsys, "retry", "docs/another") == "0 wikis to do\n"
    assert await said(capsys, "approve", PATH) == "1 wiki to do\n"
    assert "project-1" in await fleet.rows.due()


async def test_settings_may_be_changed(
    fleet: Fleet, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--database", database, "--site", "s3://site/", "--state")
    url = "https://gitlab.example.com"
    await said(capsys, "init", url, "--all", *words, "s3://state")
    assert (await fleet.rows.settings()).site == "s3://site"
    await said(capsys, "init", url, "--all", *words, "http://state", code=2)
    # readers of the sites would see the states, too
    await said(capsys, "init", url, "--all", *words, "s3://site/state", code=2)
    await said(capsys, "init", url, *words, "s3://state", code=2)


async def test_workers_share_the_requests_of_a_minute(fleet: Fleet) -> None:
    """Of 1,200 in a minute, 3 workers that ask for 2 s get 36, and those before it."""
    ends_at, made = time.monotonic() + 2, []

    async def ask(budget: FleetBudget) -> None:
        while time.monotonic() < ends_at:
            wait_s = await budget.take()
            if not wait_s:
                made.append(time.monotonic())
            await asyncio.sleep(wait_s)

    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(ask(FleetBudget(fleet.rows, 1200)))
    assert 1 < len(made) <= 48
    await fleet.rows._do("UPDATE fleet SET asked_at = '-infinity'")
    budget = FleetBudget(fleet.rows, 1200)
    budget.refused(0.05)
    await asyncio.sleep(0.06)
    assert not await budget.take(), "the pause is over"
    budget.refused(30)
    await budget.take()
    assert await FleetBudget(fleet.rows, 1200).take() > 20


async def test_requests_of_a_worker_are_taken_from_the_shared_ones(
    fleet: Fleet,
) -> None:
    await fleet.rows.pause(1)
    fleet.client.budget.shared = FleetBudget(fleet.rows, 6000)
    begun = time.monotonic()
    await fleet.client.version()
    assert time.monotonic() - begun > 0.5


async def test_metrics_say_what_the_fleet_does(fleet: Fleet) -> None:
    meter = Meter()
    await fleet.work(fleet.worker(meter.at))
    async with (
        metrics_at("127.0.0.1:0", fleet.rows, meter) as port,
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/metrics") as answer,
    ):
        shown = dict(line.rsplit(" ", 1) for line in (await answer.text()).splitlines())
    assert shown["wikisync_fleet_wikis"] == "2"
    assert float(shown["wikisync_fleet_oldest_due_seconds"]) == 0
    assert shown['wikisync_fleet_cycles_total{end="done"}'] == "2"
    assert float(shown['wikisync_fleet_step_seconds_total{step="build"}']) > 0


async def test_folder_has_one_worker(
    fleet: Fleet, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("run", "--database", database, "--folder", str(fleet.folder))
    with locked_folder(fleet.folder):
        await said(capsys, *words, code=2)


def test_database_that_is_away_is_one_error(capsys: pytest.CaptureFixture[str]) -> None:
    url = "postgresql://nobody@127.0.0.1:9/none"
    assert main(["fleet", "status", "--database", url]) == 1
    assert "error: cannot use the database: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "url", ["postgres:/me:secret@127.0.0.1/none", "postgresql://me:secret%@h/none"]
)
def test_url_that_cannot_be_read_is_not_repeated(
    capsys: pytest.CaptureFixture[str], url: str
) -> None:
    """It may hold a password."""
    assert main(["fleet", "status", "--database", url]) == 1
    said = capsys.readouterr().err
    assert "error: cannot use the database: its URL is wrong\n" in said
    assert "secret" not in said


async def test_service_and_wikis_are_kept_without_what_addresses_have_more(
    fleet: Fleet, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url = fleet.service.url
    words = ["--all", "--exclude", f"{url}/docs/other/-/wikis/home"]
    words += ["--site", "s3://site", "--state", "s3://state", "--database", database]
    await said(capsys, "init", f"{url}/api/v4", *words)
    settings = await fleet.rows.settings()
    assert settings.service == url
    assert settings.selection.excluded == ("docs/other",)
    named = url.replace("//", "//me:secret@")
    assert await asyncio.to_thread(main, ["fleet", "init", named, *words]) == 2
    assert "secret" not in capsys.readouterr().err
    assert (await fleet.rows.settings()).service == url


def test_absent_extra_is_one_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "procrastinate", None)
    assert main(["fleet", "status", "--database", "postgresql://x"]) == 2
    assert "hint: install wikisync with its extra fleet\n" in capsys.readouterr().err


def test_tables_of_another_version_are_refused(database: str) -> None:
    assert main(["fleet", "status", "--database", database]) == 2
    with psycopg.connect(database) as connection:
        connection.execute("CREATE TABLE fleet (version integer, settings jsonb)")
        connection.execute("INSERT INTO fleet VALUES (99, '{}')")
    assert main(["fleet", "status", "--database", database]) == 2
