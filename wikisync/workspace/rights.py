"""What an address leads to, and what a token may do there, in plain sentences.

People copy what their browser shows.  Which part of it is the service is found by
asking, without the token: that never goes to an address that is not this API.  What the
service does not say is reported as unknown.
"""

import difflib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from datetime import date
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from wikisync import errors
from wikisync.api.address import ServiceAddress, shown_address
from wikisync.api.client import Client
from wikisync.api.exchange import PermissionLacked
from wikisync.api.settings import ClientSettings
from wikisync.api.wikis import PageList, Wiki
from wikisync.contract.project_schema import AccessLevel, ProjectRecord
from wikisync.contract.schema import GroupRecord, TokenRecord
from wikisync.core.model import Problem, WikiOwner
from wikisync.core.system.parallel import gather
from wikisync.core.terminal import one_line
from wikisync.errors import NotFound, PermissionDenied, RemoteError
from wikisync.workspace import discovery

ATTEMPTS_MAX = 2
"""How often a service is asked that nobody has seen yet."""
SUBPATHS_MAX = 3
"""Folders of an address below which a service is searched for."""

Notify = Callable[[str], None] | None
"""Hears a sentence where something is waited for."""


class Target(Struct, frozen=True):
    """What an address leads to."""

    service: str
    path: str = ""
    """Path of the project or group whose page it is; empty for the service itself."""


async def find_target(url: str, notify: Notify = None) -> Target:
    """The service that an address belongs to, and the wiki that it names."""
    bare = url.partition("?")[0].partition("#")[0]
    # it may be that of the service itself, unless it leads to a page there
    whole = [] if "/-/" in bare else [(bare, "")]
    for service, path in (*whole, *addresses_in(bare)):
        root = str(ServiceAddress.parse(service))
        if await probe(root, notify) is not None:
            return Target(root, path)
    raise errors.UsageError(
        f"{shown_address(url)} does not answer as a GitLab-compatible service",
        hint="give the address that you open in the browser before you sign in,"
        " like https://gitlab.example.com, or that of a wiki",
    )


async def resolve_address(
    url: str,
    selection: discovery.Selection,
    token_for: Callable[[str], str | None],
    notify: Notify = None,
) -> tuple[str, discovery.Selection]:
    """The service of an address, and the selection with the wiki that it names."""
    if not _parts(url).path.strip("/"):
        return url, selection
    target = await find_target(url, notify)
    url, paths = target.service, [target.path]
    if target.path:
        selection = await name_wikis(url, token_for(url), paths, selection, notify)
    return url, selection


