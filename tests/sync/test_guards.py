"""``make prove-guards`` as tests: every guard with its proof."""

import pytest

from tests.sync.prove_guards import GUARDS, ROOT, Guard, guard_named, is_missed


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.name)
def test_a_guard_that_is_off_is_missed_by_its_proof(guard: Guard) -> None:
    assert is_missed(guard)[0]


def test_the_proof_of_a_guard_passes_while_it_is_on() -> None:
    assert not is_missed(guard_named("brakes"), off=False)[0]


def test_no_two_guards_have_one_name() -> None:
    names = [guard.name for guard in GUARDS]
    assert len(set(names)) == len(names) >= 20


def test_a_guard_and_its_proof_are_where_the_list_says() -> None:
    """A name that has gone would switch nothing off."""
    for guard in GUARDS:
        found: list[object] = []
        guard.switch_off(lambda owner, name, _: found.append(getattr(owner, name)))  # noqa: B023
        assert len(found) == 1, guard
        path, _, test = guard.proof.partition("::")
        function = test.partition("[")[0]
        assert f"def {function}" in (ROOT / "tests" / path).read_text(), guard
