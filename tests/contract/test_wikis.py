"""Every wiki operation of the API reference, 4.1 and 4.2, by our client."""

from __future__ import annotations

import pytest

from tests.contract.conftest import PAGES
from tests.support.service import EmbeddedService
from wikisync.api.client import Client
from wikisync.api.wikis import Wiki
from wikisync.core.model import Format, Page, WikiOwner
from wikisync.errors import NotFound, Rejected

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def slugs(wiki: Wiki) -> list[str]:
    return [page.slug for page in await wiki.list_pages()]


async def test_a_list_names_every_page_in_the_byte_order_of_its_file(
    wiki: Wiki,
) -> None:
    pages = await wiki.list_pages()

    assert [page.slug for page in pages] == [
        "dir",
        "dir/deep/two",
        "dir/page-one",
        "home",
        "notes",
    ]
    assert [page.title for page in pages][:3] == ["dir", "two", "page one"]
    assert {page.format for page in pages} == {"markdown", "asciidoc", "org", "rdoc"}
    assert {page.content for page in pages} == {None}


async def test_a_list_with_content_holds_every_text_unchanged(wiki: Wiki) -> None:
    pages = await wiki.list_pages(with_content=True)

    assert {page.slug: page.content for page in pages} == {
        page.slug: page.content for page in PAGES
    }
    assert {page.encoding for page in pages} == {"UTF-8"}


async def test_a_list_is_told_unchanged_until_a_page_changes(wiki: Wiki) -> None:
    first = await wiki.poll_pages()
    assert first is not None

    unchanged = await wiki.poll_pages(first.etag)
    await wiki.create_page("new", "text")
    changed = await wiki.poll_pages(first.etag)

    assert unchanged is None
    assert changed is not None
    assert "new" in {page.slug for page in changed.pages}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.slug)
async def test_a_page_is_read_by_its_slug(page: Page, wiki: Wiki) -> None:
    record = await wiki.get_page(page.slug)

    assert (record.slug, record.format) == (page.slug, page.format)
    assert record.content == page.content
    assert record.encoding == "UTF-8"


async def test_the_slug_of_the_answer_is_the_real_one(wiki: Wiki) -> None:
    assert (await wiki.get_page("DIR/Page One")).slug == "dir/page-one"


async def test_a_page_can_be_had_as_html(wiki: Wiki) -> None:
    record = await wiki.get_page("dir", render_html=True)

    assert record.slug == "dir"
    assert "<h1" in (record.content or "")


async def test_a_page_can_be_had_as_of_a_version(
    wiki: Wiki, service: EmbeddedService, owner: WikiOwner
) -> None:
    tree = await (await service.wiki(owner)).tree()
    assert tree is not None
    await wiki.edit_page("home", title="home", content="changed")

    record = await wiki.get_page("home", version=tree.commit)

    assert record.content == "welcome\n"


async def test_an_unknown_version_is_no_page(wiki: Wiki) -> None:
    with pytest.raises(NotFound, match="there is no such page"):
        await wiki.get_page("home", version="0" * 40)


@pytest.mark.parametrize(
    ("format_", "file"),
    [
        (Format.MARKDOWN, "a/b-c.md"),
        (Format.RDOC, "a/b-c.rdoc"),
        (Format.ASCIIDOC, "a/b-c.asciidoc"),
        (Format.ORG, "a/b-c.org"),
    ],
)
async def test_a_created_page_is_a_file_of_its_format(
    format_: Format, file: str, wiki: Wiki, service: EmbeddedService, owner: WikiOwner
) -> None:
    record = await wiki.create_page("a/b c", "texté\r\n", format_)

    assert (record.slug, record.format, record.title) == ("a/b-c", format_, "b c")
    assert record.content == "texté\r\n"
    assert (await service.files(owner))[file] == "texté\r\n".encode()


