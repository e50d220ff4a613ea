"""From two looks to a plan: what is taken for an edit, and what for none."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import pytest
from msgspec.structs import replace

from tests.support.copies import Copies, rested
from tests.support.memory import nothing_before
from wikisync.core.model import (
    Digest,
    Format,
    Page,
    PageState,
    Slug,
    Snapshot,
    digest_of,
)
from wikisync.errors import FolderError
from wikisync.sync.base.state import State
from wikisync.sync.decide import plan
from wikisync.sync.decide.reconcile import changed_pages, reconcile
from wikisync.sync.run.deciding import are_alike, decide_cycle, is_at_rest
from wikisync.sync.run.parts import Cycle, CycleOptions, FolderMatch

HOME = Slug("home")
PAGES = {"home": "one\ntwo\n", "other": "other\n"}
NUMBERS = "".join(f"{number:06}" for number in range(100_000, 117_000))
LETTERS = "".join(
    NUMBERS.translate(str.maketrans("0123456789", ten))
    for ten in ("abcdefghij", "klmnopqrst")
)


@pytest.fixture
async def copies(state: State) -> Copies:
    return await rested(state, PAGES)


async def test_a_dry_run_takes_line_ends_as_known_and_notes_nothing(
    copies: Copies,
) -> None:
    copies.here.put("home", "one\r\ntwo\r\n")
    result = await copies.plan()
    assert result.plan.actions == ()
    assert copies.known.base()[HOME].local == digest_of(PAGES["home"])


async def test_a_file_saved_by_a_rename_is_known_by_its_new_identity(
    copies: Copies,
) -> None:
    """Else the next rename of it would look like a removal and a new page."""
    copies.here.identities[HOME] = "another inode"
    await copies.rest()
    copies.rename_here("home", "start")
    await copies.rest()
    assert copies.there.changes == ["move home start"]


async def test_adopting_brings_back_what_one_side_lacks(copies: Copies) -> None:
    copies.here.remove("home")
    copies.there.remove("other")
    await copies.cycle(CycleOptions(folder=FolderMatch.ADOPTED))
    assert copies.texts() == PAGES


async def test_adopting_carries_the_edits_of_pages_that_both_sides_have(
    copies: Copies,
) -> None:
    copies.here.remove("home")
    copies.there.put("other", "edited there\n")
    result = await copies.rest(CycleOptions(folder=FolderMatch.ADOPTED))
    assert copies.texts() == {**PAGES, "other": "edited there\n"}
    assert not result.held


async def test_a_dry_run_of_adopting_tells_what_comes_back_and_forgets_nothing(
    copies: Copies,
) -> None:
    copies.here.remove("home")
    result = await copies.plan(CycleOptions(folder=FolderMatch.ADOPTED))
    assert [type(action) for action in result.plan.actions] == [plan.CreateLocal]
    assert HOME in copies.known.base()


async def test_a_page_that_adopting_could_not_bring_back_is_not_deleted_next(
    copies: Copies,
) -> None:
    copies.here.remove("home")

    copies.here.fail("write home", FolderError("cannot write home: the disk is full"))
    with pytest.raises(FolderError):
        await copies.cycle(CycleOptions(folder=FolderMatch.ADOPTED))
    copies.here.before = nothing_before
    await copies.rest()
    assert copies.texts() == PAGES


async def test_pages_only_here_are_left_where_nobody_asked_for_them(
    state: State,
) -> None:
    copies = Copies(state)
    copies.here.put("home", "mine\n")
    result = await copies.cycle(uploads_new=False)
    assert result.plan.actions == (plan.Skip(HOME, plan.SkipReason.NOT_ASKED),)
    assert copies.there.changes == []


# -- pages whose attachments changed here ---------------------------------------------


async def planned(copies: Copies) -> tuple[plan.Action, ...]:
    """What a cycle does in which an attachment of ``home`` is another one here."""

    class Linked:
        unmet: Mapping[Slug, Sequence[str]] = MappingProxyType({})

        async def outdated(self) -> frozenset[Slug]:
            return frozenset({HOME, Slug("no page")})

        async def recognised(self, here: Page, slug: Slug) -> Page | None:
            raise AssertionError(f"{slug} is known: {here}")

    cycle = Cycle(
        copies.there,
        copies.here,
        copies.known,
        clock=lambda: copies.now,
        linked=Linked(),
    )
    scans = await copies.here.snapshot(), await copies.there.snapshot()
    return (await decide_cycle(cycle, *scans)).plan.actions


async def test_a_page_in_sync_is_sent_for_its_attachment(copies: Copies) -> None:
    text = digest_of(PAGES["home"])
    assert await planned(copies) == (plan.Push(HOME, Format.MARKDOWN, text, text),)


async def test_a_page_with_another_format_is_sent_once_for_both(copies: Copies) -> None:
    copies.here.put("home", PAGES["home"], Format.ASCIIDOC)
    text = digest_of(PAGES["home"])
    assert await planned(copies) == (plan.Push(HOME, Format.ASCIIDOC, text, text),)


# -- nothing to do -----------------------------------------------------------------

ODD_PAGES = (
    (HOME, Format.MARKDOWN, digest_of("one")),
    (Slug("Home"), Format.MARKDOWN, digest_of("a twin but for its case")),
    (Slug("home/empty"), Format.MARKDOWN, digest_of("")),
    (Slug("read-only"), Format.PLAINTEXT, digest_of("one")),
)
"""Pages of which the table has more to say as soon as anything changes."""

BASE = {
    slug: plan.BasePage(slug, markup, digest, digest, "inode", "7")
    for slug, markup, digest in ODD_PAGES
}
SEEN = Snapshot({slug: PageState(*page) for page in ODD_PAGES for slug in page[:1]})


def with_home(**changed: object) -> Snapshot:
    """The look with something else about one page."""
    home = replace(SEEN.pages[HOME], **changed)
    return replace(SEEN, pages={**SEEN.pages, HOME: home})


def without_home() -> Snapshot:
    pages = {slug: page for slug, page in SEEN.pages.items() if slug != HOME}
    return replace(SEEN, pages=pages)


def with_one_more() -> Snapshot:
    new = PageState(Slug("new"), Format.MARKDOWN, Digest("0" * 64))
    return replace(SEEN, pages={**SEEN.pages, new.slug: new})


@pytest.mark.parametrize("here", [SEEN, with_home(identity="inode")])
@pytest.mark.parametrize("there", [SEEN, with_home(identity="7")])
def test_where_both_sides_are_as_agreed_the_table_has_nothing_to_do(
    here: Snapshot, there: Snapshot
) -> None:
    assert is_at_rest(BASE, here, there, changed_pages(BASE, here, there))
    assert reconcile(BASE, here, there) == plan.Plan()


@pytest.mark.parametrize(
    "changed",
    [
        lambda: with_home(digest=digest_of("two")),
        lambda: with_home(format=Format.ORG),
        lambda: with_home(identity="another"),
        lambda: replace(SEEN, unreadable=frozenset({HOME})),
        without_home,
        with_one_more,
    ],
)
def test_any_difference_on_one_side_is_for_the_table(
    changed: Callable[[], Snapshot],
) -> None:
    for here, there in ((changed(), SEEN), (SEEN, changed())):
        found = changed_pages(BASE, here, there)
        assert not is_at_rest(BASE, here, there, found)


@pytest.mark.parametrize(
    ("text", "other", "is_alike"),
    [
        ("abcdefghijkl", "mnopqrstuvwx", False),
        ("abcdefghijk", "mnopqrstuvwx", True),
        ("abcdefghijkl", "--- a-b / mn", True),
        ("", "abcdefghijklmnop", False),
        # 14 pieces, of which 7 and 6 are in the longer text
        ("abcdefghijklmnopqrstu", "abcdefghijklmn" + "0123456789" * 2, True),
        ("abcdefghijklmnopqrstu", "abcdefghijklm" + "0123456789" * 2, False),
        ("a-b-c-d-e-f-g-h-i-j-k-l", "a b\nc d e f\tg h, i j k l!", True),
        # what follows 100,000 letters is not compared
        (NUMBERS + LETTERS, NUMBERS + LETTERS.upper(), True),
    ],
)
def test_texts_are_alike_where_half_of_the_shorter_one_is_in_the_other(
    text: str, other: str, is_alike: bool
) -> None:
    assert are_alike(text, other) == are_alike(other, text) == is_alike
