"""``WIKISYNC-ATTENTION.md``: a file in the workspace while a person is needed.

Nobody has to read a log to learn that a page waits for them; when nothing waits
any more, the file is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from wikisync.cli.syncing import Synced

if TYPE_CHECKING:
    from wikisync.sync.exchange import Held
    from wikisync.sync.safety import Batch

ATTENTION_FILE = "WIKISYNC-ATTENTION.md"


def held_sentence(folder: str, held: Held) -> str:
    """One sentence on a page that waits, with the next step."""
    name = f"{folder}/{held.slug}"
    if held.has_bundle:
        return (
            f"{name}: {held}; settle its conflict file and save it, or run:"
            f" wikisync resolve {_word(name)} --mine, --wiki or --both"
        )
    return f"{name}: {held}; {next_step(folder, held)}"


def next_step(folder: str, held: Held) -> str:
    """What a person does about a page that waits without a conflict file."""
    from wikisync.sync.plan import HoldReason

    match held.reason:
        case HoldReason.EDITED_BOTH | HoldReason.CREATED_BOTH:
            # its conflict file was removed, which only hides it
            name = _word(f"{folder}/{held.slug}")
            return (
                f"see wikisync diff {name}, then run:"
                f" wikisync resolve {name} --mine, --wiki or --both"
            )
        case HoldReason.EDITED_HERE_GONE_THERE:
            return "remove the file, or give it another name to keep it"
        case HoldReason.FORMATS:
            return "give the file the extension of the wiki's format, or the other way"
        case HoldReason.NAME_TAKEN | HoldReason.CASE_TWIN:
            # the file that has the name, whichever side the rename came from
            in_the_way = held.detail or held.slug
            return f"give the file of {folder}/{in_the_way} another name"
        case HoldReason.EMPTY:
            return "write something into it, or remove the file"
        case HoldReason.MARKER:
            return "remove every line with %%%% wikisync from it"
        case HoldReason.REFUSED:
            # what it said before is about the text, its name, or the token's rights
            return (
                "put that right; it is tried again when the file is changed, with"
                " wikisync sync, and every hour"
            )
        case HoldReason.LOOP:
            return "see the page on the wiki; it is tried again in ten minutes"
        case HoldReason.OPEN_LONG:
            return "save and close it in the editor"
    assert_never(held.reason)


def _word(name: str) -> str:
    """A name as one word of a command that a person copies."""
    from shlex import quote

    return quote(name)


def batch_sentence(folder: str, batch: Batch) -> str:
    """One sentence on what a brake holds, with the next step."""
    name = _word(f"{folder}:{batch.id}")
    return (
        f"{folder}: {batch}; run: wikisync approve {name}, or: wikisync refuse {name}"
    )


def attention_text(wikis: Sequence[Synced]) -> str:
    """What the file says; empty where nobody is needed."""
    lines: list[str] = []
    for wiki in wikis:
        folder = wiki.section.folder
        if wiki.failure is not None:
            hint = f"; {wiki.failure.hint}" if wiki.failure.hint else ""
            lines.append(f"- {folder}: {wiki.failure.message}{hint}")
        lines += [f"- {batch_sentence(folder, batch)}" for batch in wiki.batches]
        lines += [f"- {held_sentence(folder, held)}" for held in wiki.held]
    if not lines:
        return ""
    head = [
        "# wikisync needs you",
        "",
        "Everything else goes on. This file goes away by itself.",
        "",
    ]
    return "\n".join([*head, *lines, ""])


def show_attention(root: Path, wikis: Sequence[Synced]) -> None:
    """Write the file, or remove it.

    Raises:
        FolderError: it cannot be written.
    """
    path = root / ATTENTION_FILE
    text = attention_text(wikis)
    if not text:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        return
    with suppress(OSError):
        if path.read_text(encoding="utf-8") == text:
            return
    from wikisync.folder.swap import write_atomically

    write_atomically(root, ATTENTION_FILE, text.encode())


def drop_attention(root: Path, words: str) -> None:
    """Take a line out of the file that a person has just dealt with.

    Raises:
        FolderError: it cannot be written.
    """
    from wikisync.folder.swap import write_atomically

    path = root / ATTENTION_FILE
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    left = [line for line in lines if words not in line]
    if any(line.startswith("- ") for line in left):
        write_atomically(root, ATTENTION_FILE, ("\n".join(left) + "\n").encode())
        return
    with suppress(OSError):
        path.unlink(missing_ok=True)
