"""Places of sites: as wikis are renamed, moved and made private, and come anew."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urljoin

import pytest
from msgspec.structs import replace

from tests.support.bucket_server import got
from tests.support.fleet import PATH, Died, Fleet, dies_at
from wikisync.api.projects import Projects
from wikisync.api.wikis import Wiki
from wikisync.core.model import WikiOwner
from wikisync.fleet.beside import MOVED
from wikisync.site.bucket import open_bucket


@pytest.mark.parametrize(
    "access",
    [
        {"visibility": "private"},
        {"visibility": "public", "wiki_access_level": "private"},
    ],
    ids=["private", "for members of a public project"],
)
async def test_wiki_that_is_not_public_has_no_site_without_a_protected_place(
    fleet: Fleet, access: dict[str, Any]
) -> None:
    await fleet.work()
    await fleet.service.add_project(PATH, **access)
    await fleet.follow()
    assert fleet.page() is None
    assert "not public (wikisync fleet init" in await fleet.problem()
    fleet.settings = replace(
        fleet.settings, protected=f"s3://site/{fleet.name}/protected"
    )
    await fleet.hint()
    await fleet.work()
    assert got(fleet.server, f"{fleet.name}/protected/{PATH}/-/wikis/guide.html")


async def test_wiki_that_was_made_private_after_it_was_listed_is_not_public(
    fleet: Fleet,
) -> None:
    await fleet.work()
    await fleet.service.add_project(PATH, visibility="private")
    await fleet.write("Words for members.")
    await fleet.work()
    assert fleet.page() is None
    assert await fleet.due() == []


async def test_site_is_removed_though_another_path_ends_alike(fleet: Fleet) -> None:
    fleet.lists_all = True
    await fleet.service.add_group("handbook", {"home": "Words."}, visibility="public")
    await fleet.follow()
    await fleet.service.add_project(PATH, visibility="private")
    await fleet.follow()
    assert fleet.page() is None


async def test_path_that_another_project_took_keeps_its_site(fleet: Fleet) -> None:
    fleet.lists_all = True
    await fleet.work()
    await Projects(fleet.client).edit_project(PATH, path="moved")
    await fleet.service.add_project(PATH, {"guide": "NEW"}, visibility="public")
    await fleet.discover()
    # the one that came is published before the one that went takes its site along
    for number in (2, 1):
        keys = [key for key in await fleet.due() if key.startswith("project")]
        assert len(keys) == number
        await fleet.run(max(keys))
    assert "NEW" in (fleet.page() or "")
    assert "Words of ONE" in (fleet.page(path="docs/moved") or "")
    await fleet.audit()


@pytest.fixture
async def protected(fleet: Fleet) -> Fleet:
    """A fleet with a place for wikis that are not public."""
    fleet.lists_all = True
    place = f"s3://state/{fleet.name}-protected"
    fleet.settings = replace(fleet.settings, protected=place)
    await fleet.rows.make(fleet.settings)
    return fleet


async def test_old_places_of_a_wiki_made_private_are_emptied(protected: Fleet) -> None:
    fleet, projects = protected, Projects(protected.client)
    await fleet.work()
    await projects.edit_project(PATH, path="second")
    await fleet.follow()
    assert MOVED in (fleet.page() or "")
    await projects.edit_project("docs/second", visibility="private")
    await fleet.follow()
    place = f"{fleet.settings.protected}/docs/second/-/wikis"
    assert await open_bucket(place).read("guide.html")
    assert fleet.page() is None
    assert fleet.page(path="docs/second") is None


async def test_names_of_pages_from_a_protected_place_do_not_become_public(
    protected: Fleet,
) -> None:
    fleet, projects = protected, Projects(protected.client)
    await projects.edit_project(PATH, visibility="private")
    await fleet.service.add_pages(WikiOwner("project", PATH), {"merger": "Words."})
    await fleet.follow()
    await Wiki(fleet.client, WikiOwner("project", PATH)).delete_page("merger")
    await projects.edit_project(PATH, visibility="public")
    await fleet.discover()
    with suppress(Died):
        await fleet.work(fleet.worker(dies_at("upload")))
    await projects.edit_project(PATH, path="second")
    await fleet.discover()
    await fleet.hint()
    await fleet.work()
    assert fleet.page(path="docs/second")
    assert fleet.page("merger") is None


async def test_pages_of_a_wiki_that_moved_lead_to_the_new_ones_while_they_may(
    fleet: Fleet,
) -> None:
    fleet.lists_all = True
    await fleet.work()
    projects, path = Projects(fleet.client), PATH
    for name in ("second", "third"):
        await projects.edit_project(path, path=name)
        await fleet.discover()
        path = f"docs/{name}"
        # a worker that dies with the old place half written
        with suppress(Died):
            await fleet.work(fleet.worker(dies_at("put", 1)))
        await fleet.hint()
        await fleet.work()
    for old in (PATH, "docs/second"):
        leading = fleet.page(path=old) or ""
        (way,) = re.findall('url=(.*?)"', leading)
        at = f"http://x/{fleet.site(old)}/guide.html"
        assert urljoin(at, way) == f"http://x/{fleet.site(path)}/guide.html"
        assert "Words" not in leading
        await fleet.audit(old)
    await fleet.service.add_project(PATH, {"guide": "NEW"}, visibility="public")
    await projects.edit_project(path, visibility="private")
    await fleet.follow()
    assert "NEW" in (fleet.page() or "")
    assert fleet.page(path="docs/second") is None
    assert fleet.page(path=path) is None


async def test_pages_of_a_private_wiki_lead_on_from_no_place_that_another_awaits(
    fleet: Fleet,
) -> None:
    fleet.lists_all = True
    await fleet.work()
    projects = Projects(fleet.client)
    await projects.edit_project(PATH, path="second")
    await fleet.follow()
    await fleet.service.add_project(PATH, {"other": "NEW"}, visibility="public")
    await projects.edit_project("docs/second", visibility="private")
    await fleet.discover()
    await fleet.run(min(k for k in await fleet.due() if k.startswith("project")))
    assert fleet.page() is None


async def test_protected_place_that_another_wiki_awaits_is_left_to_it(
    protected: Fleet,
) -> None:
    fleet, projects = protected, Projects(protected.client)
    await projects.edit_project(PATH, visibility="private")
    await fleet.follow()
    await projects.edit_project(PATH, path="moved")
    await fleet.service.add_project(PATH, {"other": "NEW"}, visibility="private")
    await fleet.discover()
    await fleet.run("project-1")
    bucket = open_bucket(f"{fleet.settings.protected}/{PATH}/-/wikis")
    content, _ = await bucket.read("guide.html") or (b"", "")
    assert MOVED.encode() not in content
    await fleet.work()
    assert await bucket.read("other.html")
    assert await bucket.read("guide.html") is None


@pytest.mark.parametrize("first", [min, max])
@pytest.mark.parametrize("is_deleted", [False, True])
async def test_path_that_a_project_without_pages_took_has_no_site(
    fleet: Fleet, first: Callable[[list[str]], str], *, is_deleted: bool
) -> None:
    fleet.lists_all = True
    await fleet.work()
    projects = Projects(fleet.client)
    await projects.edit_project(PATH, path="moved")
    await fleet.service.add_project(PATH, visibility="public")
    if is_deleted:
        await projects.delete_project_permanently("docs/moved")
    await fleet.discover()
    keys = [key for key in await fleet.due() if key.startswith("project")]
    assert len(keys) == 2
    await fleet.run(first(keys))
    await fleet.work()
    left = fleet.page()
    assert left is None or (MOVED in left and not is_deleted)
    assert is_deleted or "Words of ONE" in (fleet.page(path="docs/moved") or "")
