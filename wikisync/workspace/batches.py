"""Held batches of a workspace by their names, and a person's decision on them."""

from __future__ import annotations

from collections.abc import Sequence

from wikisync.config import WikiSection
from wikisync.errors import UsageError
from wikisync.sync.decide.safety import Batch, Decision
from wikisync.workspace.opening import OpenWorkspace


def find_batch(opened: OpenWorkspace, name: str) -> tuple[WikiSection, Batch]:
    """The batch that a person names ``FOLDER:ID``, or ``ID`` where that is clear."""
    folder, _, number = name.rpartition(":")
    wikis = opened.workspace.wikis([folder] if folder else [])
    found = [
        (section, batch)
        for section in wikis
        for batch in opened.known(section).memory.batches
        if str(batch.id) == number.strip()
    ]
    waiting = [one for one in found if one[1].decision is Decision.WAITING]
    if len(waiting) == 1:
        return waiting[0]
    raise UsageError(_why(name, found, waiting), hint=_hint(opened))


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
        for batch in opened.known(section).memory.batches
        if batch.decision is Decision.WAITING
    ]
    if not waiting:
        return "no batch is held; see wikisync status"
    return f"held batches: {'; '.join(waiting)}"
