"""What the documents say of the program is what the program does.

Every block of shell in the README, the guide and ``docs/`` is run in the order of its
page, on a clean machine with a workspace, the embedded service in the place of the
example's.  What never ends (``watch``, ``preview``, ``serve``) is only asked whether it
knows its options; programs of others note how they were called.
"""

import ast
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.support.machine import Machine, clean_machine, code_blocks
from tests.support.service import AUTHOR
from tools.pictures import chart
from wikisync.cli.main import cli
from wikisync.core.model import EXTENSIONS, Format, WikiOwner
from wikisync.errors import ExitCode
from wikisync.service.editing import CommitPlan

ROOT = Path(__file__).resolve().parent.parent
GUIDE = ROOT / "sample-site/handbook"
REFERENCE = GUIDE / "reference"
DOCUMENTS = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted(
        path
        for path in (ROOT / "sample-site").rglob("*")
        if path.suffix in {".md", ".org", ".rdoc", ".asciidoc"}
    ),
]
HANDBOOK = WikiOwner("project", "docs/handbook")
SETUP = {
    "start.md": b"# Home\n\nThe office opens at nine.\n",
    "setup.md": b"# Setup\n\nSee [home](home).\n",
    "team/one.md": b"# One\n",
}
ANSWERS = {
    "wikisync init my-wikis": "wikisync init my-wikis --project docs/handbook --yes"
}
"""What a person is asked for on a terminal."""
INSTALLATION = GUIDE / "getting-started" / "install.md"
"""Proved by ``make release``, which installs the wheel into an empty environment."""
OTHERS = (
    *("curl", "git", "journalctl", "launchctl", "loginctl", "make", "pip", "plutil"),
    *("podman", "sudo", "systemctl", "tee", "uv"),
)
AT_HOME = re.compile(r"my-wikis|wikisync (clone|export|init|serve|theme)\b")
"""Commands that are not typed in the workspace."""
MAKES_IT = re.compile(r"^wikisync (init(?! --trust)|clone)\b", re.MULTILINE)
USES_HISTORY = re.compile(r"wikisync (resolve|restore|undo|diff)\b")
EXPECTED = {ExitCode.DONE, ExitCode.HELD}
ID = re.compile(r"\b[0-9a-f]{8}\b")
VALUE = re.compile(
    rf"{ID.pattern}|\d{{4}}-\d\d-\d\d|\d\d:\d\d:\d\d|\d+|\w+(?=: )|(?<=from )\S+"
)
"""What differs from one run to the next."""
WIKISYNC = """case "$*" in
    watch*--print-unit*) ;;
    # what never ends, prints with a browser, or reads the wiki of another program or
    # service: only whether it knows the options
    watch*|preview*|serve*|*--pdf*|import*|copy*) set -- "$@" --help ;;
esac
{python} -m wikisync "$@"
code=$?
echo "$code $*" >> {home}/codes
exit $code"""


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def shell_of(path: Path) -> list[tuple[str, str]]:
    """What is typed, and what is printed where the document says it."""
    found = []
    for language, code in code_blocks(path):
        if language == "sh":
            found.append((code, ""))
        elif language == "console":
            for session in code.split("$ ")[1:]:
                typed, _, printed = session.partition("\n")
                found.append((typed, printed))
    return found


async def make_wiki(machine: Machine) -> None:
    """A wiki whose first page was created, edited and renamed."""
    await machine.service.add_project("docs/handbook")
    wiki = await machine.service.wiki(HANDBOOK)
    await machine.service.put_files(HANDBOOK, SETUP)
    edited = SETUP["start.md"].replace(b"nine.\n", b"nine.\nIt closes at five.\n")
    await machine.service.put_file(HANDBOOK, "start.md", edited)
    renamed = CommitPlan(
        "renamed", writes={"home.md": edited}, removes=frozenset({"start.md"})
    )
    await wiki.change(lambda _tree: renamed, AUTHOR)


