"""``wikisync restore``: bring an earlier text of a page back into its file."""

import asyncio
from collections.abc import Sequence

import click

from wikisync.cli.console import Console
from wikisync.cli.options import flag, json_option, token_option, workspace_option
from wikisync.core.model import Page
from wikisync.errors import ExitCode, UsageError
from wikisync.merging.conflict import MARKER, has_marker
from wikisync.merging.diff import changes
from wikisync.workspace import configured, restoring
from wikisync.workspace.opening import open_workspace
from wikisync.workspace.sentences import counted, local_time, parse_time, with_hint
from wikisync.workspace.service import Credentials

LINE_CHARS_MAX = 60
"""So much of a line is shown in the list."""


@click.command(
    name="restore",
    epilog="Example: wikisync restore handbook/home.md --list\n\n"
    "wikisync restore handbook/home.md --at '2026-11-21 14:30'\n\n"
    "wikisync restore handbook/home.md --revision 5065e325\n\n"
    "wikisync restore --all --since 2h --dry-run",
)
@click.argument("page", required=False)
@workspace_option
@click.option(
    "--at", "moment", metavar="TIME", help="Restore the page as it was at this time."
)
@click.option(
    "--revision",
    metavar="SHA",
    help="Restore the text of this revision of the wiki; see log PAGE --revisions.",
)
@flag("--conflict", help="Restore the text of its last conflict file.")
@flag("--all", "is_all", help="Restore every page; needs --since.")
@click.option(
    "--since",
    "start_of",
    metavar="TIME",
    help="With --all: undo local deletions and replacements since this time.",
)
@flag("--list", "lists", help="List the versions.")
@json_option
@flag("--dry-run", help="Show the result without writing it.")
@flag("-y", "--yes", "is_yes", help="With --all: do not ask.")
@token_option
@click.pass_obj
def command(
    console: Console,
    workspace: configured.ConfiguredWorkspace,
    page: str | None,
    moment: str | None,
    revision: str | None,
    start_of: str | None,
    credentials: Credentials,
    *,
    conflict: bool,
    is_all: bool,
    lists: bool,
    dry_run: bool,
    is_yes: bool,
) -> int:
    """Restore an earlier text of PAGE; the next sync uploads it.

    The text comes from the trash, from texts that syncs replaced, or from the last
    sync; with --revision, from the wiki's git history. Without --at, the command
    restores the last text of a deleted page, the last synced text of a page that was
    edited since, or else the text before that. The current text is kept and can itself
    be restored.

    With --all --since TIME, the command restores every page that was deleted or
    replaced locally since that time; PAGE may be a wiki or a directory. TIME is a time
    like '2026-11-21 14:30', or an age like 2h or 3d. It shows the pages and asks for
    confirmation, unless --yes is given.
    """
    if is_all or start_of:
        if not (is_all and start_of) or moment or conflict or revision:
            raise UsageError(
                "use --all together with --since, and without --at, --revision and"
                " --conflict",
                hint="wikisync restore --all --since 2h --dry-run",
            )
        since = parse_time(start_of)
        return _restore_all(
            console,
            workspace,
            page,
            since,
            is_wanted=False if dry_run or lists else is_yes or None,
        )
    if page is None:
        raise UsageError(
            "no page is given",
            hint="give a page, or restore all of them: --all --since 2h",
        )
    if revision and (moment or conflict or lists):
        raise UsageError(
            "use --revision without --at, --conflict and --list",
            hint="list the revisions with wikisync log PAGE --revisions",
        )
    at = parse_time(moment) if moment else None
    section, named = configured.named_page(workspace, page)
    with open_workspace(
        workspace, is_held=False, is_read_only=lists or dry_run
    ) as opened:
        slug, current = asyncio.run(restoring.find_page(opened, section, named))
        known, name = opened.known(section), f"{section.folder}/{slug}"
        if revision:
            wanted = opened, section, slug, revision, credentials
            chosen = asyncio.run(restoring.read_revision(*wanted))
            if current is not None and current.content == chosen.text:
                raise UsageError(
                    f"{name} already has that text",
                    hint="list its revisions with wikisync log PAGE --revisions",
                )
        else:
            versions = restoring.versions_of(opened, section, slug)
            if not versions:
                asyncio.run(restoring.refuse_missing(opened, section, named))
            if lists:
                _show(console, versions, current)
                return 0
            versions = [one for one in versions if one.is_conflict == conflict]
            chosen = restoring.chosen_version(versions, current, at, name)
            if not dry_run and has_marker(chosen.text):
                raise UsageError(
                    f"the conflict file of {name} was not resolved: it contains marker"
                    f" lines",
                    hint="print it with --dry-run, and copy what you need",
                )
        if not dry_run:
            if slug != named:
                known.record_alias(named, slug)
            local = opened.local(section)
            asyncio.run(restoring.bring_back(local, known, slug, chosen, current))
    if console.as_json:
        answer = {"page": name, "is_written": not dry_run, "text": chosen.text}
        console.json(answer | _as_json(chosen))
    elif dry_run:
        console.result(chosen.text)
    else:
        console.note(
            f"{name} has the text again that it had {restoring.when(chosen)};"
            " the next sync uploads it"
        )
    return 0


