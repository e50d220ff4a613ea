"""Writing pages, against answers that the embedded service never gives."""

import pytest

from tests.api.wire import Wire, json_answer
from wikisync.api.replica import WikiReplica
from wikisync.api.wikis import Wiki
from wikisync.core.model import Format, Page, Slug, digest_of
from wikisync.errors import PreconditionFailed, ProtocolViolation, Rejected


def page(slug: str, text: str, markup: Format = Format.MARKDOWN) -> Page:
    return Page(Slug(slug), markup, text)


@pytest.fixture
def odd(wired_wiki: Wiki) -> WikiReplica:
    return WikiReplica(wired_wiki)


NOBODY = json_answer({"message": "404 Wiki Page Not Found"}, 404)
NULL = json_answer(None)
DUPLICATE = json_answer({"message": {"base": ["Duplicate page: in a.md"]}}, 400)


def answer(slug: str, text: str, status: int = 200, **more: object) -> bytes:
    record = {"slug": slug, "format": "markdown", "title": slug, "content": text}
    return json_answer({**record, **more}, status)


async def test_edit_without_an_answer_in_the_answer_may_have_been_done(
    odd: WikiReplica, wire: Wire
) -> None:
    wire.will(answer("a", "old"), NULL)
    with pytest.raises(ProtocolViolation, match="did not return the page"):
        await odd.write(page("a", "new"), expected=digest_of("old"))
    assert len(wire.requests) == 2


async def test_edit_answered_without_a_text_may_have_been_done(
    odd: WikiReplica, wire: Wire
) -> None:
    wire.will(answer("a", "old"), json_answer({"slug": "a", "format": "markdown"}))
    with pytest.raises(ProtocolViolation, match="without its text"):
        await odd.write(page("a", "new"), expected=digest_of("old"))


async def test_create_without_an_answer_in_the_answer_may_have_been_done(
    odd: WikiReplica, wire: Wire
) -> None:
    """A page of that name may be the very one that was created."""
    wire.will(NOBODY, json_answer(None, 201), answer("a", "whose"))
    with pytest.raises(ProtocolViolation):
        await odd.write(page("a", "new"), expected=None)


async def test_page_that_somebody_creates_at_the_same_moment_is_found(
    odd: WikiReplica, wire: Wire
) -> None:
    wire.will(NOBODY, DUPLICATE, answer("a", "theirs"))
    with pytest.raises(PreconditionFailed, match="page a of"):
        await odd.write(page("a", "new"), expected=None)


async def test_refusal_that_is_not_about_the_name_stays_one(
    odd: WikiReplica, wire: Wire
) -> None:
    wire.will(NOBODY, json_answer({"message": {"content": ["is too long"]}}, 400))
    wire.will(NOBODY)
    with pytest.raises(Rejected, match="content is too long"):
        await odd.write(page("a", "new"), expected=None)


@pytest.mark.parametrize("refusal", [NULL, DUPLICATE])
async def test_name_that_somebody_takes_at_the_same_moment_is_taken(
    odd: WikiReplica, wire: Wire, refusal: bytes
) -> None:
    wire.will(NOBODY, answer("a", "old"), refusal, answer("b", "theirs"))
    with pytest.raises(PreconditionFailed, match="page b of"):
        await odd.move(Slug("a"), Slug("b"), expected=digest_of("old"))


async def test_rename_that_is_refused_while_the_page_answers_to_the_name_stays_so(
    odd: WikiReplica, wire: Wire
) -> None:
    too_long = json_answer({"message": {"title": ["exceeds the limit"]}}, 400)
    wire.will(NOBODY, answer("a", "old"), too_long, answer("a", "old"))
    with pytest.raises(Rejected, match="title exceeds the limit"):
        await odd.move(Slug("a"), Slug("b"), expected=digest_of("old"))


async def test_rename_without_an_answer_in_the_answer_may_have_been_done(
    odd: WikiReplica, wire: Wire
) -> None:
    wire.will(NOBODY, answer("a", "old"), NULL, NOBODY)
    with pytest.raises(ProtocolViolation):
        await odd.move(Slug("a"), Slug("b"), expected=digest_of("old"))


async def test_page_that_goes_while_it_is_sent_changed(
    odd: WikiReplica, wire: Wire
) -> None:
    wire.will(answer("a", "old"), NOBODY)
    with pytest.raises(PreconditionFailed, match="page a"):
        await odd.write(page("a", "new"), expected=digest_of("old"))


async def test_page_that_an_edit_moved_is_given_as_it_is_now(
    odd: WikiReplica, wire: Wire
) -> None:
    wire.will(answer("dir/a", "old"), answer("a", "new"))
    written = await odd.write(page("dir/a", "new"), expected=digest_of("old"))
    assert written.slug == "a"


async def test_answer_that_was_cut_is_no_text(odd: WikiReplica, wire: Wire) -> None:
    text = "x" * (1024 * 1024 + 5)
    wire.will(answer("a", "old"), answer("a", text[: 1024 * 1024]))
    with pytest.raises(ProtocolViolation, match="exactly 1 MiB"):
        await odd.write(page("a", text), expected=digest_of("old"))
