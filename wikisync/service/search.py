"""Search in the texts of a wiki: ``scope=wiki_blobs``, and no other scope."""

import asyncio
from collections.abc import Sequence
from itertools import islice

from aiohttp import web

from wikisync.contract.schema import BlobRecord
from wikisync.service.access import Operation, Verdict
from wikisync.service.call import Call, judge
from wikisync.service.pages import decode_text
from wikisync.service.projects.reading import answer_part
from wikisync.service.repository import WikiStorage
from wikisync.service.rows import Project
from wikisync.service.tree import PageFile

LINES_AROUND = 2
"""Shown before and behind a line in which something is found."""
PAGES_AT_ONCE = 100
"""Read by a thread before others have their turn."""


async def search_wiki(call: Call) -> web.Response:
    """``GET /projects/:id/search``, in the project's wiki.

    As of a service without advanced search, groups and all projects have none.
    """
    caller = await call.signed_in()
    values, window = call.list_values()
    wanted = str(values["search"]).strip().casefold()
    project = await call.project(caller)
    limits = call.service.settings.limits
    found: list[BlobRecord] = []
    left = limits.searched_bytes_max if wanted else 0
    if judge(call.service, project, caller, Operation.READ) is Verdict.ALLOWED:
        wiki = call.service.wiki("project", project.id)
        tree = await wiki.tree()
        assert tree is not None, "there is always a present tree"
        pages = iter(tree.pages)
        while left > 0 and (some := list(islice(pages, PAGES_AT_ONCE))):
            excerpts, size = await asyncio.to_thread(_find, wiki, project, some, wanted)
            found += excerpts
            left = left - size if len(found) <= limits.counted_rows_max else 0
    return answer_part(call, found, window)


def _find(
    wiki: WikiStorage, project: Project, pages: Sequence[PageFile], wanted: str
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
                project_id=project.id,
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
