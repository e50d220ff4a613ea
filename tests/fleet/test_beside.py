"""Links between the wikis of a fleet."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from tests.support.fleet import Fleet
from wikisync.api.projects import Projects
from wikisync.core.model import WikiOwner
from wikisync.fleet import worker as worker_module

OTHER = "docs/team/other"
AWAY = 'class="external"'


def linked(fleet: Fleet, page: str, path: str = OTHER) -> str:
    """The start tag that the guide has for a link to a page of another wiki."""
    address = f"{fleet.service.url}/{path}/-/wikis/{page}"
    return next(
        line for line in (fleet.page() or "").split("<a ") if f">{page}<" in line
    ).replace(address, "SERVICE")


async def publish_links(fleet: Fleet, *pages: str, path: str = OTHER) -> None:
    """Publish a guide that names pages of another wiki."""
    address = f"{fleet.service.url}/{path}/-/wikis"
    await fleet.write(" ".join(f"[{one}]({address}/{one})" for one in pages))
    await fleet.work()


async def settle(fleet: Fleet) -> None:
    """List all, and work until nothing is due."""
    await fleet.sweep()
    while await fleet.due():
        await fleet.work(fleet.worker(folder="one"))


@pytest.fixture
async def linking(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    """A fleet with a second wiki, to which the guide of the first has links."""
    monkeypatch.setattr(worker_module, "WHOLE_S", 0.0)
    pages = {"home": "Other.", "plan/first": "# First\n\n## Part\n\nWords."}
    await fleet.service.add_project(OTHER, pages, visibility="public")
    await publish_links(fleet, "plan/first#part", "later")
    await settle(fleet)
    return fleet


async def test_link_leads_to_the_site_that_lies_beside(linking: Fleet) -> None:
    way = "../../../../docs/team/other/-/wikis/plan/first.html#part"
    assert linked(linking, "plan/first#part").startswith(f'href="{way}">')


async def test_link_to_a_page_that_comes_and_goes_is_mended(linking: Fleet) -> None:
    assert "SERVICE" in linked(linking, "later")
    owner = WikiOwner("project", OTHER)
    await linking.service.add_pages(owner, {"later": "Late words."})
    await settle(linking)
    way = "../../../../docs/team/other/-/wikis/later.html"
    assert linked(linking, "later").startswith(f'href="{way}">')
    await linking.service.remove_file(owner, "later.md")
    await settle(linking)
    assert AWAY in linked(linking, "later")


async def becomes_private(fleet: Fleet) -> None:
    await fleet.service.add_project(OTHER, visibility="private")


async def moves(fleet: Fleet) -> None:
    await Projects(fleet.client).edit_project(OTHER, path="moved")


async def goes(fleet: Fleet) -> None:
    await Projects(fleet.client).delete_project_permanently(OTHER)


@pytest.mark.parametrize("event", [becomes_private, moves, goes])
async def test_link_to_a_site_that_leaves_leads_to_the_service(
    linking: Fleet, event: Callable[[Fleet], Awaitable[None]]
) -> None:
    # the wikis that are missing from a list are not to be most of all
    for number in range(8):
        await linking.service.add_project(f"docs/{number}", visibility="public")
    await settle(linking)
    await event(linking)
    await settle(linking)
    link = linked(linking, "plan/first#part")
    assert AWAY in link
    assert "SERVICE" in link
    assert linking.page("plan/first", OTHER) is None


async def test_only_wikis_that_name_another_are_due_as_its_pages_change(
    linking: Fleet,
) -> None:
    await linking.service.add_project("docs/third", {"home": "x"}, visibility="public")
    await settle(linking)
    owner = WikiOwner("project", OTHER)
    await linking.service.add_pages(owner, {"plan/first": "Changed."})
    await linking.discover()
    await linking.rows._do("UPDATE fleet_wiki SET answered_at = hint_at")
    await linking.rows.retry([OTHER])
    await linking.work()
    assert await linking.due() == []
    await linking.service.add_pages(owner, {"new": "Words."})
    await linking.rows.retry([OTHER])
    await linking.work()
    assert await linking.due() == ["project-1"]
