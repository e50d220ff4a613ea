"""A command in a terminal of its own, with a person who answers."""

import asyncio
import os
import select
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.commands import Ran

SILENCE_S = 30.0
"""A program that asks something else would wait for ever."""


async def run_in_terminal(
    arguments: Sequence[str | Path], answers: Sequence[tuple[str, str]], token: str
) -> Ran:
    """Run in a terminal of its own; each answer is typed when its question shows."""
    return await asyncio.to_thread(_run, arguments, answers, token)


def _run(
    arguments: Sequence[str | Path], answers: Sequence[tuple[str, str]], token: str
) -> Ran:
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "dumb", "WIKISYNC_TOKEN": token}
    process = subprocess.Popen(
        [sys.executable, "-m", "wikisync", *map(str, arguments)],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment,
        start_new_session=True,
    )
    os.close(theirs)
    shown = ""
    for question, answer in answers:
        start = len(shown)
        while question not in shown[start:]:
            more = _read(ours)
            if not more:
                process.kill()
                pytest.fail(f"no question {question}: {shown}")
            shown += more
        os.write(ours, f"{answer}\n".encode())
    while more := _read(ours):
        shown += more
    # one that still waits for an answer is hung up on
    os.close(ours)
    out, _ = process.communicate(timeout=SILENCE_S)
    assert "Traceback" not in shown
    return Ran(process.returncode, out.decode(), shown.replace("\r\n", "\n"))


def _read(terminal: int) -> str:
    """What shows next; empty when the program has ended, or waits for nothing."""
    if not select.select([terminal], [], [], SILENCE_S)[0]:
        return ""
    try:
        return os.read(terminal, 65536).decode()
    except OSError:
        # the other end is gone
        return ""
