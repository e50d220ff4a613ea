"""A wiki as a replica, against the embedded service; odd answers over a wire."""

import pytest

from tests.api.conftest import OWNER
from tests.api.wire import Wire, http, json_answer
from tests.support.service import EmbeddedService
from wikisync.api import scanning
from wikisync.api.replica import WikiReplica
from wikisync.api.scan import LISTED_BYTES_MAX
from wikisync.api.settings import MEBIBYTE, ClientSettings
from wikisync.api.wikis import Wiki
from wikisync.core import model
from wikisync.core.system.parallel import UNAVAILABLE_MAX
from wikisync.errors import (
    AuthenticationFailed,
    NotFound,
    ProtocolViolation,
    Unavailable,
)

PAGES = {"home": "hello", "dir/a": "A"}
HOME = model.Slug("home")
NOTES_BELOW_UPLOADS = "uploads/" + "0123456789abcdef" * 2 + "/notes.md"


@pytest.fixture
def replica(real_wiki: Wiki) -> WikiReplica:
    return WikiReplica(real_wiki)


def codes(snapshot: model.Snapshot) -> list[tuple[str, str]]:
    return [(problem.code, problem.subject) for problem in snapshot.problems]


async def test_unchanged_wiki_is_seen_without_its_texts(real_wiki: Wiki) -> None:
    first = await WikiReplica(real_wiki).snapshot()
    again = await WikiReplica(real_wiki, tag=first.tag, pages=first.pages).snapshot()
    assert first.tag
    assert again.pages == first.pages
    assert not again.texts


async def test_list_without_a_page_is_not_taken_for_unchanged(real_wiki: Wiki) -> None:
    """Who asks for a page that it lacks, and finds it, gets a whole look next."""
    first = await WikiReplica(real_wiki).snapshot()
    replica = WikiReplica(real_wiki, tag=first.tag, pages={})
    assert not (await replica.snapshot()).pages
    await replica.read(model.Slug("home"))
    assert (await replica.snapshot()).pages == first.pages


async def test_tag_without_known_pages_is_not_used(real_wiki: Wiki) -> None:
    first = await WikiReplica(real_wiki).snapshot()
    again = await WikiReplica(real_wiki, tag=first.tag).snapshot()
    assert again.pages == first.pages
    assert again.texts == first.texts


async def test_big_page_is_read_singly(
    service: EmbeddedService, replica: WikiReplica
) -> None:
    """The list cuts long texts without a word; six mebibytes come through."""
    text = "x" * (6 * MEBIBYTE + 1)
    await service.put_file(OWNER, "big.md", text.encode())
    service.set_limits(shown_bytes_max=7 * MEBIBYTE)
    seen = await replica.snapshot()
    assert seen.pages[model.Slug("big")].digest == model.digest_of(text)
    assert model.Slug("big") not in seen.texts
    assert (await replica.read(model.Slug("big"))).content == text