def _restore_all(
    console: Console,
    workspace: configured.ConfiguredWorkspace,
    scope: str | None,
    since: float,
    *,
    is_wanted: bool | None,
) -> int:
    """Bring back every page of a workspace, or below a directory in it.

    ``is_wanted``: None to ask a person, False to show only what would be done.
    """
    is_real = bool(is_wanted)
    work = restoring.restore_pages(workspace, scope, since, is_real=is_real)
    done, failed = asyncio.run(work)
    if is_wanted is None and done and not console.as_json:
        _show_all(console, done, since, is_real=False)
        if not console.ask("restore these pages?"):
            console.note("nothing was changed; run it again with --yes to restore them")
            return ExitCode.DONE
        work = restoring.restore_pages(workspace, scope, since, is_real=True)
        done, failed = asyncio.run(work)
        is_real = True
    if console.as_json:
        answer = {
            "is_written": is_real,
            "pages": [
                {"page": one.name, "what": one.what, **_as_json(one.version)}
                for one in done
            ],
            "failed": [
                {"page": name, "error": error.message} for name, error in failed.items()
            ],
        }
        console.json(answer)
    else:
        _show_all(console, done, since, is_real=is_real)
    for name, error in failed.items():
        console.warn(with_hint(f"{name} was not restored: {error.message}", error.hint))
    return 1 if failed else 0


def _size(version: restoring.Version) -> int:
    return len(version.text.encode("utf-8", "surrogatepass"))


def _as_json(version: restoring.Version) -> dict[str, object]:
    return {"until": version.at, "from": version.where, "bytes": _size(version)}


def _cells(version: restoring.Version) -> tuple[str, int, str]:
    """Until when a text stood there, its bytes, and where it is from."""
    until = "now" if version.at is None else local_time(version.at)
    return until, _size(version), version.where


def _show(
    console: Console, versions: Sequence[restoring.Version], current: Page | None
) -> None:
    if console.as_json:
        console.json([_as_json(one) | {"text": one.text} for one in versions])
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
            (*_cells(one), _difference(one.text, above))
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


def _show_all(
    console: Console, done: Sequence[restoring.Earlier], since: float, *, is_real: bool
) -> None:
    if not done:
        console.note(
            f"the saved texts show no page that was deleted or replaced here since"
            f" {local_time(since)}"
        )
        return
    console.table(
        ["page", "was", "until", "bytes", "from"],
        [(one.name, one.what, *_cells(one.version)) for one in done],
    )
    pages = counted(len(done), "page")
    console.note(
        f"restored {pages} as of {local_time(since)}; the next sync uploads them"
        if is_real
        else f"would restore {pages} as of {local_time(since)}"
    )
