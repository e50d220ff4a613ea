"""Links between the wikis of a fleet."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import unquote

import pytest

from tests.support.fleet import PATH, Died, Fleet, dies_at
from wikisync.api.projects import Projects
from wikisync.core.model import WikiOwner
from wikisync.errors import SiteError
from wikisync.fleet.beside import MOVED

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


async def wait_no_longer(fleet: Fleet) -> None:
    """Let the wikis of a worker that died, or failed, be due at once."""
    await fleet.rows._do("UPDATE fleet_wiki SET is_busy = false, due_at = '-infinity'")


@pytest.fixture
async def linking(fleet: Fleet) -> Fleet:
    """A fleet with a second wiki, to which the guide of the first has links."""
    fleet.lists_all = True
    pages = {"home": "Other.", "plan/first": "# First\n\n## Part\n\nWords."}
    await fleet.service.add_project(OTHER, pages, visibility="public")
    await publish_links(fleet, "plan/first#part", "later")
    await settle(fleet)
    return fleet


async def test_link_leads_to_the_site_beside_as_long_as_it_has_the_page(
    linking: Fleet,
) -> None:
    way = "../../../../docs/team/other/-/wikis/plan/first.html#part"
    assert linked(linking, "plan/first#part").startswith(f'href="{way}">')
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
    left = linking.page("plan/first", OTHER)
    assert left is None or MOVED in left


async def test_only_wikis_that_name_another_are_due_as_its_pages_change(
    linking: Fleet,
) -> None:
    await linking.service.add_project("docs/third", {"home": "x"}, visibility="public")
    await settle(linking)
    owner = WikiOwner("project", OTHER)
    await linking.service.add_pages(owner, {"plan/first": "Changed."})
    await linking.discover()
    answered = "UPDATE fleet_wiki SET begun_at = hint_at, answered_at = hint_at"
    await linking.rows._do(answered)
    await linking.rows.retry([OTHER])
    await linking.work()
    assert await linking.due() == []
    await linking.service.add_pages(owner, {"new": "Words."})
    await linking.rows.retry([OTHER])
    await linking.work()
    assert await linking.due() == ["project-1"]


async def test_link_leads_to_the_page_whose_name_it_has(linking: Fleet) -> None:
    """The path of a page does not always follow from its name."""
    texts = {"Twin": "Large.", "twin": "Small.", "Q&A: what?": "Odd."}
    await linking.service.add_pages(WikiOwner("project", OTHER), texts)
    address = f"{linking.service.url}/{OTHER}/-/wikis"
    named = {"small": "twin", "large": "Twin", "odd": "Q%26A:%20what%3F"}
    links = (f"[{one}]({address}/{slug})" for one, slug in named.items())
    await linking.write(" ".join(links))
    await settle(linking)
    for one, text in {"small": "Small.", "large": "Large.", "odd": "Odd."}.items():
        way = linked(linking, one).partition('href="')[2].partition('"')[0]
        path = unquote(way).removeprefix(f"../../../../{OTHER}/-/wikis/")
        assert text in (linking.page(path.removesuffix(".html"), OTHER) or "")


async def test_wikis_are_told_of_a_page_though_a_worker_dies(linking: Fleet) -> None:
    """It has put the page there."""
    owner = WikiOwner("project", OTHER)
    await linking.service.add_pages(owner, {"later": "Late words."})
    await linking.rows.retry([OTHER])
    with pytest.raises(Died):
        await linking.work(linking.worker(dies_at("row")))
    await wait_no_longer(linking)
    while await linking.due():
        await linking.work()
    assert "SERVICE" not in linked(linking, "later")


async def test_page_that_comes_as_a_link_is_looked_up_is_found(fleet: Fleet) -> None:
    """The other wiki ends its first cycle between reading and noting of this one."""
    await fleet.work()
    pages = {"home": "Other.", "first": "Words."}
    await fleet.service.add_project(OTHER, pages, visibility="public")
    await fleet.write(f"[first]({fleet.service.url}/{OTHER}/-/wikis/first)")
    await fleet.discover()
    rows = await fleet.rows._do("SELECT path, key FROM fleet_wiki")
    keys = {row["path"]: row["key"] for row in rows}
    waiting = [keys[OTHER]]

    async def publish_other(step: str) -> None:
        if step == "check" and waiting:
            await fleet.run(waiting.pop())

    await fleet.run(keys[PATH], fleet.worker(publish_other))
    assert not waiting
    while await fleet.due():
        await fleet.work()
    assert "SERVICE" not in linked(fleet, "first")


async def test_links_of_a_wiki_that_is_public_again_lead_to_sites(
    linking: Fleet,
) -> None:
    """Its upload fails once, when the row has its place already."""
    await linking.service.add_project(PATH, visibility="private")
    await settle(linking)
    assert linking.page() is None
    await linking.service.add_project(PATH, visibility="public")
    await linking.discover()

    async def away(step: str) -> None:
        if step == "upload":
            raise SiteError("the bucket is away")

    await linking.work(linking.worker(away))
    assert "away" in await linking.problem()
    await wait_no_longer(linking)
    await settle(linking)
    assert "SERVICE" not in linked(linking, "plan/first#part")
