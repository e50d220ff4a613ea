import random
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sync import exhaustive
from tests.sync.prove_plan import main
from tests.sync.world import run_schedule
from wikisync.core.model import Format, PageState, Slug, Snapshot, digest_of, fold_text
from wikisync.sync.decide import plan as plans
from wikisync.sync.decide.reconcile import reconcile

MD = Format.MARKDOWN


def state(slug: str, text: str, page_format: Format = MD) -> PageState:
    """A page; a text that begins with a name and a colon knows what page it is."""
    identity, _, content = text.rpartition(":")
    return PageState(
        Slug(slug),
        page_format,
        digest_of(content),
        folded=digest_of(fold_text(content)),
        identity=identity,
    )


def snapshot(pages: str) -> Snapshot:
    """``p=text q=text``: a side that holds these pages."""
    pairs = [page.split("=") for page in pages.split()]
    return Snapshot({Slug(slug): state(slug, text) for slug, text in pairs})


def base(pages: str) -> dict[Slug, plans.BasePage]:
    """What both sides agreed on; a page knows itself by its own name."""
    return {
        slug: plans.BasePage(slug, MD, page.digest, page.digest, slug, slug)
        for slug, page in snapshot(pages).pages.items()
    }


def plan(old: str, here: str, there: str) -> plans.Plan:
    return reconcile(base(old), snapshot(here), snapshot(there))


def lines(old: str, here: str, there: str) -> list[str]:
    decided = plan(old, here, there)
    return str(decided).splitlines() if decided.actions else []


def cases() -> dict[str, tuple[str, str, str, list[str]]]:
    """What both sides agreed on, and both of them, with the plan, by title."""
    text = (Path(__file__).parent / "cases/reconcile.txt").read_text()
    _, *blocks = text.split("\n# ")
    found = {}
    for title, pages, *expected in map(str.splitlines, blocks):
        old, here, there = (side.strip("-") for side in pages.split(" | "))
        found[title] = old, here, there, [line for line in expected if line]
    return found


CASES = cases()


@pytest.mark.parametrize(
    ("old", "here", "there", "expected"), CASES.values(), ids=CASES
)
def test_case(old: str, here: str, there: str, expected: list[str]) -> None:
    assert lines(old, here, there) == expected


def test_created_texts_that_differ_in_line_ends_alone_are_adopted() -> None:
    here = Snapshot({Slug("n"): state("n", "a\r\nb\r\n")})
    there = Snapshot({Slug("n"): state("n", "a\nb")})
    decided = reconcile({}, here, there)
    assert str(decided) == "adopt   n"


# -- what the service does not take --------------------------------------------------


def test_name_that_differs_in_unicode_form_alone_is_never_created_there() -> None:
    decided = lines("\u00e9=1", "\u00e9=1 e\u0301=2", "\u00e9=1")
    assert decided == [f"hold    e\u0301: {plans.HoldReason.CASE_TWIN}"]


@pytest.mark.parametrize(("slug", "text"), [("p", "L"), ("n", "b")])
def test_page_of_a_format_that_the_service_only_lists_is_not_changed_there(
    slug: str, text: str
) -> None:
    old = Slug("p")
    agreed = plans.BasePage(old, Format.REST, digest_of("b"), digest_of("b"))
    here = Snapshot({Slug(slug): state(slug, text, Format.REST)})
    there = Snapshot({old: state("p", "b", Format.REST)})
    decided = reconcile({old: agreed}, here, there)
    assert str(decided) == f"skip    p: {plans.SkipReason.READ_ONLY}"


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [
        (Format.ORG, MD, "update  p on the wiki"),
        (MD, Format.ORG, "update  p"),
        (Format.ORG, Format.ORG, "adopt   p"),
        (Format.ORG, Format.RDOC, f"hold    p: {plans.HoldReason.FORMATS}"),
    ],
)
def test_change_of_format_is_an_edit(
    here: Format, there: Format, expected: str
) -> None:
    mine, theirs = (
        Snapshot({Slug("p"): state("p", "b", one)}) for one in (here, there)
    )
    assert str(reconcile(base("p=b"), mine, theirs)) == expected


def test_merged_page_gets_the_format_that_one_side_gave_it() -> None:
    here = Snapshot({Slug("p"): state("p", "L", Format.ORG)})
    (merge,) = reconcile(base("p=b"), here, snapshot("p=R")).merges
    assert merge.format is Format.ORG


