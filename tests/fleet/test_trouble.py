"""A service that is away, and a wiki that ends the parsers of its pages."""

from __future__ import annotations

from tests.api.faketime import FakeTime
from tests.support.bending import bending_proxy
from tests.support.fleet import PATH, Fleet
from tests.support.waiting import until
from wikisync.api.client import Client
from wikisync.core.model import WikiOwner

OTHER = "docs/other"


async def test_wikis_go_on_within_seconds_when_the_service_is_back(
    fleet: Fleet,
) -> None:
    time = FakeTime()
    await fleet.service.add_project(OTHER, {"home": "Words."}, visibility="public")
    await fleet.follow()
    await fleet.write("Words of TWO.")

    async def are_due() -> bool:
        return len(await fleet.due()) == 2

    async with (
        bending_proxy(fleet.service.url) as proxy,
        Client(
            proxy.url, fleet.service.token, sleep=time.sleep, clock=time.clock
        ) as fleet.client,
    ):
        with proxy.bend(status=502):
            await fleet.follow()
        assert "the service failed with 502" in await fleet.problem()
        assert "Words of ONE" in (fleet.page() or "")
        assert await fleet.due() == []
        await until(are_due, 20)
        await fleet.work()
    assert "Words of TWO" in (fleet.page() or "")
    assert await fleet.problem() == ""


async def test_wiki_that_ends_its_parsers_keeps_no_other_waiting(fleet: Fleet) -> None:
    """What its page expands to has no end; it is shown as it was written."""
    lines = [f".. |a{one}| replace:: |a{one - 1}| |a{one - 1}|" for one in range(1, 40)]
    poison = "\n\n".join([".. |a0| replace:: x", *lines, "|a39|"])
    owner = WikiOwner("project", PATH)
    await fleet.service.put_file(owner, "poison.rst", poison.encode())
    await fleet.service.add_project(OTHER, {"home": "Words."}, visibility="public")
    await fleet.follow()
    assert ".. |a39| replace:: |a38|" in (fleet.page("poison") or "")
    assert "Words of ONE" in (fleet.page() or "")
    assert "Words." in (fleet.page("index", OTHER) or "")
    assert await fleet.due() == []
    await fleet.audit()
