"""A state file in a folder of its own, wikis in it, and two real sides."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.support.copies import OWNER, PAGES, Copies, rested
from tests.support.pair import Pair, paired
from wikisync.core.model import WikiOwner
from wikisync.sync.base.state import State, WikiState


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def state(path: Path) -> Iterator[State]:
    with State.open(path) as opened:
        yield opened


@pytest.fixture
def known(state: State) -> WikiState:
    return state.wiki(OWNER)


@pytest.fixture
def another(state: State) -> WikiState:
    """A second wiki in the same file."""
    return state.wiki(WikiOwner("group", "docs"))


@pytest.fixture
async def copies(state: State) -> Copies:
    """The engine between two copies in memory that agree on two pages."""
    return await rested(state, PAGES)


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    """The engine between a folder and an embedded service, with no page yet."""
    async with paired(tmp_path) as opened:
        yield opened
