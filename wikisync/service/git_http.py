"""Git over HTTP: clone, fetch and push of wikis and of projects' own repositories.

A wiki is at ``<full path>.wiki.git``, a project's repository at ``<full path>.git``;
404 without the git executable.  A token is the password of any user name, or a header.
What a push brings is read like any other change (``docs/service.md`` "Git"), and
counted before git takes any of it: git unpacks the objects beside the repository, with
little memory and time; only what passes the limits of a wiki goes to ``receive-pack``.
"""

import asyncio
import logging
from base64 import b64decode
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Literal

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from msgspec import Struct
from msgspec.structs import replace

from wikisync.service import access, jobs
from wikisync.service.answers import PlainRefusal, Refusal, unmatched_route
from wikisync.service.bodies import call_for_body, spool_folder
from wikisync.service.call import Call, Caller, Owner
from wikisync.service.committing import GitRefused
from wikisync.service.git_process import GitFailed, GitInput, GitRunner, Sink, ignore
from wikisync.service.page_ids import moves_between, update_page_ids
from wikisync.service.projects.parts import judge_repository
from wikisync.service.repository import WikiRepository, WikiStorage
from wikisync.service.rows import Project
from wikisync.service.settings import KIB, MIB, GitService
from wikisync.service.tables import Tables
from wikisync.service.tree import TreeTooLarge, WikiTree

log = logging.getLogger(__name__)

CHUNK_BYTES = 256 * KIB
ANSWER_BYTES_MAX = 16 * MIB
"""The list of references, or the report of a push."""
READ_SCOPES = frozenset({"api", "read_repository", "write_repository"})
WRITE_SCOPES = frozenset({"api", "write_repository"})
UPLOAD_PACK = "git-upload-pack"
RECEIVE_PACK = "git-receive-pack"
FLUSH = b"0000"
SIDE_BAND = "side-band-64k"
PUSH_OPTIONS = "push-options"
"""A part of its own behind the branches, which nobody here reads."""
REPORTS = frozenset({"report-status", "report-status-v2"})
_NO_OBJECT = "0" * 40
_LENGTH_CHARS = 4
_SIZES = (
    "cat-file",
    "--batch-all-objects",
    "--unordered",
    "--batch-check=%(objecttype) %(objectsize)",
)
_NO_CACHE = {
    "Cache-Control": "no-cache, max-age=0, must-revalidate",
    "Pragma": "no-cache",
    "Expires": "Fri, 01 Jan 1980 00:00:00 GMT",
}
_CHALLENGE = {"WWW-Authenticate": 'Basic realm="GitLab"'}
_NOT_FOUND = (
    "The project you were looking for could not be found"
    " or you don't have permission to view it.\n"
)
_NOT_YET = "A repository for this project does not exist yet.\n"
_WIKI_ACTS = ("download this wiki", "write to this wiki")
_CODE_ACTS = ("download code from this project", "push code to this project")

Part = Literal["wiki", "code"]
"""Which repository of a project is meant; a group has a wiki only."""


class Visit(Struct, frozen=True):
    """A caller who may do what it asks of a repository."""

    part: Part
    owner: Owner
    caller: Caller
    storage: WikiStorage


async def show_references(call: Call, part: Part) -> web.StreamResponse:
    """``GET .../info/refs?service=...``: the branches, with their commits."""
    name = call.raw.get("service")
    if name not in {UPLOAD_PACK, RECEIVE_PACK}:
        raise PlainRefusal(403, "only the smart protocol is spoken here\n")
    visit = await _enter(call, part, is_push=name == RECEIVE_PACK)
    command = str(name).removeprefix("git-")
    words = (command, "--stateless-rpc", "--advertise-refs")
    references = await _collect(call, visit, words, None)
    body = _packet(f"# service={name}\n".encode()) + FLUSH + references
    return web.Response(body=body, headers=_headers(f"{name}-advertisement"))


