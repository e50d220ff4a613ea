"""The programs in which a person settles a conflict: an editor, or a merge tool.

Neither is run by a shell; what their files say is taken only where they end well.
"""

import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from wikisync.core.system.processes import run_program
from wikisync.errors import UsageError
from wikisync.workspace.resolving import FoundConflict

EDITORS = ("sensible-editor", "nano", "vi")
"""Tried where neither ``VISUAL`` nor ``EDITOR`` is set."""
PLACES = ("base", "here", "wiki", "result")
"""What stands in braces in a merge tool's command for each of its files."""


def tool_command(command: str, files: Mapping[str, Path]) -> Sequence[str]:
    """A merge tool's words (``meld {here} {result} {wiki}``) with its files."""
    try:
        words = shlex.split(command)
    except ValueError as exc:
        raise UsageError(
            f"--tool cannot be read: {exc}", hint="close its quotation marks"
        ) from exc
    if not any("{result}" in word for word in words[1:]):
        raise UsageError(
            "--tool has no place for the result",
            hint="write it like --tool 'meld {here} {result} {wiki}'",
        )
    filled = list(words)
    for name in PLACES:
        filled = [word.replace(f"{{{name}}}", str(files[name])) for word in filled]
    return filled


@contextmanager
def tool_files(found: FoundConflict) -> Iterator[Mapping[str, Path]]:
    """The files of a merge tool while the block lasts, and after it where it fails."""
    folder = Path(tempfile.mkdtemp(prefix="wikisync-"))
    record = found.record
    texts = (found.base, record.local, record.remote, found.text)
    extension = record.format.extensions[0]
    files = {name: folder / f"{name}{extension}" for name in PLACES}
    for path, text in zip(files.values(), texts, strict=True):
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    yield files
    shutil.rmtree(folder, ignore_errors=True)


def editor_command(environment: Mapping[str, str]) -> Sequence[str]:
    """The person's editor; UsageError where there is none."""
    named = environment.get("VISUAL") or environment.get("EDITOR") or ""
    try:
        words = shlex.split(named)
    except ValueError as exc:
        raise UsageError(
            f"VISUAL or EDITOR cannot be read: {exc}", hint="close its quotation marks"
        ) from exc
    if words:
        return words
    for name in EDITORS:
        if found := shutil.which(name):
            return [found]
    raise UsageError("no editor is known", hint="set VISUAL or EDITOR, or edit by hand")


def run_and_wait(words: Sequence[str], path: Path) -> None:
    """Run a person's program on a file and wait until it is closed."""
    try:
        code = run_program(words)
    except OSError as exc:
        raise UsageError(
            f"{words[0]} cannot be run: {exc.strerror}",
            hint=f"give another program; the file is {path}",
        ) from exc
    if code:
        raise UsageError(
            f"{words[0]} ended with exit code {code}",
            hint=f"nothing was applied; the file is {path}",
        )
