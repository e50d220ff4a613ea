"""``wikisync render``: a page's HTML without a theme."""

from pathlib import Path

import click
import msgspec

from wikisync.cli.console import Console
from wikisync.cli.options import InputPath, json_option, markup_option
from wikisync.core.model import Format
from wikisync.errors import ExitCode, WikisyncError
from wikisync.workspace import page_files


@click.command("render", epilog="Example: wikisync render page.asciidoc")
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    type=InputPath("file", "folder", allow_dash=True),
)
@click.option(
    "-f",
    "--format",
    "format_name",
    type=click.Choice([str(known) for known in Format]),
    help="Read every file as this format, regardless of its extension.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write NAME.html files into this folder instead of to standard output.",
)
@markup_option
@json_option
@click.pass_obj
def command(
    console: Console,
    *,
    files: tuple[Path, ...],
    markup: tuple[str, ...],
    format_name: str | None,
    output: Path | None,
) -> int:
    """Print the HTML of pages: files, folders, or - for standard input.

    Links are resolved among the files of the same folder.  The [markup] settings of the
    file's workspace apply; --markup overrides them. A file that cannot be read is
    reported, the others are rendered, and the exit code is 1.
    """
    # a mistake in it is reported before any file is read
    page_files.chosen_markup(markup)
    renderer = page_files.FileRenderer(
        Format(format_name) if format_name else None, console, markup
    )
    # one object for one file, else an array; what is written may be a folder here
    is_single = len(files) == 1 and not files[0].is_dir()
    records: list[page_files.RenderedFile] = []
    for source in renderer.sources(map(str, files)):
        try:
            result = renderer.render(source)
            if output is not None:
                result.output = str(output / page_files.html_name(source.relative))
                page_files.write_html(Path(result.output), result.html)
                result.html = ""
            elif not console.as_json:
                console.result(result.html)
            if console.as_json:
                records.append(result)
        except WikisyncError as error:
            renderer.fail(error)
    if console.as_json:
        is_one = is_single and len(records) == 1
        encoded = msgspec.json.encode(records[0] if is_one else records)
        console.result(msgspec.json.format(encoded, indent=2).decode())
    return int(ExitCode.FAILED if renderer.failures else ExitCode.DONE)
