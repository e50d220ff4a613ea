"""What of a plan may be carried out now."""

import pytest

from wikisync.core.model import Format, Slug, digest_of
from wikisync.sync.decide.narrowing import (
    Direction,
    around_editors,
    holding,
    in_direction,
    only_pages,
    without_copies,
    without_creates,
    without_futile,
    without_removals,
    without_twins,
)
from wikisync.sync.decide.plan import (
    Action,
    CreateLocal,
    CreateRemote,
    DeleteLocal,
    DeleteRemote,
    Hold,
    HoldReason,
    Merge,
    MoveLocal,
    MoveRemote,
    Notice,
    Plan,
    Pull,
    Push,
    Rebind,
    Skip,
    SkipReason,
)

A, B = digest_of("a"), digest_of("b")
HOME, GUIDE, NOTES = Slug("home"), Slug("guide"), Slug("notes")
MD = Format.MARKDOWN
PULL, PUSH = Pull(HOME, MD, A, B), Push(HOME, MD, A, B)
CREATE = CreateRemote(HOME, MD, A)


def plan(*actions: Action) -> Plan:
    return Plan.from_actions(actions)


@pytest.mark.parametrize(
    "action",
    [CREATE, PUSH, DeleteRemote(HOME, B, MD), MoveRemote(HOME, GUIDE, HOME, MD, B)],
)
def test_a_pull_leaves_the_wiki_alone(action: Action) -> None:
    assert in_direction(plan(action), Direction.PULL).actions == ()
    assert in_direction(plan(action), Direction.PUSH).actions == (action,)


@pytest.mark.parametrize(
    "action",
    [
        CreateLocal(HOME, MD, B),
        PULL,
        Merge(HOME, MD, A, B),
        DeleteLocal(HOME, A),
        MoveLocal(HOME, GUIDE, HOME, A),
    ],
)
def test_a_push_leaves_the_folder_alone(action: Action) -> None:
    assert in_direction(plan(action), Direction.PUSH).actions == ()
    assert in_direction(plan(action), Direction.PULL).actions == (action,)


def test_what_follows_a_rename_that_is_left_out_is_left_out_too() -> None:
    """A push to the new name would make a second page of it."""
    moved = plan(MoveLocal(HOME, GUIDE, HOME, A), Push(GUIDE, MD, A, B))
    assert in_direction(moved, Direction.PUSH).actions == ()


@pytest.mark.parametrize("asked", [HOME, GUIDE])
@pytest.mark.parametrize("move", [MoveLocal(HOME, GUIDE, HOME, A), Rebind(HOME, GUIDE)])
def test_a_renamed_page_goes_by_its_old_and_its_new_name(
    move: Action, asked: Slug
) -> None:
    moved = plan(move, Push(GUIDE, MD, A, B))
    assert only_pages(moved, {asked}) == moved


def test_a_rename_below_a_name_that_is_given_up_goes_with_that_rename() -> None:
    """Else the page would go along with the other, once that is renamed."""
    gives_up = MoveRemote(HOME, GUIDE, HOME, MD, A)
    below = MoveLocal(NOTES, Slug("home/notes"), NOTES, B)
    both = plan(gives_up, below)
    assert only_pages(both, {NOTES}) == only_pages(both, {HOME}) == both


@pytest.mark.parametrize(
    "action",
    [
        PULL,
        Merge(HOME, MD, A, B),
        MoveLocal(HOME, GUIDE, HOME, A),
        DeleteLocal(HOME, A),
        DeleteRemote(HOME, B, MD),
    ],
)
def test_a_page_open_in_an_editor_waits(action: Action) -> None:
    assert around_editors(plan(action), {HOME}).actions == (
        Skip(HOME, SkipReason.OPEN_HERE),
    )


def test_a_save_is_sent_though_its_editor_is_still_open() -> None:
    assert around_editors(plan(PUSH), {HOME}).actions == (PUSH,)


def test_a_page_open_for_very_long_waits_for_a_person() -> None:
    assert around_editors(plan(PULL), {HOME}, {HOME}).actions == (
        Hold(HOME, HoldReason.OPEN_LONG),
    )


BELOW, ELSEWHERE = Slug("home/below"), Slug("guide/below")


@pytest.mark.parametrize(
    "above",
    [
        MoveLocal(HOME, GUIDE, HOME, A),
        MoveRemote(HOME, GUIDE, HOME, MD, B, carried=(BELOW,)),
    ],
)
def test_a_page_that_is_renamed_with_an_open_one_waits_with_it(above: Action) -> None:
    """A rename of a page is one of those below it, too."""
    below = MoveLocal(BELOW, ELSEWHERE, BELOW, A)
    other = MoveLocal(NOTES, Slug("other"), NOTES, A)
    followed = plan(above, below, other, Push(GUIDE, MD, A, B), CREATE)
    assert around_editors(followed, {BELOW}) == plan(
        other, Skip(HOME, SkipReason.OPEN_WITH_IT), Skip(BELOW, SkipReason.OPEN_HERE)
    )


def test_a_page_below_goes_its_own_way_while_the_other_one_is_open() -> None:
    away = MoveLocal(BELOW, NOTES, BELOW, A)
    moved = plan(MoveLocal(HOME, GUIDE, HOME, A), away)
    assert around_editors(moved, {HOME}).moves == (away,)


