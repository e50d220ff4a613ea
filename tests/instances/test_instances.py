"""The short form of ``make prove-instances``: the quick and most harmful cases."""

import pytest

from tests.instances.cases import Case, play
from tests.instances.prove_instances import all_cases
from tests.instances.stage import Verdict

SHORT = [case for case in all_cases() if case.is_short]


@pytest.mark.slow
@pytest.mark.parametrize("case", SHORT, ids=[case.name for case in SHORT])
async def test_case_reads_good(case: Case) -> None:
    result = await play(case)
    assert result.verdict is Verdict.GOOD, result.seen
