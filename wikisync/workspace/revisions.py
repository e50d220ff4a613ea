"""The revisions of a page in the wiki's git history, for ``log`` and ``restore``.

They come from a repository of their own in the cache: a watch may be reading the other
one at the same time.
"""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from wikisync.api.git import RemoteRepository
from wikisync.config import WikiSection
from wikisync.core import versions
from wikisync.core.layout import CACHE_FOLDER
from wikisync.core.messages import Messages
from wikisync.core.model import Format, Slug
from wikisync.errors import UsageError
from wikisync.workspace.identity import find_wiki
from wikisync.workspace.opening import OpenWorkspace
from wikisync.workspace.restoring import Version
from wikisync.workspace.service import open_service

FOLDER = "history"
"""In the cache."""
DIGITS = 8
"""Of a revision, as it is shown."""
DIGITS_MIN = 4


class Revisions(Struct, frozen=True):
    """What the history of a wiki tells of one page."""

    rows: Sequence[versions.Version]
    """The newest first, also under its earlier names."""
    since: int
    """Nothing before is known; 0 where everything is."""
    texts: Path
    """The repository that has their texts."""


async def read_revisions(
    opened: OpenWorkspace,
    section: WikiSection,
    slug: Slug,
    token_file: Path | None,
    messages: Messages,
) -> Revisions:
    """The revisions of a page that is in the wiki, or was; else UsageError."""
    cache = opened.workspace.private / CACHE_FOLDER / FOLDER
    async with open_service(
        opened.workspace, token_file, messages, os.environ
    ) as client:
        found = await find_wiki(opened.state, client, section)
        repository = RemoteRepository(client, found.owner, cache)
        known = await repository.versions(versions.UNKNOWN)
    rows = versions.versions_of(known, slug)
    if not rows:
        raise UsageError(
            f"the history of the wiki has no page {section.folder}/{slug}",
            hint="give the name that it has on the wiki",
        )
    return Revisions(rows, known.since, cache / known.texts)


async def text_of(revisions: Revisions, revision: str, page_format: Format) -> Version:
    """The text of a page as the revision left it that begins so."""
    from wikisync.core.git_log import read_blobs

    is_named = len(revision) >= DIGITS_MIN
    start = revision.lower()
    found = [r for r in revisions.rows if is_named and r.commit.startswith(start)]
    if len(found) != 1:
        raise UsageError(
            f"{revision} names {'no' if not found else 'more than one'} revision of the"
            " page",
            hint="list its revisions with wikisync log PAGE --revisions",
        )
    (row,) = found
    (text,) = await asyncio.to_thread(read_blobs, revisions.texts, [row.blob])
    if text is None:
        raise UsageError(
            f"the page has no text in revision {row.commit[:DIGITS]}",
            hint="name the revision before it",
        )
    by = f" by {row.author}" if row.author else ""
    where = f"revision {row.commit[:DIGITS]}{by}"
    return Version(row.at, where, text, page_format, revision=row.commit[:DIGITS])
