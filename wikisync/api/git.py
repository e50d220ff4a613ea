"""What REST cannot give, or not to a token: a wiki's HEAD, history and attachments.

``WikiHistory.head`` shows with one request whether anything changed; what changed is a
second one, answered with the newest commit and the trees that differ: of 10,000 pages
0.4 MB, where all files take 70.  Files come into a bare repository (``git_fetch``).
The token goes to the service's own origin alone, and stands in no error or log.

The service may keep attachments from tokens (``docs/service.md`` "Attachments"): it
redirects to its sign-in page, or answers with a web page, even as if it were the file.
So a file that a web page could have the name of comes by git, where there is a
repository.  An empty answer, or one that may be a web page, is taken from the file
route only if the route says of a file that cannot exist that it is missing.
"""

import asyncio
import hashlib
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from pathlib import Path

from msgspec.structs import replace

from wikisync import errors
from wikisync.api.address import encode_path
from wikisync.api.client import Client
from wikisync.api.exchange import NOT_HANDED_OUT_HINT, NotHandedOut, Purpose, Request
from wikisync.api.known import TreeCache
from wikisync.api.trees import Objects, objects_in
from wikisync.api.wikis import Wiki
from wikisync.core.contents import BEGINNING_BYTES, is_pointer, is_web_page
from wikisync.core.git_trees import TreeMissing, Unexplained
from wikisync.core.model import AttachmentPath, WikiOwner
from wikisync.core.system.parallel import finish
from wikisync.core.versions import UNKNOWN, Versions

log = logging.getLogger(__name__)

ADVERTISEMENT = "application/x-git-upload-pack-advertisement"
FETCH_TIMEOUT_S = 900.0
"""One fetch of a wiki's repository from its first to its last byte."""
FETCH_REQUESTS = 4
"""Of one fetch: HEAD without the token and with it, and the commit in two parts."""
RECHECK_S = 10.0
"""A file that is missing is requested again from the service after this time."""
SCOPE_HINT = (
    "create a token with the scopes api and read_repository, or download the files in"
    " a browser"
)

GIT_RETRY_S = 300.0
"""After this time without git it is tried again: an empty wiki has none."""
HISTORY_BYTES_MAX = 32 * 1024 * 1024
"""More than this of a wiki's history is not read; 100,000 commits take half of it."""
PARENTS_MAX = 10_000
"""Commits whose parents are remembered."""
RETRY_S = 60.0
"""A fetch that failed is tried again after this time ..."""
REFUSED_S = 600.0
"""... and one that was refused after this time."""

CHUNK_BYTES = 64 * 1024
MEDIA = (
    *(".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tiff", ".ico", ".webp"),
    *(".mp4", ".m4v", ".mov", ".webm", ".ogv"),
    *(".mp3", ".oga", ".ogg", ".spx", ".wav", ".pdf", ".zip"),
)
"""Names of files that no web page can be."""
PAGES = (".html", ".htm", ".xhtml", ".xht", ".shtml")
"""Names of files that are web pages."""
KEPT_S = 900.0
"""A file route that keeps files to browsers is asked again after this time."""
NOWHERE = "0" * 32
"""A folder of uploads that no service makes: its names are random."""

_HEAD = (
    rb"[0-9a-f]{4}(?P<id>[0-9a-f]{40}(?:[0-9a-f]{24})?) HEAD(?:\0(?P<can>[^\n]*))?\n"
)


class NoRepository(errors.NotFound):
    """A wiki's git repository cannot be fetched at all; the message says why."""


