"""``wikisync clone`` and ``copy``: wikis of a service in a new place."""

import asyncio
import os
from pathlib import Path
from urllib.parse import urlsplit

import click

from wikisync.cli.console import Console, show_problems
from wikisync.cli.options import InputPath, flag, json_option, token_option
from wikisync.cli.service_command import ServiceCommand, service_options
from wikisync.cli.sync import report_sync, wiki_as_json
from wikisync.errors import UsageError
from wikisync.workspace import cloning, pulled
from wikisync.workspace.discovery import Selection
from wikisync.workspace.folders import default_cache
from wikisync.workspace.sentences import counted, problems_as_json
from wikisync.workspace.service import TOKEN_VARIABLE, URL_VARIABLE, Credentials


@click.command(
    name="clone",
    cls=ServiceCommand,
    epilog="Example: wikisync clone https://gitlab.example.com --project docs/handbook"
    " my-wikis",
)
@service_options
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--only",
    multiple=True,
    metavar="FOLDER",
    help="Clone only the pages below this folder of a wiki; repeatable.",
)
@flag("--allow-emptying", help="Delete local pages even if most of a wiki is gone.")
@json_option
@click.pass_obj
def clone(
    console: Console,
    /,
    url: str,
    folder: Path,
    selection: Selection,
    credentials: Credentials,
    only: tuple[str, ...],
    *,
    allow_emptying: bool,
) -> int:
    """Copy wikis of the service at URL into the workspace FOLDER.

    URL may also be the address of a wiki, a project or a group, which selects that
    wiki. FOLDER is created; it may exist if it is empty or is a clone of the same
    wikis, which is then updated. With --only, .wikisyncignore leaves out the rest of
    each wiki, which every later sync leaves alone.
    """
    client, selection = credentials.open_selected(url, selection)
    with console.progress() as progress:
        work = cloning.clone(
            client,
            selection,
            folder,
            only=only,
            allow_emptying=allow_emptying,
            progress=progress,
        )
        cloned = asyncio.run(work)
    notes = [one for wiki in cloned.wikis for one in (*wiki.absent, *wiki.notes)]
    show_problems(console, pulled.labelled(cloned), [*cloned.skipped, *notes])
    console.problems(cloned.refused)
    if console.as_json:
        answer = {
            "workspace": str(folder),
            "wikis": [pulled.wiki_as_json(wiki) for wiki in cloned.wikis],
            "skipped": problems_as_json((*cloned.skipped, *cloned.refused)),
            "problems": problems_as_json(cloned.problems),
        }
        console.json(answer)
        return pulled.exit_code_of(cloned)
    for wiki in cloned.wikis:
        console.result(
            f"{wiki.wiki.owner}: {counted(wiki.pages, 'page')},"
            f" {wiki.written} written,"
            f" {counted(wiki.attachments, 'attachment')} fetched, in {wiki.wiki.folder}"
        )
    return pulled.exit_code_of(cloned)


TARGET_TOKEN_VARIABLE = "WIKISYNC_TO_TOKEN"  # noqa: S105 - the name of a variable


@click.command(
    name="copy",
    epilog="Example: wikisync copy https://old.example.com/docs/handbook"
    " https://gitlab.example.com/docs/handbook --to-token-file token",
)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@token_option
@click.option(
    "--to-token-file",
    type=InputPath("file"),
    metavar="FILE",
    help=f"File with the token for TO. [default: ${TARGET_TOKEN_VARIABLE}]",
)
@flag("-y", "--yes", "is_yes", help="Write to the wiki TO.")
@json_option
@click.pass_obj
def copy(
    console: Console,
    source: str,
    target: str,
    credentials: Credentials,
    to_token_file: Path | None,
    *,
    is_yes: bool,
) -> int:
    """Copy the wiki FROM to the wiki TO, with its attachments.

    Both are addresses of a project, a group or its wiki; each service has a token of
    its own. Without --yes the command reads both wikis and prints what it would do. Run
    again, it carries on and copies what changed in FROM. Nothing is deleted in TO.
    """
    source_client, selection = credentials.open_selected(source, Selection())
    env = dict(os.environ)
    own = env.pop(TARGET_TOKEN_VARIABLE, "")
    is_same_service = urlsplit(source)[:2] == urlsplit(target)[:2]
    if not own and to_token_file is None and not is_same_service:
        raise UsageError(
            "there is no token for TO",
            hint=f"set {TARGET_TOKEN_VARIABLE}, or give --to-token-file",
        )
    if own:
        env |= {TOKEN_VARIABLE: own, URL_VARIABLE: ""}
    to = Credentials(console, to_token_file, env)
    target_client, target_selection = to.open_selected(target, Selection())
    wiki = cloning.one_wiki(target_selection)
    named = f"copy {source_client.address} {selection.projects} {selection.groups}"
    named += f" {target_client.address} {wiki.kind} {wiki.path}"
    work = default_cache(named, Path("/"), os.environ)
    copied = asyncio.run(
        cloning.copy_wiki(
            source_client,
            selection,
            target_client,
            wiki,
            work,
            to,
            is_dry_run=not is_yes,
        )
    )
    console.note(
        f"its two workspaces are kept in {work}; run commands for pages of TO in"
        f" {work / cloning.TARGET}"
    )
    return _report_copy(console, copied, is_dry_run=not is_yes)


def _report_copy(console: Console, copied: cloning.Copied, *, is_dry_run: bool) -> int:
    run, source = copied.run, copied.source
    if console.as_json:
        wikis = [wiki_as_json(one) for one in run.wikis]
        console.json({"is_dry_run": is_dry_run, "wikis": wikis})
        return int(run.exit_code)
    show_problems(console, source.wiki.problems, [*source.absent])
    report_sync(console, run.wikis, run.problems, is_dry_run=is_dry_run)
    rows = [
        (
            str(source.wiki.owner),
            str(copied.target.owner),
            source.pages,
            len(one.last.plan.actions) if is_dry_run else one.count("pushed"),
            len(one.last.held),
            len(one.problems) + len(source.wiki.problems),
        )
        for one in run.wikis
        if one.results
    ]
    to_do = "to write" if is_dry_run else "written"
    console.table(("from", "to", "pages", to_do, "held", "problems"), rows)
    if is_dry_run:
        console.note("nothing was written; to copy, run the same command with --yes")
    return int(run.exit_code)
