from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from wikisync.core.model import (
    Digest,
    Format,
    PageState,
    Slug,
    Snapshot,
    digest_of,
    removals_max,
)
from wikisync.sync.decide import plan as plans
from wikisync.sync.decide.reconcile import reconcile
from wikisync.sync.decide.safety import (
    Batch,
    BatchKind,
    Decision,
    changes_max,
    decide,
    hold_batches,
    removed_unasked,
    shrunk_pages,
)

D = Digest("d" * 64)


def tracked(count: int) -> dict[Slug, plans.BasePage]:
    slugs = [Slug(f"page-{number:04d}") for number in range(count)]
    return {slug: plans.BasePage(slug, Format.MARKDOWN, D, D) for slug in slugs}


def removing(count: int) -> plans.Plan:
    return plans.Plan.from_actions(
        [plans.DeleteLocal(slug, D) for slug in tracked(count)]
    )


@pytest.mark.parametrize(
    ("pages", "removals"),
    [
        *((0, 0), (1, 0), (2, 1), (4, 3), (30, 3), (40, 4), (190, 19), (201, 20)),
        *((1000, 20), (1001, 50), (10_000, 500)),
    ],
)
def test_removals_that_pass_unasked(pages: int, removals: int) -> None:
    assert removals_max(pages) == removals


@pytest.mark.parametrize("pages", [1, 2, 4, 30, 40, 1000])
def test_safety_stop_starts_at_one_more_than_passes(pages: int) -> None:
    base, limit = tracked(pages), removals_max(pages)
    assert not hold_batches(removing(limit), base).batches
    assert len(hold_batches(removing(limit + 1), base).batches) == 1


def test_a_batch_names_pages_and_counts() -> None:
    (batch,) = hold_batches(removing(12), tracked(12)).batches
    assert batch.share == "12 of 12 pages"
    assert batch.names.startswith("page-0000, page-0001, ")
    assert batch.names.endswith("page-0009 and 2 more")


def test_a_batch_is_never_more_than_all_pages() -> None:
    (batch,) = hold_batches(removing(12), tracked(12)).batches
    assert replace(batch, tracked=8).share == "12 of 12 pages"


# -- batches -----------------------------------------------------------------------

MD = Format.MARKDOWN
NEW = Digest("n" * 64)
BASE = tracked(100)


def remote_deletes(count: int, first: int = 0) -> list[plans.Action]:
    return [
        plans.DeleteRemote(slug, D, MD) for slug in list(BASE)[first : first + count]
    ]


def pushes(count: int) -> list[plans.Action]:
    return [plans.Push(slug, MD, NEW, D) for slug in list(BASE)[:count]]


def pulls(count: int) -> list[plans.Action]:
    return [plans.Pull(slug, MD, D, NEW) for slug in list(BASE)[:count]]


def asked(batches: Sequence[Batch]) -> list[Batch]:
    """Batches that a person is asked about."""
    return [batch for batch in batches if batch.decision is Decision.WAITING]


def waiting(actions: list[plans.Action], memory: tuple[Batch, ...] = ()) -> Batch:
    (batch,) = asked(
        hold_batches(plans.Plan.from_actions(actions), BASE, memory).batches
    )
    return batch


def test_many_removals_wait_and_everything_else_goes_on() -> None:
    plan = plans.Plan.from_actions([*remote_deletes(12), *pushes(5)])
    result = hold_batches(plan, BASE)
    assert result.plan == plans.Plan.from_actions(pushes(5))
    assert str(result.batches[0]).startswith(
        "12 of 100 pages would be deleted on the wiki because their files are"
        " missing here: page-0000, page-0001, "
    )
    assert str(result.batches[0]).endswith("page-0009 and 2 more")


def test_batch_keeps_its_number_while_pages_come_and_go() -> None:
    first = waiting(remote_deletes(12))
    later = waiting(remote_deletes(14, first=2), (first,))
    assert later.id == first.id == 1
    assert [m.slug for m in later.members] == list(BASE)[2:16]


@pytest.mark.parametrize(("pages", "gone"), [(3, 3), (1, 1), (14, 4)])
def test_pages_that_come_meanwhile_say_no_yes(pages: int, gone: int) -> None:
    """A disk that is away, and a note in its place: the wiki must not follow."""
    deletes = plans.Plan.from_actions(remote_deletes(gone))
    first = hold_batches(deletes, tracked(pages))
    again = hold_batches(deletes, tracked(pages + 30), first.batches)
    assert not again.plan.actions
    assert [batch.id for batch in asked(again.batches)] == [
        batch.id for batch in asked(first.batches)
    ]
    assert str(asked(again.batches)[0]).startswith(f"{gone} of {pages} pages")


def test_yes_covers_no_page_that_was_not_on_the_list() -> None:
    memory = decide((waiting(remote_deletes(12)),), 1, Decision.APPROVED)
    result = hold_batches(plans.Plan.from_actions(remote_deletes(30)), BASE, memory)
    assert result.plan == plans.Plan.from_actions(remote_deletes(12))
    assert [(b.id, len(b.members)) for b in asked(result.batches)] == [(2, 18)]


@pytest.mark.parametrize("is_remote", [True, False])
def test_refused_deletion_brings_the_page_back(is_remote: bool) -> None:
    actions = remote_deletes(12) if is_remote else list(removing(12).actions)
    memory = decide((waiting(actions),), 1, Decision.REFUSED)
    back = plans.CreateLocal if is_remote else plans.CreateRemote
    again = [
        back(slug, MD, D, plans.Notice.DELETION_REFUSED) for slug in list(BASE)[:12]
    ]
    result = hold_batches(plans.Plan.from_actions(actions), BASE, memory)
    assert result.plan == plans.Plan.from_actions(list(again))
    assert result.skipped == ()