async def upload_pack(call: Call, part: Part) -> web.StreamResponse:
    """``POST .../git-upload-pack``: clone and fetch."""
    visit = await _enter(call, part, is_push=False)
    response = web.StreamResponse(headers=_headers(f"{UPLOAD_PACK}-result"))

    async def send(chunk: bytes) -> None:
        if not response.prepared:
            await response.prepare(call.request)
        await response.write(chunk)

    with spool_folder(call.service.spool) as spool:
        body = await _spool(call, spool, call.service.settings.git.request_bytes_max)
        try:
            await _run(call, visit, ("upload-pack", "--stateless-rpc"), body, send)
        except GitFailed:
            # a client that hangs up is an error to git; what was sent stands
            if not response.prepared:
                raise _failed() from None
    # some clients hang up as soon as they have all objects
    with suppress(ConnectionError):
        if not response.prepared:
            await response.prepare(call.request)
        await response.write_eof()
    return response


async def receive_pack(call: Call, part: Part) -> web.StreamResponse:
    """``POST .../git-receive-pack``: push."""
    visit = await _enter(call, part, is_push=True)
    headers = _headers(f"{RECEIVE_PACK}-result")
    with spool_folder(call.service.spool) as spool:
        # the whole push is here before the repository is locked for it
        body = await _spool(call, spool, call.service.settings.git.push_bytes_max)
        git, repository = call.service.git, visit.storage.repository
        sent = await asyncio.to_thread(_read_push, body, git.limits)
        # of what cannot be read as a push git itself complains
        if sent is not None:
            try:
                await _check_push(sent, body, repository, git, spool)
            except _PushRefused as refused:
                log.warning(
                    "a push to %s is refused: %s", visit.owner.full_path, refused
                )
                return web.Response(body=sent.refusal(str(refused)), headers=headers)

        async def push() -> bytes:
            return await _collect(
                call, visit, ("receive-pack", "--stateless-rpc"), body
            )

        report, before, after = await visit.storage.receive(push)
    if before is None or after is None or before.commit != after.commit:
        await _follow(call, visit, before, after)
    return web.Response(body=report, headers=headers)


async def _follow(
    call: Call, visit: Visit, before: WikiTree | None, after: WikiTree | None
) -> None:
    service = call.service
    if visit.part == "code":
        await jobs.refresh_code(service, visit.owner.id)
    elif before is not None and after is not None:
        # else which pages moved cannot be known
        moved, gone = moves_between(before, after)
        if moved or gone:
            owner = visit.owner
            await service.records.ask(
                update_page_ids, owner.kind, owner.id, moved, gone
            )
    visit.storage.note_write(visit.caller.person.id)


async def _enter(call: Call, part: Part, *, is_push: bool) -> Visit:
    """Who calls for which repository, if it may; else a refusal in git's plain text."""
    if not call.service.git.is_there():
        raise unmatched_route()
    caller = await _caller(call)
    owner = await _find(call, caller)
    if owner is None or (part == "code" and owner.kind == "group"):
        raise _denied(access.Verdict.HIDDEN, caller, part, is_push=is_push)
    verdict = _judge(owner, part, caller, is_push=is_push)
    if verdict is not access.Verdict.ALLOWED:
        raise _denied(verdict, caller, part, is_push=is_push)
    wanted = WRITE_SCOPES if is_push else READ_SCOPES
    if caller.token is not None and not caller.token.scopes & wanted:
        raise PlainRefusal(403, "the token's scopes do not reach this far\n")
    if part == "wiki":
        storage = call.service.wiki(owner.kind, owner.id)
    else:
        assert isinstance(owner, Project), "a group has no code"
        if owner.origin.is_under_way:
            # what is pushed now would be lost when the import comes
            raise PlainRefusal(404, _NOT_YET)
        storage = call.service.code(owner.id)
    await storage.make()
    return Visit(part, owner, caller, storage)


async def _caller(call: Call) -> Caller:
    scheme, _, credential = call.request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "basic":
        try:
            login = b64decode(credential.strip(), validate=True).decode()
        except ValueError:  # not base64, not ASCII or not UTF-8
            raise _access_denied() from None
        user, _, password = login.partition(":")
        # some scripts send the token as the user and no password
        call = replace(call, raw={"private_token": password or user})
    try:
        return await call.caller("any")
    except Refusal as refusal:
        if refusal.status != 401:
            raise
        raise _access_denied() from None


