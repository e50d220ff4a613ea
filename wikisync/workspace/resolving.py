"""The conflict of a page: its pieces, its file, the text that settles it, and tools."""

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from wikisync.config.sections import WikiSection
from wikisync.core.model import Slug
from wikisync.core.system.processes import run_program
from wikisync.errors import FolderError, PlaceTaken, PreconditionFailed, UsageError
from wikisync.merging import conflict
from wikisync.merging.merge import merge
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide.ledger import ConflictFileRecord
from wikisync.sync.run.holds import Holds
from wikisync.sync.run.parts import Cycle
from wikisync.sync.views import RememberedWiki
from wikisync.workspace.opening import OpenWorkspace
from wikisync.workspace.sentences import counted

FOREIGN_MARKER = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)
"""What other tools leave around a clash that is not settled."""


async def has_conflict_file(
    opened: OpenWorkspace, section: WikiSection, slug: Slug
) -> bool:
    """Whether the page is held, and its conflict file has its place."""
    record = opened.known(section).conflict_files(slug).get(slug)
    try:
        await opened.local(section).conflict_file(slug)
    except PlaceTaken:
        return False
    except FolderError:
        pass  # one that is no text
    return record is not None and record.has_file


async def pieces_of(
    opened: OpenWorkspace, section: WikiSection, slug: Slug
) -> Sequence[conflict.Piece]:
    """The page with its clashes, as far as its conflict file is settled already."""
    known = opened.known(section)
    file = None
    # one that is no text goes to the trash with the settlement
    with suppress(FolderError):
        file = await opened.local(section).conflict_file(slug)
    if file is not None and known.conflict_files()[slug].has_file:
        conflict_file = conflict.read_conflict_file(file.text)
        if not conflict_file.problem:
            return conflict_file.pieces
    return pieces_again(known, slug)


def pieces_again(known: WikiState, slug: Slug) -> Sequence[conflict.Piece]:
    """The same from the texts it was made of, where the file is gone or unclear."""
    record = known.conflict_files()[slug]
    base = known.text(slug)
    if base is None:
        return (conflict.Clash("", record.local, record.remote),)
    merged = merge(base, record.local, record.remote, page_format=record.format)
    return merged.pieces


async def write_settled(
    opened: OpenWorkspace, section: WikiSection, slug: Slug, text: str
) -> None:
    """Save the conflict file as a person would, for the process that syncs."""
    record = opened.known(section).conflict_files()[slug]
    local = opened.local(section)
    # what is in it may be work of the person's: it goes to the trash first
    await local.write_conflict(slug, record.format, text)


async def settle(
    opened: OpenWorkspace,
    section: WikiSection,
    slug: Slug,
    text: str,
    *,
    holder: str | None,
) -> None:
    """Settle a conflict with a text, which whoever holds the workspace finds.

    PreconditionFailed where the page is saved all the time.
    """
    if holder is not None:
        await write_settled(opened, section, slug, text)
        return
    known = opened.known(section)
    # the service is not asked: the record holds the wiki's text of the conflict
    cycle = Cycle(RememberedWiki(known), opened.local(section), known)
    await Holds(cycle).settle(slug, known.conflict_files()[slug], text)
    if slug in known.conflict_files():
        raise PreconditionFailed(
            f"{section.folder}/{slug} was edited after its conflict file was written,"
            f" in the parts that overlap",
            hint="its conflict file shows both; resolve it, or run this again",
        )


class FoundConflict(Struct, frozen=True):
    """The texts in which a person settles a conflict."""

    record: ConflictFileRecord
    base: str
    text: str
    path: Path | None
    """Of the conflict file; None where something has its place."""


def read_result(path: Path) -> str:
    """What a merge tool made; UsageError where it cannot be taken."""
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise unsettled(path, str(exc)) from exc
    if not text.strip() or FOREIGN_MARKER.search(text):
        raise unsettled(path, "it is empty, or has marker lines")
    return text


def unsettled(path: Path, why: str) -> UsageError:
    """The error for a merge tool's result that cannot be taken."""
    return UsageError(
        f"{path} is not resolved: {why}",
        hint="nothing was applied; run it again, or resolve the conflict file by hand",
    )


def unresolved_parts(conflict_file: conflict.MergedText) -> str:
    """What is still unsettled in a conflict file, in words."""
    count = sum(isinstance(piece, conflict.Clash) for piece in conflict_file.pieces)
    return conflict_file.problem or f"{counted(count, 'unresolved part')} left"


# -- programs in which a person settles a conflict ---------------------------------


EDITORS = ("sensible-editor", "nano", "vi")
PLACES = ("base", "here", "wiki", "result")
"""What stands in braces in a merge tool's command for each of its files."""


def _words(command: str, named: str) -> Sequence[str]:
    try:
        return shlex.split(command)
    except ValueError as exc:
        raise UsageError(
            f"{named} cannot be read: {exc}", hint="close its quotation marks"
        ) from exc


def tool_command(command: str, files: Mapping[str, Path]) -> Sequence[str]:
    """A merge tool's words (``meld {here} {result} {wiki}``) with its files."""
    words = _words(command, "--tool")
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


def persons_editor() -> Sequence[str]:
    """The person's editor; UsageError where there is none."""
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    if words := _words(named, "VISUAL or EDITOR"):
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
