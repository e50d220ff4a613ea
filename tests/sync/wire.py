"""The service at the other end of the wire, in a world of persons and faults.

Where ``simulated`` is the wiki as the engine sees it, here the engine's own client
stands in between, with its repetitions and its suspicion, and the network does all that
``docs/sync.md`` "Proofs" names: requests that never come, answers that never come or
are cut, late, of another kind or about another page, and a service that fails, is tired
or says that there is nothing.
"""

import asyncio
import hashlib
import random
import re
from collections.abc import AsyncGenerator
from typing import cast
from urllib.parse import unquote, urlsplit

import msgspec
from aiohttp import MultipartWriter

from tests.sync.persons import World, plain_name
from tests.sync.simulated import LATENCY_S
from tests.sync.simulated_git import SimulatedGit
from tests.sync.virtual import START_S
from wikisync.api.client import Client
from wikisync.api.exchange import Answer, Purpose, Request
from wikisync.api.git import ADVERTISEMENT
from wikisync.api.known import TreeCache
from wikisync.api.pool import Pool, failure_of
from wikisync.api.replica import WikiReplica
from wikisync.api.wikis import Wiki
from wikisync.core.model import Format, WikiOwner
from wikisync.errors import RemoteError, Unavailable
from wikisync.merging.metadata import front_matter_of
from wikisync.sync.base.state import WikiState

SLOW_STEPS = 5
"""Moments at which something happens while an answer is late."""
URL = "https://gitlab.example.com"
PAGES = "/api/v4/projects/1/wikis"
NOT_SENT = ("refused", "dropped on the way")
STATUSES = {"500": 500, "502": 502, "429": 429, "429 for 7 s": 429, "false 404": 404}
SPOILT = ("answer dropped", "cut", "wrong type", "web page", "another page", "late")
FAULTS = (*NOT_SENT, *STATUSES, *SPOILT, "empty list")

Json = object


def wired_wiki(
    world: World,
    known: WikiState,
    owner: WikiOwner,
    git: SimulatedGit | None,
    folder: str,
) -> WikiReplica:
    """The wiki behind a new client, as a new process has it.

    Args:
        world: What the client meets.
        known: What is known of the wiki.
        owner: Its name.
        git: Its git side; None where git is not asked.
        folder: The name of the folder that it is in sync with.
    """
    client = Client(URL, "glpat-EXAMPLE", random=random.Random(0).random, clock=_now)
    # the one place where the client meets the network
    client._pool = cast("Pool", Wire(world, git))
    wiki = Wiki(client, owner, 1)
    if git is None:
        return WikiReplica(wiki)
    tag = known.memory.remote_tag
    return WikiReplica(
        wiki,
        tag=tag,
        pages=known.remote_pages() if tag else None,
        again=known.memory.remote_again,
        trees=TreeCache(git.cache / f"{folder}.trees"),
        request_cost_bytes=1,
    )


def _now() -> float:
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return START_S


