"""A name that another page takes at once after a rename: no text is lost by it."""

import pytest

from tests.support.copies import Copies
from wikisync.sync.base.state import State
from wikisync.sync.decide.plan import HoldReason

LOG = "# log\n\n" + "".join(f"Entry {at} of the log.\n\n" for at in range(8))
NEW = "# log\n\nNew year, new log.\n"
ADDED = "One more entry.\n"


@pytest.fixture
async def copies(state: State) -> Copies:
    copies = Copies(state, {"log": LOG, "other": "other\n"})
    for _ in range(2):  # identities are learned by the scan after
        await copies.rest()
    return copies


@pytest.mark.parametrize("is_here", [False, True])
async def test_new_text_under_the_old_name_is_held_where_the_other_side_edited_it(
    copies: Copies, *, is_here: bool
) -> None:
    """The two have little in common: neither is merged with the other."""
    side, other = copies.here, copies.there
    if is_here:
        copies.rename_here("log", "log-2024")
    else:
        copies.rename_there("log", "log-2024")
        side, other = other, side
    side.put("log", NEW)
    other.put("log", LOG + ADDED)
    result = await copies.rest()
    assert [(h.slug, h.reason) for h in result.held] == [
        ("log", HoldReason.EDITED_BOTH)
    ]
    assert side.texts() == {"log": NEW, "log-2024": LOG, "other": "other\n"}
    assert other.texts() == {"log": LOG + ADDED, "log-2024": LOG, "other": "other\n"}


@pytest.mark.parametrize("is_here", [False, True])
async def test_pages_that_change_places_are_edited(
    copies: Copies, *, is_here: bool
) -> None:
    side = copies.here if is_here else copies.there
    side.put("log", "other\n")
    side.put("other", LOG)
    await copies.rest()
    assert copies.texts() == {"log": "other\n", "other": LOG}
