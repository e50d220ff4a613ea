"""``wikisync import``: the wiki of another program as a folder of pages."""  # noqa: N999 - a command's module has its name

from pathlib import Path

import click

from wikisync.cli.console import Console
from wikisync.cli.options import InputPath, json_option
from wikisync.errors import ExitCode
from wikisync.workspace.importing import KINDS, import_wiki
from wikisync.workspace.sentences import counted, fields


@click.command(
    name="import",
    epilog="Example: wikisync import obsidian ~/vault my-wikis/handbook\n\n"
    "wikisync import github https://github.com/OWNER/NAME.wiki.git handbook\n\n"
    "wikisync import mediawiki dump.xml handbook --files images",
)
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("source")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--files",
    type=InputPath("folder"),
    metavar="FOLDER",
    help="Folder with the files of a MediaWiki, which its dump does not have.",
)
@json_option
@click.pass_obj
def command(
    console: Console, kind: str, source: str, folder: Path, files: Path | None
) -> int:
    """Make the new FOLDER of pages from SOURCE, ready to be synced.

    SOURCE is an Obsidian vault, the folder or git address of a GitHub wiki, or an XML
    dump of MediaWiki. What cannot be carried over is printed as FILE:LINE: WHAT, and
    the exit code is then 3.
    """
    imported = import_wiki(kind, source, folder, files)
    if console.as_json:
        lost = [fields(one, "file line what") for one in imported.lost]
        console.json(fields(imported, "pages files") | {"not_carried_over": lost})
    else:
        console.lines(*(f"{one.file}:{one.line}: {one.what}" for one in imported.lost))
        console.note(
            f"{folder}: {counted(imported.pages, 'page')},"
            f" {counted(imported.files, 'file')};"
            f" {len(imported.lost)} not carried over; next: wikisync init"
        )
    return ExitCode.HELD if imported.lost else ExitCode.DONE