def _parts(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        ServiceAddress.parse(url)  # says what is wrong
        raise


async def probe(url: str, notify: Notify) -> str | None:
    """The version at this address, empty if it is kept back; None for no service."""
    async with client_at(url, None, notify) as client:
        try:
            return (await client.version()).version
        except errors.AuthenticationFailed:
            return ""
        except errors.RefusedInFront as error:
            if error.status and error.status < HTTPStatus.BAD_REQUEST:
                return None  # so does the service's web side with an unknown address
            raise
        except (errors.NotFound, errors.ProtocolViolation):
            return None


def addresses_in(url: str) -> Sequence[tuple[str, str]]:
    """What an address may be made of: a service, and a path on it.

    >>> addresses_in("https://h/git/docs/handbook")[0]
    ('https://h', 'git/docs/handbook')
    """
    parts = _parts(url)
    names = [name for name in parts.path.partition("/-/")[0].split("/") if name]
    found = []
    for count in range(min(len(names), SUBPATHS_MAX + 1)):
        path = "/".join(names[count:]).removesuffix(".git").removesuffix(".wiki")
        service = "/".join([f"{parts.scheme}://{parts.netloc}", *names[:count]])
        found.append((service, path.removeprefix("groups/")))
    return found


def client_at(url: str, token: str | None, notify: Notify) -> Client:
    """A client for a service that nobody has seen yet, still to be entered."""
    settings = ClientSettings(attempts_max=ATTEMPTS_MAX)
    return Client(url, token, settings=settings, notify=notify)


R = TypeVar("R", "ProjectRecord", "GroupRecord")

NEAREST_SCANNED_MAX = 1000
"""Projects and groups whose names are compared with one that is not there."""
NEAREST_SHOWN_MAX = 3
WIKIS_CHECKED_MAX = 100
READS_MAX = 8
SCOPES = frozenset(
    [
        *("api", "read_api", "read_user", "read_repository", "write_repository"),
        *("read_registry", "write_registry", "read_virtual_registry", "sudo"),
        *("write_virtual_registry", "create_runner", "manage_runner", "admin_mode"),
        *("ai_features", "k8s_proxy", "read_service_ping", "self_rotate"),
        *("read_observability", "write_observability", "openid", "profile", "email"),
    ]
)
"""Those whose rights are known; a token of single permissions has ``granular``."""
ROLES = {level.value: level.name.capitalize() for level in AccessLevel}


class TokenRights(Struct, frozen=True):
    """What the service says of a token."""

    name: str = ""
    user: str = ""
    scopes: tuple[str, ...] | None = None
    expires_on: date | None = None
    is_admin: bool = False
    refusal: str = ""
    """Why the service does not say what it may do, where it refuses to."""

    @property
    def writes(self) -> bool | None:
        """Whether its scopes allow changes at all; None where that is not known."""
        if self.scopes is None or self.unknown:
            return None
        return "api" in self.scopes

    @property
    def unknown(self) -> str:
        """Why its rights cannot be told from its scopes; empty where they can."""
        strange = [scope for scope in self.scopes or () if scope not in SCOPES]
        if not strange or "api" in (self.scopes or ()):
            return self.refusal
        named = one_line(", ".join(strange))
        return f"the service does not say what the scope {named} allows"


class Service(Struct, frozen=True):
    """A service that answered as one."""

    url: str
    version: str
    """Empty where the service says it only to those with a token."""
    token: TokenRights | None
    """None where it is asked as anybody."""


class WikiRights(Struct, frozen=True):
    """What may be done with one wiki that can be read."""

    wiki: discovery.FoundWiki
    pages: int | None
    """None for a wiki that was not checked, being one of very many."""
    writes: bool | None
    """Create, edit and upload; None where the service does not say."""
    deletes: bool | None
    because: str

    def sentence(self) -> str:
        """What wikisync may and may not do with it."""
        if self.writes is None:
            return (
                f"can read; write access unknown until the first edit: {self.because}"
            )
        if not self.writes:
            return f"can only read, not write, upload or delete: {self.because}"
        if self.deletes:
            return f"can read, write, upload and delete: {self.because}"
        if self.deletes is None:
            return f"can read, write and upload; delete access unknown: {self.because}"
        return f"can read, write and upload, but not delete: {self.because}"


async def check_token(url: str, token: str | None, notify: Notify = None) -> Service:
    """What the service at this base URL says of the token."""
    if token is None:
        return Service(url, await probe(url, notify) or "", None)
    async with client_at(url, token, notify) as client:
        version = ""
        with suppress(PermissionLacked):
            version = (await client.version()).version
        return Service(url, version, await _token_rights(client))


async def _token_rights(client: Client) -> TokenRights:
    token: TokenRecord | None = None
    refusal = ""
    try:
        token = await client.current_token()
    except PermissionLacked as error:
        refusal = error.message
    except (NotFound, PermissionDenied):
        pass  # services before 15.5, and tokens that are no personal ones
    user, is_admin = "", False
    with suppress(NotFound, PermissionDenied):
        record = await client.current_user()
        # sent only where the rights of an administrator are in effect
        user, is_admin = record.username, record.is_admin is True
    if token is None:
        return TokenRights(user=user, is_admin=is_admin, refusal=refusal)
    return TokenRights(token.name, user, token.scopes, _day(token.expires_at), is_admin)


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat((text or "")[:10])
    except ValueError:
        return None


# -- the wikis ---------------------------------------------------------------------


async def list_wikis(
    url: str, token: str | None, limit: int, notify: Notify = None
) -> list[tuple[WikiOwner, int | None]]:
    """Wikis of projects and groups to choose from, by path, with their pages."""
    # they are the groups, and the projects of which the token's user is a member; where
    # there is no such project, every project that can be seen
    async with client_at(url, token, notify) as client:
        groups = await _switched_on(client.groups(), limit)
        projects: list[ProjectRecord] = []
        if client.has_token:
            projects = await _switched_on(client.projects(membership=True), limit)
        if not projects:
            projects = await _switched_on(client.projects(), limit)
        records: list[ProjectRecord | GroupRecord] = [*groups, *projects]
        known = [(discovery.owner_of(one), one.id) for one in records]
        known.sort(key=lambda one: one[0].full_path.casefold())

        async def counted(one: tuple[WikiOwner, int]) -> tuple[WikiOwner, int | None]:
            try:
                return one[0], _pages_in(await Wiki(client, *one).poll_pages())
            except RemoteError:
                return one[0], None

        return await gather(known[:limit], counted, in_flight=READS_MAX)


async def _switched_on(listing: AsyncIterator[R], limit: int) -> list[R]:
    found: list[R] = []
    async for record in listing:
        if not discovery.is_switched_off(record):
            found.append(record)
        if len(found) >= limit:
            break
    return found


async def name_wikis(
    url: str,
    token: str | None,
    paths: Sequence[str],
    selection: discovery.Selection,
    notify: Notify = None,
) -> discovery.Selection:
    """A selection with these paths, each as that of a project or of a group."""
    projects, groups = [*selection.projects], [*selection.groups]
    async with client_at(url, token, notify) as client:
        for path in map(client.address.path_of, paths):
            named = groups if await _is_group(client, path) else projects
            if path not in named:
                named.append(path)
    return replace(selection, projects=tuple(projects), groups=tuple(groups))


async def _is_group(client: Client, path: str) -> bool:
    """Whether a path is that of a group, and of no project."""
    try:
        await client.project(path)
    except NotFound:
        with suppress(NotFound):
            await client.group(path)
            return True
    return False


async def check_wikis(
    service: Service,
    token: str | None,
    selection: discovery.Selection,
    notify: Notify = None,
) -> tuple[list[WikiRights], list[Problem]]:
    """The wikis that are meant, with what may be done, and notes on those left out."""
    async with client_at(service.url, token, notify) as client:
        try:
            found = await discovery.find_wikis(client, selection)
        except NotFound as error:
            raise await _with_nearest(client, error, selection) from error

        async def scan(wiki: discovery.FoundWiki) -> WikiRights | Problem:
            try:
                listed = await Wiki(client, wiki.owner, wiki.id).poll_pages()
            except (NotFound, PermissionDenied) as error:
                if wiki.is_named:
                    raise
                return discovery.skipped(wiki.owner, error.message)
            level, is_archived = None, False
            if wiki.owner.kind == "project":
                project = await client.project(wiki.id)
                level = project.permissions.level if project.permissions else None
                is_archived = bool(project.archived)
            pages, token = _pages_in(listed), service.token
            return rights_of(wiki, pages, token, level, is_archived=is_archived)

        checked = found.wikis[:WIKIS_CHECKED_MAX]
        scanned = await gather(checked, scan, in_flight=READS_MAX)
    unseen = f"only the first {WIKIS_CHECKED_MAX} wikis were checked"
    rights = [one for one in scanned if isinstance(one, WikiRights)]
    rights += [
        WikiRights(wiki, None, None, None, unseen)
        for wiki in found.wikis[WIKIS_CHECKED_MAX:]
    ]
    notes = [one for one in scanned if isinstance(one, Problem)]
    return rights, [*found.skipped, *notes]


def _pages_in(listed: PageList | None) -> int:
    assert listed is not None, "unchanged since nothing"
    return len(listed.pages) + len(listed.odd)


def rights_of(
    wiki: discovery.FoundWiki,
    pages: int,
    token: TokenRights | None,
    level: int | None,
    *,
    is_archived: bool = False,
) -> WikiRights:
    """What scope, role and state of the project together allow.

    A ``level`` of 0 or None names no role; one by a shared group is possible.
    """
    writes, deletes, because = _rights_by_role(token, level, is_archived=is_archived)
    if token is not None and token.unknown and writes:
        writes, deletes, because = None, None, token.unknown
    return WikiRights(wiki, pages, writes, deletes, because)


def _rights_by_role(
    token: TokenRights | None, level: int | None, *, is_archived: bool
) -> tuple[bool | None, bool | None, str]:
    """Whether it writes, and deletes, and what decides that."""
    if token is None:
        return False, False, "there is no token"
    if token.writes is False:
        scopes = ", ".join(token.scopes or ()) or "none"
        return False, False, f"the token lacks the scope api (it has {scopes})"
    if is_archived:
        return False, False, "the project is archived"
    if token.is_admin:
        return True, True, "you are an administrator"
    if not level:
        return None, None, "the service does not report your role"
    role = f"your role is {ROLES.get(level, level)}"
    if level == AccessLevel.PLANNER:
        # below Reporter in number, and yet made for writing wikis
        return True, True, role
    if level < AccessLevel.DEVELOPER:
        return False, False, f"{role}, writing needs Developer"
    if level < AccessLevel.MAINTAINER:
        return True, False, f"{role}, deleting needs Maintainer"
    return True, True, role


# -- names that are nearly right ---------------------------------------------------


async def _with_nearest(
    client: Client, error: NotFound, selection: discovery.Selection
) -> NotFound:
    known: list[str] = []
    # what was seen until an error will do: this is only for a better hint
    with suppress(RemoteError):
        listings: tuple[AsyncIterator[ProjectRecord | GroupRecord], ...] = (
            client.projects(membership=client.has_token),
            client.groups(),
            client.projects(),
        )
        for number, listing in enumerate(listings, 1):
            async for record in listing:
                known.append(discovery.owner_of(record).full_path)
                if len(known) >= number * NEAREST_SCANNED_MAX:
                    break
    asked = [*selection.projects, *selection.groups]
    wanted = [path for path in asked if path.strip("/") in error.message]
    near = [name for path in wanted for name in nearest_paths(path, known)]
    if not near:
        return error
    hint = f"did you mean {' or '.join(near[:NEAREST_SHOWN_MAX])}? {error.hint or ''}"
    return NotFound(
        error.message, url=error.url, status=error.status, hint=hint.strip()
    )


def nearest_paths(path: str, known: Sequence[str]) -> list[str]:
    """Paths that are like one which is not there, the likeliest first."""
    folded = {name.casefold(): name for name in known}
    asked = path.strip("/").casefold()
    near = difflib.get_close_matches(asked, folded, n=NEAREST_SHOWN_MAX, cutoff=0.6)
    return [folded[name] for name in near]
