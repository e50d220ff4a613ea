import random
from itertools import islice

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

ID = "id of "
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


# one page p of text b: base against local and remote; "p:" says it is still page p
TABLE = [
    ("nothing changed: nothing is done", "p=b", "p=b", []),
    ("edited there: pulled", "p=b", "p=R", ["update  p"]),
    ("deleted there: the file goes", "p=b", "", ["remove  p"]),
    ("renamed there: the file is renamed", "p=b", "r=b", ["rename  p -> r"]),
    (
        "renamed and edited there: the file is renamed, then pulled",
        *("p=b", "r=p:R"),
        ["rename  p -> r", "update  r"],
    ),
    ("edited here: pushed", "p=L", "p=b", ["update  p on the wiki"]),
    ("edited alike on both sides: adopted", "p=E", "p=E", ["adopt   p"]),
    (
        "edited on both sides: merged here, pushed next",
        *("p=L", "p=R"),
        ["merge   p: edited here and on the wiki"],
    ),
    (
        "edited here, deleted there: the edit wins",
        *("p=L", ""),
        [f"create  p on the wiki: {plans.Notice.EDIT_BEATS_DELETE_THERE}"],
    ),
    (
        "edited here, renamed there: the file is renamed, then pushed",
        *("p=L", "r=b"),
        ["rename  p -> r", "update  r on the wiki"],
    ),
    (
        "edited here, renamed and edited there: the file is renamed, then merged",
        *("p=L", "r=p:R"),
        ["rename  p -> r", "merge   r: edited here and on the wiki"],
    ),
    ("deleted here: deleted there", "", "p=b", ["remove  p from the wiki"]),
    (
        "deleted here, edited there: the edit wins",
        *("", "p=R"),
        [f"create  p: {plans.Notice.EDIT_BEATS_DELETE_HERE}"],
    ),
    ("deleted on both sides: forgotten", "", "", ["forget  p"]),
    (
        "deleted here, renamed there: it comes back under the new name",
        *("", "r=b"),
        [f"create  r: {plans.Notice.RENAME_BEATS_DELETE_HERE}", "forget  p"],
    ),
    (
        "deleted here, renamed and edited there: it comes back under the new name",
        *("", "r=p:R"),
        [f"create  r: {plans.Notice.EDIT_BEATS_DELETE_HERE}", "forget  p"],
    ),
    ("renamed here: renamed there", "l=b", "p=b", ["rename  p -> l on the wiki"]),
    (
        "renamed here, edited there: the new name stays, the text is pulled",
        *("l=b", "p=R"),
        ["rename  p -> l on the wiki", "update  l"],
    ),
    (
        "renamed here, deleted there: created under the new name",
        *("l=b", ""),
        [
            f"create  l on the wiki: {plans.Notice.RENAME_BEATS_DELETE_THERE}",
            "forget  p",
        ],
    ),
    ("renamed alike on both sides: adopted", "n=b", "n=b", ["adopt   p -> n"]),
    ("renamed differently: the wiki's name wins", *("l=b", "r=b"), ["rename  l -> r"]),
    (
        "renamed here, renamed and edited there: the wiki's name, and pulled",
        *("l=b", "r=p:R"),
        ["rename  l -> r", "update  r"],
    ),
    (
        "renamed and edited here: both go to the wiki",
        *("l=p:L", "p=b"),
        ["rename  p -> l on the wiki", "update  l on the wiki"],
    ),
    (
        "renamed and edited here, edited there: renamed there, then merged",
        *("l=p:L", "p=R"),
        ["rename  p -> l on the wiki", "merge   l: edited here and on the wiki"],
    ),
    (
        "renamed and edited here, deleted there: created under the new name",
        *("l=p:L", ""),
        [f"create  l on the wiki: {plans.Notice.EDIT_BEATS_DELETE_THERE}", "forget  p"],
    ),
    (
        "renamed and edited here, renamed there: the wiki's name, and pushed",
        *("l=p:L", "r=b"),
        ["rename  l -> r", "update  r on the wiki"],
    ),
    (
        "renamed and edited on both sides: the wiki's name, and merged",
        *("l=p:L", "r=p:R"),
        ["rename  l -> r", "merge   r: edited here and on the wiki"],
    ),
    (
        "renamed alike and edited alike: adopted",
        *("n=p:E", "n=p:E"),
        ["adopt   p -> n", "adopt   n"],
    ),
]


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [row[1:] for row in TABLE],
    ids=[row[0] for row in TABLE],
)
def test_table(here: str, there: str, expected: list[str]) -> None:
    assert lines("p=b", here, there) == expected


