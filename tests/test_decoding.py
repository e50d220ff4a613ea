"""Decoders that several threads ask for at once."""

import subprocess
import sys
from pathlib import Path

import pytest

STARTS = 200
"""A decoder that is made at its first use fails within ten of them; one that is made
without the lock, within some sixty."""


@pytest.mark.parametrize("step", ["recall", "make"])
def test_first_use_of_a_decoder_in_many_threads_ends_no_process(
    step: str, tmp_path: Path
) -> None:
    """A starting watch of several wikis died with SIGSEGV."""
    words = [sys.executable, "-m", "tests.support.first_uses", step, str(STARTS)]

    run = subprocess.run(
        [*words, tmp_path], check=False, capture_output=True, text=True
    )

    assert (run.returncode, run.stderr) == (0, "")