class WikiHistory:
    """The newest commit of one wiki, and what it follows."""

    def __init__(self, client: Client, owner: WikiOwner) -> None:
        self._client = client
        self._owner = owner
        self._due_at = float("-inf")
        """When git is asked again, where it said nothing."""
        self._can_filter = False
        self._parents: dict[str, tuple[str, ...]] = {}
        """Of the commits that were met."""
        self._since: tuple[str, str, bool] | None = None
        """The last answer about two commits that were not met."""

    async def head(self) -> str | None:
        """The newest commit; None for some minutes where git does not say it."""
        if self._client.now() < self._due_at:
            return None
        retry_s, head, can_filter = GIT_RETRY_S, None, False
        try:
            head, can_filter = await _advertised(self._client, self._owner, waits=False)
        except NoRepository:
            pass
        except errors.RateLimited as error:
            # a limit of git says nothing of the API
            asked_s = error.retry_after_s or self._client.settings.rate_limit_pause_s
            retry_s = min(asked_s, self._client.settings.limit_wait_max_s)
        if head is None:
            self._due_at = self._client.now() + retry_s
        self._can_filter = can_filter
        return head

    async def follows(self, head: str, earlier: str) -> bool | None:
        """Whether the last HEAD has an earlier commit before it; None: unknown."""
        try:
            if is_before(self._parents, head, earlier):
                return True
            if self._since is None or self._since[:2] != (head, earlier):
                found = await self._fetched(head, earlier, filter_="tree:0")
                is_after = is_before(found.parents(), head, earlier)
                self._since = head, earlier, is_after
            return self._since[2]
        except (errors.RemoteError, Unexplained) as error:
            log.info("%s: the history is not known: %s", self._owner, error)
            return None

    async def bring_trees(self, head: str, held: TreeCache) -> None:
        """Bring the trees that are held to the commit that was HEAD a moment ago.

        Raises RemoteError, Unexplained, and TreeMissing where it is not all of it.
        """
        if held.head == head:
            return
        for is_thin in (True, False) if held.head else (False,):
            found = await self._fetched(
                head,
                held.head if is_thin else "",
                filter_="blob:none",
                held=held.trees if is_thin else None,
            )
            try:
                held.take(head, found.root_of(head), found.trees)
            except TreeMissing:
                if not is_thin:
                    raise
                continue
            if len(self._parents) >= PARENTS_MAX:
                self._parents = {}
            self._parents |= found.parents()
            return

    async def _fetched(
        self,
        head: str,
        earlier: str,
        *,
        filter_: str,
        held: Mapping[bytes, bytes] | None = None,
    ) -> Objects:
        """What a fetch gives to one who has an earlier commit, or none.

        With the filter ``tree:0`` all commits between come, else the newest one.  The
        answer may build on the trees that are held.
        """
        can = ["filter"] if self._can_filter else []
        can += ["thin-pack"] if held is not None else []
        asked = [f"want {' '.join((head, *can))}\n"]
        asked += [] if filter_ == "tree:0" else ["deepen 1\n"]
        asked += [f"filter {filter_}\n"] if self._can_filter else []
        has = [_packet(f"have {earlier}\n")] if earlier else []
        said = (*map(_packet, asked), "0000", *has, _packet("done\n"))
        request = replace(
            _upload_pack(self._client, self._owner),
            packets="".join(said).encode(),
            bytes_max=HISTORY_BYTES_MAX,
            waits=False,
        )
        answer = bytes((await self._client.send(request)).body)
        return await asyncio.to_thread(
            objects_in, answer, id_bytes=len(head) // 2, held=held
        )


def is_before(
    parents: Mapping[str, tuple[str, ...]], commit: str, earlier: str
) -> bool:
    """Whether a commit has an earlier one before it, as far as is known."""
    seen, waiting = {commit}, [commit]
    while waiting:
        for parent in parents.get(waiting.pop(), ()):
            if parent == earlier:
                return True
            if parent not in seen:
                seen.add(parent)
                waiting.append(parent)
    return False


def _packet(line: str) -> str:
    return f"{len(line) + 4:04x}{line}"


