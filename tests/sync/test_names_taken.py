"""A name that another page takes at once after a rename: the old page goes its way."""

from collections import Counter
from pathlib import Path

import pytest

from tests.support.copies import Copies
from tests.support.memory import MemoryReplica
from tests.support.pair import paired
from tests.sync.incidents import settled
from wikisync.core.model import Format, Page, Slug
from wikisync.merging.merge import Parts
from wikisync.sync.base.state import State
from wikisync.sync.decide.plan import HoldReason, SkipReason

LOG = "# log\n\n" + "".join(f"Entry {at} of the log.\n\n" for at in range(8))
NEW = "# log\n\nNew year, new log.\n"
HERE = "HERE: one more entry.\n"
MEMO = LOG.replace("log", "memo").replace("Entry", "Remark")


async def agreed(state: State, **pages: str) -> Copies:
    copies = Copies(state, {"log": LOG, "other": "other\n", **pages})
    for _ in range(2):  # identities are learned by the scan after
        await copies.rest()
    return copies


@pytest.fixture
async def copies(state: State) -> Copies:
    return await agreed(state)


def sides(copies: Copies, is_here: bool) -> tuple[MemoryReplica, MemoryReplica]:
    """The one where it happens, and the other one."""
    both = copies.here, copies.there
    return both if is_here else both[::-1]


async def test_edit_follows_a_page_whose_name_another_one_took_on_the_wiki(
    copies: Copies,
) -> None:
    copies.rename_there("log", "log-2024")
    copies.there.put("log", NEW)
    copies.here.put("log", LOG + HERE)
    await copies.rest()
    assert copies.texts() == {"log": NEW, "log-2024": LOG + HERE, "other": "other\n"}


@pytest.mark.parametrize("is_clash", [False, True])
async def test_file_that_is_made_anew_under_another_name_is_merged_there(
    is_clash: bool, tmp_path: Path
) -> None:
    """Only its text tells: the editor wrote another file."""
    async with paired(tmp_path, {"log": LOG, "other": "other\n"}) as pair:
        await pair.rest()
        pair.remove("log")
        mine = LOG.replace("Entry 1", "Mine 1") if is_clash else LOG + HERE
        pair.save("journal", mine)
        theirs = LOG.replace("Entry 1", "Theirs 1") if is_clash else NEW[:7] + LOG
        await pair.edit("log", theirs)
        result = await pair.rest()
        held = [(one.slug, one.conflict_file) for one in result.held]
        assert held == [("journal", "journal.conflict.md")] * is_clash
        merged = {"journal": mine if is_clash else NEW[:7] + mine, "other": "other\n"}
        assert pair.texts() == merged
        on_wiki = theirs if is_clash else merged["journal"]
        assert await pair.wiki_texts() == {**merged, "journal": on_wiki}


@pytest.mark.parametrize(
    "new", [{"one": LOG + HERE, "two": LOG + HERE}, {"one": MEMO}, {"one": LOG[:60]}]
)
async def test_new_page_that_may_be_another_one_is_not_the_page_that_went(
    new: dict[str, str], copies: Copies
) -> None:
    copies.here.remove("log")
    for slug, text in new.items():
        copies.here.put(slug, text)
        copies.here.identities[Slug(slug)] = f"another {slug}"
    copies.there.put("log", LOG + "theirs\n")
    await copies.rest()
    assert copies.texts() == {**new, "log": LOG + "theirs\n", "other": "other\n"}


async def test_page_whose_file_took_the_name_of_another_one_is_not_a_third_one(
    state: State,
) -> None:
    """However like its name, or its text, that one's is."""
    copies = await agreed(state, Home=MEMO)
    copies.here.pages.pop(Slug("other"))
    copies.rename_here("Home", "other")
    copies.here.put("home", "a draft\n")
    copies.here.identities[Slug("home")] = "another"
    copies.there.put("other", "edited there\n")
    await copies.cycle()
    assert "move Home home" not in copies.there.changes
    assert copies.here.texts()["home"] == "a draft\n"


@pytest.mark.parametrize("is_here", [False, True])
async def test_page_that_is_edited_after_its_rename_is_known_by_its_text(
    is_here: bool, copies: Copies
) -> None:
    copies.here.identities.clear()
    side, other = sides(copies, is_here)
    side.pages.pop(Slug("log"))
    side.put("log-2024", LOG.replace("Entry 3", "Entry three"))
    side.put("log", NEW)
    other.put("log", LOG + HERE)
    await copies.rest()
    archive = LOG.replace("Entry 3", "Entry three") + HERE
    assert copies.texts() == {"log": NEW, "log-2024": archive, "other": "other\n"}


async def test_page_of_another_id_takes_no_edit_of_the_one_before(
    copies: Copies,
) -> None:
    """Its text is like the old one's: only the id tells."""
    copies.there.identities[Slug("log")] = "7"
    await copies.rest()
    copies.there.put("log", LOG.replace("Entry 0", "Entry zero"))
    copies.there.identities[Slug("log")] = "8"
    copies.here.put("log", LOG + HERE)
    result = await copies.rest()
    assert [(h.slug, h.reason) for h in result.plan.held] == [
        ("log", HoldReason.CREATED_BOTH)
    ]
    assert HERE not in copies.there.texts()["log"]


