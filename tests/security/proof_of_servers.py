"""Attacks on the servers: the embedded service, a preview, the listener of a watch."""

import asyncio
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pygit2

from tests.security import service_pushes as pushing
from tests.security import service_requests
from tests.security.connections import HALF_REQUESTS, drip, held_connections, send_half
from tests.security.proof import Row
from tests.security.service_bodies import endless_file, endless_parts, spool
from tests.security.service_readers import SLOW_PAGE, ask_and_leave, seconds_of_a_write
from tests.support.servers import a_listener, a_preview, a_service
from tests.support.service import EmbeddedService, embedded_service
from wikisync.core.model import Format, Page, Slug, WikiOwner

BOOK = WikiOwner("project", "docs/book")
API = "/api/v4/projects/docs%2Fbook"
WIKIS = f"{API}/wikis"
CREATE = "/api/v4/projects"
MIB = 1024 * 1024
SENT_BYTES_MAX = 16 * MIB
"""What buffers between a sender and the service take of a body that is refused."""
UPLOAD_BYTES_MAX = 128 * MIB
"""The same of a sender who may send a body, as long as an upload may be."""
READERS, WRITES = 40, 5
WRITE_S = 0.5


async def requests(root: Path) -> Row:
    """Ids, filters, titles and versions that are too much, of everybody."""
    row = Row("requests to the service", 10.0)
    attacks = {
        "numbers": service_requests.numbers_without_end(),
        "lists": service_requests.lists_without_end(),
        "titles": service_requests.deep_titles("docs%2Fbook"),
        "versions": service_requests.names_of_versions("docs%2Fbook"),
    }
    async with embedded_service(root) as service:
        await service.add_project("docs/book", {"home": "x"}, visibility="public")
        stranger = await service.add_user("eve")
        for token in (None, stranger, service.token):
            for name, sent in attacks.items():
                for answer in await service_requests.send(service.url, sent, token):
                    _note_answer(row, name, answer)
        files = set(await service.files(BOOK))
        row.note(f"the wiki has {files}", 0.0, is_held=files == {"home.md"})
    return row


def _note_answer(row: Row, name: str, answer: service_requests.Answered) -> None:
    what = f"{name}: {answer.sent.method} {answer.sent.path[:60]} -> {answer.status}"
    row.note(what, answer.seconds, is_held=answer.status < 500)


async def pushes(root: Path) -> Row:
    """Few bytes that stand for more than there is memory."""
    row = Row("pushes", 30.0)
    trees = {
        **{
            f"{levels} levels of two": partial(pushing.tree_of_trees, levels=levels)
            for levels in (18, 22, 30, 60, 200)
        },
        **{
            f"{depth} folders deep": partial(pushing.deep_tree, depth=depth)
            for depth in (65, 300, 1000, 5000)
        },
        "300 MB of zeros": partial(pushing.swollen_file, size=300 * MIB),
    }
    async with embedded_service(root) as service:
        await service.add_project("docs/book", {"home": "x"})
        for number, (name, make) in enumerate(trees.items()):
            evil = pushing.repository_in(root / f"evil{number}.git")
            pushing.commit(evil, await asyncio.to_thread(make, evil))
            began = time.monotonic()
            ran = await pushing.push(Path(evil.path), service.git_url(BOOK))
            took = time.monotonic() - began
            is_refused = ran.code != 0 and "[remote rejected]" in ran.err
            is_same = await service.files(BOOK) == {"home.md": b"x"}
            row.note(f"{name}: {ran.err}", took, is_held=is_refused and is_same)
        await _repair(service, root, row)
    return row


async def _repair(service: EmbeddedService, root: Path, row: Row) -> None:
    """Whatever the wiki is, a good push mends it."""
    wiki = await service.wiki(BOOK)
    inside = pygit2.Repository(str(wiki.repository.path))
    pushing.commit(inside, pushing.deep_tree(inside, 1000))
    good = pushing.repository_in(root / "good.git")
    pushing.commit(good, pushing.many_files(good, 1))
    began = time.monotonic()
    ran = await pushing.push(Path(good.path), service.git_url(BOOK))
    row.note(f"repair: {ran.err}", time.monotonic() - began, is_held=ran.code == 0)


