"""``wikisync mv``: rename pages with every link that leads to them."""

from functools import partial
from pathlib import Path, PurePath

import click

from wikisync.cli.console import Console
from wikisync.cli.options import flag, json_option, start_option
from wikisync.core.model import split_extension
from wikisync.errors import ExitCode, UsageError
from wikisync.site.preview.moves import make_moves, plan_moves
from wikisync.site.preview.writing import WikiDesk
from wikisync.workspace.configured import find_workspace, named_pages, workspace_above
from wikisync.workspace.folders import know_again
from wikisync.workspace.sentences import counted


@click.command(
    name="mv",
    epilog="Example: wikisync mv handbook/setup.md handbook/guide/setup\n\n"
    "wikisync mv handbook/old-folder handbook/new-folder --dry-run",
)
@click.argument("old")
@click.argument("new")
@start_option
@json_option
@flag("--dry-run", help="Show the result without writing it.")
@click.pass_obj
def command(console: Console, start: Path, old: str, new: str, *, dry_run: bool) -> int:
    """Rename the page or folder OLD to NEW, with all links to it.

    The links are changed in the pages of the same wiki, in every format. In a
    workspace, the next sync renames the page on the wiki. Outside of one, the current
    folder is the wiki.
    """
    desk, names = _named(start, old, new)
    moves = plan_moves(desk, *names)
    clashing = [] if dry_run else make_moves(desk, moves)
    left = {**moves.left, **dict.fromkeys(clashing, ("edited meanwhile",))}
    if console.as_json:
        answer = {
            "is_written": not dry_run,
            "files": [{"from": one.path, "to": one.target} for one in moves.files],
            "links": {one.path: one.count for one in moves.texts},
            "left": left,
        }
        console.json(answer)
    else:
        for file in moves.files:
            console.result(f"{file.path} -> {file.target}")
        for text in moves.texts:
            console.result(f"{text.path}: {counted(text.count, 'link')}")
        pages, links = counted(len(moves.files), "page"), counted(moves.links, "link")
        verb = "would rename" if dry_run else "renamed"
        console.note(f"{verb} {pages} and {links} to them")
        for path, hrefs in left.items():
            console.warn(f"{path}: change it yourself: {', '.join(hrefs)}")
    return ExitCode.HELD if left else ExitCode.DONE


def _named(start: Path, old: str, new: str) -> tuple[WikiDesk, tuple[str, str]]:
    """The wiki that holds both names, and what they are in it."""
    if new.endswith("/") and split_extension(old):
        new += PurePath(old).name  # a file goes into a folder
    if workspace_above(start) is None:
        return WikiDesk(start.absolute(), None), (old, new)
    workspace = find_workspace(start)
    section, slug = named_pages(workspace, old)
    other, target = named_pages(workspace, new)
    if section != other:
        raise UsageError(
            f"{old} and {new} are in two wikis",
            hint="a page is renamed inside its wiki; to move it, copy and delete it",
        )
    folder, private = workspace.folder_of(section), workspace.private
    return WikiDesk(folder, private, partial(know_again, private)), (slug, target)