async def _find(call: Call, caller: Caller) -> Owner | None:
    records, path = call.service.records, call.segments["full_path"]
    project = await records.ask(Tables.project, path, caller.user_id)
    # a number is an id to the API, but a path here
    if project is not None and project.full_path.lower() == path.lower():
        return None if project.is_going else project
    if call.service.is_free:
        return None
    group = await records.ask(Tables.group, path, caller.user_id)
    is_named = group is not None and group.full_path.lower() == path.lower()
    return group if is_named else None


def _judge(
    owner: Owner, part: Part, caller: Caller, *, is_push: bool
) -> access.Verdict:
    if part == "code":
        assert isinstance(owner, Project), "a group has no code"
        return judge_repository(owner, caller, is_push=is_push)
    membership = owner.membership(caller.user)
    if is_push:
        return access.judge_wiki(owner.door, membership, access.Operation.WRITE)
    return access.judge_clone(owner.door, membership)


def _denied(
    verdict: access.Verdict, caller: Caller, part: Part, *, is_push: bool
) -> PlainRefusal:
    if caller.user is None:
        # git asks its user for a password when it reads this
        return _access_denied()
    if verdict is access.Verdict.HIDDEN:
        return PlainRefusal(404, _NOT_FOUND)
    acts = _WIKI_ACTS if part == "wiki" else _CODE_ACTS
    return PlainRefusal(403, f"You are not allowed to {acts[is_push]}.\n")


def _access_denied() -> PlainRefusal:
    text = "HTTP Basic: Access denied. Use a token as the password.\n"
    return PlainRefusal(401, text, _CHALLENGE)


def _failed() -> PlainRefusal:
    return PlainRefusal(500, "git failed; the service's log says why\n")


async def _collect(
    call: Call, visit: Visit, words: tuple[str, ...], body: Path | None
) -> bytes:
    answer = bytearray()

    async def keep(chunk: bytes) -> None:
        answer.extend(chunk)
        if len(answer) > ANSWER_BYTES_MAX:
            log.warning("git %s says more than there is room for", words[0])
            raise GitFailed

    try:
        await _run(call, visit, words, body, keep)
    except GitFailed:
        raise _failed() from None
    return bytes(answer)


async def _spool(call: Call, folder: Path, bytes_max: int) -> Path:
    if (call.request.content_length or 0) > bytes_max:
        raise _too_large()
    await call_for_body(call.request)
    path = folder / "request"
    size = 0
    with await asyncio.to_thread(path.open, "wb") as file:
        try:
            async for chunk in call.request.content.iter_chunked(CHUNK_BYTES):
                size += len(chunk)
                if size > bytes_max:
                    raise _too_large()
                await asyncio.to_thread(file.write, chunk)
        except (web.RequestPayloadError, HttpProcessingError):
            raise PlainRefusal(400, "the request cannot be unpacked\n") from None
    return path


def _too_large() -> PlainRefusal:
    return PlainRefusal(413, "more than this service takes at once\n")


async def _run(
    call: Call, visit: Visit, words: tuple[str, ...], body: Path | None, sink: Sink
) -> None:
    """Run git on the repository, with a request for its input."""
    is_push = call.request.rel_url.raw_path.endswith(RECEIVE_PACK)
    most = call.service.settings.git.push_memory_bytes_max if is_push else None
    given = GitInput(
        body,
        memory_bytes_max=most,
        protocol=call.request.headers.get("Git-Protocol", ""),
        is_stranger=visit.caller.user is None,
    )
    await call.service.git.run(
        (*words, "."), visit.storage.repository.path, sink, given
    )


def _headers(kind: str) -> Mapping[str, str]:
    return {"Content-Type": f"application/x-{kind}", **_NO_CACHE}


# -- what a push brings -----------------------------------------------------------


class _Push(Struct, frozen=True):
    """What a push asks for, before its objects."""

    tips: dict[str, str]
    """Full name of a branch or tag to the object it shall name, in hexadecimal."""
    abilities: frozenset[str]
    """What the sender understands."""
    pack_offset: int
    """Where the objects begin in the body."""
    object_count: int | None
    """How many there are, by their own word; None for a push without any."""

    def refusal(self, reason: str) -> bytes:
        """The report that git shows its user: each name, and why it is refused."""
        if not self.abilities & REPORTS:
            return b""
        text = " ".join(reason.split())
        lines = [b"unpack ok\n"]
        lines += [f"ng {name} {text}\n".encode() for name in self.tips]
        report = b"".join(_packet(line) for line in lines) + FLUSH
        has_bands = SIDE_BAND in self.abilities
        return _packet(b"\x01" + report) + FLUSH if has_bands else report


