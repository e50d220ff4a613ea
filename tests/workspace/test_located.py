"""A wiki of which the service said a moment ago where it is: not asked for again."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import msgspec
import pytest

from tests.support import moved
from tests.support.bending import Asked, BendingProxy, bending_proxy
from tests.support.service import EmbeddedService
from tests.support.workspaces import HANDBOOK, Cloned
from wikisync.workspace.identity import LOCATED_S


@pytest.fixture
async def located(cloned: Cloned, service: EmbeddedService) -> AsyncIterator[Proxied]:
    """A workspace in sync, of whose wiki the service said lately where it is."""
    async with bending_proxy(service.url) as proxy:
        moved.configure(cloned, service.url, proxy.url)
        for _ in range(2):  # the first one has something to say of the new address
            assert (await cloned.run("sync")).code == 0
        proxy.asked.clear()
        yield Proxied(cloned, proxy)


@dataclass(frozen=True, slots=True)
class Proxied:
    """A workspace, and the proxy before its service."""

    cloned: Cloned
    proxy: BendingProxy


async def test_a_sync_with_nothing_to_do_is_one_request(located: Proxied) -> None:
    ran = await located.cloned.run("sync")
    assert (ran.code, ran.err) == (0, "")
    (asked,) = located.proxy.requests()
    assert asked.path.startswith("/api/v4/projects/1/wikis?")


async def test_a_status_tells_of_a_project_renamed_since(located: Proxied) -> None:
    await moved.rename(located.cloned)
    ran = await located.cloned.run("status")
    assert ran.code == 0
    assert "the project docs/handbook is docs/guide now" in ran.out


async def test_an_edit_is_sent_after_the_service_said_where_the_wiki_is(
    located: Proxied,
) -> None:
    cloned, proxy = located.cloned, located.proxy
    cloned.write("guide.md", "edited here\n")
    assert (await cloned.run("sync")).out == "handbook: 4 pages, 1 pushed\n"
    said = [at for at, asked in enumerate(proxy.asked) if is_location(asked)]
    sent = [at for at, asked in enumerate(proxy.asked) if asked.method == "PUT"]
    assert len(said) == len(sent) == 1
    assert said < sent


def is_location(asked: Asked) -> bool:
    """Whether a request is for the project itself."""
    return re.search(r"/projects/[^/]*$", asked.path) is not None


async def test_nothing_comes_from_a_stranger_who_has_the_id_since(
    located: Proxied,
) -> None:
    """A service that was set up anew gives old ids to strangers."""
    cloned = located.cloned
    moved.without_id(cloned)
    await moved.rename(cloned)
    await cloned.service.ask(lambda tables: tables.db.execute("DELETE FROM old_path"))
    await moved.give_id_to_a_stranger(cloned)
    before = cloned.files()
    ran = await cloned.run("sync")
    assert ran.code == 4
    assert "has other pages (0 of 4 pages are the same)" in ran.err
    assert cloned.files() == before


async def test_a_project_deleted_since_is_told_as_ever(located: Proxied) -> None:
    cloned = located.cloned
    await moved.delete(cloned)
    once = await cloned.run("sync")
    with cloned.state() as state:
        state.remember("located project docs/handbook", "")
    asked = await cloned.run("sync")
    assert (once.code, once.err) == (asked.code, asked.err)
    assert once.code != 0


async def test_another_id_in_the_configuration_is_asked_for(located: Proxied) -> None:
    await located.cloned.service.add_project("docs/other", moved.THEIRS)
    moved.configure(located.cloned, "id = 1", "id = 2")
    ran = await located.cloned.run("sync")
    assert (ran.code, ran.out) == (0, "handbook: 4 pages, nothing to do\n")
    assert "has the id 1, and not 2" in ran.err


async def test_what_is_told_of_a_wiki_is_told_by_every_sync(located: Proxied) -> None:
    cloned = located.cloned
    url = cloned.service.url
    marked = await cloned.run_main("project", "delete", url, "docs/handbook", "--yes")
    assert marked.code == 0, marked.err
    cloned.write("guide.md", "edited here\n")
    for _ in range(2):
        ran = await cloned.run("sync")
        assert "the project was marked for deletion on 20" in ran.err


@pytest.mark.parametrize("age_s", [LOCATED_S + 1, -600.0])
async def test_an_answer_too_old_or_of_the_future_is_asked_for_again(
    located: Proxied, age_s: float
) -> None:
    name = f"located {HANDBOOK}"
    with located.cloned.state() as state:
        answer = msgspec.json.decode(state.recalled(name))
        answer["at"] = time.time() - age_s
        state.remember(name, msgspec.json.encode(answer).decode())
    assert (await located.cloned.run("sync")).code == 0
    assert any(map(is_location, located.proxy.asked))