async def make_history(machine: Machine, folder: Path) -> None:
    """A page that was edited here, and then on both sides: a conflict."""
    page = folder / "handbook" / "home.md"
    text = page.read_bytes()
    for here, there in ((b"eight", b""), (b"seven", b"ten")):
        page.write_bytes(text.replace(b"nine", here))
        if there:
            await machine.service.put_file(
                HANDBOOK, "home.md", text.replace(b"nine", there)
            )
        done = await machine.run(
            "wikisync sync", folder=folder, WIKISYNC_TOKEN=machine.service.token
        )
        assert done.returncode in EXPECTED, done.stderr
    assert (page.parent / "home.conflict.md").exists()


@pytest.mark.parametrize(
    "path",
    [one for one in DOCUMENTS if one != INSTALLATION and shell_of(one)],
    ids=name_of,
)
async def test_every_command_of_a_document_runs(path: Path, tmp_path: Path) -> None:
    async with clean_machine(tmp_path) as machine:
        await make_wiki(machine)
        folder = machine.home / "my-wikis"
        if not any(MAKES_IT.search(typed) for typed, _printed in shell_of(path)):
            await machine.clone()
        machine.note_calls_of(*OTHERS)
        program = WIKISYNC.format(python=sys.executable, home=machine.home)
        machine.add_program("wikisync", program)
        values = {
            "http://127.0.0.1:43121": machine.service.url,
            "glpat-EXAMPLE": machine.service.token,
            **ANSWERS,
        }
        has_history = "--revision" in path.read_text(encoding="utf-8")
        for typed, printed in shell_of(path):
            if USES_HISTORY.search(typed) and not has_history:
                await make_history(machine, folder)
                has_history = True
            if MAKES_IT.search(typed):
                shutil.rmtree(folder, ignore_errors=True)
            code = typed
            for example, value in values.items():
                code = re.sub(example, value, code)
            is_at_home = AT_HOME.search(typed) or not folder.exists()
            done = await machine.run(
                code,
                shell=("bash",),
                folder=machine.home if is_at_home else folder,
                WIKISYNC_TOKEN=machine.service.token,
                WIKISYNC_URL=machine.service.url,
            )
            assert done.returncode not in (2, 126, 127), done.stderr
            assert "Traceback" not in done.stderr
            if printed:
                assert VALUE.sub("", done.stdout) == VALUE.sub("", printed)
                ids = zip(ID.findall(printed), ID.findall(done.stdout), strict=True)
                values |= dict(ids)
        noted = machine.home / "codes"
        codes = noted.read_text().splitlines() if noted.exists() else []
    assert [one for one in codes if int(one.partition(" ")[0]) not in EXPECTED] == []


# The reference ----------------------------------------------------------------------