class _PushRefused(Exception):
    """A push brings more than is taken; the text says what."""


def _read_push(body: Path, limits: GitService) -> _Push | None:
    """What the body of a push asks for; None for what only git can make sense of."""
    tips: dict[str, str] = {}
    abilities: frozenset[str] = frozenset()
    with body.open("rb") as file:
        while (packet := _read_packet(file)) != b"":
            if packet is None:
                return None
            line, _, words = packet.partition(b"\0")
            try:
                _old, new, name = line.decode().rstrip("\n").split(" ", 2)
            except ValueError:
                # a shallow clone says so first; of anything else git complains
                if line.startswith(b"shallow "):
                    continue
                return None
            tips[name] = new
            abilities |= frozenset(words.decode("utf-8", "replace").split())
            if len(tips) > limits.references_max:
                break
        if PUSH_OPTIONS in abilities and not _skip_part(file):
            return None
        offset = file.tell()
        header = file.read(12)
    count = int.from_bytes(header[8:12]) if header[:4] == b"PACK" else None
    return _Push(tips, abilities, offset, count)


async def _check_push(
    push: _Push, body: Path, repository: WikiRepository, git: GitRunner, scratch: Path
) -> None:
    """Unpack a push in a scratch folder; _PushRefused says what is too much."""
    limits = git.limits
    if len(push.tips) > limits.references_max:
        raise _PushRefused(f"it names more than {limits.references_max} branches")
    if push.object_count is None:
        return
    if push.object_count > limits.objects_max:
        raise _PushRefused(f"it has more than {limits.objects_max:,} objects")
    objects = scratch / "objects"
    await asyncio.to_thread((objects / "pack").mkdir, parents=True)
    options = ("--stdin", "--fix-thin", f"--max-input-size={limits.push_bytes_max}")
    given = GitInput(
        body,
        push.pack_offset,
        objects=objects,
        are_added=True,
        memory_bytes_max=limits.push_memory_bytes_max,
    )
    try:
        await git.run(("index-pack", *options), repository.path, ignore, given)
        listed = GitInput(objects=objects)
        await git.run(_SIZES, repository.path, _Count(limits), listed)
    except GitFailed as error:
        raise _PushRefused(f"git cannot unpack it: {error}") from None
    tips = [bytes.fromhex(tip) for tip in push.tips.values() if tip != _NO_OBJECT]
    try:
        await asyncio.to_thread(repository.check_pushed, objects, tips)
    except (TreeTooLarge, GitRefused) as error:
        raise _PushRefused(str(error)) from None


class _Count:
    """Adds up the sizes of files as git lists them: ``blob 1234``, a line each."""

    def __init__(self, limits: GitService) -> None:
        self._limits = limits
        self._rest = b""
        self._left = limits.files_bytes_max

    async def __call__(self, chunk: bytes) -> None:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        limits = self._limits
        most = limits.file_bytes_max
        for line in lines:
            kind, _, size = line.partition(b" ")
            if int(size) > most:
                raise _PushRefused(f"a file in it has more than {most:,} bytes")
            self._left -= int(size) if kind == b"blob" else 0
        if self._left < 0:
            every = limits.files_bytes_max
            raise _PushRefused(f"its files have more than {every:,} bytes in all")


def _skip_part(file: BinaryIO) -> bool:
    """Read to the end of a part; False where there is none."""
    while (packet := _read_packet(file)) != b"":
        if packet is None:
            return False
    return True


def _packet(content: bytes) -> bytes:
    return b"%04x%s" % (len(content) + _LENGTH_CHARS, content)


def _read_packet(file: BinaryIO) -> bytes | None:
    """The next packet; empty for the end of a part, None for what is no packet."""
    try:
        length = int(file.read(_LENGTH_CHARS), 16)
    except ValueError:
        return None
    if length == 0:
        return b""
    if length <= _LENGTH_CHARS:
        return None
    content = file.read(length - _LENGTH_CHARS)
    return content if len(content) == length - _LENGTH_CHARS else None