async def test_text_is_measured_in_bytes_not_in_characters(
    service: EmbeddedService, replica: WikiReplica
) -> None:
    text = "é" * (LISTED_BYTES_MAX // 2 + 1)
    await service.put_file(OWNER, "wide.md", text.encode())
    seen = await replica.snapshot()
    assert model.Slug("wide") not in seen.texts
    assert seen.pages[model.Slug("wide")].digest == model.digest_of(text)


async def test_page_cut_by_the_service_is_a_problem_and_not_a_text(
    service: EmbeddedService, replica: WikiReplica
) -> None:
    service.set_limits(shown_bytes_max=2 * MEBIBYTE)
    await service.put_file(OWNER, "huge.md", b"x" * (3 * MEBIBYTE))
    seen = await replica.snapshot()
    assert codes(seen) == [("page-unreadable", "huge")]
    assert "exactly 2 MiB" in seen.problems[0].message
    assert seen.unreadable == {"huge"}
    assert not seen.tag


async def test_case_twins_are_both_seen(
    service: EmbeddedService, replica: WikiReplica
) -> None:
    await service.put_file(OWNER, "Home.md", b"the other one")
    seen = await replica.snapshot()
    assert seen.texts[HOME].content == "hello"
    assert seen.texts[model.Slug("Home")].content == "the other one"
    assert not seen.problems
    # one of them can be had from the list only, so the list must come again
    assert not seen.tag


async def test_hidden_twin_is_not_taken_for_the_page_asked(
    service: EmbeddedService, replica: WikiReplica
) -> None:
    await service.put_file(OWNER, "Home.md", b"the other one")
    with pytest.raises(NotFound, match="answers with page Home instead"):
        await replica.read(HOME)


async def test_second_page_of_one_slug_is_a_problem_and_the_first_is_kept(
    service: EmbeddedService, replica: WikiReplica
) -> None:
    await service.put_file(OWNER, "home.org", b"* org")
    seen = await replica.snapshot()
    assert codes(seen) == [("page-shadowed", "home")]
    assert seen.texts[HOME].format is model.Format.MARKDOWN
    assert seen.is_complete


async def test_page_below_uploads_is_an_attachment(
    service: EmbeddedService, replica: WikiReplica
) -> None:
    await service.put_file(OWNER, NOTES_BELOW_UPLOADS, b"text")
    seen = await replica.snapshot()
    assert set(seen.pages) == {"home", "dir/a"}


async def test_page_in_an_old_encoding_comes_as_the_service_reads_it(
    service: EmbeddedService, replica: WikiReplica
) -> None:
    await service.put_file(OWNER, "old.md", "naïve café".encode("latin-1"))
    seen = await replica.snapshot()
    assert seen.texts[model.Slug("old")].content == "naïve café"


async def test_page_that_is_no_text_is_kept_with_a_problem(
    service: EmbeddedService, replica: WikiReplica
) -> None:
    await service.put_file(OWNER, "odd.md", b"\0\xff\xfe binary")
    seen = await replica.snapshot()
    assert codes(seen) == [("page-not-utf-8", "odd")]
    assert "binary" in seen.texts[model.Slug("odd")].content


async def test_every_format_of_the_service_is_known(
    service: EmbeddedService, replica: WikiReplica
) -> None:
    for known in model.Format:
        await service.put_file(OWNER, f"f-{known}{known.extensions[0]}", b"x")
    seen = await replica.snapshot()
    assert {p.format for p in seen.pages.values()} == set(model.Format)
    assert not seen.problems


# -- answers that the embedded service never gives -----------------------------------

ATTEMPTS = ClientSettings().attempts_max


@pytest.fixture
def odd(wired_wiki: Wiki) -> WikiReplica:
    """A replica of a service that answers what the wire was told."""
    return WikiReplica(wired_wiki)


def record(slug: str, **more: object) -> dict[str, object]:
    return {"slug": slug, "format": "markdown", "content": f"text of {slug}", **more}


def failing(status: int) -> list[bytes]:
    """As many failures as the client takes before it gives up."""
    return [json_answer({}, status)] * ATTEMPTS


async def test_unknown_format_is_kept_as_plain_text(
    odd: WikiReplica, wire: Wire
) -> None:
    wire.will(json_answer([record("a", format="typst")]))
    seen = await odd.snapshot()
    assert codes(seen) == [("unknown-format", "a")]
    assert "typst" in seen.problems[0].message
    assert seen.pages[model.Slug("a")].format is model.Format.PLAINTEXT


async def test_text_that_the_list_lacks_is_read_singly(
    odd: WikiReplica, wire: Wire
) -> None:
    wire.will(json_answer([record("a", content=None), record("b")]))
    wire.will(json_answer(record("a")))
    seen = await odd.snapshot()
    assert {s: p.content for s, p in seen.texts.items()} == {
        "a": "text of a",
        "b": "text of b",
    }


async def test_page_that_cannot_be_read_is_a_problem_while_the_rest_goes_on(
    odd: WikiReplica, wire: Wire
) -> None:
    wire.will(json_answer([record("a", content=None), record("b")]), *failing(500))
    seen = await odd.snapshot()
    assert codes(seen) == [("page-unreadable", "a")]
    assert seen.unreadable == {"a"}
    assert set(seen.pages) == {"b"}


async def test_text_missing_in_a_single_read_is_no_empty_page(
    odd: WikiReplica, wire: Wire
) -> None:
    wire.will(json_answer(record("a", content=None)))
    with pytest.raises(ProtocolViolation, match="page a of project docs/handbook"):
        await odd.read(model.Slug("a"))


async def test_service_that_went_away_ends_the_scan(
    odd: WikiReplica, wire: Wire
) -> None:
    """Ten thousand time-outs in a row would take hours and tell nothing more."""
    wire.will(json_answer([record(f"p{n}", content=None) for n in range(500)]))
    wire.will(http(503))
    wire.repeats = True
    with pytest.raises(Unavailable):
        await odd.snapshot()
    assert len(wire.requests) < 100


async def test_service_that_answers_now_and_then_is_not_gone(
    odd: WikiReplica, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "READS_MAX", 1)
    failures = failing(500) * (UNAVAILABLE_MAX - 1)
    wire.will(json_answer([record(f"p{n}", content=None) for n in range(10)]))
    wire.will(*failures, json_answer(record("p4")))
    wire.will(*failures, json_answer(record("p9")))
    assert set((await odd.snapshot()).pages) == {"p4", "p9"}


async def test_token_that_is_refused_on_the_way_ends_the_scan(
    odd: WikiReplica, wire: Wire
) -> None:
    wire.will(json_answer([record(f"p{n}", content=None) for n in range(3)]))
    wire.will(json_answer({"message": "401 Unauthorized"}, 401))
    wire.repeats = True
    with pytest.raises(AuthenticationFailed):
        await odd.snapshot()


async def test_service_without_any_list_gives_the_first_error(
    odd: WikiReplica, wire: Wire
) -> None:
    wire.will(*failing(504), json_answer({"message": "403 Forbidden"}, 403))
    with pytest.raises(Unavailable):
        await odd.snapshot()


async def test_page_listed_twice_makes_the_list_incomplete(
    odd: WikiReplica, wire: Wire
) -> None:
    wire.will(json_answer([record("a"), record("a")]))
    seen = await odd.snapshot()
    assert codes(seen) == [("page-listed-twice", "a")]
    assert not seen.is_complete
