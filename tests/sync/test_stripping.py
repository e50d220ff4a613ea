"""Whether the service returns texts without their front matter (Q8)."""

from pathlib import Path

import pytest

from tests.support.copies import rested
from tests.support.pair import paired
from tests.support.quirks import Quirk
from wikisync.core.model import Digest, Format, Page
from wikisync.sync.base.state import State

BLOCK = "---\ntitle: Notes\n---\n\n"
PAGES = {"notes": BLOCK + "# Notes\n", "plain": "# Plain\n"}
MARKDOWN = frozenset({Format.MARKDOWN})


async def test_a_service_that_strips_is_known_by_its_answer_to_a_write(
    tmp_path: Path,
) -> None:
    """It keeps the block in the page: an edit on either side keeps it here, too."""
    async with paired(tmp_path, {"notes": "# Notes\n"}) as pair:
        pair.service.quirks = frozenset({Quirk.STRIPS_FRONT_MATTER})
        await pair.rest()
        for text in (PAGES["notes"], PAGES["notes"] + "\nedited here\n"):
            pair.save("notes", text)
            await pair.rest()
            known = pair.known.memory.capabilities
            assert known.strips_front_matter_of == MARKDOWN
            assert (await pair.wiki_texts())["notes"] == pair.texts()["notes"] == text
        await pair.edit("notes", PAGES["notes"] + "\nedited there\n")
        await pair.rest()
        assert pair.texts()["notes"] == PAGES["notes"] + "\nedited there\n"


async def test_a_page_that_shows_its_own_proves_that_it_no_longer_strips(
    tmp_path: Path,
) -> None:
    """Then a page without it is one whose front matter somebody removed."""
    async with paired(tmp_path, {"notes": "# Notes\n", "more": "# More\n"}) as pair:
        pair.service.quirks = frozenset({Quirk.STRIPS_FRONT_MATTER})
        await pair.rest()
        pair.save("notes", PAGES["notes"])
        pair.save("more", BLOCK + "# More\n")
        await pair.rest()
        pair.service.quirks = frozenset()
        await pair.rest()
        assert not pair.known.memory.capabilities.strips_front_matter_of
        await pair.edit("notes", "# Notes\n")
        await pair.rest()
        assert pair.texts() == {"notes": "# Notes\n", "more": BLOCK + "# More\n"}


async def test_one_answer_without_it_is_no_proof(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may show the edit of somebody else, so the page is read once more."""
    copies = await rested(state, {"notes": "# Notes\n"})
    write = copies.there.write

    async def answer_without(page: Page, *, expected: Digest | None) -> Page:
        answer = await write(page, expected=expected)
        return Page(answer.slug, answer.format, "# Notes\n")

    monkeypatch.setattr(copies.there, "write", answer_without)
    copies.here.put("notes", PAGES["notes"])
    await copies.rest()
    assert copies.texts()["notes"] == PAGES["notes"]
    assert not copies.known.memory.capabilities.strips_front_matter_of