async def test_page_of_another_id_is_this_one_where_both_sides_have_its_text(
    copies: Copies,
) -> None:
    """A person took the wiki's text over: later edits are no conflicts with it."""
    copies.there.identities[Slug("log")] = "7"
    await copies.rest()
    copies.there.identities[Slug("log")] = "8"
    copies.there.put("log", MEMO)
    copies.here.put("log", MEMO)
    await copies.rest()
    copies.here.put("log", MEMO + HERE)
    result = await copies.rest()
    assert not result.plan.held
    assert copies.there.texts()["log"] == MEMO + HERE


@pytest.mark.parametrize("is_here", [False, True])
async def test_names_that_are_handed_on_take_the_edits_along(
    is_here: bool, state: State
) -> None:
    copies = await agreed(state, **{"log-1": MEMO})
    rename = copies.rename_here if is_here else copies.rename_there
    side, other = sides(copies, is_here)
    rename("log-1", "log-2")
    rename("log", "log-1")
    side.put("log", NEW)
    other.put("log", LOG + HERE)
    other.put("log-1", MEMO + "HERE too.\n")
    await copies.rest()
    assert copies.texts() == {
        "log": NEW,
        "log-1": LOG + HERE,
        "log-2": MEMO + "HERE too.\n",
        "other": "other\n",
    }


class CountedFolder(MemoryReplica):
    """A folder that counts how often each page was read."""

    def __init__(self, pages: dict[str, str]) -> None:
        super().__init__(pages)
        self.reads: Counter[str] = Counter()

    async def read(self, slug: Slug) -> Page:
        self.reads[slug] += 1
        return await super().read(slug)


async def test_new_pages_are_taken_apart_once_however_many_were_rewritten(
    state: State,
) -> None:
    old = [f"old-{at}" for at in range(8)]
    copies = await agreed(state, **{slug: f"{LOG}{slug}\n" for slug in old})
    copies.here = CountedFolder(copies.texts())
    for slug in old:
        copies.here.put(slug, f"Another text of {slug}.\n")
    copies.here.put("new", "A text of nobody.\n")
    await copies.plan()
    # each step of a cycle that needs its text reads it, and not for each old page
    assert copies.here.reads["new"] < len(old)
    parts = Parts(LOG, Format.MARKDOWN)
    assert parts.sentences is parts.sentences


@pytest.mark.parametrize("is_here", [False, True])
async def test_names_that_are_handed_on_wait_for_each_other_and_not_for_a_person(
    is_here: bool, state: State
) -> None:
    copies = await agreed(state, **{"log-1": MEMO, "log-2": "two\n"})
    rename = copies.rename_here if is_here else copies.rename_there
    side, other = sides(copies, is_here)
    rename("log-2", "log-3")
    rename("log-1", "log-2")
    rename("log", "log-1")
    side.put("log", NEW)
    other.put("log", LOG + HERE)
    result = await copies.plan()
    assert not result.plan.held
    assert {(one.slug, one.reason) for one in result.plan.skipped} == {
        ("log", SkipReason.NAME_IN_USE),
        ("log-1", SkipReason.NAME_IN_USE),
    }


@pytest.mark.parametrize("is_here", [False, True])
async def test_pages_that_changed_places_are_held_where_one_was_edited(
    is_here: bool, state: State
) -> None:
    copies = await agreed(state, memo=MEMO)
    side, other = sides(copies, is_here)
    side.put("log", MEMO)
    side.put("memo", LOG)
    copies.here.identities.clear()
    other.put("log", LOG + HERE)
    result = await copies.rest()
    assert {hold.slug for hold in result.plan.held} == {"log", "memo"}
    assert HERE not in side.texts()["log"]


@pytest.mark.parametrize("slug", ["log", "memo"])
async def test_settled_page_of_those_that_changed_places_is_not_held_again(
    slug: str, state: State
) -> None:
    """The person who settles it has seen both texts."""
    copies = await agreed(state, memo=MEMO)
    known = copies.here.identities
    known[Slug("log")], known[Slug("memo")] = known[Slug("memo")], known[Slug("log")]
    copies.here.put("log", MEMO)
    copies.here.put("memo", LOG)
    copies.there.put("log", LOG + HERE)
    copies.there.put("memo", MEMO + HERE)
    await copies.rest()
    files = copies.here.conflicts
    files[Slug(slug)] = settled(files[Slug(slug)])
    result = await copies.rest()
    assert slug not in {hold.slug for hold in result.plan.held}
    assert copies.here.texts()[slug] == copies.there.texts()[slug]


async def test_copy_of_a_page_that_is_edited_is_no_rename(copies: Copies) -> None:
    copies.there.put("copy", LOG)
    copies.there.put("log", LOG.replace("Entry 0", "Entry zero"))
    copies.here.put("log", LOG + HERE)
    await copies.rest()
    assert copies.texts()["log"] == LOG.replace("Entry 0", "Entry zero") + HERE


async def test_new_page_is_held_with_the_one_whose_name_it_took(copies: Copies) -> None:
    """The renamed one cannot get its new name, so this one cannot get the old one."""
    copies.rename_here("log", "log-2024")
    copies.here.put("log", NEW)
    del copies.there.pages[Slug("log")]
    copies.there.put("Log-2024", "another\n")
    result = await copies.rest()
    assert {hold.slug for hold in result.plan.held} == {"log", "log-2024"}
