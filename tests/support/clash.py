"""A page that was edited in one line on both sides, with its conflict file."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.pair import Pair, paired

BASE = "# Home\n\nfirst\n\nlast\n"
MINE = "# Home\n\nfirst, mine\n\nlast\n"
THEIRS = "# Home\n\nfirst, theirs\n\nlast\n"
BOTH = "# Home\n\nfirst, mine and theirs\n\nlast\n"


@asynccontextmanager
async def clashing(root: Path) -> AsyncIterator[Pair]:
    """The page ``home``, held for its edits, and another one beside it."""
    async with paired(root, {"home": BASE, "other": "other\n"}) as opened:
        await opened.rest()
        opened.save("home", MINE)
        await opened.edit("home", THEIRS)
        await opened.rest()
        yield opened


def conflict_file_of(pair: Pair) -> Path:
    """Where that page's conflict file is."""
    return pair.folder / "home.conflict.md"


def begin(pair: Pair) -> str:
    """A person begins to settle; what the conflict file says then."""
    begun = conflict_file_of(pair).read_text() + "begun\n"
    conflict_file_of(pair).write_text(begun)
    return begun


def rename_here(pair: Pair) -> None:
    """Give the page's file another name, and leave its conflict file."""
    (pair.folder / "home.md").rename(pair.folder / "start.md")