def test_page_that_the_service_only_lists_is_not_merged() -> None:
    slug = Slug("p")
    agreed = plans.BasePage(slug, Format.REST, digest_of("b"), digest_of("b"))
    here, there = (Snapshot({slug: state("p", text, Format.REST)}) for text in "LR")
    decided = reconcile({slug: agreed}, here, there)
    assert str(decided) == f"hold    p: {plans.HoldReason.EDITED_BOTH}"


# -- what cannot be seen ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("p=b", ""),
        ("p=L", ""),
        ("p=b", "r=b"),
        ("n=b", ""),
        ("n=b", "p=b"),
        ("n=b", "n=R"),
    ],
)
def test_incomplete_scan_the_wiki_shows_no_absence(here: str, there: str) -> None:
    """Nothing is removed, renamed or created there on the strength of it."""
    seen = replace(snapshot(there), is_complete=False)
    decided = reconcile(base("p=b"), snapshot(here), seen)
    assert all(
        isinstance(action, plans.CreateLocal | plans.Hold | plans.Skip)
        for action in decided.actions
    )


@pytest.mark.parametrize("there", ["p=b", "p=R", "r=b"])
def test_incomplete_scan_the_folder_shows_no_absence(there: str) -> None:
    seen = replace(snapshot(""), is_complete=False)
    decided = reconcile(base("p=b"), seen, snapshot(there))
    assert set(decided.actions) == set(decided.skipped)


@pytest.mark.parametrize(
    ("here", "there", "unseen"),
    [
        ("p=b q=N", "p=b", plans.SkipReason.UNSEEN_THERE),
        ("p=b", "p=b q=N", plans.SkipReason.UNSEEN_HERE),
    ],
)
def test_new_page_waits_for_a_side_that_was_not_seen_whole(
    here: str, there: str, unseen: plans.SkipReason
) -> None:
    is_there = unseen is plans.SkipReason.UNSEEN_THERE
    local = replace(snapshot(here), is_complete=is_there)
    remote = replace(snapshot(there), is_complete=not is_there)
    decided = reconcile(base("p=b"), local, remote)
    assert str(decided) == f"skip    q: {unseen}"


def test_file_is_not_renamed_to_a_name_that_could_not_be_seen() -> None:
    seen = replace(snapshot("p=b"), is_complete=False)
    decided = reconcile(base("p=b"), seen, snapshot("r=b"))
    assert str(decided) == f"skip    p: {plans.SkipReason.UNSEEN_HERE}"


@pytest.mark.parametrize(
    ("is_here", "reason"),
    [
        (True, plans.SkipReason.UNREADABLE_HERE),
        (False, plans.SkipReason.UNREADABLE_THERE),
    ],
)
def test_page_that_cannot_be_read_is_left_alone(
    is_here: bool, reason: plans.SkipReason
) -> None:
    blind = Snapshot({}, unreadable=frozenset({Slug("p")}))
    sides = (blind, snapshot("p=R")) if is_here else (snapshot("p=L"), blind)
    decided = reconcile(base("p=b"), *sides)
    assert str(decided) == f"skip    p: {reason}"


# -- properties ------------------------------------------------------------------------


def test_some_worlds_of_two_pages_come_to_rest() -> None:
    """The long form, ``make prove-plan``, takes all of them."""
    some = islice(exhaustive.worlds(), 0, None, 97)
    assert max(exhaustive.prove(world) for world in some) <= 4


@pytest.mark.parametrize("part", range(4))
def test_seeded_schedules_lose_nothing(part: int) -> None:
    rests = [run_schedule(random.Random(part * 500 + seed)) for seed in range(500)]
    assert max(rest.rounds for rest in rests) <= 4
    assert sum(rest.deletions for rest in rests) > 50


@given(st.randoms(use_true_random=False))
@settings(max_examples=150)
def test_any_two_changes_of_one_wiki_come_together(rng: random.Random) -> None:
    run_schedule(rng)


def test_long_proof_runs_and_prints_its_figures(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = list(islice(exhaustive.worlds(), 0, None, 997))
    monkeypatch.setattr(exhaustive, "worlds", lambda: iter(few))
    assert main(["--schedules", "20", "--first-seed", "7"]) == 0
    printed = capsys.readouterr().out
    assert "20 of 20 good, seeds 7 to 26" in printed
    assert f"{len(few)} of {len(few)} good" in printed
