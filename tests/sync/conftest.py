"""A state file in a folder of its own, and one wiki in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from wikisync.core.model import WikiOwner
from wikisync.sync.base.state import State, WikiState


@pytest.fixture
def state_path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def state(state_path: Path) -> Iterator[State]:
    with State.open(state_path) as opened:
        yield opened


@pytest.fixture
def known(state: State) -> WikiState:
    return state.wiki(WikiOwner("project", "docs/handbook"))