class RemoteRepository:
    """The files of one wiki's newest commit, fetched when they are asked for."""

    def __init__(self, client: Client, owner: WikiOwner, cache: Path) -> None:
        self._client = client
        self._owner = owner
        self._address = client.address.url(_path(owner))
        name = hashlib.sha256(self._address.encode()).hexdigest()[:16]
        self._folder = cache / f"{name}.git"
        self._trees = cache / f"{name}.trees"
        self._turn = asyncio.Lock()
        self._checked_at: float | None = None
        self._failure: NoRepository | errors.Unavailable | None = None
        """Why the last try failed: it stands for every file until the next one."""

    def trees(self, *, is_kept: bool = True) -> TreeCache:
        """The trees of the last scan, kept beside the files unless they are not to."""
        return TreeCache(self._trees, is_kept=is_kept)

    async def read(self, path: AttachmentPath, version: str = "") -> bytes:
        """A file's content, of any time or with the id that is given.

        Cancelled, it waits until git's library notices, half a minute at most.
        """
        content = await self._read(path, version, removes_damaged=False)
        if content is None:
            async with self._turn:
                # another reader may have fetched it meanwhile
                content = await self._read(path, version, removes_damaged=True)
                if content is None:
                    await self._renew(is_known=bool(version))
                    content = await self._read(path, version, removes_damaged=True)
        if content is None:
            raise errors.NotFound(
                f"cannot read attachment {path} of {self._owner}: it is not in the"
                " wiki's git repository",
                url=self._address,
                hint="check the pages that link to it",
            )
        refuse_pointer(content, path, self._owner, self._address)
        return content

    async def versions(self, known: Versions) -> Versions:
        """The versions of the wiki's pages, some of them known; raises as ``read``."""
        async with self._turn:
            await self._renew(is_known=True, waits=False)
            if not self._folder.is_dir():
                return UNKNOWN
            from wikisync.api.git_fetch import read_versions

            found = await asyncio.to_thread(read_versions, self._folder, known)
            return replace(found, texts=self._folder.name)

    async def _read(
        self, path: AttachmentPath, version: str, *, removes_damaged: bool
    ) -> bytes | None:
        """Read a file that is here; a damaged one is removed by the turn's holder."""
        if not self._folder.is_dir():
            return None
        from wikisync.api.git_fetch import read_file

        return await asyncio.to_thread(
            read_file, self._folder, path, version, removes_damaged=removes_damaged
        )

    async def _renew(self, *, is_known: bool, waits: bool = True) -> None:
        if self._failure is not None:
            is_refused = isinstance(self._failure, NoRepository)
            if not self._is_due(REFUSED_S if is_refused else RETRY_S):
                raise self._failure
        elif self._folder.exists() and not is_known and not self._is_due(RECHECK_S):
            return
        self._checked_at = self._client.now()
        try:
            head, _ = await _advertised(self._client, self._owner, waits=waits)
            held = None
            if self._folder.is_dir():
                from wikisync.api.git_fetch import held_commit

                held = await asyncio.to_thread(held_commit, self._folder)
            if head is not None and head != held:
                await self._fetch()
        except (NoRepository, errors.Unavailable) as error:
            self._failure = error
            raise
        self._failure = None

    def _is_due(self, pause_s: float) -> bool:
        return self._checked_at is None or (
            self._client.now() - self._checked_at >= pause_s
        )

    async def _fetch(self) -> None:
        log.info("fetching the git repository of the wiki of %s", self._owner)
        request = _upload_pack(self._client, self._owner)
        # one slot at a time: there may be no other
        for _ in range(FETCH_REQUESTS - 1):
            async with self._client.budget.turn(request):
                pass
        async with self._client.budget.turn(request):
            await self._fetch_now()

    async def _fetch_now(self) -> None:
        # git's library is loaded only where a file has to come by git
        from wikisync.api import git_fetch

        fetching = git_fetch.Fetching(self._client.token, self._address)
        asked = self._address, self._folder, fetching, self._client.proxy
        loop = asyncio.get_running_loop()
        job = loop.run_in_executor(None, git_fetch.fetch, *asked)
        stopping = loop.call_later(FETCH_TIMEOUT_S, fetching.stop.set)
        what = f"fetch the git repository of the wiki of {self._owner}"
        try:
            with self._client.late_notice(what):
                # git's library cannot be left alone with the folder
                await finish(job, fetching.stop.set)
        except git_fetch.FetchRefused as exc:
            raise _no_git(self._owner, self._address, str(exc)) from exc
        except git_fetch.FetchStopped as exc:
            token = self._client.token
            reason = token.redact(str(exc)) if token else str(exc)
            raise errors.Unavailable(
                f"cannot {what}: {reason}", url=self._address, hint="try again later"
            ) from None
        except OSError as exc:
            raise errors.FolderError(
                f"{self._folder} cannot be written: {exc.strerror or exc}",
                hint="check that the disk has space and the folder is writable",
            ) from exc
        finally:
            stopping.cancel()


def refuse_pointer(
    content: bytes, path: AttachmentPath, owner: WikiOwner, url: str
) -> None:
    """Take no pointer for the file that it stands for, but raise NotFound."""
    if is_pointer(content):
        raise errors.NotFound(
            f"cannot read attachment {path} of {owner}: the wiki holds only a pointer"
            " to it (Git LFS, git-annex)",
            url=url,
            hint="download the file in a browser",
        )


