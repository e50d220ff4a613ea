"""The commands of a fleet, what workers share, and what they tell."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
import pytest
from msgspec.structs import replace

from tests.support.fleet import PATH, Fleet, counted, is_waited_for
from tests.support.waiting import until
from wikisync.cli.main import main
from wikisync.core.system.locks import locked_folder
from wikisync.errors import SiteError, UsageError
from wikisync.fleet import rows as rows_module
from wikisync.fleet.parts import DatabaseServer
from wikisync.fleet.rows import POOL_MAX, Row, Rows
from wikisync.fleet.settings import OWNER, PlaceTaken, Settings, own
from wikisync.fleet.worker import FleetBudget, Meter, worker_app
from wikisync.site.bucket import Bucket, open_bucket
from wikisync.watch.listen import BODY_BYTES_MAX, TOKEN_HEADER, listening
from wikisync.workspace.discovery import Selection


async def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    """What a command of the fleet says."""
    assert await asyncio.to_thread(main, ["fleet", *words]) == code
    return capsys.readouterr().out


async def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Why a command of the fleet does nothing."""
    assert await asyncio.to_thread(main, ["fleet", *words]) == 2
    return capsys.readouterr().err


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
    assert f"s3://site/{fleet.name} lets 1 of 8 writers create an object" in found
    assert f"s3://state/{fleet.name} refuses to remove an object" in found
    assert await said(capsys, "drain") == "workers end within some seconds\n"
    for name in ("alive", "dead"):
        await fleet.rows.join(name, 30)
    silent = "UPDATE fleet_worker SET seen_at = now() - interval '31 s' WHERE name = %s"
    await fleet.rows._do(silent, ("dead",))
    lines = (await said(capsys, "status")).splitlines()
    assert [one.startswith("worker") for one in lines] == [False, True, True, False]
    assert ["are free for" in one for one in lines] == [False, False, True, False]
    assert "the fleet is drained" in lines[-1]
    assert await said(capsys, "drain", "--end") == "workers may be started\n"
    assert "no worker" not in await said(capsys, "status")
    await fleet.rows._do(silent, ("alive",))
    assert (await said(capsys, "status")).endswith(
        "no worker runs: start one with wikisync fleet run\n"
    )
    assert await fleet.claim("project-1") is None
    await fleet.hint()
    row = await fleet.claim("project-1")
    assert row
    await fleet.rows.fail(row, "it is emptied", is_halted=True)
    assert "it is emptied" in await said(capsys, "status", code=4)
    assert await asyncio.to_thread(main, ["fleet", "retry", "docs/another"]) == 2
    assert "no wiki to retry at docs/another\n" in capsys.readouterr().err
    assert await said(capsys, "approve", PATH) == "1 wiki to do\n"
    assert "project-1" in await fleet.due()


