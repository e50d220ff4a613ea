"""A wiki that goes back in time: a backup is restored, or somebody pushes by force."""

from __future__ import annotations

import pytest

from tests.support.copies import Copies
from wikisync.model import Slug, WikiOwner
from wikisync.sync.agreements import EARLIER_MAX
from wikisync.sync.safety import Batch, BatchKind, Decision
from wikisync.sync.state import State

PAGES = {f"page{number}": f"text {number}\n" for number in range(9)}
EDITED = {slug: f"{PAGES[slug]}\nwork of a day\n" for slug in list(PAGES)[:4]}
NEW = {"fresh1": "made that day\n", "fresh2": "made that day, too\n"}
NEWEST = {**PAGES, **EDITED, **NEW}


async def worked(state: State) -> Copies:
    """A wiki with a day of work on both sides."""
    copies = Copies(state, PAGES)
    await copies.rest()
    for at, (slug, text) in enumerate({**EDITED, **NEW}.items()):
        (copies.here if at % 2 else copies.there).put(slug, text)
    await copies.rest()
    return copies


def rewind(copies: Copies) -> None:
    """The wiki as it was before that day."""
    for slug in NEW:
        del copies.there.pages[Slug(slug)]
    for slug in EDITED:
        copies.there.put(slug, PAGES[slug])


async def rewound(state: State) -> Copies:
    copies = await worked(state)
    rewind(copies)
    for _ in range(8):
        await copies.cycle()
    return copies


def waiting(copies: Copies) -> list[Batch]:
    return [b for b in copies.known.batches() if b.decision is Decision.WAITING]


async def test_nothing_is_taken_back_unasked(state: State) -> None:
    """However often it is looked at: by then the new pages are surely gone there."""
    copies = await rewound(state)
    assert copies.here.texts() == NEWEST
    (batch,) = waiting(copies)
    assert batch.kind is BatchKind.REWOUND
    assert {member.slug for member in batch.members} == EDITED.keys() | NEW.keys()
    assert "went back to texts that it had before" in str(batch)


async def test_refused_it_puts_the_newer_texts_back_on_the_wiki(state: State) -> None:
    copies = await rewound(state)
    copies.decide(Decision.REFUSED)
    await copies.rest()
    assert copies.texts() == NEWEST


async def test_refused_at_once_it_puts_the_new_pages_back_too(state: State) -> None:
    """Also before it is certain that they are missing."""
    copies = await worked(state)
    rewind(copies)
    await copies.cycle()
    copies.decide(Decision.REFUSED)
    await copies.rest()
    assert copies.texts() == NEWEST


async def test_approved_it_follows_the_wiki(state: State) -> None:
    copies = await rewound(state)
    copies.decide(Decision.APPROVED)
    await copies.rest()
    assert copies.texts() == PAGES


async def test_edits_made_here_since_go_on_while_it_waits(state: State) -> None:
    copies = await rewound(state)
    copies.here.put("page8", "edited here meanwhile\n")
    copies.there.put("page7", "edited there meanwhile\n")
    await copies.cycle()
    assert copies.there.texts()["page8"] == "edited here meanwhile\n"
    assert copies.here.texts()["page7"] == "edited there meanwhile\n"
    assert waiting(copies)


async def test_a_page_edited_here_and_set_back_there_is_no_merge(state: State) -> None:
    """It would take the work of that day out of the text that a person just wrote."""
    copies = await worked(state)
    rewind(copies)
    mine = EDITED["page0"] + "\nedited here\n"
    copies.here.put("page0", mine)
    await copies.cycle()
    assert copies.here.texts()["page0"] == mine
    copies.decide(Decision.REFUSED)
    await copies.rest()
    assert copies.texts()["page0"] == mine


@pytest.mark.parametrize("count", [1, 2])
async def test_a_few_reverts_are_edits(count: int, state: State) -> None:
    copies = await worked(state)
    for slug in list(EDITED)[:count]:
        copies.there.put(slug, PAGES[slug])
    await copies.rest()
    assert copies.texts() == {**NEWEST, **{s: PAGES[s] for s in list(EDITED)[:count]}}


async def test_reverts_among_more_new_edits_are_edits(state: State) -> None:
    copies = await worked(state)
    for slug in list(EDITED)[:3]:
        copies.there.put(slug, PAGES[slug])
    for slug in list(PAGES)[4:8]:
        copies.there.put(slug, "a new text\n")
    await copies.rest()
    assert not waiting(copies)


async def test_a_wiki_that_was_followed_may_go_forward_again(state: State) -> None:
    copies = await rewound(state)
    copies.decide(Decision.APPROVED)
    await copies.rest()
    for slug, text in NEWEST.items():
        copies.there.put(slug, text)
    await copies.rest()
    assert copies.texts() == NEWEST


async def test_a_page_of_another_wiki_has_texts_of_its_own(state: State) -> None:
    await worked(state)
    another = state.wiki(WikiOwner("group", "docs"))
    assert another.earlier([Slug("page0")]) == {Slug("page0"): frozenset()}


async def test_so_many_earlier_texts_of_a_page_are_known(state: State) -> None:
    copies = Copies(state, PAGES)
    await copies.rest()
    for turn in range(EARLIER_MAX + 5):
        copies.here.put("page0", f"turn {turn}\n")
        await copies.cycle()
    assert len(copies.known.earlier([Slug("page0")])[Slug("page0")]) == EARLIER_MAX