MENTION = re.compile(r"\bwikisync((?: +(?!wikisync)[a-z][a-z-]*)+)([^`=\n<>|#]*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
VARIABLE = re.compile(r"WIKISYNC_[A-Z_]*[A-Z]")
COMMANDS = REFERENCE / "commands.md"


def commands_below(
    command: click.Command, path: str
) -> Iterator[tuple[str, click.Command]]:
    """A command and those below it that are not hidden, each with its words."""
    if not command.hidden:
        yield path, command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                below = command.get_command(context, name)
                assert below is not None
                yield from commands_below(below, f"{path} {name}")


ALL = dict(commands_below(cli, "wikisync"))


def options_of(command: click.Command) -> set[str]:
    return {
        option
        for param in command.params
        if isinstance(param, click.Option) and not param.hidden
        for option in (*param.opts, *param.secondary_opts)
        if option.startswith("--")
    }


def test_options_that_a_document_names_exist() -> None:
    """Where a document writes a command with options, that command has them."""
    unknown = []
    for path in DOCUMENTS:
        for match in MENTION.finditer(path.read_text(encoding="utf-8")):
            words, rest = f"wikisync{match[1]}".split(), match[2]
            while " ".join(words) not in ALL:
                words.pop()
            found = " ".join(words)
            known = options_of(cli) | {"--help"}
            for name, command in ALL.items():
                if name == found or (len(words) > 1 and name.startswith(f"{found} ")):
                    known |= options_of(command)
            unknown += [
                f"{name_of(path)}: {found} {option}"
                for option in OPTION.findall(rest)
                if option not in known
            ]
    assert unknown == []


@pytest.mark.parametrize("name", cli.list_commands(click.Context(cli)))
def test_a_command_and_its_options_are_in_the_reference(name: str) -> None:
    """Options of the verbs of ``project`` and their like are left to ``--help``."""
    command = ALL[f"wikisync {name}"]
    text = COMMANDS.read_text(encoding="utf-8")
    sections = [
        section
        for section in text.split("\n## ")
        if f"wikisync {name}" in section.partition("\n")[0].split(", ")
    ]
    assert len(sections) == 1
    missing = {one for one in options_of(command) if one not in text}
    missing |= {
        f"{one.opts[0]}: by default {one.default}"
        for one in command.params
        if isinstance(one, click.Option)
        if type(one.default) in {int, str} and one.default
        if str(one.default) not in sections[0]
    }
    for path in ALL:
        if path.startswith(f"wikisync {name} "):
            verb = path.rpartition(" ")[2]
            missing |= set() if re.search(rf"\b{verb}\b", sections[0]) else {verb}
    assert missing == set()


def test_variables_are_in_the_guide_and_in_the_code() -> None:
    """But those that ``watch`` sets for a program that it starts, and click's own."""
    code = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "wikisync").rglob("*.py")
    )
    guide = "".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
    read = set(VARIABLE.findall(code))
    assert read - set(VARIABLE.findall(guide)) == set()
    assert set(VARIABLE.findall(guide)) - read == {"WIKISYNC_COMPLETE"}


def test_formats_and_their_extensions_are_in_the_guide() -> None:
    text = (GUIDE / "folder.org").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\S[^|]*?) +\| =(\S+)= +\|([^|]*)\|$", text, re.MULTILINE)
    told = {name: [first, *re.findall("=(.*?)=", more)] for name, first, more in rows}
    assert told == {
        name.value: list(extensions) for name, extensions in EXTENSIONS.items()
    }
    read_only = {name for name, _, more in rows if "read-only" in more}
    assert read_only == {one.value for one in Format if not one.is_writable}


def test_exit_codes_are_in_the_guide() -> None:
    text = (REFERENCE / "exit-codes.rdoc").read_text(encoding="utf-8")
    assert re.findall(r"^\[(\d+)\]", text, re.MULTILINE) == [
        str(int(code)) for code in ExitCode
    ]


RUN = 3
"""Words in a row that show which sentence of the code a message is."""


def sentences_of_the_code() -> str:
    """All texts in the code, an empty place where a value goes in."""
    found = []
    for path in (ROOT / "wikisync").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
            elif isinstance(node, ast.JoinedStr):
                pieces = [
                    one.value for one in node.values if isinstance(one, ast.Constant)
                ]
                found.append("\0".join(map(str, pieces)))
    return "\n".join(found)


def test_messages_that_the_guide_explains_are_in_the_code() -> None:
    text = (REFERENCE / "problems.md").read_text(encoding="utf-8")
    code = sentences_of_the_code()
    messages = [
        message
        for summary in re.findall("<summary>(.*?)</summary>", text)
        for message in re.findall("“(.*?)”", summary)
    ]
    assert len(messages) > RUN

    def is_known(message: str) -> bool:
        words = message.split()
        length = min(RUN, len(words) - message.count("…"))
        runs = [words[at : at + length] for at in range(len(words) - length + 1)]
        # or with one value among them
        runs += [
            [*run[:at], "\0", *run[at + 1 :]] for run in runs for at in range(1, length)
        ]
        return any(" ".join(run) in code for run in runs)

    assert [message for message in messages if not is_known(message)] == []


def test_the_chart_of_builds_is_drawn_from_the_figures() -> None:
    figures = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
    drawn = (ROOT / "docs" / "pictures" / "builds.svg").read_text(encoding="utf-8")
    assert chart(figures) == drawn, "run: make pictures"
