"""Locks end with their block, whoever still has a copy of the descriptor."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from wikisync.core.system import locks
from wikisync.folder import workspace
from wikisync.service import server
from wikisync.site import output, publish

HOLDERS: dict[str, Callable[[Path], AbstractContextManager[Any]]] = {
    "a folder": locks.locked_folder,
    "a workspace": lambda folder: workspace.locked(folder / "private", "folder"),
    "the data of a service": server.locked_folder,
    "an output": output._held,
    "versions of a site": lambda folder: publish._Place(folder / "site").held(),
}


@contextmanager
def copied_descriptors(below: Path) -> Iterator[int]:
    """Copies of what is open below a folder, as a child has them before its start."""
    with ExitStack() as stack:
        opened = [
            int(one.name)
            for one in Path("/proc/self/fd").iterdir()
            if os.path.lexists(one) and one.readlink().is_relative_to(below)
        ]
        for descriptor in opened:
            stack.callback(os.close, os.dup(descriptor))
        yield len(opened)


@pytest.mark.parametrize("name", HOLDERS)
def test_a_lock_ends_with_its_block_though_a_child_has_the_descriptor(
    name: str, tmp_path: Path
) -> None:
    hold = HOLDERS[name]
    with ExitStack() as child:
        with hold(tmp_path):
            assert child.enter_context(copied_descriptors(tmp_path)) > 0
        with hold(tmp_path):
            pass