async def bodies(root: Path) -> Row:
    """Bodies without end, of nobody and of somebody."""
    row = Row("bodies without end", 30.0)
    places = [f"{WIKIS}/attachments", f"{API}/uploads", CREATE]
    places += [API, "/docs/book.wiki.git/git-receive-pack"]
    async with embedded_service(root) as service:
        await service.add_project("docs/book", {"home": "x"})
        stranger = await service.add_user("eve")
        spooled = service.running.spool
        sent = [
            *(
                (place, token, endless_file())
                for place in places
                for token in (None, stranger)
            ),
            (places[0], service.token, endless_parts(are_files=True)),
            (places[0], service.token, endless_parts(are_files=False)),
        ]
        for place, token, body in sent:
            began = time.monotonic()
            status, size = await spool(service.url, place, token, body=body)
            took = time.monotonic() - began
            is_member = token == stranger and place == CREATE
            size_max = UPLOAD_BYTES_MAX if is_member else SENT_BYTES_MAX
            is_held = size < size_max and not list(spooled.rglob("*"))
            row.note(f"{place}: {size:,} bytes, {status!r}", took, is_held=is_held)
    return row


async def readers(root: Path) -> Row:
    """Readers who ask for what takes long and hang up, while somebody writes."""
    row = Row("a write beside 40 readers who leave", WRITE_S)
    slow = Page(Slug("slow"), Format.REST, SLOW_PAGE)
    async with embedded_service(root) as service:
        await service.add_project("docs/book", {"home": "x"}, visibility="public")
        await service.add_pages(BOOK, [slow])
        for _ in range(WRITES):
            await ask_and_leave(service.url, f"{WIKIS}/slow?render_html=1", READERS)
            status, took = await seconds_of_a_write(
                service.url, f"{WIKIS}/home", service.token
            )
            row.note(f"the write got {status}", took, is_held=status == 200)
    row.tried *= READERS
    return row


async def half_requests(root: Path) -> Row:
    """Half requests, dripping ones and unread answers, on every server."""
    row = Row("half requests", 28.0)
    async with (
        a_service(root / "service") as (service, _),
        a_preview(root / "preview") as (preview, _),
        a_listener(root / "listener") as (listener, _),
    ):
        servers = {"service": service, "preview": preview, "listener": listener}
        async with asyncio.TaskGroup() as group:
            for name, url in servers.items():
                for half, sent in HALF_REQUESTS.items():
                    group.create_task(_half(row, f"{name}: {half}", url, sent))
                group.create_task(_dripped(row, f"{name}: drops", url))
        await _held(row, servers)
    return row


async def _half(row: Row, name: str, url: str, sent: bytes) -> None:
    try:
        ended = await send_half(url, sent)
    except TimeoutError:
        row.note(f"{name}: is never hung up on", 30.0, is_held=False)
    else:
        row.note(name, ended.seconds, is_held=True)


async def _dripped(row: Row, name: str, url: str) -> None:
    sent = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    try:
        ended = await drip(url, sent, b"X-A: b\r\n", 0.5)
    except TimeoutError:
        row.note(f"{name}: is never hung up on", 30.0, is_held=False)
    else:
        row.note(name, ended.seconds, is_held=True)


async def _held(row: Row, servers: Mapping[str, str]) -> None:
    """Hundreds of connections that say nothing; the server answers afterwards."""
    for name, url in servers.items():
        async with held_connections(url, 600):
            pass
        began = time.monotonic()
        ended = await send_half(url, b"GET / HTTP/1.0\r\n\r\n")
        answered = ended.answer.startswith(b"HTTP/1.")
        took = time.monotonic() - began
        row.note(f"{name}: no answer after 600", took, is_held=answered)
