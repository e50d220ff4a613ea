"""Who may do what: hidden, disabled, too few rights, dead tokens."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio
from msgspec.structs import replace

from tests.contract.conftest import NUMBERS, new_owner
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService
from wikisync.api.client import Client
from wikisync.api.wikis import Wiki
from wikisync.core.model import AttachmentPath, WikiOwner
from wikisync.errors import AuthenticationFailed, NotFound, PermissionDenied
from wikisync.service.settings import Profile

pytestmark = pytest.mark.asyncio(loop_scope="module")

Operation = Callable[[Wiki], Awaitable[object]]

READS: dict[str, Operation] = {
    "list": lambda wiki: wiki.list_pages(),
    "list with content": lambda wiki: wiki.list_pages(with_content=True),
    "get": lambda wiki: wiki.get_page("home"),
}
WRITES: dict[str, Operation] = {
    "create": lambda wiki: wiki.create_page("new", "x"),
    "edit": lambda wiki: wiki.edit_page("home", title="home", content="x"),
    "upload": lambda wiki: wiki.upload_attachment(b"x", "x.png"),
}
CHANGES: dict[str, Operation] = {
    **WRITES,
    "delete": lambda wiki: wiki.delete_page("home"),
}
ALL: dict[str, Operation] = {**READS, **CHANGES}


@pytest_asyncio.fixture(loop_scope="module")
async def user(service: EmbeddedService) -> str:
    """The name of a user who belongs to nothing yet."""
    name = f"user{next(NUMBERS)}"
    await service.add_user(name)
    return name


@pytest_asyncio.fixture(loop_scope="module")
async def stranger(service: EmbeddedService, user: str) -> AsyncIterator[Client]:
    """That user's client."""
    async with Client(service.url, await service.add_user(user)) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="module")
async def anybody(service: EmbeddedService) -> AsyncIterator[Client]:
    """A client without a token."""
    async with Client(service.url) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="module")
async def open_wiki(service: EmbeddedService, handbook: WikiOwner) -> WikiOwner:
    """A public project with a public wiki."""
    await service.add_project(handbook.full_path, visibility="public")
    return handbook


@pytest.mark.parametrize("operation", ALL)
async def test_a_private_wiki_does_not_exist_for_strangers(
    operation: str, stranger: Client, owner: WikiOwner
) -> None:
    with pytest.raises(NotFound, match=f"{owner} does not exist or is hidden"):
        await ALL[operation](Wiki(stranger, owner))


@pytest.mark.parametrize("operation", ALL)
async def test_a_private_wiki_does_not_exist_without_a_token(
    operation: str, anybody: Client, owner: WikiOwner
) -> None:
    with pytest.raises(NotFound, match="does not exist or is hidden") as failed:
        await ALL[operation](Wiki(anybody, owner))

    assert "set WIKISYNC_TOKEN" in (failed.value.hint or "")


@pytest.mark.parametrize("operation", CHANGES)
async def test_a_public_wiki_is_not_written_without_a_token(
    operation: str, anybody: Client, open_wiki: WikiOwner
) -> None:
    with pytest.raises((PermissionDenied, AuthenticationFailed)):
        await CHANGES[operation](Wiki(anybody, open_wiki))


@pytest.mark.parametrize("operation", READS)
async def test_a_disabled_project_wiki_says_so(
    operation: str, client: Client, service: EmbeddedService, handbook: WikiOwner
) -> None:
    await service.add_project(handbook.full_path, wiki_access_level="disabled")

    with pytest.raises(PermissionDenied, match=f"{handbook}: its wiki is disabled"):
        await READS[operation](Wiki(client, handbook))


@pytest.mark.parametrize("operation", READS)
async def test_a_disabled_group_wiki_says_so(
    operation: str, client: Client, service: EmbeddedService
) -> None:
    owner = await new_owner(service, "group")
    await service.add_group(owner.full_path, wiki=False)

    with pytest.raises(PermissionDenied, match=f"{owner}: its wiki is not available"):
        await READS[operation](Wiki(client, owner))


@pytest.mark.parametrize("operation", CHANGES)
async def test_a_disabled_wiki_is_not_written(
    operation: str, client: Client, service: EmbeddedService, handbook: WikiOwner
) -> None:
    await service.add_project(handbook.full_path, wiki_access_level="disabled")

    with pytest.raises(PermissionDenied, match="this token may not change it"):
        await CHANGES[operation](Wiki(client, handbook))


@pytest.mark.parametrize("operation", ALL)
async def test_an_edition_without_group_wikis_says_so(
    operation: str, client: Client, service: EmbeddedService
) -> None:
    owner = await new_owner(service, "group")
    community = replace(service.running.settings, profile=Profile(is_enterprise=False))
    service.running.settings = community

    with pytest.raises(NotFound, match="this service has no group wikis") as failed:
        await ALL[operation](Wiki(client, owner))

    assert "paid tier" in (failed.value.hint or "")