class AttachmentSource:
    """The attachments of one wiki."""

    def __init__(self, wiki: Wiki, repository: RemoteRepository | None = None) -> None:
        self._wiki = wiki
        self._repository = repository
        self._kept_until = float("-inf")
        """The file route keeps files to browsers, as learned in this run."""

    async def read(
        self, path: AttachmentPath, version: str = ""
    ) -> AsyncGenerator[bytes, None]:
        """The attachment's bytes in chunks; NotFound says which way it is not there.

        ``version`` is git's id of it; empty for an upload.
        """
        is_named_page = path.lower().endswith(PAGES)
        content = await self._content_in_git(path, version) if is_named_page else None
        if content is None and self._wiki.client.now() >= self._kept_until:
            async with aclosing(self._wiki.read_attachment(path)) as chunks:
                try:
                    first = await self._beginning(chunks)
                    content = await self._checked(path, version, first)
                except (NotHandedOut, errors.RefusedInFront) as error:
                    if self._repository is None:
                        raise
                    log.info("%s; trying git", error.message)
                    self._kept_until = self._wiki.client.now() + KEPT_S
                else:
                    if content is None:
                        yield first
                        async for chunk in chunks:
                            yield chunk
                        return
        if content is None:
            assert self._repository is not None
            try:
                content = await self._repository.read(path, version)
            except NoRepository as error:
                raise errors.NotFound(
                    f"cannot read attachment {path} of {self._wiki.owner}: the service"
                    f" serves files to browsers only, and {error.message}",
                    url=error.url,
                    hint=error.hint,
                ) from error
        for start in range(0, len(content), CHUNK_BYTES):
            yield content[start : start + CHUNK_BYTES]

    async def _beginning(self, chunks: AsyncIterator[bytes]) -> bytes:
        first = b""
        async for chunk in chunks:
            first += chunk
            if len(first) >= BEGINNING_BYTES:
                break
        return first

    async def _checked(
        self, path: AttachmentPath, version: str, first: bytes
    ) -> bytes | None:
        """Another content than the one that begins so; None where that is the file.

        NotHandedOut for a web page instead, NotFound for a pointer to the file.
        """
        refuse_pointer(first, path, self._wiki.owner, self._wiki.web_url)
        if first and not is_web_page(first):
            return None
        content = await self._content_in_git(path, version)
        if content is not None:
            return content
        is_wrong = bool(first) and path.lower().endswith(MEDIA)
        if not is_wrong and await self._admits_to_lack(path):
            return None
        what = "a web page" if first else "nothing"
        raise NotHandedOut(
            f"cannot read attachment {path} of {self._wiki.owner}: the service"
            f" answers with {what} instead",
            url=self._wiki.web_url,
            hint=NOT_HANDED_OUT_HINT,
        )

    async def _admits_to_lack(self, path: AttachmentPath) -> bool:
        name = path.rpartition(".")[2]
        nowhere = AttachmentPath(f"uploads/{NOWHERE}/nothing.{name}")
        async with aclosing(self._wiki.read_attachment(nowhere)) as chunks:
            try:
                async for _ in chunks:
                    break
            except errors.NotFound as error:
                return not isinstance(error, NotHandedOut)
        return False

    async def _content_in_git(self, path: AttachmentPath, version: str) -> bytes | None:
        """The file as git has it, or NotFound; None where git does not answer now."""
        if self._repository is None:
            return None
        try:
            return await self._repository.read(path, version)
        except (NoRepository, errors.Unavailable, errors.RateLimited) as error:
            log.info("%s is not compared with git: %s", path, error.message)
            return None


# -- HEAD --------------------------------------------------------------------------


def _path(owner: WikiOwner) -> str:
    return f"/{encode_path(owner.full_path)}.wiki.git"


def _purpose(client: Client, owner: WikiOwner) -> Purpose:
    action = f"read the git repository of the wiki of {owner}"
    return client.purpose(action, "attachment", owner)


def _upload_pack(client: Client, owner: WikiOwner) -> Request:
    path = f"{_path(owner)}/git-upload-pack"
    return Request("POST", path, _purpose(client, owner), is_git=True)


async def _advertised(
    client: Client, owner: WikiOwner, *, waits: bool
) -> tuple[str | None, bool]:
    """The newest commit, if any; and whether the server leaves out what it is told to.

    NoRepository where nothing can be fetched.
    """
    path, purpose = f"{_path(owner)}/info/refs", _purpose(client, owner)
    request = Request(
        "GET", path, purpose, "service=git-upload-pack", is_git=True, waits=waits
    )
    try:
        answer = await client.send(request)
    except errors.RefusedInFront as error:
        reason = f"a gateway in front of the service refused it: {error.what}"
        raise _no_git(owner, client.shown(request), reason) from error
    except (errors.AuthenticationFailed, errors.PermissionDenied) as error:
        reason = "the token may not read the wiki's git repository"
        raise _no_git(owner, client.shown(request), reason) from error
    except (errors.NotFound, errors.ProtocolViolation, errors.Rejected) as error:
        reason = "the service has no git repository of the wiki at its URL"
        raise _no_git(owner, client.shown(request), reason) from error
    if answer.content_type != ADVERTISEMENT:
        reason = "the server there is not a git server"
        raise _no_git(owner, client.shown(request), reason)
    found = re.search(_HEAD, answer.body)
    if found is None:
        return None, False
    return found["id"].decode(), b"filter" in (found["can"] or b"").split()


def _no_git(owner: WikiOwner, url: str, reason: str) -> NoRepository:
    return NoRepository(
        f"the git repository of the wiki of {owner} is not available: {reason}",
        url=url,
        hint=SCOPE_HINT,
    )
