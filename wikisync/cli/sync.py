"""``wikisync sync``: carry edits both ways, once."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wikisync.cli.service_command import token_option
from wikisync.cli.workspace import (
    OpenWorkspace,
    SyncedWiki,
    find_workspace,
    open_service,
    open_workspace,
)
from wikisync.errors import UsageError

if TYPE_CHECKING:
    from wikisync.api.client import Client
    from wikisync.cli.console import Console
    from wikisync.cli.syncing import Synced
    from wikisync.cli.workspace import Workspace
    from wikisync.config import WikiSection
    from wikisync.model import Slug
    from wikisync.sync.exchange import ExchangeOptions


@click.command(
    name="sync",
    epilog="Example: wikisync sync --dry-run\n\nwikisync sync handbook/home.md",
)
@click.argument("pages", nargs=-1, metavar="[PAGE]...")
@click.option(
    "--workspace",
    "-C",
    "start",
    type=click.Path(path_type=Path),
    default=Path(),
    help="The workspace; else the one that the current folder is in.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--pull", "is_pull", is_flag=True, help="Write nothing to the wikis.")
@click.option("--push", "is_push", is_flag=True, help="Write nothing to the folders.")
@click.option(
    "--wait", "waits", is_flag=True, help="Wait until missing pages are surely deleted."
)
@click.option(
    "--adopt",
    type=click.Choice(["push", "hold"]),
    help="In a first sync, put pages that are only here on the wiki, or leave them.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option(
    "--network-disk", is_flag=True, help="Only this machine writes on that disk."
)
@token_option()
@click.pass_obj
def command(
    console: Console, /, pages: tuple[str, ...], start: Path, **options: Any
) -> int:
    """Carry edits both ways between the workspace's folders and their wikis.

    PAGE names a page by its file or by FOLDER/SLUG; all pages by default.  What both
    sides edited is merged, or held until you settle its conflict file; what would
    remove or change much at once waits for your yes.
    """
    if options["is_pull"] and options["is_push"]:
        raise UsageError(
            "--pull and --push exclude each other",
            hint="leave both out to carry edits both ways",
        )
    workspace = find_workspace(start)
    return asyncio.run(_sync(console, workspace, pages, options))


async def _sync(
    console: Console,
    workspace: Workspace,
    pages: Sequence[str],
    options: dict[str, Any],
) -> int:
    from wikisync.cli.attention import show_attention
    from wikisync.cli.syncing import exit_code_of

    wanted = _wanted(workspace, pages)
    done: list[Synced] = []
    with open_workspace(
        workspace,
        allows_network_disk=options["network_disk"],
        is_held=not options["dry_run"],
    ) as opened:
        async with open_service(
            workspace, options["token_file"], console, os.environ
        ) as client:
            for wiki, slugs in wanted:
                done.append(await _one(console, opened, client, wiki, slugs, options))
        if not options["dry_run"]:
            if len(wanted) == len(workspace.config.wikis) and not pages:
                show_attention(workspace.root, done)
            if opened.is_adopting and not pages:
                opened.note_adopted()
    _report(console, done, options)
    return exit_code_of(done)


def _wanted(
    workspace: Workspace, pages: Sequence[str]
) -> list[tuple[WikiSection, frozenset[Slug] | None]]:
    """The wikis to look at, each with the pages of it that are asked for."""
    if not pages:
        return [(wiki, None) for wiki in workspace.config.wikis]
    found: dict[WikiSection, set[Slug]] = {}
    for name in pages:
        wiki, slug = workspace.page(name)
        found.setdefault(wiki, set()).add(slug)
    return [(wiki, frozenset(slugs)) for wiki, slugs in found.items()]


async def _one(
    console: Console,
    opened: OpenWorkspace,
    client: Client,
    section: WikiSection,
    slugs: frozenset[Slug] | None,
    options: dict[str, Any],
) -> Synced:
    from dataclasses import replace

    from wikisync.cli.syncing import sync_wiki
    from wikisync.sync.exchange import ExchangeOptions
    from wikisync.sync.narrowing import Direction

    direction = Direction.PULL if options["is_pull"] else Direction.BOTH
    asked = ExchangeOptions(
        direction=Direction.PUSH if options["is_push"] else direction,
        pages=slugs,
        is_dry_run=options["dry_run"],
        puts_new=options["adopt"] != "hold",
        reads_max=opened.workspace.config.sync.reads_max,
    )
    wiki = await opened.synced(client, section)
    if options["adopt"] is None and not asked.is_dry_run and not wiki.known.base():
        puts_new = await _asks_first(console, opened, wiki, asked)
        asked = replace(asked, puts_new=puts_new)
    with console.progress() as progress:
        return await sync_wiki(
            opened, wiki, asked, progress=progress, waits=options["waits"]
        )


async def _asks_first(
    console: Console, opened: OpenWorkspace, wiki: SyncedWiki, asked: ExchangeOptions
) -> bool:
    """Whether a first sync puts pages on the wiki that are only here."""
    from dataclasses import replace

    from wikisync.sync.exchange import exchange
    from wikisync.sync.plan import CreateRemote

    seen = await exchange(
        wiki.remote,
        wiki.local,
        opened.state,
        owner=wiki.section.owner,
        remote_id=wiki.remote_id,
        options=replace(asked, is_dry_run=True),
    )
    new = [one.slug for one in seen.plan.actions if isinstance(one, CreateRemote)]
    if not new:
        return True
    shown = ", ".join(new[:5]) + (" ..." if len(new) > 5 else "")
    what = f"{len(new)} pages are only in {wiki.section.folder} ({shown})"
    if sys.stdin.isatty() and sys.stderr.isatty():
        return click.confirm(f"{what}; put them on the wiki?", err=True)
    console.note(f"{what}; they stay here; put them on the wiki with --adopt push")
    return False


# -- the report --------------------------------------------------------------------


def _report(console: Console, done: Sequence[Synced], options: dict[str, Any]) -> None:
    from wikisync.cli.attention import batch_sentence, held_sentence

    if options["as_json"]:
        wikis = [wiki_as_json(wiki) for wiki in done]
        console.result(json.dumps({"wikis": wikis}, ensure_ascii=False, indent=2))
        return
    for wiki in done:
        folder = wiki.wiki.section.folder
        console.problems(wiki.problems)
        if options["dry_run"]:
            title = f"{folder}:\n" if len(done) > 1 else ""
            console.result(f"{title}{wiki.last.plan}")
        else:
            console.result(f"{folder}: {summary(wiki)}")
        for batch in wiki.batches:
            console.warn(batch_sentence(folder, batch))
        for held in wiki.held if not options["dry_run"] else ():
            console.warn(held_sentence(folder, held))


COUNTS = ("pulled", "pushed", "merged", "renamed", "removed")


def summary(wiki: Synced) -> str:
    """What was done, in a line."""
    counts = {name: wiki.count(name) for name in COUNTS}
    words = [f"{number} {name}" for name, number in counts.items() if number]
    if wiki.held:
        words.append(f"{len(wiki.held)} held")
    pages = f"{wiki.last.pages} page{'s' * (wiki.last.pages != 1)}"
    return f"{pages}, {', '.join(words) or 'nothing to do'}"


def wiki_as_json(wiki: Synced) -> dict[str, object]:
    """One wiki for programs."""
    from wikisync.cli.pulling import problem_as_json

    last = wiki.last
    return {
        "kind": wiki.wiki.section.kind,
        "path": wiki.wiki.section.path,
        "folder": wiki.wiki.section.folder,
        "pages": last.pages,
        **{name: wiki.count(name) for name in COUNTS},
        "plan": str(last.plan).splitlines() if last.plan.actions else [],
        "held": [
            {"page": one.slug, "reason": str(one.reason), "conflict": one.has_bundle}
            for one in wiki.held
        ],
        "batches": [
            {
                "id": batch.id,
                "kind": batch.kind.name.lower().replace("_", "-"),
                "pages": [member.slug for member in batch.members],
                "sentence": str(batch),
            }
            for batch in wiki.batches
        ],
        "problems": [problem_as_json(problem) for problem in wiki.problems],
        "next_look_s": last.next_look_s,
    }
