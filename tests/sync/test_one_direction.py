"""The plans of one direction: from the wiki into a folder that persons edit."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from wikisync.core.model import Format, PageState, Slug, Snapshot, digest_of
from wikisync.sync.decide import plan as plans
from wikisync.sync.decide.narrowing import Direction, in_direction
from wikisync.sync.decide.reconcile import reconcile


def pull(
    base: Mapping[Slug, plans.BasePage], here: Snapshot, there: Snapshot
) -> plans.Plan:
    """The part of the plan that writes the folder."""
    return in_direction(reconcile(base, here, there), Direction.PULL)


P = Slug("p")
OTHER = Slug("other")


def state(
    text: str, slug: Slug = P, page_format: Format = Format.MARKDOWN
) -> PageState:
    return PageState(slug, page_format, digest_of(text))


def snapshot(text: str | None) -> Snapshot:
    """A side that holds the page ``p``, or not, and always ``other``."""
    pages = {OTHER: state("o", OTHER)}
    if text is not None:
        pages[P] = state(text)
    return Snapshot(pages)


def base(text: str | None) -> Mapping[Slug, plans.BasePage]:
    pages = {OTHER: agreed("o", OTHER)}
    if text is not None:
        pages[P] = agreed(text)
    return pages


def agreed(text: str, slug: Slug = P) -> plans.BasePage:
    return plans.BasePage(slug, Format.MARKDOWN, digest_of(text), digest_of(text))


def line(plan: plans.Plan) -> str:
    return str(plan) if plan.actions else ""


# base, local, remote: the page's text, None where it is absent
TABLE = [
    ("nothing changed: nothing is done", "b", "b", "b", ""),
    ("edited on the wiki: the folder gets the text", "b", "b", "R", "update  p"),
    ("deleted on the wiki: the folder's copy goes", "b", "b", None, "remove  p"),
    ("edited here: a pull leaves it alone", "b", "L", "b", ""),
    (
        "edited on both sides alike: both learn that they agree",
        "b",
        "E",
        "E",
        "adopt   p",
    ),
    (
        "edited on both sides differently: merged, never overwritten by a pull",
        "b",
        "L",
        "R",
        f"merge   p: {plans.HoldReason.EDITED_BOTH}",
    ),
    ("edited here, deleted on the wiki: a pull leaves it alone", "b", "L", None, ""),
    ("deleted here: a pull does not bring it back", "b", None, "b", ""),
    (
        "deleted here, edited on the wiki: the edit beats the deletion",
        "b",
        None,
        "R",
        f"create  p: {plans.Notice.EDIT_BEATS_DELETE_HERE}",
    ),
    ("deleted on both sides: only the record goes", "b", None, None, "forget  p"),
    ("created on the wiki: the folder gets it", None, None, "R", "create  p"),
    ("created here: a pull leaves it alone", None, "L", None, ""),
    ("created on both sides alike: adopted", None, "E", "E", "adopt   p"),
    (
        "created on both sides differently: held, for there is no ancestor",
        None,
        "L",
        "R",
        f"hold    p: {plans.HoldReason.CREATED_BOTH}",
    ),
]


@pytest.mark.parametrize(
    ("old", "here", "there", "pulled"),
    [row[1:] for row in TABLE],
    ids=[row[0] for row in TABLE],
)
def test_table(
    old: str | None, here: str | None, there: str | None, pulled: str
) -> None:
    sides = (base(old), snapshot(here), snapshot(there))
    assert line(pull(*sides)) == pulled


def test_absence_from_an_incomplete_list_deletes_nothing() -> None:
    there = replace(snapshot(None), is_complete=False)
    plan = pull(base("b"), snapshot("b"), there)
    assert line(plan) == f"skip    p: {plans.SkipReason.UNSEEN_THERE}"


def test_change_in_an_incomplete_list_is_still_taken() -> None:
    there = replace(snapshot("R"), is_complete=False)
    plan = pull(base("b"), snapshot("b"), there)
    assert line(plan) == "update  p"


def test_absence_from_an_incomplete_scan_writes_nothing() -> None:
    """A file that could not be seen may hold a text that nobody else has."""
    here = replace(snapshot(None), is_complete=False)
    plan = pull(base("b"), here, snapshot("R"))
    assert line(plan) == f"skip    p: {plans.SkipReason.UNSEEN_HERE}"


def test_page_that_cannot_be_read_on_the_wiki_stays_as_it_is() -> None:
    there = replace(snapshot(None), unreadable=frozenset({P}))
    plan = pull(base("b"), snapshot("b"), there)
    assert line(plan) == f"skip    p: {plans.SkipReason.UNREADABLE_THERE}"


def test_file_that_cannot_be_read_is_never_overwritten() -> None:
    here = replace(snapshot(None), unreadable=frozenset({P}))
    plan = pull(base("b"), here, snapshot("R"))
    assert line(plan) == f"skip    p: {plans.SkipReason.UNREADABLE_HERE}"


def test_format_change_alone_is_an_edit() -> None:
    there = Snapshot({**snapshot(None).pages, P: state("b", page_format=Format.ORG)})
    plan = pull(base("b"), snapshot("b"), there)
    assert plan.writes == (
        plans.Pull(P, Format.ORG, local=digest_of("b"), remote=digest_of("b")),
    )


def test_side_that_stores_its_own_version_does_not_scan_changed() -> None:
    """A folder with other line ends than the wiki must not loop for ever."""
    page = plans.BasePage(P, Format.MARKDOWN, digest_of("x\r\n"), digest_of("x\n"))
    here, there = Snapshot({P: state("x\r\n")}), Snapshot({P: state("x\n")})
    assert pull({P: page}, here, there) == plans.Plan()


# -- properties --------------------------------------------------------------------

SLUGS = st.sampled_from([Slug(s) for s in ("home", "a", "a/b", "A", "c d", "é")])
TEXTS = st.sampled_from(["", "one", "two", "three"])
WIKI = st.dictionaries(SLUGS, TEXTS)


@dataclass
class World:
    """Both sides and the base as dicts; carries plans out perfectly."""

    base: dict[Slug, plans.BasePage]
    local: dict[Slug, str]
    remote: dict[Slug, str]

    def plan(self) -> plans.Plan:
        return pull(self.base, seen(self.local), seen(self.remote))

    def apply(self, plan: plans.Plan) -> None:
        for action in plan.actions:
            self._apply(action)

    def _apply(self, action: plans.Action) -> None:
        match action:
            case plans.CreateLocal(slug) | plans.Pull(slug):
                self.local[slug] = self.remote[slug]
                self.base[slug] = agreed(self.remote[slug], slug)
            case plans.Adopt(slug):
                self.base[slug] = agreed(self.local[slug], slug)
            case plans.DropRecord(slug):
                del self.base[slug]
            case plans.MoveLocal(slug, target, record):
                self.local[target] = self.local.pop(slug)
                if record in self.base:
                    self.base[target] = replace(self.base.pop(record), slug=target)
            case plans.Rebind(slug, target):
                self.base[target] = replace(self.base.pop(slug), slug=target)
            case plans.DeleteLocal(slug):
                del self.local[slug]
                self.base.pop(slug, None)
            case _:
                pass


def seen(side: dict[Slug, str]) -> Snapshot:
    return Snapshot({slug: state(text, slug) for slug, text in side.items()})


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """One wiki perturbed twice, so that the sides have something in common."""
    old = draw(WIKI)
    local = {**old, **draw(WIKI)}
    remote = {**old, **draw(WIKI)}
    for side in (local, remote):
        for slug in draw(st.sets(SLUGS)):
            side.pop(slug, None)
    return World({s: agreed(t, s) for s, t in old.items()}, local, remote)


@given(worlds())
def test_same_observation_gives_the_same_plan(world: World) -> None:
    assert world.plan() == world.plan()


@given(worlds())
def test_carried_out_plan_leaves_only_what_waits(world: World) -> None:
    """In three cycles: a rename may show another one."""
    for _ in range(3):
        world.apply(world.plan())
    again = world.plan()
    assert not again.writes
    assert not again.deletes


@given(worlds())
def test_pull_never_touches_a_text_that_only_the_folder_has(world: World) -> None:
    """A page's file may get the name that the page has on the wiki."""
    known = {page.local for page in world.base.values()}
    known |= {digest_of(text) for text in world.remote.values()}
    own = {text for text in world.local.values() if digest_of(text) not in known}
    world.apply(world.plan())
    assert own <= set(world.local.values())


@given(worlds())
def test_side_equal_to_the_base_gets_nothing_it_does_not_need(world: World) -> None:
    """Where the wiki did not change, a pull writes nothing into the folder."""
    world.remote = {
        slug: text
        for slug, text in world.remote.items()
        if slug in world.base and world.base[slug].remote == digest_of(text)
    }
    world.local = dict(world.remote)
    world.base = {slug: agreed(text, slug) for slug, text in world.remote.items()}
    assert world.plan() == plans.Plan()


@given(worlds())
def test_incomplete_sides_never_lead_to_a_removal(world: World) -> None:
    there = replace(seen(world.remote), is_complete=False)
    plan = pull(world.base, seen(world.local), there)
    assert not plan.deletes


@given(worlds())
def test_no_page_has_two_actions(world: World) -> None:
    slugs = [action.slug for action in world.plan().actions]
    assert len(slugs) == len(set(slugs))
    assert all(plans.describe(action) for action in world.plan().actions)
