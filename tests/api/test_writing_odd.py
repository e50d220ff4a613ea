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
TOO_LONG = json_answer({"message": {"content": ["is too long"]}}, 400)
DUPLICATE = json_answer({"message": {"base": ["Duplicate page: in a.md"]}}, 400)


def answer(slug: str, text: str, status: int = 200, **more: object) -> bytes:
    record = {"slug": slug, "format": "markdown", "title": slug, "content": text}
    return json_answer({**record, **more}, status)


CREATE, EDIT, MOVE = "create", "edit", "move"
LONG = "x" * (1024 * 1024 + 5)


@pytest.mark.parametrize(
    ("change", "answers", "kind", "message"),
    [
        # it may have been done
        (EDIT, [NULL], ProtocolViolation, "did not return the page"),
        (EDIT, [json_answer({"slug": "a"})], ProtocolViolation, "without its text"),
        (EDIT, [answer("a", LONG[: 1024 * 1024])], ProtocolViolation, "exactly 1 MiB"),
        # a page of that name may be the very one that was created
        (CREATE, [NULL, answer("a", "whose")], ProtocolViolation, "did not return"),
        (MOVE, [NULL, NOBODY], ProtocolViolation, "did not return the page"),
        # somebody does the same at that moment
        (EDIT, [NOBODY], PreconditionFailed, "page a"),
        (CREATE, [DUPLICATE, answer("a", "theirs")], PreconditionFailed, "page a of"),
        (MOVE, [NULL, answer("b", "theirs")], PreconditionFailed, "page b of"),
        (MOVE, [DUPLICATE, answer("b", "theirs")], PreconditionFailed, "page b of"),
        # a refusal that is not about the name stays one
        (CREATE, [TOO_LONG, NOBODY], Rejected, "content is too long"),
        (MOVE, [TOO_LONG, answer("a", "old")], Rejected, "content is too long"),
    ],
)
async def test_write_that_is_answered_otherwise_is_an_error(
    odd: WikiReplica,
    wire: Wire,
    change: str,
    answers: list[bytes],
    kind: type[Exception],
    message: str,
) -> None:
    old, gone = answer("a", "old"), [] if change == EDIT else [NOBODY]
    wire.will(*gone, *([] if change == CREATE else [old]), *answers)

    with pytest.raises(kind, match=message):
        await make(change, odd)

    assert [one.method for one in wire.requests if one.method != "GET"] == [
        "POST" if change == CREATE else "PUT"
    ]


async def make(change: str, odd: WikiReplica) -> None:
    if change == MOVE:
        await odd.move(Slug("a"), Slug("b"), expected=digest_of("old"))
    else:
        expected = None if change == CREATE else digest_of("old")
        await odd.write(page("a", LONG), expected=expected)


async def test_page_that_an_edit_moved_is_given_as_it_is_now(
    odd: WikiReplica, wire: Wire
) -> None:
    wire.will(answer("dir/a", "old"), answer("a", "new"))
    written = await odd.write(page("dir/a", "new"), expected=digest_of("old"))
    assert written.slug == "a"