class Wire:
    """What is asked of the service and answered by it; in place of a ``Pool``."""

    def __init__(self, world: World, git: SimulatedGit | None) -> None:
        self._world = world
        self._wiki = world.wiki
        self._git = git
        self._shown: dict[str, str] = {}
        """The text of each page as this process was told it last."""

    async def exchange(self, request: Request) -> Answer:
        """One request and its answer, or what became of them."""
        file = await _file_of(request)
        fault = await self._send(request)
        if request.is_git:
            return await self._answer_git(request, fault)
        status, body = self._answer(request, fault, file)
        self._world.step(f"done: {request.method} {request.path}")
        etag = hashlib.sha256(body).hexdigest()
        if request.etag == etag and status == 200:
            return Answer(304, {}, b"", request.path)
        if fault in SPOILT:
            body = await self._spoilt(request, fault, body)
        kind = "text/html" if fault == "web page" else "application/json"
        answer = Answer(
            status, {"content-type": kind, "etag": etag}, body, request.path
        )
        if status >= 300:
            raise failure_of(answer, request.purpose, None)
        self._note(body)
        return answer

    async def read_file(
        self, url: str, purpose: Purpose
    ) -> AsyncGenerator[bytes, None]:
        """A file of the web side."""
        path = unquote(urlsplit(url).path).partition("/-/wikis/")[2]
        fault = await self._send(Request("GET", path, purpose))
        content = self._wiki.files.get(path)
        if content is None or fault == "false 404":
            raise _failure(404, Request("GET", path, purpose))
        if fault in {"cut", "answer dropped", "late"}:
            yield content[0].encode()[:3]
            raise _passing(f"{path} was cut")
        yield content[0].encode()

    async def _send(self, request: Request) -> str | None:
        """A request on its way; returns what will happen to its answer."""
        what = f"{request.method} {request.path}"
        self._world.step(what)
        await asyncio.sleep(LATENCY_S)
        rights, is_read = self._world.rights, request.method == "GET" or request.is_git
        if rights == "none" or (rights == "read" and not is_read):
            self._world.trace.append(f"refused: {request.method}")
            raise _failure(401 if rights == "none" else 403, request)
        fault = self._world.fault(FAULTS)
        if fault in NOT_SENT:
            raise _passing(f"{what}: {fault}")
        if fault in STATUSES and (fault != "500" or self._world.random.random() < 0.5):
            after = {"retry-after": "7"} if fault == "429 for 7 s" else {}
            raise _failure(STATUSES[fault], request, after)
        return fault

    async def _answer_git(self, request: Request, fault: str | None) -> Answer:
        """What git says, if the wiki has any."""
        if self._git is None or fault in {"500", "empty list"}:
            raise _failure(404, request)
        is_fetch = request.packets is not None
        body = self._git.pack(request.packets or b"") if is_fetch else self._git.refs()
        self._world.step(f"done: {request.method} {request.path}")
        if fault in SPOILT:
            body = await self._spoilt(request, fault, body)
        kind = "text/html" if fault == "web page" else ADVERTISEMENT
        return Answer(200, {"content-type": kind}, body, request.path)

    def _answer(
        self, request: Request, fault: str | None, file: str | None
    ) -> tuple[int, bytes]:
        """What the service does and says."""
        if file is not None:
            status, said = self._upload(dict(request.form_fields)["file"], file)
        else:
            status, said = self._do(request, fault)
        if fault == "500":
            # it failed after it had done what was asked
            raise _failure(500, request)
        return status, msgspec.json.encode(said) if said is not None else b""

    async def _spoilt(self, request: Request, fault: str, body: bytes) -> bytes:
        """The answer as it comes."""
        if fault == "answer dropped":
            raise _passing(f"{request.path}: no answer came")
        if fault == "late":
            for _ in range(SLOW_STEPS):
                self._world.step(f"still waiting for {request.path}")
                await asyncio.sleep(LATENCY_S)
        if fault == "cut":
            return body[: len(body) // 2]
        if fault == "wrong type":
            return self._world.random.choice((b"null", b"[]", b'{"message":"ok"}'))
        if fault == "web page":
            return b"<!DOCTYPE html><title>Sign in</title>"
        if fault == "another page" and self._wiki.pages and _slug(request):
            other = self._world.random.choice(sorted(self._wiki.pages))
            return msgspec.json.encode(self._record(other))
        return body

    # -- the service -------------------------------------------------------------

    def _do(self, request: Request, fault: str | None) -> tuple[int, Json]:
        slug = _slug(request)
        if request.method == "POST":
            return self._create(_sent(request))
        if slug is None:
            pages = [] if fault == "empty list" else sorted(self._wiki.pages)
            return 200, [self._record(name) for name in pages]
        found = self._found(slug)
        if found is None:
            return 404, {"message": "404 Wiki Page Not Found"}
        if request.method == "PUT":
            return self._edit(found, _sent(request))
        if request.method == "DELETE":
            self._overwrite(found, "")
            self._wiki.pages.pop(found)
            self._world.writes += 1
            return 204, None
        return 200, self._record(found)

    def _create(self, sent: dict[str, str]) -> tuple[int, Json]:
        slug = sent["title"].replace(" ", "-")
        if self._wiki.is_taken(slug):
            return 422, {"message": {"base": ["Duplicate page"]}}
        self._store(slug, sent)
        return 201, self._record(slug)

    def _edit(self, slug: str, sent: dict[str, str]) -> tuple[int, Json]:
        target = self._target(slug, sent["title"].replace(" ", "-"))
        if target != slug:
            twin = self._found(target)
            if twin is not None:
                return 422, {"message": {"base": ["Duplicate page"]}}
            self._world.move(self._wiki, slug, target, is_subtree=True)
            self._shown[target] = self._shown.get(slug, "")
        self._overwrite(target, sent["content"])
        self._store(target, sent)
        return 200, self._record(target)

    def _target(self, slug: str, title: str) -> str:
        """The name that a title gives (``docs/service.md`` "Edits")."""
        folder, slash, _ = slug.rpartition("/")
        is_leaf = "/" not in title
        return f"{folder}{slash}{title}" if is_leaf else title.removeprefix("/")

    def _upload(self, name: str, content: str) -> tuple[int, Json]:
        path = self._world.upload_path(name)
        self._world.writes += 1
        self._world.store_file(self._wiki, path, content)
        return 201, {"file_name": name, "file_path": path, "branch": "main"}

    def _store(self, slug: str, sent: dict[str, str]) -> None:
        self._world.writes += 1
        self._world.store(self._wiki, slug, sent["content"], Format(sent["format"]))

    def _found(self, slug: str) -> str | None:
        """The page that the service finds under a name: case is nothing to it (Q5)."""
        pages = sorted(self._wiki.pages, key=lambda name: (name != slug, name))
        return next((p for p in pages if plain_name(p) == plain_name(slug)), None)

    def _record(self, slug: str) -> dict[str, Json]:
        text, page_format, identity = self._wiki.pages[slug]
        record: dict[str, Json] = {
            "slug": slug,
            "title": slug.rpartition("/")[2].replace("-", " "),
            "format": page_format,
            "content": self._told(text),
            "encoding": "UTF-8",
        }
        if self._world.tells_identities:
            record["wiki_page_meta_id"] = identity
        return record

    def _told(self, text: str) -> str:
        """A page's text as the service gives it: some without its front matter (Q8)."""
        if not self._world.strips_front_matter:
            return text
        return text[len(front_matter_of(text)) :].lstrip("\r\n")

    # -- the window --------------------------------------------------------------

    def _note(self, body: bytes) -> None:
        """What the client knows now, if it can read it."""
        try:
            said = msgspec.json.decode(body)
        except msgspec.DecodeError:
            return
        for record in said if isinstance(said, list) else [said]:
            if isinstance(record, dict) and "content" in record:
                self._shown[record["slug"]] = record["content"]

    def _overwrite(self, slug: str, text: str) -> None:
        before = self._wiki.pages[slug][0]
        is_seen = self._told(before) == self._shown.get(slug)
        self._world.overwrite(self._wiki, before, text, is_seen=is_seen)


def _passing(message: str) -> Unavailable:
    """A failure that may be over when the client asks again."""
    error = Unavailable(message)
    error.may_pass = True
    return error


def _failure(
    status: int, request: Request, headers: dict[str, str] | None = None
) -> RemoteError:
    said = msgspec.json.encode({"message": f"{status}"})
    kind = {"content-type": "application/json", **(headers or {})}
    return failure_of(Answer(status, kind, said, request.path), request.purpose, None)


def _slug(request: Request) -> str | None:
    """The page that a request is about, if it is about one."""
    match = re.fullmatch(rf"{PAGES}/(.+)", request.path)
    return unquote(match[1]) if match else None


def _sent(request: Request) -> dict[str, str]:
    assert request.json is not None
    return cast("dict[str, str]", msgspec.json.decode(request.json))


async def _file_of(request: Request) -> str | None:
    """The file that is uploaded with a request."""
    if request.form is None:
        return None
    async with request.form() as form:
        body = form()
        assert isinstance(body, MultipartWriter)
        ((part, _, _),) = body
        return part.decode()
