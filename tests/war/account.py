"""Where every marker is at rest, and which pages differ without being named."""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.war.persons import Ledger, git, markers

CONFLICT = ".conflict"
ATTENTION = "WIKISYNC-ATTENTION.md"
UPLOAD = re.compile("uploads/[0-9a-f]{32}/")
"""Where the wiki keeps a file that lies beside the page in a folder."""


@dataclass(slots=True)
class Copy:
    """A workspace at rest."""

    folder: Path
    """Of the wiki; the workspace is its parent."""
    status: Mapping[str, Any]
    """What ``status --json`` printed."""


@dataclass(slots=True)
class Account:
    """What became of all markers and pages of one schedule."""

    in_sync: set[str] = field(default_factory=set)
    """On the wiki and in every workspace."""
    apart: set[str] = field(default_factory=set)
    """On the wiki or in a file of a workspace, but not in all of them."""
    kept: set[str] = field(default_factory=set)
    """Only in the trash or in the replaced texts of a workspace."""
    history: set[str] = field(default_factory=set)
    """Only in the history of the wiki."""
    removed: set[str] = field(default_factory=set)
    """Nowhere: taken away by a person who saw them."""
    overwritten: set[str] = field(default_factory=set)
    """Nowhere: a person saved an older window over them before a sync."""
    lost: set[str] = field(default_factory=set)
    """Nowhere, and nobody took them away."""
    different: list[str] = field(default_factory=list)
    """Pages that differ and that ``status`` does not name."""
    named: int = 0
    """Pages that differ and that ``status`` names."""


def accounted(
    ledger: Ledger,
    wiki: Path,
    copies: Iterable[Copy],
    earlier: Callable[[set[str]], set[str]],
) -> Account:
    """Account for every marker.

    Args:
        ledger: What persons did.
        wiki: A clone of the wiki's repository.
        copies: The workspaces.
        earlier: Of the markers asked for, those in texts that ``restore`` lists.
    """
    copies = tuple(copies)
    account = Account()
    there = markers(_texts(wiki, ".git"))
    here = [markers(_texts(copy.folder.parent, ".wikisync")) for copy in copies]
    account.in_sync = there.intersection(*here)
    account.apart = there.union(*here) - account.in_sync
    missing = set(ledger.written) - ledger.unsure - account.in_sync - account.apart
    for copy in copies:
        own = markers(_texts(copy.folder.parent / ".wikisync", ""))
        account.kept |= missing & own
    missing -= account.kept
    log = git("-C", str(wiki), "log", "--all", "-p", "-m", "--no-renames", "--text")
    by_hand = missing & ledger.removed
    account.history = (missing & markers(log)) - by_hand
    missing -= account.history
    account.removed = by_hand
    missing -= by_hand
    found = earlier(missing) if missing else set()
    account.kept |= found
    missing -= found
    account.overwritten = missing & ledger.overwritten
    account.lost = missing - ledger.overwritten
    pages = pages_of(wiki)
    for copy in copies:
        _compare(account, pages, copy)
    return account


def _compare(account: Account, there: Mapping[str, str], copy: Copy) -> None:
    """Find the pages of one workspace that differ, and whether status names them."""
    said = unicodedata.normalize("NFC", json.dumps(copy.status, ensure_ascii=False))
    here = pages_of(copy.folder)
    for slug in sorted(here.keys() | there.keys()):
        if here.get(slug) == there.get(slug):
            continue
        if slug in said or slug.replace("-", " ") in said.replace("-", " "):
            account.named += 1
            continue
        sides = "only there" if slug not in here else "differs"
        sides = "only here" if slug not in there else sides
        account.different.append(f"{copy.folder.parent.name}: {slug} ({sides})")
    known = markers("\n".join([*there.values(), *here.values()]))
    for path in copy.folder.rglob(f"*{CONFLICT}*"):
        page = unicodedata.normalize("NFC", path.name.partition(CONFLICT)[0])
        if markers(path.read_text(errors="replace")) - known and page not in said:
            account.different.append(f"{path.name} (text of a conflict nobody names)")


def pages_of(folder: Path) -> dict[str, str]:
    """Slug to text; names as the wiki spells them, attachments by their name alone."""
    return {
        unicodedata.normalize(
            "NFC", path.relative_to(folder).with_suffix("").as_posix()
        ).replace(" ", "-"): UPLOAD.sub(
            "", path.read_text(errors="replace").rstrip("\n")
        )
        for path in folder.rglob("*.md")
        if CONFLICT not in path.name and ".git" not in path.parts
    }


def _texts(folder: Path, without: str) -> str:
    """All texts below a folder, but for those of one folder at its top."""
    return "\n".join(
        path.read_text(errors="replace")
        for path in folder.rglob("*")
        if path.is_file()
        and path.name != ATTENTION
        and not path.name.startswith("state.db")
        and path.relative_to(folder).parts[0] != without
    )