CREATED = [
    ("created there: pulled", "", "n=R", ["create  n"]),
    ("created here: created there", "n=L", "", ["create  n on the wiki"]),
    ("created alike on both sides: adopted", "n=E", "n=E", ["adopt   n"]),
    (
        "created with different texts: held, for there is no ancestor",
        *("n=L", "n=R"),
        [f"hold    n: {plans.HoldReason.CREATED_BOTH}"],
    ),
]


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [row[1:] for row in CREATED],
    ids=[row[0] for row in CREATED],
)
def test_pages_without_a_base(here: str, there: str, expected: list[str]) -> None:
    assert lines("", here, there) == expected


def test_created_texts_that_differ_in_line_ends_alone_are_adopted() -> None:
    here = Snapshot({Slug("n"): state("n", "a\r\nb\r\n")})
    there = Snapshot({Slug("n"): state("n", "a\nb")})
    decided = reconcile({}, here, there)
    assert str(decided) == "adopt   n"


MOVES = [
    (
        "a parent takes its pages along: one rename on the wiki",
        "a=1 a/x=2 a/y/z=3",
        "b=1 b/x=2 b/y/z=3",
        "a=1 a/x=2 a/y/z=3",
        [
            "rename  a -> b on the wiki, with 2 pages below it",
            "adopt   a/x -> b/x",
            "adopt   a/y/z -> b/y/z",
        ],
    ),
    (
        "a page edited below a renamed parent is known by its place",
        *("a=1 a/x=2", "b=1 b/x=L", "a=1 a/x=2"),
        [
            "rename  a -> b on the wiki, with 1 page below it",
            "adopt   a/x -> b/x",
            "update  b/x on the wiki",
        ],
    ),
    (
        "a parent renamed alone here takes its pages along on the wiki: files follow",
        *("a=1 a/x=2", "b=1 a/x=2", "a=1 a/x=2"),
        ["rename  a -> b on the wiki, with 1 page below it", "rename  a/x -> b/x"],
    ),
    (
        "a page that left a renamed parent starts from where that brought it",
        *("a=1 a/x=2", "b=1 c/x=2", "a=1 a/x=2"),
        [
            "rename  a -> b on the wiki, with 1 page below it",
            "rename  b/x -> c/x on the wiki",
        ],
    ),
    (
        "a page that goes below the old name of another waits for its rename",
        *("a=1 p=2", "b=1 a/x=2", "a=1 p=2"),
        ["rename  a -> b on the wiki", "rename  p -> a/x on the wiki"],
    ),
    (
        "a page created there below a parent renamed here arrives under the new name",
        *("a=1", "b=1", "a=1 a/n=R"),
        ["rename  a -> b on the wiki, with 1 page below it", "create  b/n"],
    ),
    (
        "a folder without a page of its own: each page is renamed",
        *("a/x=1 a/y=2", "b/x=1 b/y=2", "a/x=1 a/y=2"),
        ["rename  a/x -> b/x on the wiki", "rename  a/y -> b/y on the wiki"],
    ),
    (
        "pages of one text are told apart by the folder they moved with",
        *("a/x=1 a/y=2 a/z=2", "a/x=1 a/y=2 a/z=2", "b/x=1 b/y=2 b/z=2"),
        ["rename  a/x -> b/x", "rename  a/y -> b/y", "rename  a/z -> b/z"],
    ),
    (
        "two pages of one text: no match is better than a wrong one",
        *("p=1 q=1", "p=1 q=1", "r=1"),
        ["create  r", "remove  p", "remove  q"],
    ),
    (
        "a parent renamed on the wiki: every file follows, parents first",
        *("a=1 a/x=2", "a=1 a/x=2", "b=1 b/x=2"),
        ["rename  a -> b", "rename  a/x -> b/x"],
    ),
    (
        "renamed onto a page created there: both are held, neither is written over",
        *("p=1", "n=1", "p=1 n=R"),
        [
            f"hold    n: {plans.HoldReason.CREATED_BOTH}",
            f"hold    p -> n: {plans.HoldReason.NAME_TAKEN}",
        ],
    ),
    (
        "renamed there onto a page created here: both are held",
        *("p=1", "p=1 n=L", "n=1"),
        [
            f"hold    n: {plans.HoldReason.CREATED_BOTH}",
            f"hold    p -> n: {plans.HoldReason.NAME_TAKEN}",
        ],
    ),
    (
        "renamed on both sides, here onto another page's name: the wiki's name",
        *("p=1", "n=1", "q=1 n=R"),
        ["rename  n -> q"],
    ),
    (
        "renamed on both sides, there onto another file's name: all names are told",
        *("p=1", "h=1 n=L", "n=1"),
        [
            f"hold    n: {plans.HoldReason.CREATED_BOTH}",
            f"hold    p (h here) -> n: {plans.HoldReason.NAME_TAKEN}",
        ],
    ),
    (
        "two pages renamed to one name: held",
        *("p=1 q=2", "n=1 q=2", "p=1 n=2"),
        [
            f"hold    n: {plans.HoldReason.CREATED_BOTH}",
            f"hold    p -> n: {plans.HoldReason.NAME_TAKEN}",
            f"hold    q -> n: {plans.HoldReason.NAME_TAKEN}",
        ],
    ),
    (
        "a parent whose page would land on another page is held with it",
        *("a=1 a/x=2", "b=1 a/x=2", "a=1 a/x=2 b/x=3"),
        ["create  b/x", f"hold    a -> b: {plans.HoldReason.NAME_TAKEN}"],
    ),
    (
        "a parent whose page would land on another file here is held",
        *("a=1 a/x=2", "b=1 a/x=2 b/x=3", "a=1 a/x=2"),
        ["create  b/x on the wiki", f"hold    a -> b: {plans.HoldReason.NAME_TAKEN}"],
    ),
    (
        "two pages that go below each other's old names: the second takes the first",
        *("a=1 b=2", "b/x=a:L a/x=2", "a=1 b=2"),
        [
            "rename  a -> b/x on the wiki",
            "rename  b -> a/x on the wiki, with 1 page below it",
        ],
    ),
    (
        "a page that its parent's rename would bring below itself is held",
        *("p=1 p/a=2 p/a/c=3", "q=1 q/a/z=2 q/a/c=3", "p=1 p/a=2 p/a/c=3"),
        [
            "rename  p -> q on the wiki, with 2 pages below it",
            "adopt   p/a/c -> q/a/c",
            f"hold    p/a -> q/a/z: {plans.HoldReason.NAME_TAKEN}",
        ],
    ),
    (
        "a page without pages below it goes below its old name here",
        *("p=1", "p/p=1", "p=1"),
        ["rename  p -> p/p on the wiki"],
    ),
    (
        "a page without pages below it goes below its old name there",
        *("p=1", "p=2", "p/p=1"),
        ["rename  p -> p/p", "update  p/p on the wiki"],
    ),
    (
        "a page with pages below it does not go below itself",
        *("p=1 p/a=2", "p/p=1 p/a=2", "p=1 p/a=2"),
        ["create  p/p on the wiki", "remove  p from the wiki"],
    ),
    (
        "only the case of a name changed here: renamed there",
        *("Page=1", "page=1", "Page=1"),
        ["rename  Page -> page on the wiki"],
    ),
]


