"""``wikisync resolve``: settle a page that both sides changed, then sync it."""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import click
from msgspec import Struct

from wikisync import errors
from wikisync.cli.console import Console
from wikisync.cli.options import flag, json_option, token_option, workspace_option
from wikisync.cli.sync import report_sync, wiki_as_json
from wikisync.config.sections import WikiSection
from wikisync.core.model import Slug, is_named
from wikisync.folder.workspace import holder_of
from wikisync.merging.conflict import (
    Choice,
    read_conflict_file,
    resolved,
    write_conflict_file,
)
from wikisync.sync.decide.ledger import remote_label
from wikisync.workspace import configured, resolving
from wikisync.workspace.opening import OpenWorkspace, Synced, open_workspace
from wikisync.workspace.restoring import refuse_missing
from wikisync.workspace.service import Credentials
from wikisync.workspace.sync_run import exit_code_of, sync_pages

Outcome = Literal["synced", "settled", "unsettled", "no-conflict"]
"""``settled``: written for the running process, which syncs it."""
CHOICES: Mapping[str, Choice] = {"mine": "mine", "wiki": "wiki", "both": "both"}


@click.command(
    name="resolve", epilog="Example: wikisync resolve handbook/home.md --both"
)
@click.argument("pages", metavar="PAGE...", nargs=-1, required=True)
@workspace_option
@flag("--mine", help="Keep the local text where edits overlap.")
@flag("--wiki", help="Keep the wiki's text where edits overlap.")
@flag("--both", help="Keep both texts, the wiki's first.")
@flag("--edit", help="Open the conflict file in the editor.")
@click.option(
    "--tool",
    metavar="COMMAND",
    help="Open a merge tool; {base}, {here}, {wiki} and {result} stand for the files.",
)
@json_option
@token_option
@click.pass_obj
def command(
    console: Console,
    /,
    workspace: configured.ConfiguredWorkspace,
    pages: tuple[str, ...],
    tool: str | None,
    credentials: Credentials,
    *,
    mine: bool,
    wiki: bool,
    both: bool,
    edit: bool,
) -> int:
    """Resolve the conflict of each PAGE, which was edited on both sides, and sync it.

    Edits that do not overlap are kept from both sides; the options decide the parts
    that overlap. The replaced text can be restored with `wikisync restore`.
    """
    flags = {"mine": mine, "wiki": wiki, "both": both, "edit": edit}
    way = _way(flags, tool)
    asked = [
        Asked(console, workspace, section, slug, credentials)
        for section, slug in _named(workspace, pages)
    ]
    if way in CHOICES:
        code = asyncio.run(_settle(asked, CHOICES[way]))
    else:
        code = max([_edit(one, tool) for one in asked])
    if console.as_json:
        console.json([answer for one in asked for answer in one.answers])
    return code


def _named(
    workspace: configured.ConfiguredWorkspace, names: Iterable[str]
) -> Sequence[tuple[WikiSection, Slug]]:
    """The pages of these names, and those of folders that are in conflict."""
    named = [configured.named_pages(workspace, name) for name in names]
    if all(not slug.endswith("/") for _, slug in named):
        return tuple(dict.fromkeys(named))
    found: dict[tuple[WikiSection, Slug], None] = {}
    with open_workspace(workspace, is_read_only=True) as opened:
        for wiki, name in named:
            pages, known = opened.pages_of(wiki, [name]), opened.known(wiki)
            held = [one for one in known.conflict_files() if is_named(one, pages)]
            slugs = held or [Slug(name.rstrip("/"))]
            found |= dict.fromkeys((wiki, slug) for slug in slugs)
    return tuple(found)


