"""``wikisync resolve``: settle a page that both sides changed, then sync it."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wikisync.cli.named import named_page
from wikisync.cli.resolve_report import ResolveReport
from wikisync.cli.service_command import token_option
from wikisync.cli.workspace import (
    OpenWorkspace,
    find_workspace,
    open_workspace,
    workspace_option,
)
from wikisync.errors import ExitCode, PreconditionFailed, UsageError

if TYPE_CHECKING:
    from wikisync.cli.console import Console
    from wikisync.cli.workspace import Workspace
    from wikisync.config import WikiSection
    from wikisync.model import Slug
    from wikisync.sync.conflict import Choice, Piece
    from wikisync.sync.state import WikiState

CHOICES: Mapping[str, Choice] = {"mine": "mine", "wiki": "wiki", "both": "both"}
EDITORS = ("sensible-editor", "nano", "vi")
"""Tried where neither ``VISUAL`` nor ``EDITOR`` is set."""


@click.command(
    name="resolve", epilog="Example: wikisync resolve handbook/home.md --both"
)
@click.argument("page")
@workspace_option()
@click.option("--mine", "choice", flag_value="mine", help="Where they clash, my text.")
@click.option(
    "--wiki", "choice", flag_value="wiki", help="Where they clash, the wiki's."
)
@click.option("--both", "choice", flag_value="both", help="Both, the wiki's first.")
@click.option("--edit", "choice", flag_value="edit", help="Open the conflict file.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@token_option()
@click.pass_obj
def command(
    console: Console,
    start: Path,
    page: str,
    choice: str | None,
    token_file: Path | None,
    *,
    as_json: bool,
) -> int:
    """Settle PAGE, which was changed here and on the wiki, and sync it.

    What does not clash stays from both sides; each choice is about the places that
    do.  The text that goes is kept: see restore.
    """
    if choice is None:
        raise UsageError(
            "it is not said whose text stands",
            hint="add --mine, --wiki, --both, or --edit to open the conflict file",
        )
    workspace = find_workspace(start)
    asked = Asked(console, workspace, *named_page(workspace, page), token_file, as_json)
    if choice == "edit":
        return _edit(asked)
    return asyncio.run(_settle(asked, CHOICES[choice]))


@dataclass(slots=True)
class Asked:
    """What the command is asked for."""

    console: Console
    workspace: Workspace
    section: WikiSection
    slug: Slug
    """As named; then the page's own, which may be another than its file's."""
    token_file: Path | None
    as_json: bool

    @property
    def report(self) -> ResolveReport:
        """Where to tell what came of it."""
        name = f"{self.section.folder}/{self.slug}"
        return ResolveReport(self.console, name, as_json=self.as_json)


async def _settle(asked: Asked, choice: Choice) -> int:
    from wikisync.folder.workspace import holder_of
    from wikisync.sync.conflict import resolved

    section = asked.section
    holder = holder_of(asked.workspace.private)
    with open_workspace(asked.workspace, is_held=holder is None) as opened:
        code = await _without_conflict(asked, opened, holder)
        if code is not None:
            return code
        slug = asked.slug
        text = resolved(await _pieces(opened, section, slug), choice)
        if holder is None:
            await _take(opened, section, slug, text)
            what = f"resolve {slug}: {choice}"
            opened.known(section).note_done(time.time(), slug, what)
            return await _sync_decided(asked, opened)
        await _write_settled(opened, section, slug, text)
    return _left_to(holder, asked)


def _left_to(holder: str, asked: Asked) -> int:
    """Say that the process which holds the workspace goes on with it."""
    asked.report.ended(
        "settled",
        f"{asked.section.folder}/{asked.slug}: its conflict file is settled;"
        f" the running wikisync takes it ({holder})",
    )
    return ExitCode.DONE


async def _without_conflict(
    asked: Asked, opened: OpenWorkspace, holder: str | None
) -> int | None:
    """What to say of a page without two texts to choose from; None where it has them.

    A sync may have to find out first that both sides changed it.
    """
    from wikisync.cli.sync import sync_pages
    from wikisync.cli.syncing import exit_code_of

    section = asked.section
    slug = asked.slug = opened.page_of(section, asked.slug)
    known = opened.known(section)
    if slug in known.bundles():
        return None
    name = f"{section.folder}/{slug}"
    if holder is not None:
        asked.report.ended(
            "no-conflict", f"{name}: no conflict is known ({holder} looks after it)"
        )
        return ExitCode.DONE
    wanted = [(section, frozenset({slug}))]
    done = await sync_pages(asked.console, opened, wanted, asked.token_file)
    if slug in known.bundles():
        return None
    if any(one.held or one.failure or one.problems for one in done):
        asked.report.synced(done)
    else:
        sentence = f"{name}: there is no conflict to resolve"
        asked.report.ended("no-conflict", sentence, done)
    return exit_code_of(done)


async def _pieces(
    opened: OpenWorkspace, section: WikiSection, slug: Slug
) -> Sequence[Piece]:
    """The page with its clashes, as far as its conflict file is settled already."""
    from wikisync.sync.conflict import read_bundle

    known = opened.known(section)
    text = await opened.local(section).conflict_text(slug)
    if text is not None:
        bundle = read_bundle(text)
        if not bundle.problem:
            return bundle.pieces
    return _pieces_again(known, slug)


def _pieces_again(known: WikiState, slug: Slug) -> Sequence[Piece]:
    """The same from the texts it was made of, where the file is gone or unclear."""
    from wikisync.sync.conflict import Clash
    from wikisync.sync.merge import merge

    record = known.bundles()[slug]
    base = known.text(slug)
    if base is None:
        return (Clash("", record.local, record.remote),)
    merged = merge(base, record.local, record.remote, page_format=record.format)
    return merged.pieces


async def _take(
    opened: OpenWorkspace, section: WikiSection, slug: Slug, text: str
) -> None:
    """Make the text the page.

    Raises:
        PreconditionFailed: the page is saved all the time.
    """
    from wikisync.sync.holds import Holds
    from wikisync.sync.push import Tally

    known = opened.known(section)
    tally = Tally()
    holds = Holds(opened.local(section), known, tally=tally, clock=time.time)
    await holds.resolve(slug, text)
    if slug in known.bundles():
        raise PreconditionFailed(
            f"{section.folder}/{slug} was edited since its conflict file was written,"
            " where the two clash",
            hint="its conflict file shows both; settle it, and run this again",
        )


async def _write_settled(
    opened: OpenWorkspace, section: WikiSection, slug: Slug, text: str
) -> None:
    """Save the conflict file as a person would, for the process that syncs."""
    record = opened.known(section).bundles()[slug]
    local = opened.local(section)
    # what is in it may be work of the person's: it goes to the trash first
    await local.write_conflict(slug, record.format, text)


async def _sync_decided(asked: Asked, opened: OpenWorkspace) -> int:
    """Sync the page that a person decided on, and say what came of it."""
    from wikisync.cli.attention import drop_attention
    from wikisync.cli.sync import sync_pages
    from wikisync.cli.syncing import exit_code_of

    wanted = [(asked.section, frozenset({asked.slug}))]
    done = await sync_pages(asked.console, opened, wanted, asked.token_file)
    asked.report.synced(done)
    if not any(one.held or one.failure for one in done):
        drop_attention(
            opened.workspace.root, f"- {asked.section.folder}/{asked.slug}: "
        )
    return exit_code_of(done)


# -- in an editor ------------------------------------------------------------------


def _edit(asked: Asked) -> int:
    """Open the conflict file; the workspace is not held meanwhile."""
    from wikisync.folder.workspace import holder_of

    editor = editor_command(os.environ)
    holder = holder_of(asked.workspace.private)
    with open_workspace(asked.workspace, is_held=holder is None) as opened:
        found = asyncio.run(_conflict_file(asked, opened, holder))
    if isinstance(found, int):
        return found
    run_editor(editor, found)
    with open_workspace(asked.workspace, is_held=holder is None) as opened:
        left = asyncio.run(_clashes_left(opened, asked.section, asked.slug))
        if left:
            asked.report.ended(
                "unsettled", f"{found}: {left}; open it again, or save it settled"
            )
            return ExitCode.HELD
        if holder is not None:
            return _left_to(holder, asked)
        return asyncio.run(_sync_decided(asked, opened))


async def _conflict_file(
    asked: Asked, opened: OpenWorkspace, holder: str | None
) -> Path | int:
    """The conflict file, written again where it was removed; else an exit code."""
    from wikisync.sync.conflict import write_bundle

    code = await _without_conflict(asked, opened, holder)
    if code is not None:
        return code
    section, slug = asked.section, asked.slug
    local, known = opened.local(section), opened.known(section)
    text = await local.conflict_text(slug)
    if text is None:
        text = write_bundle(_pieces_again(known, slug))
    record = known.bundles()[slug]
    return Path(await local.write_conflict(slug, record.format, text))


async def _clashes_left(opened: OpenWorkspace, section: WikiSection, slug: Slug) -> str:
    """What is still unsettled in the conflict file, in words; empty for nothing."""
    from wikisync.cli.sentences import counted
    from wikisync.sync.conflict import Clash, read_bundle

    text = await opened.local(section).conflict_text(slug)
    if text is None or slug not in opened.known(section).bundles():
        return ""
    bundle = read_bundle(text)
    count = sum(isinstance(piece, Clash) for piece in bundle.pieces)
    return bundle.problem or (f"{counted(count, 'clash')} left" if count else "")


def editor_command(environment: Mapping[str, str]) -> Sequence[str]:
    """The person's editor.

    Raises:
        UsageError: there is none.
    """
    named = environment.get("VISUAL") or environment.get("EDITOR") or ""
    try:
        words = shlex.split(named)
    except ValueError as exc:
        raise UsageError(
            f"VISUAL or EDITOR cannot be read: {exc}", hint="close its quotation marks"
        ) from exc
    if words:
        return words
    for name in EDITORS:
        if found := shutil.which(name):
            return [found]
    raise UsageError("no editor is known", hint="set VISUAL or EDITOR, or edit by hand")


def run_editor(editor: Sequence[str], path: Path) -> None:
    """Open a file and wait until the editor is closed.

    Raises:
        UsageError: it cannot be run, or failed.
    """
    try:
        done = subprocess.run([*editor, str(path)], check=False)  # noqa: S603 - the person's own command, no shell
    except OSError as exc:
        raise UsageError(
            f"the editor {editor[0]} cannot be run: {exc.strerror}",
            hint=f"set VISUAL or EDITOR; the file is {path}",
        ) from exc
    if done.returncode:
        raise UsageError(
            f"the editor {editor[0]} ended with exit code {done.returncode}",
            hint=f"nothing was taken; the file is {path}",
        )