@pytest.mark.parametrize(
    ("old", "here", "there", "expected"),
    [row[1:] for row in MOVES],
    ids=[row[0] for row in MOVES],
)
def test_names(old: str, here: str, there: str, expected: list[str]) -> None:
    assert lines(old, here, there) == expected


def test_wiki_that_knows_two_pages_apart_is_believed() -> None:
    """Same text, other identity: one was deleted, another was created."""
    assert lines("p=b", "p=b", "r=other:b") == ["create  r", "remove  p"]


def test_empty_pages_are_never_taken_for_one_another() -> None:
    assert lines("p=", "p=", "r=") == ["create  r", "remove  p"]


# -- what the service does not take --------------------------------------------------


@pytest.mark.parametrize("name", ["HOME", "home"])
def test_name_that_differs_in_case_alone_is_never_created_there(name: str) -> None:
    decided = lines("Home=1", f"Home=1 {name}=2", "Home=1")
    assert decided == [f"hold    {name}: {plans.HoldReason.CASE_TWIN}"]


def test_name_that_differs_in_unicode_form_alone_is_never_created_there() -> None:
    decided = lines("\u00e9=1", "\u00e9=1 e\u0301=2", "\u00e9=1")
    assert decided == [f"hold    e\u0301: {plans.HoldReason.CASE_TWIN}"]


@pytest.mark.parametrize(
    ("here", "held"), [("a=L A=2", "a"), ("A=2", "a"), ("n=1 A=2", "a -> n")]
)
def test_page_with_a_twin_on_the_wiki_is_never_written_there(
    here: str, held: str
) -> None:
    """The service may answer for the one when it is asked for the other (Q5)."""
    decided = lines("a=1 A=2", here, "a=1 A=2")
    assert decided == [f"hold    {held}: {plans.HoldReason.CASE_TWIN}"]


def test_page_with_a_twin_on_the_wiki_is_still_pulled() -> None:
    assert lines("a=1 A=2", "a=1 A=2", "a=R A=2") == ["update  a"]


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


def test_first_sync_removes_nothing_and_writes_over_nothing() -> None:
    decided = plan("", "a=1 b=L c=3", "b=R c=3 d=4")
    assert str(decided).splitlines() == [
        "create  d",
        "create  a on the wiki",
        "adopt   c",
        f"hold    b: {plans.HoldReason.CREATED_BOTH}",
    ]


def test_removals_come_last_and_children_go_first() -> None:
    decided = lines("a=1 a/x=2 b=3 b/x=4 c=5", "b=3 b/x=4 c=L n=6", "a=1 a/x=2 c=5")
    assert decided == [
        "update  c on the wiki",
        "create  n on the wiki",
        "remove  a/x from the wiki",
        "remove  b/x",
        "remove  a from the wiki",
        "remove  b",
    ]


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