async def test_wikis_that_are_not_public_are_a_number(
    fleet: Fleet, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Most of an instance are not, and would hide the ones with problems."""
    for name in ("one", "two"):
        await fleet.service.add_project(f"docs/{name}", {"home": "Words."})
    await fleet.follow()
    shown = await said(capsys, "status", "--database", database)
    assert "\n2 wikis without a site: not public (wikisync fleet init" in shown
    assert "docs/one" not in shown
    words = ("--database", database, "--all")
    assert "docs/one" in await said(capsys, "status", *words)


async def test_settings_may_be_changed(
    fleet: Fleet, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    site, state = f"{fleet.settings.site}-new", f"{fleet.settings.state}-new"
    words = ("--database", database, "--site", f"{site}/", "--state")
    url = "https://gitlab.example.com"
    await said(capsys, "init", url, "--all", *words, state)
    assert (await fleet.rows.settings()).site == site
    await said(capsys, "init", url, "--all", *words, "http://state", code=2)
    # readers of the sites would see the states, too
    await said(capsys, "init", url, "--all", *words, f"{site}/state", code=2)
    await said(capsys, "init", url, *words, state, code=2)


async def test_workers_do_not_wait_while_places_are_asked_for(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed: list[Row | None] = []
    read = Bucket.read

    async def asks(bucket: Bucket, path: str) -> tuple[bytes, str] | None:
        if not claimed:
            claimed.append(await fleet.rows.claim("one"))
            assert not await fleet.rows.take_requests(1)
        return await read(bucket, path)

    monkeypatch.setattr(Bucket, "read", asks)
    async with asyncio.timeout(60):
        await fleet.rows.make(fleet.settings)
    assert claimed[0]


async def test_two_that_make_a_fleet_at_once_make_one(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    async with Rows(database) as rows, asyncio.TaskGroup() as group:

        async def owns(settings: Settings, *, takes_over: bool) -> None:
            assert not takes_over
            seen.append(settings.fleet)
            if len(seen) == 1:
                await until(lambda: is_waited_for(rows))

        monkeypatch.setattr(rows_module, "own", owns)
        for name in ("one", "two"):
            settings = Settings("", Selection(), "s3://a", "s3://b", fleet=name)
            group.create_task(rows.make(settings))
    assert seen in (["one", "one"], ["two", "two"])


async def test_place_belongs_to_one_fleet(
    fleet: Fleet, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another fleet is refused, and ends this one if it takes the place over.

    The place that is taken is the last one that is looked at.
    """
    url, site = "https://gitlab.example.com", f"s3://site/{fleet.name}"
    words = [url, "--all", "--database", database]
    words += ["--state", fleet.settings.state, "--site"]
    other = f"s3://site/{fleet.name}-other"
    await fleet.rows._do("DELETE FROM fleet")
    refused = await refusal(capsys, "init", *words, other)
    assert (
        f"{fleet.settings.state} belongs to fleet one of {fleet.service.url}, not to"
        in refused
    )
    assert f"of {url}" in refused
    with pytest.raises(UsageError):
        await fleet.rows.settings()
    assert await open_bucket(other).read(OWNER) is None
    await said(capsys, "init", *words, other, "--take-over")
    now = await fleet.rows.settings()
    await said(capsys, "init", *words, site, "--take-over")
    assert (await fleet.rows.settings()).fleet == now.fleet
    await fleet.discover()
    assert (await fleet.rows.counts()).is_draining
    await said(capsys, "init", *words, site, "--take-over")
    assert not (await fleet.rows.counts()).is_draining


@pytest.mark.parametrize(
    ("first", "second"), [("in", "in/a/place"), ("over/a/place", "over")]
)
async def test_places_of_two_fleets_do_not_lie_in_each_other(
    places: Settings, first: str, second: str
) -> None:
    one, two = (
        replace(
            places,
            site=f"{places.site}-{site}",
            state=f"{places.state}-{number}",
            fleet=number,
        )
        for number, site in (("1", first), ("2", second))
    )
    await own(one)
    for takes_over in (False, True):
        with pytest.raises(PlaceTaken, match=f"^{one.site} belongs to") as refused:
            await own(two, takes_over=takes_over)
    assert f"remove {one.site}/{OWNER}" in (refused.value.hint or "")
    assert await open_bucket(two.site).read(OWNER) is None
    await own(replace(two, fleet="1"))


async def test_strange_name_of_an_owner_is_one_short_line(places: Settings) -> None:
    state = f"{places.state}-strange"
    content = b"\x1b[2J\nfleet\xff" + 1_000_000 * b" a"
    await open_bucket(state).put(OWNER, content, "")
    with pytest.raises(PlaceTaken) as refused:
        await own(replace(places, state=state))
    assert refused.value.message.isprintable()
    assert len(refused.value.message) < 1000


@pytest.mark.parametrize("is_drained", [True, False])
async def test_worker_whose_fleet_lost_a_place_is_not_started(
    fleet: Fleet, database: str, capsys: pytest.CaptureFixture[str], *, is_drained: bool
) -> None:
    """Another one took the place of its states; the taken one is seen by doctor too."""
    await own(
        replace(fleet.settings, fleet="b", site=f"{fleet.settings.site}-b"),
        takes_over=True,
    )
    await fleet.rows.drain(is_draining=is_drained)
    taken = f"{fleet.settings.state} belongs to fleet b of"
    assert taken in await refusal(capsys, "run", "--database", database)
    assert taken in await said(capsys, "doctor", "--database", database, code=1)


async def test_drained_fleet_says_so_to_who_starts_a_worker(
    fleet: Fleet, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await fleet.rows.drain(is_draining=True)
    assert await fleet.rows.claim("one") is None
    told = await refusal(capsys, "run", "--database", database)
    assert "the fleet is drained\n" in told
    assert "wikisync fleet drain --end" in told


async def test_fleet_whose_places_could_not_all_be_owned_is_made_again(
    fleet: Fleet,
    database: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The place of the states refused to be: there is no fleet, but it has its name."""
    await fleet.rows._do("DELETE FROM fleet")
    site, state = f"{fleet.settings.site}-new", f"{fleet.settings.state}-new"
    words = ["https://gitlab.example.com", "--all", "--database", database]
    words += ["--site", site, "--state", state]
    put = Bucket.put

    async def refuses(bucket: Bucket, *given: Any) -> str:
        if bucket.url == state:
            raise SiteError("no")
        return await put(bucket, *given)

    with monkeypatch.context() as patched:
        patched.setattr(Bucket, "put", refuses)
        await said(capsys, "init", *words, code=1)
    assert await open_bucket(site).read(OWNER)
    with pytest.raises(UsageError, match="there is no fleet"):
        await fleet.rows.settings()
    await said(capsys, "init", *words)


async def test_fleet_that_comes_second_is_told_of_the_first(
    places: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two fleets with places of their own for sites want one for their states."""
    state = f"{places.state}-new"
    one, two = (
        replace(places, site=f"{places.site}-{name}", state=state)
        for name in ("one", "two")
    )
    put = Bucket.put

    async def second(bucket: Bucket, *given: Any) -> str:
        monkeypatch.setattr(Bucket, "put", put)
        await own(one)
        return await put(bucket, *given)

    monkeypatch.setattr(Bucket, "put", second)
    with pytest.raises(PlaceTaken, match=f"{state} belongs to fleet one of"):
        await own(replace(two, fleet="two"))


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
    await budget.refused(0.05)

    async def is_over() -> bool:
        return not await budget.take()

    await until(is_over)
    await budget.refused(30)
    assert await FleetBudget(fleet.rows, 1200).take() > 20


async def test_requests_of_a_worker_are_taken_from_the_shared_ones(
    fleet: Fleet,
) -> None:
    await fleet.rows.pause(1)
    fleet.client.budget.shared = FleetBudget(fleet.rows, 6000)
    begun = time.monotonic()
    await fleet.client.version()
    assert time.monotonic() - begun > 0.5


async def test_limit_that_one_worker_met_is_known_to_the_others(fleet: Fleet) -> None:
    other = FleetBudget(fleet.rows, 6000)

    async def is_known() -> bool:
        return await other.take() > 20

    async with counted(fleet) as proxy:
        fleet.client.budget.shared = FleetBudget(fleet.rows, 6000)
        proxy.bend(count=1, status=429, headers={"Retry-After": "30"})
        async with asyncio.TaskGroup() as group:
            limited = group.create_task(fleet.client.version())
            await until(is_known)
            limited.cancel()


async def test_quiet_instance_costs_two_requests_a_minute(fleet: Fleet) -> None:
    """Each list ends with an empty page; a whole one also asks the wiki of a group."""
    for number in range(3):
        await fleet.service.add_project(f"docs/{number}", {"home": "Words."})
    fleet.settings = replace(
        fleet.settings, protected=f"s3://site/{fleet.name}/protected"
    )
    async with counted(fleet) as proxy:
        for asked, most in ((fleet.discover, 2), (fleet.sweep, 5)):
            before = len(proxy.requests())
            for _ in range(5):
                await asked()
            assert len(proxy.requests()) - before <= 5 * most
    assert (await fleet.rows.counts()).pages == 5


async def test_wiki_without_pages_costs_two_requests(fleet: Fleet) -> None:
    """Nearly all wikis of an instance have none."""
    async with counted(fleet) as proxy:
        await fleet.service.add_project("docs/empty", visibility="public")
        await fleet.discover()
        before = len(proxy.requests())
        await fleet.work()
        assert len(proxy.requests()) - before == 2


async def test_metrics_say_what_the_fleet_does(fleet: Fleet) -> None:
    meter = Meter()
    await fleet.work(fleet.worker(meter.at))
    async with (
        listening(worker_app(fleet.rows, meter, ""), "127.0.0.1:0") as url,
        aiohttp.ClientSession() as session,
        session.get(f"{url}/metrics") as answer,
    ):
        lines = (await answer.text()).splitlines()
    shown = dict(line.rsplit(" ", 1) for line in lines if " " in line)
    assert shown["wikisync_fleet_wikis"] == "2"
    assert float(shown["wikisync_fleet_oldest_due_seconds"]) == 0
    assert shown['wikisync_fleet_cycles_total{end="done"}'] == "2"
    assert float(shown['wikisync_fleet_step_seconds_total{step="build"}']) > 0


async def test_worker_answers_while_the_database_is_away(
    fleet: Fleet, postgres: DatabaseServer
) -> None:
    """Kubernetes ends a worker that does not, and the service forgets its webhook."""
    meter = Meter()
    await fleet.work(fleet.worker(meter.at))
    event = {"object_kind": "wiki_page", "project": {"path_with_namespace": PATH}}
    headers = {TOKEN_HEADER: "secret"}
    # as long as Prometheus and the service wait
    waits = aiohttp.ClientTimeout(total=10)
    async with (
        listening(worker_app(fleet.rows, meter, "secret"), "127.0.0.1:0") as url,
        aiohttp.ClientSession(timeout=waits) as session,
    ):
        await asyncio.to_thread(postgres.stop)
        try:
            # what the pool has fails at once, and then it waits for the server
            for _ in range(POOL_MAX):
                async with session.get(f"{url}/metrics") as answer:
                    told = await answer.text()
            async with session.post(f"{url}/hook", json=event, headers=headers) as hook:
                assert (answer.status, hook.status) == (200, 202)
        finally:
            await asyncio.to_thread(postgres.start)
    assert 'wikisync_fleet_cycles_total{end="done"} 2' in told
    assert "wikisync_fleet_due" not in told


async def test_worker_answers_while_the_database_is_frozen(fleet: Fleet) -> None:
    """A query that is cancelled waits until the server says that it ended."""
    await fleet.work()
    backends = await fleet.rows._do(
        "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
    )
    stat = Path(f"/proc/{backends[0]['pid']}/stat").read_text()
    server = int(stat.rpartition(")")[2].split()[1])
    frozen = [server, *(one["pid"] for one in backends)]
    waits = aiohttp.ClientTimeout(total=10)
    async with (
        listening(worker_app(fleet.rows, Meter(), ""), "127.0.0.1:0") as url,
        aiohttp.ClientSession(timeout=waits) as session,
    ):
        for pid in frozen:
            os.kill(pid, signal.SIGSTOP)
        try:
            async with session.get(f"{url}/metrics") as answer:
                told = await answer.text()
        finally:
            for pid in frozen:
                os.kill(pid, signal.SIGCONT)
        assert "wikisync_fleet_due" not in told
        async with session.get(f"{url}/metrics") as answer:
            assert "wikisync_fleet_due" in await answer.text()


async def test_webhook_of_a_page_makes_its_wiki_due(fleet: Fleet) -> None:
    await fleet.work()
    async with (
        listening(worker_app(fleet.rows, Meter(), "secret"), "127.0.0.1:0") as url,
        aiohttp.ClientSession() as session,
    ):
        for path, secret, size, status, is_due in (
            ("docs/another", "secret", 0, 202, False),
            (PATH, "secreT", 0, 401, False),
            (PATH, "secret", BODY_BYTES_MAX, 413, False),
            (PATH, "secret", 0, 202, True),
        ):
            event = {
                "object_kind": "wiki_page",
                "project": {"path_with_namespace": path},
                "object_attributes": {"slug": "guide", "content": " " * size},
            }
            data = io.BytesIO(json.dumps(event).encode())
            headers = {TOKEN_HEADER: secret}
            async with session.post(
                f"{url}/hook", data=data, headers=headers
            ) as answer:
                assert answer.status == status
            assert bool(await fleet.due()) == is_due


URL_IS_WRONG = "cannot use the database: its URL is wrong\n"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (
            "run postgresql://x --listen nonsense",
            2,
            "--listen nonsense is not HOST:PORT",
        ),
        ("run postgresql://x --listen h:65536", 2, "--listen h:65536 is not"),
        ("run postgresql://x --listen h:00000065536", 2, "--listen h:0000006"),
        (f"run postgresql://x --listen h:{'9' * 4301}", 2, "--listen h:9999"),
        ("status postgresql://nobody@127.0.0.1:9/none", 1, "cannot use the database: "),
        ("status postgres:/me:secret@127.0.0.1/none", 1, URL_IS_WRONG),
        ("status postgresql://me:secret%@h/none", 1, URL_IS_WRONG),
    ],
)
def test_command_that_cannot_begin_is_one_error_without_a_password(
    capsys: pytest.CaptureFixture[str], words: str, code: int, told: str
) -> None:
    command, url, *more = words.split()
    assert main(["fleet", command, "--database", url, *more]) == code
    said = capsys.readouterr().err
    assert f"error: {told}" in said
    assert "secret" not in said


async def test_folder_has_one_worker(
    fleet: Fleet, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("run", "--database", database, "--folder", str(fleet.folder))
    with locked_folder(fleet.folder):
        await said(capsys, *words, code=2)


async def test_service_and_wikis_are_kept_without_what_addresses_have_more(
    fleet: Fleet, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url = fleet.service.url
    words = ["--all", "--exclude", f"{url}/docs/other/-/wikis/home"]
    words += ["--site", f"{fleet.settings.site}-new", "--database", database]
    words += ["--state", f"{fleet.settings.state}-new"]
    await said(capsys, "init", f"{url}/api/v4", *words)
    settings = await fleet.rows.settings()
    assert settings.service == url
    assert [*settings.selection.excluded] == ["docs/other"]
    named = url.replace("//", "//me:secret@")
    assert await asyncio.to_thread(main, ["fleet", "init", named, *words]) == 2
    assert "secret" not in capsys.readouterr().err
    assert (await fleet.rows.settings()).service == url


def test_absent_extra_is_one_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert main(["fleet", "status", "--database", "postgresql://x"]) == 2
    assert "hint: install wikisync with its extra fleet\n" in capsys.readouterr().err


def test_tables_of_another_version_are_refused(database: str) -> None:
    assert main(["fleet", "status", "--database", database]) == 2
    with psycopg.connect(database) as connection:
        connection.execute("CREATE TABLE fleet (version integer, settings jsonb)")
        connection.execute("INSERT INTO fleet VALUES (99, '{}')")
    assert main(["fleet", "status", "--database", database]) == 2
