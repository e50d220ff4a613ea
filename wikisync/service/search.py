"""Search in the texts of wikis: ``GET .../search?scope=wiki_blobs``, no other scope."""

import asyncio
from collections.abc import Sequence
from itertools import islice

from aiohttp import web
from msgspec.structs import replace

from wikisync.contract.routes import OtherEndpoint
from wikisync.contract.schema import BlobRecord
from wikisync.core.model import OwnerKind
from wikisync.service.access import Operation, Verdict
from wikisync.service.answers import Refusal
from wikisync.service.call import Call, Caller, Owner
from wikisync.service.listing import ProjectQuery, find_project_ids, read_projects
from wikisync.service.pages import decode_text
from wikisync.service.projects.reading import answer_part
from wikisync.service.repository import WikiStorage
from wikisync.service.tables import Tables
from wikisync.service.tree import PageFile

LINES_AROUND = 2
"""Shown before and behind a line in which something is found."""
PAGES_AT_ONCE = 100
"""Read by a thread before others have their turn."""


async def search_wikis(call: Call) -> web.Response:
    """``GET .../search``: in one wiki, in those of a group, or in all there are."""
    kind = None if call.endpoint is OtherEndpoint.SEARCH else call.kind
    caller = await call.signed_in()
    values, window = call.list_values()
    if kind != "project" and call.service.is_free:
        text = "Scope supported only with advanced search or exact code search"
        raise Refusal(400, {"message": {"error": text}})
    wanted = str(values["search"]).strip().casefold()
    limits = call.service.limits
    found: list[BlobRecord] = []
    left = limits.searched_bytes_max if wanted else 0
    for owner in await _owners(call, caller, kind):
        verdict = call.judge_wiki(owner, caller, Operation.READ)
        if verdict is not Verdict.ALLOWED:
            continue
        wiki = call.service.wiki(owner.kind, owner.id)
        tree = await wiki.tree()
        pages = iter(tree.pages)
        while left > 0 and (some := list(islice(pages, PAGES_AT_ONCE))):
            excerpts, size = await asyncio.to_thread(_find, wiki, owner, some, wanted)
            found += excerpts
            left = left - size if len(found) <= limits.counted_rows_max else 0
    return answer_part(call, found, window)


async def _owners(
    call: Call, caller: Caller, kind: OwnerKind | None
) -> Sequence[Owner]:
    ask = call.service.records.ask
    if kind == "project":
        return [await call.project(caller)]
    query = ProjectQuery(order_by="id", is_descending=False)
    if kind == "group":
        group = await call.group(caller)
        groups = [group, *await ask(Tables.groups, caller.user_id, below=group.id)]
        query = replace(query, base="subtree", base_id=group.id)
    else:
        groups = list(await ask(Tables.groups, caller.user_id))
    most = call.service.limits.counted_rows_max
    ids = await ask(find_project_ids, query, caller.user, most)
    projects = await ask(read_projects, ids, caller.user_id)
    return [*(group for group in groups if caller.sees(group)), *projects]


def _find(
    wiki: WikiStorage, owner: Owner, pages: Sequence[PageFile], wanted: str
) -> tuple[list[BlobRecord], int]:
    repository = wiki.repository
    found: list[BlobRecord] = []
    blobs = repository.read_many([page.blob for page in pages])
    for page, blob in zip(pages, blobs, strict=True):
        text = decode_text(blob, len(blob))[0]
        is_named = wanted in page.path.casefold()
        if not is_named and wanted not in text.casefold():
            continue
        lines = text.split("\n")
        hits = [at for at, line in enumerate(lines) if wanted in line.casefold()]
        if not hits and is_named:
            hits = [0]
        found += [
            BlobRecord(
                basename=page.path.rpartition(".")[0],
                data="\n".join(lines[begin:end]),
                path=page.path,
                filename=page.path,
                ref=repository.branch(),
                startline=begin + 1,
                project_id=owner.id if owner.kind == "project" else None,
                group_id=owner.id if owner.kind == "group" else None,
            )
            for begin, end in _excerpts(hits, len(lines))
        ]
    return found, sum(map(len, blobs))


def _excerpts(hits: Sequence[int], count: int) -> list[tuple[int, int]]:
    """Lines to show around hits, those that touch together: first, and behind last."""
    found: list[tuple[int, int]] = []
    for at in hits:
        begin, end = max(0, at - LINES_AROUND), min(count, at + LINES_AROUND + 1)
        if found and begin <= found[-1][1]:
            begin = found.pop()[0]
        found.append((begin, end))
    return found
