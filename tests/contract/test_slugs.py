"""Slugs that break clients, servers and what stands between them."""

import pytest

from tests.support.service import EmbeddedService
from wikisync.api.wikis import Wiki
from wikisync.core.model import WikiOwner
from wikisync.errors import NotFound, WikisyncError

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOSTILE = [
    "100%",
    "a%2Fb",
    "%2e%2e",
    "c#",
    "why?",
    "why?with_content=true",
    "C++-&-\"quotes\"-'single'",
    "a+b",
    "a=b&c;d,e",
    "semi;colon:at@x",
    "naïve-café",
    "nfd-e\u0301",
    "nfc-é",
    "日本語",
    "🚀/✓",
    "dir/with/many/levels",
    "v1.2.3",
    "...",
    "..a",
    "a..",
    ".hidden",
    "~tilde",
    "back\\slash",
    "CON",
    "a:b",
    "<b>bold</b>",
    "{brace}[bracket]|pipe^caret`tick",
    "attachments",
    "dir/attachments",
    "uploads",
    "-",
    "new",
    "home.md",
    "x" * 245,
    "日" * 81,
]


@pytest.mark.parametrize("slug", HOSTILE)
async def test_a_page_of_any_name_is_created_read_edited_and_deleted(
    slug: str, wiki: Wiki
) -> None:
    created = await wiki.create_page(slug, f"text of {slug}")
    read = await wiki.get_page(created.slug)
    edited = await wiki.edit_page(
        created.slug, title=created.slug, content="edited", format=None
    )
    listed = {page.slug for page in await wiki.list_pages()}
    await wiki.delete_page(created.slug)

    assert (created.slug, read.slug, edited.slug) == (slug, slug, slug)
    assert read.content == f"text of {slug}"
    assert slug in listed
    with pytest.raises(NotFound):
        await wiki.get_page(slug)


@pytest.mark.parametrize("slug", ["a b/c  d", "trailing ", "tab\there", "nbsp\u00a0x"])
async def test_a_page_that_came_by_git_is_read_by_its_own_slug(
    slug: str, wiki: Wiki, service: EmbeddedService, owner: WikiOwner
) -> None:
    await service.put_file(owner, f"{slug}.md", b"by git")

    assert (await wiki.get_page(slug)).content == "by git"
    assert slug in {page.slug for page in await wiki.list_pages()}


async def test_twins_of_unicode_are_two_pages(wiki: Wiki) -> None:
    await wiki.create_page("caf\u00e9", "composed")
    await wiki.create_page("cafe\u0301", "decomposed")

    assert (await wiki.get_page("caf\u00e9")).content == "composed"
    assert (await wiki.get_page("cafe\u0301")).content == "decomposed"


@pytest.mark.parametrize("slug", ["..", "../..", "/", "//", ".", "nul\0", "x" * 5000])
async def test_a_slug_that_no_page_can_have_is_an_error_and_no_accident(
    slug: str, wiki: Wiki
) -> None:
    before = await wiki.list_pages()

    with pytest.raises(WikisyncError, match="cannot delete page"):
        await wiki.delete_page(slug)

    assert await wiki.list_pages() == before


@pytest.mark.parametrize("title", ["../../etc/passwd", "/etc/passwd", "a/../b"])
async def test_a_title_that_climbs_stays_inside_the_wiki(
    title: str, wiki: Wiki, service: EmbeddedService, owner: WikiOwner
) -> None:
    created = await wiki.create_page(title, "x")

    assert created.slug in {"etc/passwd", "b"}
    assert f"{created.slug}.md" in await service.files(owner)