@pytest.mark.parametrize("kind", ["project", "group"])
async def test_an_unknown_owner_is_named(kind: str, client: Client) -> None:
    owner = WikiOwner("group" if kind == "group" else "project", "no/where")

    with pytest.raises(NotFound, match=f"{kind} no/where does not exist or is hidden"):
        await Wiki(client, owner).list_pages()


@pytest.mark.parametrize("operation", CHANGES)
@pytest.mark.parametrize("level", [10, 20], ids=["guest", "reporter"])
async def test_guests_and_reporters_read_and_do_not_write(
    operation: str,
    level: int,
    user: str,
    stranger: Client,
    service: EmbeddedService,
    handbook: WikiOwner,
) -> None:
    await service.add_member(handbook.full_path, user, level)
    wiki = Wiki(stranger, handbook)

    assert await wiki.list_pages()
    with pytest.raises(PermissionDenied, match="may not change it") as failed:
        await CHANGES[operation](wiki)
    assert "role Developer" in (failed.value.hint or "")


async def test_only_maintainers_delete(
    user: str, stranger: Client, service: EmbeddedService, handbook: WikiOwner
) -> None:
    wiki = Wiki(stranger, handbook)
    await service.add_member(handbook.full_path, user, 30)
    with pytest.raises(PermissionDenied) as failed:
        await wiki.delete_page("home")
    assert "deleting Maintainer" in (failed.value.hint or "")

    await service.add_member(handbook.full_path, user, 40)
    await wiki.delete_page("home")

    assert "home" not in {page.slug for page in await wiki.list_pages()}


@pytest.mark.parametrize("operation", CHANGES)
async def test_an_archived_project_is_read_and_not_written(
    operation: str, client: Client, service: EmbeddedService, handbook: WikiOwner
) -> None:
    await service.add_project(handbook.full_path, is_archived=True)
    wiki = Wiki(client, handbook)

    assert await wiki.list_pages()
    with pytest.raises(PermissionDenied, match="may not change it") as failed:
        await CHANGES[operation](wiki)
    assert "archived" in (failed.value.hint or "")


@pytest.mark.parametrize("operation", CHANGES)
async def test_a_token_for_reading_does_not_write(
    operation: str, service: EmbeddedService, handbook: WikiOwner
) -> None:
    token = await service.add_user("root", scopes=("read_api",))

    async with Client(service.url, token) as client:
        wiki = Wiki(client, handbook)
        assert await wiki.list_pages()
        with pytest.raises(PermissionDenied, match="lacks the scope api") as failed:
            await CHANGES[operation](wiki)
    assert "with the scope api and replace the old one in" in (failed.value.hint or "")


@pytest.mark.parametrize("operation", ALL)
async def test_an_unknown_token_fails_even_where_none_is_needed(
    operation: str, service: EmbeddedService, open_wiki: WikiOwner
) -> None:
    async with Client(service.url, "glpat-EXAMPLE") as client:
        with pytest.raises(AuthenticationFailed, match="does not know this token"):
            await ALL[operation](Wiki(client, open_wiki))


async def test_an_expired_token_says_so(service: EmbeddedService, user: str) -> None:
    token = await service.add_user(user, expires_on="2020-01-01")

    async with Client(service.url, token) as client:
        with pytest.raises(AuthenticationFailed, match="the token has expired"):
            await client.current_user()


async def test_a_revoked_token_says_so(
    service: EmbeddedService, user: str, handbook: WikiOwner
) -> None:
    token = await service.add_user(user)
    await service.revoke(token)

    async with Client(service.url, token) as client:
        with pytest.raises(AuthenticationFailed, match="the token was revoked"):
            await Wiki(client, handbook).list_pages()


async def test_a_blocked_user_is_shut_out(
    service: EmbeddedService, user: str, stranger: Client
) -> None:
    await service.block(user)

    with pytest.raises(PermissionDenied, match="the account of this token is blocked"):
        await stranger.current_user()


@pytest.mark.parametrize("probe", ["version", "current_user", "current_token"])
async def test_probes_want_a_token(probe: str, anybody: Client) -> None:
    with pytest.raises(AuthenticationFailed, match="no token is set"):
        await getattr(anybody, probe)()


async def test_the_empty_list_of_a_failing_storage_is_no_error_here(
    client: Client, service: EmbeddedService, handbook: WikiOwner
) -> None:
    """The client cannot know; who synchronises must not believe it at once."""
    service.quirks = {Quirk.EMPTY_LIST}

    assert await Wiki(client, handbook).list_pages() == ()


async def test_a_page_of_a_hidden_wiki_is_not_told_from_the_wiki(
    stranger: Client, handbook: WikiOwner
) -> None:
    with pytest.raises(NotFound, match=f"{handbook} does not exist"):
        await Wiki(stranger, handbook).get_page("no-such-page")


async def test_an_attachment_of_a_hidden_wiki_is_hidden(
    client: Client, stranger: Client, handbook: WikiOwner
) -> None:
    record = await Wiki(client, handbook).upload_attachment(b"x", "x.png")
    path = AttachmentPath(record.file_path)

    with pytest.raises(NotFound):
        await anext(Wiki(stranger, handbook).read_attachment(path))
