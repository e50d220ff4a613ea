"""The short form of ``make prove-real``."""

from pathlib import Path

from tests.sync.prove_real import prove


async def test_a_killed_process_loses_nothing(tmp_path: Path) -> None:
    outcome = await prove(5, 0, tmp_path)
    assert outcome.kills == 5
    assert outcome.edits > 20
    assert not outcome.lost
    assert not outcome.different
