"""``wikisync clone``: wikis of a service become a new workspace folder."""

import asyncio
from pathlib import Path

import click

from wikisync.cli.console import Console, show_problems
from wikisync.cli.options import flag, json_option
from wikisync.cli.service_command import ServiceCommand, service_options
from wikisync.workspace.cloning import clone
from wikisync.workspace.discovery import Selection
from wikisync.workspace.pulled import Pulled, exit_code_of, labelled, wiki_as_json
from wikisync.workspace.sentences import counted, problem_as_json
from wikisync.workspace.service import Credentials


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
def command(
    console: Console,
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
        cloned = asyncio.run(
            clone(
                client,
                selection,
                folder,
                only=only,
                allow_emptying=allow_emptying,
                progress=progress,
            )
        )
    return _report(console, folder, cloned)


# -- the report --------------------------------------------------------------------


def _report(console: Console, folder: Path, cloned: Pulled) -> int:
    notes = [one for wiki in cloned.wikis for one in (*wiki.absent, *wiki.notes)]
    show_problems(console, labelled(cloned), [*cloned.skipped, *notes])
    console.problems(cloned.refused)
    if console.as_json:
        answer = {
            "workspace": str(folder),
            "wikis": [wiki_as_json(wiki) for wiki in cloned.wikis],
            "skipped": [
                problem_as_json(note) for note in (*cloned.skipped, *cloned.refused)
            ],
            "problems": [problem_as_json(problem) for problem in cloned.problems],
        }
        console.json(answer)
        return exit_code_of(cloned)
    for wiki in cloned.wikis:
        console.result(
            f"{wiki.wiki.owner}: {counted(wiki.pages, 'page')},"
            f" {wiki.written} written,"
            f" {counted(wiki.attachments, 'attachment')} fetched, in {wiki.folder}"
        )
    return exit_code_of(cloned)
