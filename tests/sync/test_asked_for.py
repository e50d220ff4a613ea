"""Cycles that were asked for less than everything: what they leave out stays known."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.clash import BASE, MINE, THEIRS, begin, clashing, conflict_file_of
from tests.support.copies import Copies, rested
from tests.support.pair import Pair, paired
from tests.support.pictures import BLUE, RED, put, there
from wikisync.core.model import AttachmentPath, Slug
from wikisync.sync.base.state import State
from wikisync.sync.decide.narrowing import Direction
from wikisync.sync.decide.safety import Decision
from wikisync.sync.run.parts import CycleOptions

HOME = Slug("home")
PULL = CycleOptions(direction=Direction.PULL)
PUSH = CycleOptions(direction=Direction.PUSH)
OTHER = CycleOptions(pages=frozenset({Slug("other")}))


# -- pages whose pictures changed --------------------------------------------------


@pytest.mark.parametrize("less", [PUSH, OTHER, CycleOptions()])
async def test_a_page_edited_on_the_wiki_is_not_sent_for_its_picture(
    pair: Pair, less: CycleOptions
) -> None:
    put(pair, "plan.png", RED)
    pair.save("home", "A ![plan](plan.png) of it.\n")
    await pair.rest()
    put(pair, "plan.png", BLUE)
    await pair.edit("home", "written on the wiki\n")
    await pair.cycle(less)
    assert await there(pair) == "written on the wiki\n"


# -- held pages --------------------------------------------------------------------


@pytest.fixture
async def held(tmp_path: Path) -> AsyncIterator[Pair]:
    """A page that waits for a person, who has begun to settle it."""
    async with clashing(tmp_path) as pair:
        begin(pair)
        pair.save("other", "edited\n")
        yield pair


@pytest.mark.parametrize("less", [PULL, PUSH])
async def test_a_held_page_is_told_whichever_way_is_asked_for(
    held: Pair, less: CycleOptions
) -> None:
    result = await held.rest(less)
    assert [one.conflict_file for one in result.held] == ["home.conflict.md"]


async def test_a_page_superseded_by_an_edit_keeps_its_conflict_file(
    held: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was found out about it, which is not that it is settled."""
    scan = held.local.snapshot

    async def edited_after_the_scan() -> object:
        seen = await scan()
        held.save("home", MINE + "three\n")
        return seen

    monkeypatch.setattr(held.local, "snapshot", edited_after_the_scan)
    await held.cycle()
    assert conflict_file_of(held).read_text().endswith("begun\n")


@pytest.mark.parametrize("less", [PUSH, OTHER])
async def test_a_settled_page_waits_until_it_is_asked_for(
    held: Pair, less: CycleOptions
) -> None:
    held.save("home.conflict.md", "settled\n")
    await held.rest(less)
    assert held.texts()["home"] == MINE


@pytest.mark.parametrize("less", [PUSH, OTHER])
async def test_the_conflict_file_of_a_settled_page_stays_until_it_is_asked_for(
    held: Pair, less: CycleOptions
) -> None:
    """A person who asks for less may be at work in it."""
    held.save("home", THEIRS)
    await held.rest(less)
    assert conflict_file_of(held).read_text().endswith("begun\n")
    assert Slug("home") in held.known.conflict_files()
    await held.rest()
    assert not conflict_file_of(held).exists()


async def test_a_push_writes_no_conflict_file(tmp_path: Path) -> None:
    async with paired(tmp_path, {"home": BASE}) as pair:
        await pair.rest()
        pair.save("home", MINE)
        await pair.edit("home", THEIRS)
        result = await pair.rest(PUSH)
        assert [(one.slug, one.conflict_file) for one in result.held] == [("home", "")]
        assert [path.name for path in pair.folder.iterdir()] == ["home.md"]


# -- safety stops -----------------------------------------------------------------


@pytest.fixture
async def copies(state: State) -> Copies:
    """So many pages were deleted here that a person is asked; it is certain."""
    copies = await rested(state, {f"page-{n:02d}": f"text {n}\n" for n in range(40)})
    for number in range(10):
        copies.here.remove(f"page-{number:02d}")
    await copies.cycles(3)
    return copies


PAGE_39 = CycleOptions(pages=frozenset({Slug("page-39")}))


@pytest.mark.parametrize("less", [PULL, PAGE_39])
async def test_a_yes_is_not_forgotten(copies: Copies, less: CycleOptions) -> None:
    copies.decide(Decision.APPROVED)
    await copies.cycle(less)
    assert len(copies.there.pages) == 40
    result = await copies.cycle()
    assert (result.removed, result.batches) == (10, ())