@pytest.mark.parametrize(
    ("title", "message"),
    [
        ("", "title can't be blank"),
        ("home", "Duplicate page: A page with that title already exists"),
        ("HOME", "Duplicate page: A page with that title already exists"),
        ("x" * 246, "title exceeds the limit of 245 bytes"),
        ("d" * 256 + "/x", 'exceeds the limit of 255 bytes for directory name "ddd'),
    ],
)
async def test_a_title_that_the_service_refuses_is_told_in_its_words(
    title: str, message: str, wiki: Wiki
) -> None:
    with pytest.raises(Rejected, match=message):
        await wiki.create_page(title, "text")


async def test_a_content_over_the_limit_is_refused_in_its_words(
    wiki: Wiki, service: EmbeddedService
) -> None:
    service.set_limits(content_bytes_max=5000)

    with pytest.raises(Rejected, match="content is too long"):
        await wiki.create_page("big", "x" * 6000)

    assert "big" not in await slugs(wiki)


async def test_an_edit_of_all_three_keeps_the_place_of_a_page(wiki: Wiki) -> None:
    record = await wiki.edit_page(
        "dir/page-one", title="dir/page-one", content="new", format=Format.ASCIIDOC
    )

    assert (record.slug, record.content) == ("dir/page-one", "new")
    assert await slugs(wiki) == ["dir", "dir/deep/two", "dir/page-one", "home", "notes"]


async def test_a_new_title_moves_a_page_and_what_is_below_it(wiki: Wiki) -> None:
    record = await wiki.edit_page("dir", title="other/place", content="x")

    assert record.slug == "other/place"
    assert await slugs(wiki) == [
        "home",
        "notes",
        "other/place",
        "other/place/deep/two",
        "other/place/page-one",
    ]


async def test_a_new_format_keeps_the_slug(wiki: Wiki) -> None:
    record = await wiki.edit_page("home", format=Format.ORG)

    assert (record.slug, record.format, record.content) == ("home", "org", "welcome\n")


async def test_a_page_can_be_emptied(wiki: Wiki) -> None:
    await wiki.edit_page("home", title="home", content="", format=Format.MARKDOWN)

    assert (await wiki.get_page("home")).content == ""


async def test_a_rename_onto_another_page_is_refused(wiki: Wiki) -> None:
    with pytest.raises(Rejected, match="already a page with the same title"):
        await wiki.edit_page("home", title="notes", content="x")

    assert (await wiki.get_page("notes")).content == ""


async def test_a_deleted_page_is_gone_and_what_is_below_it_stays(wiki: Wiki) -> None:
    await wiki.delete_page("dir")

    assert await slugs(wiki) == ["dir/deep/two", "dir/page-one", "home", "notes"]


@pytest.mark.parametrize("slug", ["missing", "dir/missing", "home.md"])
async def test_a_missing_page_is_named_by_every_operation(
    slug: str, wiki: Wiki
) -> None:
    with pytest.raises(NotFound, match=f"read page {slug} .*no such page"):
        await wiki.get_page(slug)
    with pytest.raises(NotFound, match=f"edit page {slug} .*no such page"):
        await wiki.edit_page(slug, content="x")
    with pytest.raises(NotFound, match=f"delete page {slug} .*no such page"):
        await wiki.delete_page(slug)


async def test_an_empty_wiki_is_an_empty_list_until_its_first_page(
    client: Client, service: EmbeddedService
) -> None:
    await service.add_project("empty/handbook")
    wiki = Wiki(client, WikiOwner("project", "empty/handbook"))

    before = await wiki.list_pages(with_content=True)
    await wiki.create_page("home", "first")

    assert before == ()
    assert await slugs(wiki) == ["home"]


async def test_a_wiki_is_reached_by_numeric_id_as_by_path(
    client: Client, owner: WikiOwner
) -> None:
    found = await (
        client.project(owner.full_path)
        if owner.kind == "project"
        else client.group(owner.full_path)
    )

    by_id = Wiki(client, owner, found.id)

    assert await by_id.list_pages() == await Wiki(client, owner).list_pages()
