"""``wikisync restore``: bring an earlier text of a page back into its file."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from wikisync.cli.named import named_page
from wikisync.cli.times import local_time, parse_time
from wikisync.cli.workspace import (
    OpenWorkspace,
    find_workspace,
    open_workspace,
    workspace_option,
)
from wikisync.errors import FolderError, NotFound, UsageError
from wikisync.model import Format, Page, Slug, path_of_title

if TYPE_CHECKING:
    from wikisync.cli.console import Console
    from wikisync.config import WikiSection
    from wikisync.sync.replica import LocalReplica
    from wikisync.sync.state import WikiState

FIRST_LINE_CHARS_MAX = 60
"""So much of a text's first line is shown in the list."""


class Version(Struct, frozen=True):
    """One text that a page had."""

    at: float | None
    """When it ceased to be the page's, in seconds since the epoch; None for the text
    of the last sync, which still is, or was until somebody edited it since."""
    where: str
    """Where it comes from, in words."""
    text: str
    format: Format


@click.command(
    name="restore",
    epilog="Example: wikisync restore handbook/home.md --list\n\n"
    "wikisync restore handbook/home.md --at '2026-11-21 14:30'",
)
@click.argument("page")
@workspace_option()
@click.option("--at", "moment", metavar="TIME", help="The page as it was at that time.")
@click.option("--list", "lists", is_flag=True, help="Show what there is.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--dry-run", is_flag=True, help="Print the text, and write nothing.")
@click.pass_obj
def command(
    console: Console,
    start: Path,
    page: str,
    moment: str | None,
    *,
    lists: bool,
    as_json: bool,
    dry_run: bool,
) -> int:
    """Bring back an earlier text of PAGE, which the next sync carries over.

    From the trash, from the texts that syncs replaced, and from the last sync.
    Without --at: of a page that is gone its last text; of one that was edited since
    the last sync the text of that; else the one before it.  What is in the file now
    is kept, and can be restored in turn.
    """
    at = parse_time(moment) if moment else None
    workspace = find_workspace(start)
    section, named = named_page(workspace, page)
    with open_workspace(workspace, is_held=False) as opened:
        slug, current = asyncio.run(_find(opened, section, named))
        versions = _versions(opened, section, slug)
        if lists:
            _show(console, versions, as_json=as_json)
            return 0
        name = f"{section.folder}/{slug}"
        chosen = _chosen(versions, current, at, name)
        if not dry_run:
            if slug != named:
                opened.known(section).record_alias(named, slug)
            asyncio.run(_write(opened, section, slug, chosen, current))
            what = f"restore {slug} as it was {_when(chosen)}"
            opened.known(section).note_done(time.time(), slug, what)
    if as_json:
        answer = {"page": name, "is_written": not dry_run, **_as_json(chosen)}
        console.result(json.dumps(answer, ensure_ascii=False, indent=2))
    elif dry_run:
        console.result(chosen.text)
    else:
        console.note(
            f"{name} is again as it was {_when(chosen)}; the next sync carries it over"
        )
    return 0


async def _find(
    opened: OpenWorkspace, section: WikiSection, named: Slug
) -> tuple[Slug, Page | None]:
    """The page that a person names, and what its file says.

    Raises:
        FolderError: there is something in its place that is no text.
    """
    local = opened.local(section)
    slug = opened.page_of(section, named)
    current = await _current(local, slug)
    base = opened.known(section).base()
    if current is None and slug not in base:
        # a file that is gone is no alias any more, though its page be there still
        given = _given(slug)
        if given in base and await _current(local, given) is None:
            return given, None
    return slug, current


def _given(slug: Slug) -> Slug:
    """The name that the service gives a new page that was to have this one."""
    return Slug(path_of_title(slug) or slug)


async def _current(local: LocalReplica, slug: Slug) -> Page | None:
    """The page as its file is now; None where it has none.

    Raises:
        FolderError: there is something in its place that is no text.
    """
    try:
        return await local.read(slug)
    except NotFound:
        return None


# -- what there is -----------------------------------------------------------------