@pytest.mark.parametrize("less", [PUSH, PAGE_39])
async def test_a_no_is_not_forgotten_nor_carried_out(
    copies: Copies, less: CycleOptions
) -> None:
    copies.decide(Decision.REFUSED)
    await copies.cycle(less)
    assert len(copies.here.pages) == 30
    result = await copies.cycle()
    assert (len(copies.here.pages), result.batches) == (40, ())


# -- pages renamed with those below ------------------------------------------------

BELOW = ("", "/a", "/b/c")


def text_of(name: str) -> str:
    return f"# {name}\n\nthe page {name}\n\nits end\n"


@pytest.fixture
async def renamed(tmp_path: Path) -> AsyncIterator[Pair]:
    """A page and those below it, under another name here."""
    pages = {f"p{below}": text_of(f"p{below}") for below in BELOW}
    async with paired(tmp_path, pages) as pair:
        await pair.rest()
        rename_all(pair, "q")
        yield pair


def rename_all(pair: Pair, target: str) -> None:
    (pair.folder / "p.md").rename(pair.folder / f"{target}.md")
    (pair.folder / "p").rename(pair.folder / target)


async def edit_below(pair: Pair) -> None:
    """A person here and one on the wiki edit a page below, far from each other."""
    pair.save("q/a", text_of("p/a") + "mine\n")
    await pair.edit("p/a", "theirs\n\n" + text_of("p/a"))


async def assert_all_renamed(pair: Pair, target: str = "q") -> None:
    result = await pair.rest()
    assert (result.held, result.problems) == ((), ())
    texts = pair.texts()
    assert texts == await pair.wiki_texts()
    assert set(texts) == {f"{target}{below}" for below in BELOW}
    assert texts[f"{target}/a"] == f"theirs\n\n{text_of('p/a')}mine\n"


@pytest.mark.parametrize("name", ["q", "p", "q/a", "p/a", "q/b/c"])
async def test_a_page_goes_with_the_renames_of_all_below(
    renamed: Pair, name: str
) -> None:
    await edit_below(renamed)
    await renamed.cycle(CycleOptions(pages=frozenset({Slug(name)})))
    assert set(await renamed.wiki_texts()) == {f"q{below}" for below in BELOW}
    assert renamed.known.base().keys() == {f"q{below}" for below in BELOW}
    await assert_all_renamed(renamed)


async def test_a_push_leaves_out_a_rename_that_would_rename_files(
    renamed: Pair,
) -> None:
    """The page alone was renamed here: those below would follow it on the wiki."""
    (renamed.folder / "q").rename(renamed.folder / "p")
    await renamed.cycle(PUSH)
    assert renamed.known.base().keys() == {f"p{below}" for below in BELOW}
    await renamed.rest()
    assert renamed.texts().keys() == {f"q{below}" for below in BELOW}


async def test_a_rename_that_the_service_refuses_keeps_all_below(renamed: Pair) -> None:
    long = "q" * 250
    (renamed.folder / "q.md").rename(renamed.folder / f"{long}.md")
    (renamed.folder / "q").rename(renamed.folder / long)
    renamed.save(f"{long}/a", text_of("p/a") + "mine\n")
    await renamed.edit("p/a", "theirs\n\n" + text_of("p/a"))
    result = await renamed.cycle()
    assert [one.code for one in result.problems] == ["rename-refused"]
    result = await renamed.rest()
    assert result.problems == ()
    assert set(await renamed.wiki_texts()) == {f"p{below}" for below in BELOW}
    assert renamed.known.base().keys() == {f"p{below}" for below in BELOW}
    (renamed.folder / f"{long}.md").rename(renamed.folder / "q.md")
    (renamed.folder / long).rename(renamed.folder / "q")
    await assert_all_renamed(renamed)


# -- attachments -------------------------------------------------------------------

PATH = f"uploads/{'a' * 32}/plan.png"


async def fetched(state: State, less: CycleOptions) -> int:
    """How many attachments come with such a cycle, where one page mentions one."""
    copies = Copies(state, {"home": f"![plan]({PATH})\n", "other": "other\n"})
    copies.there.files[AttachmentPath(PATH)] = b"a plan"
    await copies.cycle(PUSH)
    return (await copies.cycle(less)).attachments


@pytest.mark.parametrize("less", [PUSH, OTHER])
async def test_no_attachment_comes_that_was_not_asked_for(
    state: State, less: CycleOptions
) -> None:
    assert await fetched(state, less) == 0


@pytest.mark.parametrize("less", [PULL, CycleOptions(pages=frozenset({HOME}))])
async def test_attachments_come_with_their_pages(
    state: State, less: CycleOptions
) -> None:
    assert await fetched(state, less) == 1
