"""A folder that goes back to an older state: a copy that is put over it."""

import pytest

from tests.support.copies import Copies, rested
from tests.support.history import EDITED, PAGES, waiting, worked
from wikisync.core.model import Slug
from wikisync.sync.base.state import State
from wikisync.sync.decide.safety import BatchKind, Decision


def put_older_copy(copies: Copies) -> None:
    """As rsync and unzip do, which remove nothing."""
    for slug in EDITED:
        copies.here.put(slug, PAGES[slug])


async def pushed(state: State) -> Copies:
    """Three pages edited here and sent."""
    copies = await rested(state, PAGES)
    for slug, text in EDITED.items():
        copies.here.put(slug, text)
    await copies.rest()
    return copies


@pytest.fixture
async def copies(state: State) -> Copies:
    return await pushed(state)


async def test_older_copy_of_the_folder_takes_nothing_back_unasked(
    copies: Copies,
) -> None:
    put_older_copy(copies)
    copies.here.put("new", "new with it\n")
    await copies.cycles(4)
    assert copies.there.texts() == {**PAGES, **EDITED, "new": "new with it\n"}
    (batch,) = waiting(copies)
    assert batch.kind is BatchKind.REWOUND_THERE
    assert {member.slug for member in batch.members} == EDITED.keys()
    assert "the folder returned to an older state" in str(batch)


@pytest.mark.parametrize("is_pulled", [False, True])
@pytest.mark.parametrize("decision", [Decision.REFUSED, Decision.APPROVED])
async def test_older_texts_go_to_the_wiki_or_the_newer_ones_come_back(
    is_pulled: bool, decision: Decision, state: State
) -> None:
    copies = await (worked if is_pulled else pushed)(state)
    newest, older = copies.texts(), {slug: PAGES[slug] for slug in EDITED}
    put_older_copy(copies)
    await copies.cycle()
    copies.decide(decision)
    await copies.rest()
    if decision is Decision.APPROVED:
        assert copies.texts() == {**newest, **older}
        return
    assert copies.texts() == newest
    kept = copies.known.replaced(Slug("page0"))[0]
    assert (kept.replaced, kept.written) == (PAGES["page0"], EDITED["page0"])


async def test_what_the_wiki_edited_meanwhile_is_not_merged_with_an_older_copy(
    copies: Copies,
) -> None:
    put_older_copy(copies)
    copies.there.put("page0", f"{EDITED['page0']}\nand more\n")
    await copies.cycle()
    assert {member.slug for member in waiting(copies)[0].members} == EDITED.keys()
    copies.decide(Decision.REFUSED)
    await copies.rest()
    assert copies.texts()["page0"] == f"{EDITED['page0']}\nand more\n"


@pytest.mark.parametrize("is_in_steps", [False, True])
async def test_names_and_deletions_of_an_older_copy_are_part_of_it(
    is_in_steps: bool, copies: Copies
) -> None:
    """Also those that come while its texts wait: rsync removes files last."""
    copies.rename_here("page7", "page7b")
    copies.here.put("later", "made later\n")
    copies.here.put("older", "deleted long ago\n")
    await copies.rest()
    del copies.here.pages[Slug("older")]
    await copies.rest()
    newest = copies.texts()
    put_older_copy(copies)
    if is_in_steps:
        await copies.cycle()
    copies.rename_here("page7b", "page7")
    del copies.here.pages[Slug("later")]
    copies.here.put("older", "deleted long ago\n")
    await copies.cycle()
    members = {member.slug for member in waiting(copies)[0].members}
    assert members == {*EDITED, "page7b", "later", "older"}
    assert copies.there.texts() == newest
    copies.decide(Decision.REFUSED)
    await copies.rest()
    assert copies.here.texts() == {**newest, "older": "deleted long ago\n"}
    assert copies.there.texts() == newest


async def test_texts_that_a_command_restored_are_edits(copies: Copies) -> None:
    put_older_copy(copies)
    for slug, text in EDITED.items():
        number = copies.known.remember_replaced(Slug(slug), text, PAGES[slug], 0.0)
        copies.known.confirm_replaced([number])
    await copies.rest()
    assert copies.texts() == PAGES