def _way(flags: Mapping[str, bool], tool: str | None) -> str:
    """The one way to settle it: no text goes by the order of words."""
    ways = [name for name, is_chosen in flags.items() if is_chosen]
    if tool is not None:
        ways.append("tool")
    if not ways:
        raise errors.UsageError(
            "choose which version to keep",
            hint="add --mine, --wiki, --both, or --edit to open the conflict file",
        )
    if len(ways) > 1:
        raise errors.UsageError(
            f"{' and '.join(f'--{way}' for way in ways)} cannot be used together",
            hint="choose one of them",
        )
    return ways[0]


class Asked(Struct):
    """What the command is asked for."""

    console: Console
    workspace: configured.ConfiguredWorkspace
    section: WikiSection
    slug: Slug
    """As named; then the page's own, which may be another than its file's."""
    credentials: Credentials
    answers: list[Mapping[str, object]] = []
    """What became of it, for programs."""

    def synced(self, done: Sequence[Synced]) -> None:
        """Report a sync of the page."""
        if self.console.as_json:
            self.ended("synced", "", done)
        else:
            report_sync(self.console, done, is_dry_run=False)

    def ended(
        self, outcome: Outcome, sentence: str, done: Sequence[Synced] = ()
    ) -> None:
        """Report why it was not synced, after what a sync before that reported."""
        if self.console.as_json:
            answer = {
                "page": f"{self.section.folder}/{self.slug}",
                "outcome": outcome,
                "sentence": sentence,
                "wikis": [wiki_as_json(one) for one in done],
            }
            self.answers.append(answer)
            return
        if done:
            self.synced(done)
        if outcome == "unsettled":
            self.console.warn(sentence)
        else:
            self.console.note(sentence)


async def _settle(asked: Sequence[Asked], choice: Choice) -> int:
    workspace = asked[0].workspace
    holder = holder_of(workspace.private)
    codes: list[int] = []
    decided: list[Asked] = []
    with open_workspace(workspace, is_held=holder is None) as opened:
        for one in asked:
            code = await _without_conflict(one, opened, holder)
            if code is not None:
                codes.append(code)
                continue
            section, slug = one.section, one.slug
            text = resolved(await resolving.pieces_of(opened, section, slug), choice)
            await resolving.settle(opened, section, slug, text, holder=holder)
            if holder is None:
                what = f"resolve {slug}: {choice}"
                opened.known(section).note(time.time(), slug, what)
                decided.append(one)
            else:
                codes.append(_left_to(holder, one))
        if decided:
            codes.append(await _sync_decided(decided, opened))
    return max(codes)


def _left_to(holder: str, asked: Asked) -> int:
    asked.ended(
        "settled",
        f"{asked.section.folder}/{asked.slug}: its conflict file is resolved; the"
        f" running wikisync applies it ({holder})",
    )
    return errors.ExitCode.DONE


async def _without_conflict(
    asked: Asked, opened: OpenWorkspace, holder: str | None
) -> int | None:
    """What to say of a page without two texts to choose from; None where it has them.

    A sync may have to find out first that both sides changed it, or what they say
    now, where no conflict file could be brought up to date.
    """
    section = asked.section
    slug = asked.slug = opened.page_of(section, asked.slug)
    known = opened.known(section)
    if await resolving.has_conflict_file(opened, section, slug):
        return None
    name = f"{section.folder}/{slug}"
    if holder is not None and slug in known.conflict_files():
        raise errors.FolderError(
            f"{name} has no conflict file, which the running wikisync needs to apply a"
            f" resolution ({holder})",
            hint=f"stop it, or see {errors.command_line('status', section.folder)}",
        )
    if holder is not None:
        await refuse_missing(opened, section, slug)
        asked.ended("no-conflict", f"{name}: no conflict is known; {holder}")
        return errors.ExitCode.DONE
    done = await sync_pages(opened, [(section, frozenset({slug}))], asked.credentials)
    if slug in known.conflict_files():
        return None
    if any(one.last.held or one.failure or one.problems for one in done):
        asked.synced(done)
    else:
        asked.ended("no-conflict", f"{name}: there is no conflict to resolve", done)
    return exit_code_of(done)


