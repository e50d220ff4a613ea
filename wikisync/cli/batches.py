"""What a person says about a batch that a brake holds: ``approve`` and ``refuse``.

A decision is one transaction on the state, so it may be made while another process
holds the workspace; that one carries it out with its next cycle.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wikisync.cli.workspace import OpenWorkspace, find_workspace, open_workspace
from wikisync.errors import ExitCode, UsageError
from wikisync.sync.ledger import NO_SLUG
from wikisync.sync.safety import Batch, Decision, decide

if TYPE_CHECKING:
    from wikisync.cli.console import Console
    from wikisync.cli.workspace import Workspace
    from wikisync.config import WikiSection


def decide_batch(
    console: Console,
    start: Path,
    name: str,
    decision: Decision,
    token_file: Path | None,
) -> int:
    """Note what a person says about a batch, and sync its wiki.

    Raises:
        UsageError: no such batch waits; those that do are named.
    """
    from wikisync.folder.workspace import holder_of

    workspace = find_workspace(start)
    holder = holder_of(workspace.private)
    with open_workspace(workspace, is_held=holder is None) as opened:
        section, batch = _find(opened, name)
        known = opened.known(section)
        with known.together():
            decided = decide(known.batches(), batch.id, decision)
            known.record_batches(decided, known.last_batch)
            known.note_done(time.time(), NO_SLUG, f"{decision} by the user: {batch}")
        console.note(f"{section.folder}:{batch.id} is {decision}: {batch}")
        if holder is not None:
            console.note(f"the running wikisync applies it ({holder})")
            return ExitCode.DONE
        return asyncio.run(_sync(console, opened, section, token_file))


async def _sync(
    console: Console,
    opened: OpenWorkspace,
    section: WikiSection,
    token_file: Path | None,
) -> int:
    from wikisync.cli.sync import sync_pages
    from wikisync.cli.sync_report import report_sync
    from wikisync.cli.syncing import exit_code_of

    done = await sync_pages(console, opened, [(section, None)], token_file)
    report_sync(console, done, as_json=False, is_dry_run=False)
    return exit_code_of(done)


def _find(opened: OpenWorkspace, name: str) -> tuple[WikiSection, Batch]:
    """The batch that a person names ``FOLDER:ID``, or ``ID`` where that is clear."""
    folder, _, number = name.rpartition(":")
    wikis = _wikis(opened.workspace, folder)
    found = [
        (section, batch)
        for section in wikis
        for batch in opened.known(section).batches()
        if str(batch.id) == number.strip()
    ]
    waiting = [one for one in found if one[1].decision is Decision.WAITING]
    if len(waiting) == 1:
        return waiting[0]
    raise UsageError(_why(name, found, waiting), hint=_hint(opened))


def _wikis(workspace: Workspace, folder: str) -> Sequence[WikiSection]:
    return workspace.wikis([folder] if folder else [])


def _why(
    name: str,
    found: Sequence[tuple[WikiSection, Batch]],
    waiting: Sequence[tuple[WikiSection, Batch]],
) -> str:
    if waiting:
        return f"{name} is ambiguous: several wikis have a batch with this number"
    if found:
        return f"{name} is {found[0][1].decision} already"
    return f"no batch {name} is waiting for approval"


def _hint(opened: OpenWorkspace) -> str:
    waiting = [
        f"{section.folder}:{batch.id} ({batch})"
        for section in opened.workspace.config.wikis
        for batch in opened.known(section).batches()
        if batch.decision is Decision.WAITING
    ]
    if not waiting:
        return "no batch is held; see wikisync status"
    return f"held batches: {'; '.join(waiting)}"
