"""``WIKISYNC-ATTENTION.md``: a file in the workspace while a person is needed.

Nobody has to read a log to learn that a page waits for them; when nothing waits
any more, the file is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

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
            f"{name}: {held.reason}; settle its conflict file and save it, or run:"
            f" wikisync resolve {name} --mine, --wiki or --both"
        )
    return f"{name}: {held.reason}"


def batch_sentence(folder: str, batch: Batch) -> str:
    """One sentence on what a brake holds, with the next step."""
    return (
        f"{folder}: {batch}; run: wikisync approve {folder}:{batch.id},"
        f" or: wikisync refuse {folder}:{batch.id}"
    )


def attention_text(wikis: Sequence[Synced]) -> str:
    """What the file says; empty where nobody is needed."""
    lines: list[str] = []
    for wiki in wikis:
        folder = wiki.wiki.section.folder
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
    from wikisync.folder.swap import write_atomically

    path = root / ATTENTION_FILE
    text = attention_text(wikis)
    if not text:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        return
    with suppress(OSError):
        if path.read_text(encoding="utf-8") == text:
            return
    write_atomically(root, ATTENTION_FILE, text.encode())
