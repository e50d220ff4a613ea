"""Whether the service gives texts back without their front matter (Q8)."""

from __future__ import annotations

from pathlib import Path

from tests.support.copies import Copies
from tests.support.pair import paired
from wikisync.service.quirks import Quirk
from wikisync.sync.state import State

BLOCK = "---\ntitle: Notes\n---\n\n"
PAGES = {"notes": BLOCK + "# Notes\n", "plain": "# Plain\n"}


async def stripped(state: State) -> Copies:
    """A wiki that begins to strip front matter."""
    copies = Copies(state, PAGES)
    await copies.rest()
    copies.there.put("notes", "# Notes\n")
    await copies.rest()
    return copies


async def test_a_service_that_strips_is_known_by_its_texts(state: State) -> None:
    copies = await stripped(state)
    assert copies.known.capabilities().strips_front_matter
    assert copies.here.texts() == PAGES


async def test_a_page_that_still_shows_its_own_proves_the_contrary(
    state: State,
) -> None:
    """Then somebody took it from the other page, and that is an edit."""
    copies = Copies(state, {**PAGES, "more": BLOCK + "# More\n"})
    await copies.rest()
    copies.there.put("notes", "# Notes\n")
    await copies.rest()
    assert not copies.known.capabilities().strips_front_matter
    assert copies.texts()["notes"] == "# Notes\n"


async def test_an_edit_on_such_a_service_keeps_the_block_here(state: State) -> None:
    copies = await stripped(state)
    copies.there.put("notes", "# Notes\n\nedited there\n")
    await copies.rest()
    assert copies.here.texts()["notes"] == BLOCK + "# Notes\n\nedited there\n"


async def test_the_block_is_sent_with_every_edit(tmp_path: Path) -> None:
    """The service keeps it in the page, though it does not show it."""
    async with paired(tmp_path, PAGES) as pair:
        await pair.rest()
        pair.service.quirks = frozenset({Quirk.STRIPS_FRONT_MATTER})
        await pair.rest()
        pair.save("notes", BLOCK + "# Notes\n\nedited here\n")
        await pair.rest()
        assert (await pair.wiki_texts())["notes"] == pair.texts()["notes"]
        assert pair.texts()["notes"] == BLOCK + "# Notes\n\nedited here\n"