def _versions(
    opened: OpenWorkspace, section: WikiSection, slug: Slug
) -> Sequence[Version]:
    """Every text of the page that is kept, the newest first."""
    known = opened.known(section)
    base = known.base().get(slug)
    page_format = base.format if base else Format.MARKDOWN
    text = known.text(slug)
    found = [*_trashed(opened, section, slug)]
    found += [
        Version(one.at, "replaced by a sync or a restore", one.replaced, page_format)
        for name in dict.fromkeys((slug, _late(known, slug)))
        for one in known.replaced(name)
    ]
    found.sort(key=lambda one: one.at or 0.0, reverse=True)
    if text is not None:
        found.insert(0, Version(None, "the last sync", text, page_format))
    # a restore keeps what it replaces in the trash and beside the base
    return [
        one
        for before, one in pairwise([None, *found])
        if one and not _is_same(before, one)
    ]


def _late(known: WikiState, slug: Slug) -> Slug:
    """What the service called a page of this name; itself where one is there."""
    given = _given(slug)
    return slug if known.base().keys() & {slug, given} else given


def _is_same(before: Version | None, one: Version) -> bool:
    return before is not None and before.text == one.text


def _trashed(
    opened: OpenWorkspace, section: WikiSection, slug: Slug
) -> Sequence[Version]:
    """The page's texts in the trash, under any name that its file had."""
    from wikisync.folder.ignore import CONFLICT_MARK
    from wikisync.folder.naming import parse_path
    from wikisync.folder.text import decode_page
    from wikisync.folder.trash import Trash

    known = opened.known(section)
    names = {slug, *(path for path, page in known.aliases().items() if page == slug)}
    late = _late(known, slug)
    trash = Trash(opened.workspace.private / "trash", wiki=section.folder)
    found: list[Version] = []
    for entry in trash.entries():
        parsed = parse_path(entry.path)
        if parsed is None:
            continue
        if parsed[0] not in names and _late(known, parsed[0]) != late:
            continue
        if parsed[0].endswith(CONFLICT_MARK):
            continue
        try:
            text = decode_page(trash.read(entry), entry.path)
        except (NotFound, FolderError):
            continue  # purged a moment ago, or no file any more
        if isinstance(text, str):
            found.append(Version(entry.at, f"trash: {entry.why}", text, parsed[1]))
    return found


def _chosen(
    versions: Sequence[Version], current: Page | None, at: float | None, name: str
) -> Version:
    """The text that is meant.

    Raises:
        UsageError: there is none.
    """
    text = None if current is None else current.content
    if at is None:
        found = [one for one in versions if one.text != text]
    else:
        # the oldest of those that were replaced after that time stood there then
        found = [one for one in versions if one.at is None or one.at >= at][-1:]
    if not found:
        raise UsageError(
            f"no other text of {name} is kept"
            + (f" from {local_time(at)} or later" if at is not None else ""),
            hint="see what there is with --list, and the page's history on the wiki",
        )
    if found[0].text == text:
        raise UsageError(
            f"{name} is as it was then", hint="see what there is with --list"
        )
    return found[0]


# -- brought back ------------------------------------------------------------------


async def _write(
    opened: OpenWorkspace,
    section: WikiSection,
    slug: Slug,
    version: Version,
    current: Page | None,
) -> None:
    """Write the file; what is in it now is kept first.

    Raises:
        PreconditionFailed: it was saved in this very moment.
        FolderError: it cannot be written, or the old text not be kept.
    """
    local, known = opened.local(section), opened.known(section)
    if current is None:
        await local.write(Page(slug, version.format, version.text), expected=None)
        return
    await local.keep(slug, current.content, "replaced by a restore")
    kept = known.remember_replaced(slug, current.content, version.text, time.time())
    page = Page(slug, current.format, version.text)
    await local.write(page, expected=current.digest)
    known.confirm_replaced([kept])


# -- shown -------------------------------------------------------------------------


def _when(version: Version) -> str:
    if version.at is None:
        return "after the last sync"
    return f"until {local_time(version.at)}"


def _as_json(version: Version) -> dict[str, object]:
    return {
        "until": version.at,
        "from": version.where,
        "bytes": len(version.text.encode("utf-8", "surrogatepass")),
        "text": version.text,
    }


def _show(console: Console, versions: Sequence[Version], *, as_json: bool) -> None:
    if as_json:
        rows = [_as_json(one) for one in versions]
        console.result(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    if not versions:
        console.note("nothing of this page is kept here; see its history on the wiki")
        return
    console.table(
        ["until", "bytes", "from", "first line"],
        [
            (
                local_time(one.at) if one.at is not None else "now",
                len(one.text.encode("utf-8", "surrogatepass")),
                one.where,
                one.text.lstrip().partition("\n")[0][:FIRST_LINE_CHARS_MAX],
            )
            for one in versions
        ],
    )
