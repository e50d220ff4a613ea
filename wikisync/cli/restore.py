"""``wikisync restore``: bring an earlier text of a page back into its file."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import click

from wikisync.cli.console import Console
from wikisync.cli.options import json_option, workspace_option
from wikisync.cli.restore_all import restore_since
from wikisync.errors import UsageError
from wikisync.merging.conflict import MARKER, has_marker
from wikisync.merging.diff import changes
from wikisync.model import Page
from wikisync.workspace.configured import ConfiguredWorkspace, find_workspace
from wikisync.workspace.named import named_page
from wikisync.workspace.opening import open_workspace
from wikisync.workspace.restoring import chosen_version, find_page, refuse_missing
from wikisync.workspace.times import local_time, parse_time
from wikisync.workspace.versions import (
    Version,
    bring_back,
    versions_of,
    when,
)

LINE_CHARS_MAX = 60
"""So much of a line is shown in the list."""


@click.command(
    name="restore",
    epilog="Example: wikisync restore handbook/home.md --list\n\n"
    "wikisync restore handbook/home.md --at '2026-11-21 14:30'\n\n"
    "wikisync restore --all --since 2h --dry-run",
)
@click.argument("page", required=False)
@workspace_option
@click.option(
    "--at", "moment", metavar="TIME", help="Restore the page as it was at this time."
)
@click.option(
    "--conflict", is_flag=True, help="Restore the text of its last conflict file."
)
@click.option(
    "--all", "is_all", is_flag=True, help="Restore every page; needs --since."
)
@click.option(
    "--since",
    "start_of",
    metavar="TIME",
    help="With --all: undo local deletions and replacements since this time.",
)
@click.option("--list", "lists", is_flag=True, help="List the versions.")
@json_option
@click.option("--dry-run", is_flag=True, help="Show the result without writing it.")
@click.option("-y", "--yes", "is_yes", is_flag=True, help="With --all: do not ask.")
@click.pass_obj
def command(
    console: Console,
    start: Path,
    page: str | None,
    moment: str | None,
    start_of: str | None,
    *,
    conflict: bool,
    is_all: bool,
    lists: bool,
    as_json: bool,
    dry_run: bool,
    is_yes: bool,
) -> int:
    """Restore an earlier text of PAGE; the next sync uploads it.

    The text comes from the trash, from texts that syncs replaced, or from the last
    sync. Without --at, the command restores the last text of a deleted page, the last
    synced text of a page that was edited since, or else the text before that. The
    current text is kept and can itself be restored.

    With --all --since TIME, the command restores every page that was deleted or
    replaced locally since that time; PAGE may be a wiki or a directory. TIME is a time
    like '2026-11-21 14:30', or an age like 2h or 3d. It shows the pages and asks for
    confirmation, unless --yes is given.
    """
    workspace = find_workspace(start)
    if is_all or start_of:
        if not (is_all and start_of) or moment or conflict:
            raise UsageError(
                "use --all together with --since, and without --at and --conflict",
                hint="wikisync restore --all --since 2h --dry-run",
            )
        since = parse_time(start_of)
        return restore_since(
            console,
            workspace,
            page,
            since,
            is_wanted=False if dry_run or lists else is_yes or None,
            as_json=as_json,
        )
    if page is None:
        raise UsageError(
            "no page is given",
            hint="give a page, or restore all of them: --all --since 2h",
        )
    at = parse_time(moment) if moment else None
    return _restore_page(
        console, workspace, page, at, conflict, lists, as_json, dry_run
    )


def _restore_page(
    console: Console,
    workspace: ConfiguredWorkspace,
    page: str,
    at: float | None,
    is_conflict: bool,
    lists: bool,
    as_json: bool,
    dry_run: bool,
) -> int:
    section, named = named_page(workspace, page)
    with open_workspace(
        workspace, is_held=False, is_read_only=lists or dry_run
    ) as opened:
        slug, current = asyncio.run(find_page(opened, section, named))
        versions = versions_of(opened, section, slug)
        if not versions:
            asyncio.run(refuse_missing(opened, section, named))
        if lists:
            _show(console, versions, current, as_json=as_json)
            return 0
        name = f"{section.folder}/{slug}"
        versions = [one for one in versions if one.is_conflict == is_conflict]
        chosen = chosen_version(versions, current, at, name)
        if not dry_run:
            if has_marker(chosen.text):
                raise UsageError(
                    f"the conflict file of {name} was not resolved: it contains marker"
                    f" lines",
                    hint="print it with --dry-run, and copy what you need",
                )
            if slug != named:
                opened.known(section).record_alias(named, slug)
            local, known = opened.local(section), opened.known(section)
            asyncio.run(bring_back(local, known, slug, chosen, current))
    if as_json:
        answer = {"page": name, "is_written": not dry_run, **_as_json(chosen)}
        console.json(answer)
    elif dry_run:
        console.result(chosen.text)
    else:
        console.note(
            f"{name} has the text again that it had {when(chosen)}; the next sync"
            f" uploads it"
        )
    return 0


# -- shown -------------------------------------------------------------------------


def _as_json(version: Version) -> dict[str, object]:
    return {
        "until": version.at,
        "from": version.where,
        "bytes": len(version.text.encode("utf-8", "surrogatepass")),
        "text": version.text,
    }


def _show(
    console: Console,
    versions: Sequence[Version],
    current: Page | None,
    *,
    as_json: bool,
) -> None:
    if as_json:
        rows = [_as_json(one) for one in versions]
        console.json(rows)
        return
    if not versions:
        console.note(
            "no earlier text of this page is saved here; see its history on the wiki"
        )
        return
    texts = [current.content if current else "", *(one.text for one in versions)]
    console.table(
        ["current until", "bytes", "from", "difference from the row above"],
        [
            (
                local_time(one.at) if one.at is not None else "now",
                len(one.text.encode("utf-8", "surrogatepass")),
                one.where,
                _difference(one.text, above),
            )
            for one, above in zip(versions, texts, strict=False)
        ],
    )


def _difference(text: str, above: str) -> str:
    """The first line that only one of two texts has: with +, it is in this text."""
    if text == above:
        return "none"
    old, new = _lines(above), _lines(text)
    for hunk in changes(old, new):
        if hunk.new_start < hunk.new_end:
            return f"+ {new[hunk.new_start][:LINE_CHARS_MAX]}"
        return f"- {old[hunk.old_start][:LINE_CHARS_MAX]}"
    return "only in blank space"


def _lines(text: str) -> list[str]:
    return [
        line.strip()
        for line in text.splitlines()
        if line.strip() and MARKER not in line
    ]
