"""``wikisync diff``: the differences between here, the wiki and the last sync."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

import click
from msgspec import Struct

from wikisync.api.client import Client
from wikisync.cli.console import Console, fields
from wikisync.cli.options import flag, json_option, workspace_option
from wikisync.cli.service_command import token_option
from wikisync.config import WikiSection
from wikisync.core.model import Slug, is_named
from wikisync.core.system.parallel import WIKIS_AT_ONCE, gather
from wikisync.errors import FolderError, NotFound
from wikisync.sync.decide import plan
from wikisync.sync.replica import Replica
from wikisync.sync.run.parts import CycleOptions
from wikisync.workspace.configured import find_workspace, refuse_unknown
from wikisync.workspace.diff_text import unified
from wikisync.workspace.opening import OpenWorkspace, SyncedWiki, open_workspace
from wikisync.workspace.service import Credentials
from wikisync.workspace.sync_run import Wanted, missing_from, unknown_of, wanted_pages


class Shown(Struct, frozen=True):
    """Two texts of one page, and what they are."""

    page: str
    """``handbook/home``."""
    names: tuple[str, str]
    old: str
    new: str


@click.command(name="diff", epilog="Example: wikisync diff handbook/home.md")
@click.argument("pages", nargs=-1, metavar="[PAGE]...")
@workspace_option
@flag(
    "--base",
    help="Show local changes since the last sync, without contacting the wiki.",
)
@json_option
@token_option
@click.pass_obj
def command(
    console: Console,
    start: Path,
    pages: tuple[str, ...],
    credentials: Credentials,
    *,
    base: bool,
) -> int:
    """Show the differences between the wiki's texts and the local texts.

    For a page that was edited on both sides, show what each side changed since the last
    sync.  PAGE is a page's file, FOLDER/SLUG, or a folder.
    """
    workspace = find_workspace(start)
    wanted = wanted_pages(workspace, pages)
    with open_workspace(
        workspace, is_read_only=True, allows_network_disk=True
    ) as opened:
        shown = asyncio.run(
            _since_base(opened, wanted)
            if base
            else _from_wiki(opened, wanted, credentials)
        )
    _show(console, shown)
    return 0


# -- the texts ---------------------------------------------------------------------


async def _since_base(opened: OpenWorkspace, wanted: Wanted) -> list[Shown]:
    """What changed here since both sides last agreed."""
    shown: list[Shown] = []
    for section, named in wanted:
        slugs = None if named is None else opened.pages_of(section, named)
        known, local = opened.known(section), opened.local(section)
        here, base = (await local.snapshot()).pages, known.base()
        if slugs is not None:
            refuse_unknown(section, missing_from(slugs, here.keys() | base.keys()))
        for slug in sorted(here.keys() | base.keys()):
            is_same = slug in here and slug in base
            if is_same and here[slug].digest == base[slug].local:
                continue
            if slugs is None or is_named(slug, slugs):
                name = f"{section.folder}/{slug}"
                shown.append(
                    Shown(
                        name,
                        (f"{name} at the last sync", f"{name} here"),
                        known.text(slug) or "",
                        await _text(local, slug),
                    )
                )
    return shown


async def _from_wiki(
    opened: OpenWorkspace, wanted: Wanted, credentials: Credentials
) -> list[Shown]:
    """What the next sync would see as different, page by page."""
    async with credentials.open(opened.workspace) as client:

        async def one(
            asked: tuple[WikiSection, frozenset[Slug] | None],
        ) -> Sequence[Shown]:
            section, slugs = asked
            named = None if slugs is None else opened.pages_of(section, slugs)
            return await _of_wiki(opened, client, section, named)

        shown = await gather(wanted, one, in_flight=WIKIS_AT_ONCE)
    return list(chain.from_iterable(shown))


async def _of_wiki(
    opened: OpenWorkspace,
    client: Client,
    section: WikiSection,
    slugs: frozenset[Slug] | None,
) -> list[Shown]:
    wiki = await opened.synced(client, section)
    options = CycleOptions(pages=slugs, folder=opened.match_of(section))
    result = await opened.cycle(wiki, options)
    refuse_unknown(section, unknown_of(wiki.known, [result], slugs))
    names = {move.target: move.slug for move in result.plan.moves}
    shown: list[Shown] = []
    for action in result.plan.actions:
        shown += await _of_action(wiki, action, names)
    return shown


async def _of_action(
    wiki: SyncedWiki, action: plan.Action, names: Mapping[Slug, Slug]
) -> list[Shown]:
    """The texts of one page; none where both sides hold the same."""
    if isinstance(action, plan.Adopt | plan.DropRecord | plan.Move | plan.Rebase):
        return []
    slug = action.slug
    name = f"{wiki.section.folder}/{slug}"
    here = await _text(wiki.local, slug, names.get(slug))
    there = await _text(wiki.remote, slug, names.get(slug))
    base = wiki.known.text(names.get(slug, slug))
    if isinstance(action, plan.Hold | plan.Merge) and base is not None:
        last = f"{name} at the last sync"
        return [
            Shown(name, (last, f"{name} on the wiki"), base, there),
            Shown(name, (last, f"{name} here"), base, here),
        ]
    return [Shown(name, (f"{name} on the wiki", f"{name} here"), there, here)]


async def _text(replica: Replica, *slugs: Slug | None) -> str:
    """What a side has under the first of these names; empty where nothing."""
    for slug in slugs:
        try:
            if slug is not None:
                return (await replica.read(slug)).content
        except (NotFound, FolderError):
            continue
    return ""


# -- shown -------------------------------------------------------------------------


def _show(console: Console, shown: Sequence[Shown]) -> None:
    different = [one for one in shown if one.old != one.new]
    if console.as_json:
        rows = [
            fields(one, "page old new")
            | dict(zip(("from", "to"), one.names, strict=True))
            | {"diff": unified(one.old, one.new, one.names)}
            for one in different
        ]
        console.json(rows)
        return
    is_coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for one in different:
        console.result(unified(one.old, one.new, one.names, is_coloured=is_coloured))
    if not different:
        console.note("no differences")