async def _sync_decided(decided: Sequence[Asked], opened: OpenWorkspace) -> int:
    first = decided[0]
    pages: dict[WikiSection, set[Slug]] = {}
    for one in decided:
        pages.setdefault(one.section, set()).add(one.slug)
    wanted = [(section, frozenset(slugs)) for section, slugs in pages.items()]
    done = await sync_pages(opened, wanted, first.credentials)
    for one in decided if first.console.as_json else [first]:
        one.synced(done)
    return exit_code_of(done)


# -- in an editor ------------------------------------------------------------------


def _edit(asked: Asked, tool: str | None) -> int:
    """Open the conflict file, or a merge tool on the three texts, whose result it gets.

    The workspace is not held meanwhile.
    """
    # before anything is written
    if tool:
        resolving.tool_command(tool, dict.fromkeys(resolving.PLACES, Path()))
    editor = () if tool else resolving.persons_editor()
    holder = holder_of(asked.workspace.private)
    with open_workspace(asked.workspace, is_held=holder is None) as opened:
        found = asyncio.run(_conflict(asked, opened, holder))
    if isinstance(found, int):
        return found
    path = found.path
    if path is None:
        raise errors.FolderError(
            f"{asked.section.folder}/{asked.slug} has no conflict file to edit",
            hint="move what has its name away, or use --mine, --wiki or --both",
        )
    if not tool:
        resolving.run_and_wait([*editor, str(path)], path)
        with open_workspace(asked.workspace, is_held=holder is None) as opened:
            return asyncio.run(_take_edited(asked, opened, holder, path))
    with resolving.tool_files(found) as files:
        result = files["result"]
        resolving.run_and_wait(resolving.tool_command(tool, files), result)
        text = resolving.read_result(result)
        with open_workspace(asked.workspace, is_held=holder is None) as opened:
            now = opened.known(asked.section).conflict_files().get(asked.slug)
            settled = found.record.local, found.record.remote
            if now is None or (now.local, now.remote) != settled:
                raise errors.PreconditionFailed(
                    f"{asked.section.folder}/{asked.slug} was edited or resolved"
                    " meanwhile",
                    hint=f"nothing was applied; your result is in {result}",
                )
            asyncio.run(
                resolving.write_settled(opened, asked.section, asked.slug, text)
            )
            return asyncio.run(_take_edited(asked, opened, holder, path))


async def _take_edited(
    asked: Asked, opened: OpenWorkspace, holder: str | None, path: Path
) -> int:
    """Sync the page if its conflict file is settled, or leave that to the holder."""
    section, slug = asked.section, asked.slug
    file = await opened.local(section).conflict_file(slug)
    if file is not None and slug in opened.known(section).conflict_files():
        conflict_file = read_conflict_file(file.text)
        if conflict_file.text is None:
            left = resolving.unresolved_parts(conflict_file)
            again = "open it again, and save it without marker lines"
            asked.ended("unsettled", f"{path}: {left}; {again}")
            return errors.ExitCode.HELD
    if holder is not None:
        return _left_to(holder, asked)
    return await _sync_decided([asked], opened)


async def _conflict(
    asked: Asked, opened: OpenWorkspace, holder: str | None
) -> resolving.FoundConflict | int:
    """The conflict, its file written again where it was removed; else an exit code."""
    code = await _without_conflict(asked, opened, holder)
    if code is not None:
        return code
    section, slug = asked.section, asked.slug
    local, known = opened.local(section), opened.known(section)
    record = known.conflict_files()[slug]
    file = await local.conflict_file(slug) if record.has_file else None
    if file is None:
        pieces, label = resolving.pieces_again(known, slug), remote_label(record.at)
        text = write_conflict_file(pieces, remote_by=label)
    else:
        text = file.text
    path = None
    if record.has_file:
        made = await local.write_conflict(slug, record.format, text)
        path = opened.folder_of(section) / made
    return resolving.FoundConflict(record, known.text(slug) or "", text, path)