@pytest.mark.parametrize(
    ("decision", "number"), [(Decision.REFUSED, 1), (Decision.WAITING, 2)]
)
def test_batch_is_decided_once_and_by_its_number(
    decision: Decision, number: int
) -> None:
    batch = replace(waiting(remote_deletes(12)), decision=decision)
    with pytest.raises(KeyError):
        decide((batch,), number, Decision.APPROVED)


def test_number_of_a_forgotten_batch_is_not_given_again() -> None:
    plan = plans.Plan.from_actions(remote_deletes(12))
    assert hold_batches(plan, BASE, last_id=7).batches[0].id == 8


@pytest.mark.parametrize(("pages", "changes"), [(0, 20), (50, 20), (100, 40)])
def test_changes_that_pass_unasked(pages: int, changes: int) -> None:
    assert changes_max(pages) == changes


@pytest.mark.parametrize(
    ("kind", "actions"),
    [(BatchKind.CHANGES_THERE, pushes), (BatchKind.CHANGES_HERE, pulls)],
)
def test_too_many_changes_of_one_side_wait(kind: BatchKind, actions: object) -> None:
    assert callable(actions)
    some = plans.Plan.from_actions([*actions(40), *remote_deletes(1, first=90)])
    assert hold_batches(some, BASE).plan == some
    many = plans.Plan.from_actions([*actions(41), *remote_deletes(1, first=90)])
    result = hold_batches(many, BASE)
    assert [batch.kind for batch in asked(result.batches)] == [kind]
    assert result.plan == plans.Plan.from_actions(remote_deletes(1, first=90))


def test_refused_change_stays_held_until_the_text_is_another() -> None:
    memory = decide((waiting(pushes(41)),), 1, Decision.REFUSED)
    result = hold_batches(plans.Plan.from_actions(pushes(41)), BASE, memory)
    assert result.plan == plans.Plan()
    assert asked(result.batches) == []
    assert hold_batches(plans.Plan.from_actions(pulls(3)), BASE, memory).batches == ()


@pytest.mark.parametrize(
    ("before", "after", "is_held"),
    [
        (200, 0, True),
        (200, 20, True),
        (200, 21, False),
        (199, 0, False),
        (None, 0, False),
        (200, None, False),
    ],
)
@pytest.mark.parametrize("is_pushed", [True, False])
def test_page_that_loses_nearly_all_its_text_waits(
    before: int | None, after: int | None, is_held: bool, is_pushed: bool
) -> None:
    """Half-written files and cut answers look like this."""
    slug = Slug("p")
    base = {slug: plans.BasePage(slug, MD, D, D, size=before), **tracked(5)}
    old, new = PageState(slug, MD, D), PageState(slug, MD, NEW, size=after)
    here, there = (
        Snapshot({slug: side, **{s: PageState(s, MD, D) for s in tracked(5)}})
        for side in ((new, old) if is_pushed else (old, new))
    )
    plan = reconcile(base, here, there)
    shrunk = shrunk_pages(plan, base, here, there)
    assert (hold_batches(plan, base, shrunk=shrunk).plan == plans.Plan()) is is_held


def test_page_that_shrinks_is_found_under_its_new_name() -> None:
    old, new = Slug("p"), Slug("q")
    base = {old: plans.BasePage(old, MD, D, D, local_identity="7", size=5000)}
    here = Snapshot({new: PageState(new, MD, digest_of(""), identity="7", size=0)})
    there = Snapshot({old: PageState(old, MD, D, size=5000)})
    plan = reconcile(base, here, there)
    result = hold_batches(plan, base, shrunk=shrunk_pages(plan, base, here, there))
    assert result.plan == plans.Plan((plans.MoveRemote(old, new, old, MD, D),))
    assert [batch.kind for batch in asked(result.batches)] == [BatchKind.SHRUNK_THERE]


# -- within an hour ----------------------------------------------------------------


def removed_before(count: int, first: int = 50) -> dict[BatchKind, frozenset[Slug]]:
    slugs = list(BASE)[first : first + count]
    return {BatchKind.DELETES_THERE: frozenset(slugs)}


def test_removals_within_an_hour_count_together() -> None:
    plan = plans.Plan.from_actions(remote_deletes(4))
    assert hold_batches(plan, BASE, removed=removed_before(6)).plan == plan
    assert len(asked(hold_batches(plan, BASE, removed=removed_before(7)).batches)) == 1


def test_removals_on_the_other_side_do_not_count() -> None:
    plan = removing(4)
    assert hold_batches(plan, BASE, removed=removed_before(9)).plan == plan


def test_removals_with_a_persons_yes_are_not_unasked() -> None:
    plan = plans.Plan.from_actions(remote_deletes(12))
    memory = decide((waiting(remote_deletes(12)),), 1, Decision.APPROVED)
    assert removed_unasked(hold_batches(plan, BASE, memory)) == {}
    few = hold_batches(plans.Plan.from_actions(remote_deletes(2)), BASE)
    assert removed_unasked(few) == removed_before(2, first=0)


def test_pages_of_an_emptied_directory_wait_however_few_they_are() -> None:
    emptied = frozenset(list(BASE)[:3])
    plan = plans.Plan.from_actions(remote_deletes(4))
    result = hold_batches(plan, BASE, emptied=emptied)
    assert [one.slug for one in result.plan.removals] == [list(BASE)[3]]
    assert [batch.kind for batch in asked(result.batches)] == [BatchKind.EMPTIED]
    assert "its disk were not mounted" in str(asked(result.batches)[0])
