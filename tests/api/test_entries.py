"""Entries of the list of pages that are no good ones."""

import pytest

from tests.api.wire import Wire, json_answer
from wikisync.api.replica import WikiReplica
from wikisync.api.wikis import Wiki
from wikisync.errors import ProtocolViolation

SOUND = {"slug": "home", "format": "markdown", "title": "home", "content": "hello"}


async def test_pages_without_a_title_are_pages(wired_wiki: Wiki, wire: Wire) -> None:
    """It is for display alone; 47 pages of a wiki were 47 warnings."""
    wire.will(json_answer([SOUND | {"title": None}]))
    seen = await WikiReplica(wired_wiki).snapshot()
    assert seen.pages.keys() == {"home"}
    assert seen.is_complete
    assert not seen.problems


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([1, 2], "expected `object`, got `int` - at `$[0]`"),
        ([{"message": "try later"}], "required field `slug`"),
        ({"slug": "a"}, "expected `array`"),
        ([SOUND, SOUND | {"title": 7}], r"at `$[1].title`"),
        ([SOUND, SOUND | {"format": None}], r"at `$[1].format`"),
    ],
)
async def test_list_with_something_else_than_pages_is_none(
    wired_wiki: Wiki, wire: Wire, body: object, said: str
) -> None:
    """It says nothing of the pages that are there."""
    wire.will(json_answer(body), json_answer(body))
    with pytest.raises(ProtocolViolation, match="the JSON has another shape") as raised:
        await WikiReplica(wired_wiki).snapshot()
    assert said in raised.value.message