def test_a_rename_here_goes_on_while_only_its_own_page_is_open() -> None:
    """No file is touched for it."""
    moved = plan(MoveRemote(HOME, GUIDE, HOME, MD, B))
    assert around_editors(moved, {GUIDE}) == moved


def test_a_first_sync_puts_nothing_on_the_wiki_unasked() -> None:
    left = Skip(HOME, SkipReason.NOT_ASKED)
    assert without_creates(plan(CREATE), {HOME}).actions == (left,)
    assert without_creates(plan(CREATE), {GUIDE}).actions == (CREATE,)


def test_a_page_that_comes_back_was_asked_for() -> None:
    back = CreateRemote(HOME, MD, A, Notice.EDIT_BEATS_DELETE_THERE)
    assert without_creates(plan(back), {HOME}).actions == (back,)


def test_a_refused_text_is_not_sent_again() -> None:
    held = without_futile(plan(PUSH), {HOME: A}, frozenset())
    assert held.actions == (Hold(HOME, HoldReason.REFUSED),)


def test_a_text_that_went_round_too_often_is_held() -> None:
    held = without_futile(plan(PUSH), {}, frozenset({(HOME, A)}))
    assert held.actions == (Hold(HOME, HoldReason.LOOP),)
    assert without_futile(plan(PUSH), {}, frozenset({(HOME, B)})).actions == (PUSH,)


def test_only_what_is_sent_is_held_for_its_markers() -> None:
    reasons = {HOME: HoldReason.MARKER}
    assert holding(plan(PUSH), reasons).actions == (Hold(HOME, HoldReason.MARKER),)
    assert holding(plan(PULL), reasons).actions == (PULL,)
    other = Push(GUIDE, MD, A, B)
    assert holding(plan(other), reasons).actions == (other,)


def test_an_uncertain_absence_removes_nothing() -> None:
    removal, other = DeleteLocal(HOME, A), DeleteRemote(GUIDE, B, MD)
    waiting = {HOME: SkipReason.GONE_THERE}
    left = without_removals(plan(removal, other), waiting)
    assert set(left.actions) == {Skip(HOME, SkipReason.GONE_THERE), other}


def test_an_uncertain_absence_keeps_back_no_text() -> None:
    waiting = {HOME: SkipReason.GONE_THERE}
    assert without_removals(plan(CREATE), waiting).actions == (CREATE,)


def test_a_copy_is_not_put_on_the_wiki_by_its_creation_or_a_rename() -> None:
    left = Skip(GUIDE, SkipReason.COPY)
    create = CreateRemote(GUIDE, MD, A)
    assert without_copies(plan(create), {GUIDE}).actions == (left,)
    assert without_copies(plan(create), {HOME}).actions == (create,)
    moved = plan(MoveRemote(HOME, GUIDE, HOME, MD, B), Push(GUIDE, MD, A, B))
    assert without_copies(moved, {GUIDE}).actions == (left,)
    assert without_copies(moved, {NOTES}) == moved


# -- names that are taken --------------------------------------------------------------


def test_a_page_that_would_come_back_beside_its_twin_is_held() -> None:
    """The service refuses it each time: no cycle would ever come to rest."""
    back, other = (
        CreateRemote(slug, MD, A, Notice.DELETION_REFUSED) for slug in (HOME, GUIDE)
    )
    found = without_twins(plan(back, other), {Slug("Home")})
    assert found == plan(Hold(HOME, HoldReason.CASE_TWIN), other)


def test_a_name_that_would_come_back_beside_its_twin_is_held() -> None:
    """With its text, whose file has the name that the page does not get."""
    back = MoveRemote(NOTES, HOME, HOME, MD, A)
    for text in (Push(NOTES, MD, B, A), Push(HOME, MD, B, A)):
        assert without_twins(plan(back, text), {NOTES, Slug("Home")}) == plan(
            Hold(NOTES, HoldReason.CASE_TWIN, HOME)
        )
        assert without_twins(plan(back, text), {NOTES}) == plan(back, text)


def test_what_took_the_name_of_its_record_is_held_with_it() -> None:
    """It is no new page while the record has its name, and would wait untold."""
    back = plan(MoveRemote(NOTES, HOME, GUIDE, MD, A))
    there, held = {NOTES, Slug("Home")}, Hold(NOTES, HoldReason.CASE_TWIN, HOME)
    assert without_twins(back, there, {HOME}) == plan(held)
    assert without_twins(back, there, {HOME, GUIDE}) == plan(
        held, Hold(GUIDE, HoldReason.NAME_TAKEN)
    )


def test_a_name_is_free_that_another_rename_or_deletion_leaves() -> None:
    home = Slug("Home")
    for leaving in (MoveRemote(home, GUIDE, home, MD, A), DeleteRemote(home, A, MD)):
        there = plan(MoveRemote(NOTES, HOME, HOME, MD, A), leaving)
        assert without_twins(there, {NOTES, home}) == there
    spelling = plan(MoveRemote(home, HOME, home, MD, A))
    assert without_twins(spelling, {home}) == spelling


def test_a_name_that_a_page_has_on_the_wiki_is_its_own() -> None:
    """Its text is sent beside other pages that come to the wiki."""
    moved, sent = MoveLocal(NOTES, HOME, NOTES, A), Push(HOME, MD, B, A)
    there = plan(moved, sent, CreateRemote(GUIDE, MD, A))
    assert without_twins(there, {HOME}) == there
