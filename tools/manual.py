"""Write the manual pages, one for each command, into ``man/`` (``make man``).

They say what ``--help`` says, for click holds it all.  A release carries them; a
package of a distribution finds them in ``share/man/man1`` of the wheel.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import click

from wikisync.cli.main import SECTIONS, cli
from wikisync.core.version import __version__

FOLDER = Path(__file__).resolve().parent.parent / "man"
EXITS = {
    0: "Done.",
    1: "It failed; the error names the cause and the next step.",
    2: "The command line or wikisync.toml is wrong.",
    3: "Done, but something is held or a problem remains.",
    4: "A wiki is halted: nothing of it is synced until a person decides.",
    130: "Interrupted.",
}
VARIABLES = {
    "WIKISYNC_URL": "URL of the service where none is given.",
    "WIKISYNC_TOKEN": "Token for the service.",
    "WIKISYNC_TO_TOKEN": "Token for the second service of `copy`.",
    "NO_COLOR": "Print without colors.",
}


def escaped(text: str) -> str:
    """The text as roff prints it."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return "\n".join(
        f"\\&{line}" if line[:1] == "." else line for line in text.splitlines()
    )


def paragraphs(text: str) -> Iterator[str]:
    """Paragraphs of a help text; what click is told to leave alone stays as it is."""
    for block in text.split("\n\n"):
        is_verbatim = block.startswith("\b")
        body = block.removeprefix("\b").strip("\n")
        if is_verbatim:
            yield f".PP\n.nf\n{escaped(body)}\n.fi"
        else:
            yield f".PP\n{escaped(' '.join(body.split()))}"


def entry(term: str, text: str) -> str:
    """One line of a list, with its term in bold."""
    return f".TP\n.B {escaped(term)}\n{escaped(text)}"


def section(title: str, lines: Iterator[str]) -> str:
    """A section, or nothing where it is empty."""
    body = "\n".join(lines).removeprefix(".PP\n")  # a heading begins a paragraph
    return f".SH {title}\n{body}\n" if body else ""


def others(command: click.Command, path: str) -> Iterator[str]:
    """What a group offers: its commands, or the sections of the program."""
    if command is cli:
        for title, commands in SECTIONS.items():
            yield f".SS {title}"
            for name, line in commands.items():
                yield entry(f"wikisync-{name}(1)", line)
    elif isinstance(command, click.Group):
        for name, one in sorted(command.commands.items()):
            yield entry(f"{path}-{name}(1)", one.get_short_help_str(limit=200))


def manual(context: click.Context) -> str:
    """The manual page of a command, as roff."""
    command = context.command
    path = context.command_path
    name = path.replace(" ", "-")
    short = command.get_short_help_str(limit=200).rstrip(".")
    records = [
        param.get_help_record(context) or ("", "")
        for param in command.get_params(context)
    ]
    usage = " ".join(command.collect_usage_pieces(context))
    return "".join(
        [
            f'.TH "{name.upper()}" "1" "" "wikisync {__version__}" "Manual"\n',
            f".SH NAME\n{escaped(name)} \\- {escaped(short)}\n",
            f".SH SYNOPSIS\n.B {escaped(path)}\n{escaped(usage)}\n",
            section("DESCRIPTION", paragraphs(command.help or "")),
            section("COMMANDS", others(command, name)),
            section("OPTIONS", (entry(*record) for record in records if record[1])),
            section("EXAMPLES", paragraphs(command.epilog or "")),
            section("EXIT STATUS", (entry(str(n), text) for n, text in EXITS.items())),
            section("ENVIRONMENT", (entry(n, text) for n, text in VARIABLES.items())),
        ]
    )


def contexts(command: click.Command, name: str) -> Iterator[click.Context]:
    """The command and each below it."""
    context = click.Context(command, info_name=name)
    yield context
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            one = command.get_command(context, below)
            assert one is not None
            yield from (
                click.Context(
                    inner.command, info_name=inner.command_path, parent=context
                )
                for inner in contexts(one, below)
            )


def main() -> None:
    """Write every page anew."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    for context in contexts(cli, "wikisync"):
        name = context.command_path.replace(" ", "-")
        (FOLDER / f"{name}.1").write_text(manual(context), encoding="utf-8")


if __name__ == "__main__":
    main()
