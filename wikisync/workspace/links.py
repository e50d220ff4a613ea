"""The links of pages, found in threads, for wikis that are translated."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from wikisync.folder.loose import LooseFiles
from wikisync.folder.replica import FolderReplica
from wikisync.markup.retarget import link_places, link_targets, retarget
from wikisync.model import LinkPlace, LinkTarget, Page
from wikisync.sync.base.state import WikiState
from wikisync.sync.replica import RemoteReplica
from wikisync.sync.wiki.linking import FileLinks
from wikisync.sync.wiki.translation import TranslatedWiki

T = TypeVar("T")

_PARSING = threading.Lock()
"""The parsers are the process's, and made for one page at a time."""


class ParsedLinks:
    """The links of pages, found in a thread: the loop never waits for a parser."""

    async def targets(self, page: Page) -> Sequence[LinkTarget]:
        """Where the page's links lead."""
        return await _parsed(lambda: link_targets(page))

    async def places(
        self, page: Page, targets: Collection[LinkTarget]
    ) -> Sequence[LinkPlace]:
        """Where the source names these targets, in order."""
        return await _parsed(lambda: link_places(page, targets))

    async def retarget(
        self, page: Page, changes: Sequence[tuple[LinkPlace, LinkTarget, str]]
    ) -> str | None:
        """The source with other targets; None where that makes another page of it."""
        return await _parsed(lambda: retarget(page, changes))


async def _parsed(work: Callable[[], T]) -> T:
    def alone() -> T:
        with _PARSING:
            return work()

    return await asyncio.to_thread(alone)


def translated_wiki(
    wiki: RemoteReplica,
    folder: FolderReplica,
    known: WikiState,
) -> TranslatedWiki:
    """The wiki with its links to files as the folder writes them."""
    files = LooseFiles.of_folder(folder)
    links = FileLinks(wiki, files, known, links=ParsedLinks(), clock=time.time)
    return TranslatedWiki(wiki, known, links)
