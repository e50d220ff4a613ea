"""A client that nobody here wrote: python-gitlab on the embedded service."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import gitlab
import pytest
import pytest_asyncio
from gitlab.exceptions import GitlabCreateError, GitlabDeleteError, GitlabGetError

from tests.contract.conftest import PAGES
from tests.support.service import EmbeddedService
from wikisync.core.model import WikiOwner

pytestmark = pytest.mark.asyncio(loop_scope="module")

T = TypeVar("T")


class BlockingWiki:
    """python-gitlab waits in its thread; ours goes on serving meanwhile."""

    def __init__(self, url: str, token: str, owner: WikiOwner) -> None:
        self.session = gitlab.Gitlab(url, private_token=token)
        self.owner = owner

    async def do(self, operation: Callable[[Any], T]) -> T:
        """Run an operation on the owner as python-gitlab has it."""
        return await asyncio.to_thread(self._do, operation)

    def _do(self, operation: Callable[[Any], T]) -> T:
        owners: Any = (
            self.session.projects
            if self.owner.kind == "project"
            else self.session.groups
        )
        return operation(owners.get(self.owner.full_path))


@pytest_asyncio.fixture(loop_scope="module")
async def blocking(service: EmbeddedService, owner: WikiOwner) -> BlockingWiki:
    return BlockingWiki(service.url, service.token, owner)


async def test_it_lists_every_page_at_once(blocking: BlockingWiki) -> None:
    pages = await blocking.do(lambda owner: owner.wikis.list(get_all=True))

    assert sorted(page.slug for page in pages) == sorted(page.slug for page in PAGES)


async def test_it_lists_with_content(blocking: BlockingWiki) -> None:
    pages = await blocking.do(
        lambda owner: owner.wikis.list(get_all=True, with_content=True)
    )

    texts = {page.slug: page.content for page in pages}
    assert texts == {page.slug: page.content for page in PAGES}


async def test_it_reads_a_nested_page(blocking: BlockingWiki) -> None:
    page = await blocking.do(lambda owner: owner.wikis.get("dir/page-one"))

    assert (page.slug, page.format, page.title) == (
        "dir/page-one",
        "asciidoc",
        "page one",
    )
    assert page.content == "= one\r\n"
    assert page.encoding == "UTF-8"


async def test_it_reads_a_page_as_html(blocking: BlockingWiki) -> None:
    page = await blocking.do(lambda owner: owner.wikis.get("dir", render_html=True))

    assert "<h1" in page.content


async def test_it_creates_a_page(blocking: BlockingWiki) -> None:
    values = {"title": "a/new page", "content": "* x\n", "format": "org"}

    page = await blocking.do(lambda owner: owner.wikis.create(values))

    assert (page.slug, page.format, page.content) == ("a/new-page", "org", "* x\n")


async def test_it_is_told_of_a_duplicate(blocking: BlockingWiki) -> None:
    values = {"title": "home", "content": "x"}

    with pytest.raises(GitlabCreateError, match="Duplicate page") as refused:
        await blocking.do(lambda owner: owner.wikis.create(values))

    assert refused.value.response_code == 400


async def test_it_updates_a_page(blocking: BlockingWiki) -> None:
    def change(owner: Any) -> Any:
        page = owner.wikis.get("dir/page-one")
        page.content = "changed"
        page.title = "dir/page-one"
        page.format = "asciidoc"
        page.save()
        return owner.wikis.get("dir/page-one")

    page = await blocking.do(change)

    assert (page.content, page.format) == ("changed", "asciidoc")


async def test_it_deletes_a_page(blocking: BlockingWiki) -> None:
    await blocking.do(lambda owner: owner.wikis.delete("home"))

    with pytest.raises(GitlabGetError, match="404 Wiki Page Not Found"):
        await blocking.do(lambda owner: owner.wikis.get("home"))


async def test_it_is_told_of_a_missing_page(blocking: BlockingWiki) -> None:
    with pytest.raises(GitlabDeleteError, match="404 Wiki Page Not Found") as refused:
        await blocking.do(lambda owner: owner.wikis.delete("no/such"))

    assert refused.value.response_code == 404


async def test_it_uploads_an_attachment(
    blocking: BlockingWiki, service: EmbeddedService, owner: WikiOwner
) -> None:
    def upload(owner: Any) -> Any:
        page = owner.wikis.get("home")
        return page.upload("my picture.png", filedata=b"\x89PNG\r\n")

    record = await blocking.do(upload)

    assert record["file_name"] == "my_picture.png"
    assert (await service.files(owner))[record["file_path"]] == b"\x89PNG\r\n"
