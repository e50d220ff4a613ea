from __future__ import annotations

from wikisync.model import Digest, Format, Slug
from wikisync.sync.plan import (
    Action,
    Adopt,
    CreateLocal,
    DeleteLocal,
    DropRecord,
    Hold,
    HoldReason,
    Plan,
    Pull,
    Skip,
    SkipReason,
)

A, B = Digest("a" * 64), Digest("b" * 64)


def create(slug: str) -> Action:
    return CreateLocal(Slug(slug), Format.MARKDOWN, A)


def delete(slug: str) -> Action:
    return DeleteLocal(Slug(slug), A)


def test_plan_text_has_one_line_per_action() -> None:
    """The text is the dry run, so every kind of action must be told apart."""
    plan = Plan.from_actions(
        [
            create("new"),
            Pull(Slug("changed"), Format.ORG, A, B),
            Adopt(Slug("same"), Format.MARKDOWN, A, A),
            DropRecord(Slug("forgotten")),
            Hold(Slug("both"), HoldReason.EDITED_BOTH),
            Skip(Slug("mine"), SkipReason.EDITED_HERE),
            delete("old"),
        ]
    )
    assert str(plan).splitlines() == [
        "create  new",
        "update  changed",
        "adopt   same",
        "forget  forgotten",
        "hold    both: edited here and on the wiki",
        "skip    mine: edited here; a pull writes nothing to the wiki",
        "remove  old",
    ]


def test_empty_plan_says_that_nothing_is_to_do() -> None:
    assert str(Plan()) == "nothing to do"


def test_parents_are_created_before_children_and_removed_after_them() -> None:
    plan = Plan.from_actions([create("a/b"), delete("x"), create("z"), delete("x/y")])
    assert [a.slug for a in plan.actions] == ["z", "a/b", "x/y", "x"]


def test_order_does_not_hang_on_the_order_of_finding() -> None:
    actions = [create("b"), delete("c"), create("a")]
    assert Plan.from_actions(actions) == Plan.from_actions(actions[::-1])


def test_plan_without_deletes_keeps_everything_else() -> None:
    plan = Plan.from_actions([create("a"), delete("b")])
    assert plan.without_deletes() == Plan.from_actions([create("a")])


def test_plan_sorts_its_actions_by_what_they_do() -> None:
    hold = Hold(Slug("h"), HoldReason.CREATED_BOTH)
    skip = Skip(Slug("s"), SkipReason.CREATED_HERE)
    plan = Plan.from_actions([hold, skip, create("c"), delete("d")])
    assert plan.writes == (create("c"),)
    assert plan.deletes == (delete("d"),)
    assert plan.held == (hold,)
    assert plan.skipped == (skip,)
