"""``WIKISYNC-ATTENTION.md``: a file in the workspace while a person is needed.

Nobody has to read a log to learn that something waits for them; when nothing waits
any more, the file is gone.  Whoever scanned a part of the workspace renews the lines
on that part; all other lines stay as they are.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from wikisync.config import WikiSection
from wikisync.errors import (
    AuthenticationFailed,
    FolderError,
    Halted,
    RemoteError,
    WikisyncError,
)
from wikisync.folder.safe_open import (
    Folders,
    folder_error,
    opened_file,
    opened_root,
    read_all,
)
from wikisync.folder.swap import write_atomically
from wikisync.model import split_extension
from wikisync.terminal import visible_line
from wikisync.workspace.attention import (
    SERVICE,
    failure_sentence,
    refused_sentence,
    sentences,
)
from wikisync.workspace.failures import OF_SERVICE, is_transient
from wikisync.workspace.syncing import Synced

ATTENTION_FILE = "WIKISYNC-ATTENTION.md"
TITLE = "# wikisync needs your decision"
_APPROVE = "run: wikisync approve "
"""In every line on a safety stop."""


def attention_lines(
    sections: Sequence[WikiSection],
    done: Sequence[Synced],
    before: Sequence[str] = (),
    *,
    service: str = "",
) -> Sequence[str]:
    """What waits for a person, one line for each; none where nobody is needed.

    Args:
        sections: The wikis of the workspace, in order.
        done: Those that were scanned, or tried.
        before: What waited until now.
        service: What is wrong with the service, where a person is needed for that.
    """
    scanned = {one.section: one for one in done}
    lines = [_line(service)] if service else _kept_of_service(before, done)
    for section in sections:
        wiki = scanned.get(section, Synced(section))
        lines += map(_line, sentences(wiki))
        lines += [line for line in before if _is_kept(line, wiki)]
    return tuple(dict.fromkeys(lines))


def _line(sentence: str) -> str:
    # names come from anybody: one with a line end would make a line of its own
    return visible_line(f"- {sentence}")


def attention_text(lines: Sequence[str]) -> str:
    """The file with these lines; empty where nobody is needed."""
    if not lines:
        return ""
    head = [
        TITLE,
        "",
        "wikisync removes this file when nothing needs your decision.",
        "",
    ]
    return "\n".join([*head, *lines, ""])


def _kept_of_service(was: Sequence[str], done: Sequence[Synced]) -> list[str]:
    """What was said of the service, if it has not answered since."""
    if any(one.results or _is_answer(one.failure) for one in done):
        return []
    return [line for line in was if line.startswith(f"- {SERVICE}: ")]


def _is_answer(failure: WikisyncError | None) -> bool:
    """Whether it is what the service said of one wiki, and took the token for."""
    return isinstance(failure, RemoteError) and not isinstance(failure, OF_SERVICE)


def _is_kept(line: str, wiki: Synced) -> bool:
    """Whether a line is about what was not scanned now of this wiki."""
    whole, pages = _line(f"{wiki.section.folder}: "), _line(f"{wiki.section.folder}/")
    if wiki.paused is not None or not line.startswith((whole, pages)):
        return False
    if line.startswith(whole) and _APPROVE not in line:
        # why it could not go on
        return not wiki.results and (wiki.failure is None or is_transient(wiki.failure))
    if not wiki.results:
        return True
    return wiki.pages is not None and not _is_of_pages(line.removeprefix(pages), wiki)


def _is_of_pages(rest: str, wiki: Synced) -> bool:
    """Whether it is about one of the pages asked for, by its slug or its file."""
    subject = rest.partition(": ")[0]
    stem = (split_extension(subject) or (subject,))[0]
    return any(visible_line(slug) in {subject, stem} for slug in wiki.pages or ())


# -- on the disk -------------------------------------------------------------------


def read_attention(root: Path) -> Sequence[str]:
    """The file's lines on what waits; none where it is not there.

    Raises:
        FolderError: something else has this name.
    """
    path = root / ATTENTION_FILE
    try:
        is_file = stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return ()
    text = _read(root) if is_file else ""
    if not text.startswith(TITLE):
        raise FolderError(
            f"{path} is not a file that wikisync wrote",
            hint="move the file; wikisync writes its own list there",
        )
    return tuple(line for line in text.split("\n") if line.startswith("- "))


def _read(root: Path) -> str:
    # should a link or a pipe come meanwhile, it is not followed, and not waited for
    with opened_root(root) as folder, Folders(folder) as folders:
        try:
            with opened_file(folders, ATTENTION_FILE) as file:
                return read_all(file, ATTENTION_FILE).decode("utf-8", "replace")
        except OSError:
            return TITLE  # it has just gone


def write_attention(root: Path, lines: Sequence[str]) -> None:
    """Write the file, or remove it where nobody is needed.

    Raises:
        FolderError: it cannot be written, or something else has this name.
    """
    try:
        before = read_attention(root)
    except FolderError:
        if not lines:
            return  # what is there is not ours, and nothing is to be said
        raise
    path, text = root / ATTENTION_FILE, attention_text(lines)
    if lines and lines != before:
        write_atomically(root, ATTENTION_FILE, text.encode("utf-8", "replace"))
    if not lines:
        try:
            path.unlink(missing_ok=True)
        except OSError as exc:
            raise folder_error("remove", str(path), exc) from exc


def show_attention(
    root: Path, sections: Sequence[WikiSection], done: Sequence[Synced]
) -> None:
    """Write or remove the file after a sync of these wikis, or of pages of them.

    Raises:
        FolderError: it cannot be written, or something else has this name.
    """
    before: Sequence[str] = ()
    service = ""
    with suppress(FolderError):
        before = read_attention(root)
    for wiki in done:
        if isinstance(wiki.failure, AuthenticationFailed):
            service = refused_sentence(wiki.failure.hint)
    write_attention(root, attention_lines(sections, done, before, service=service))


@contextmanager
def noting_halts(root: Path) -> Iterator[None]:
    """Leave word in the file where the workspace itself is halted.

    The next sync or watch that is let in takes the word away.
    """
    try:
        yield
    except Halted as error:
        with suppress(FolderError):
            line = _line(failure_sentence("the workspace", error))
            before = [one for one in read_attention(root) if one != line]
            write_attention(root, (line, *before))
        raise
