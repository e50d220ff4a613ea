"""From the folder to the wiki: what is sent, and what is made of the answer."""

import asyncio

import pytest

from tests.support.copies import PAGES, Copies, rested
from wikisync import errors
from wikisync.core.model import Digest, Format, Page, Slug, digest_of
from wikisync.sync.base.state import State
from wikisync.sync.decide.plan import HoldReason
from wikisync.sync.run.cycle import SENDS_MAX
from wikisync.sync.run.parts import CycleOptions
from wikisync.sync.run.push import STEPS_TO_SEND, UNAVAILABLE_MAX

HOME = Slug("home")


def answering(copies: Copies, change: dict[str, str]) -> None:
    """The wiki keeps what it is sent, with these words replaced."""
    write = copies.there.write

    async def changed(page: Page, *, expected: object) -> Page:
        text = page.content
        for old, new in change.items():
            text = text.replace(old, new)
        taken = Page(page.slug, page.format, text)
        return await write(taken, expected=expected)  # type: ignore[arg-type]

    copies.there.write = changed  # type: ignore[method-assign]


async def test_the_next_text_is_on_its_way_before_an_answer_is_noted(
    copies: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service need not wait while the base is written."""
    write, turn = copies.there.write, asyncio.Lock()
    sent: list[Slug] = []
    noted: list[bool] = []

    async def in_turn(page: Page, *, expected: Digest | None) -> Page:
        async with turn:
            for _ in range(STEPS_TO_SEND - 1):  # as a request to a real service
                await asyncio.sleep(0)
            if sent:
                noted.append(copies.known.base()[sent[-1]].local == digest_of("new\n"))
            sent.append(page.slug)
            return await write(page, expected=expected)

    monkeypatch.setattr(copies.there, "write", in_turn)
    for name in PAGES:
        copies.here.put(name, "new\n")
    await copies.cycle()

    assert noted == [False]
    assert all(copies.known.base()[slug].local == digest_of("new\n") for slug in sent)


async def test_a_page_that_changed_since_the_scan_is_not_overwritten(
    copies: Copies,
) -> None:
    """The read before the write: the plan was made on another text."""
    copies.here.put("home", "one, here\ntwo\nthree\n")
    theirs = "one\ntwo\nthree, there\n"
    copies.there.before_once("write home", lambda: copies.there.put("home", theirs))
    first = await copies.cycle()
    assert first.has_more
    assert not first.pushed
    await copies.rest()
    assert copies.texts()["home"] == "one, here\ntwo\nthree, there\n"


@pytest.mark.parametrize(
    "change", [{"\r\n": "\n"}, {"e\u0301": "é"}], ids=["line ends", "letters"]
)
async def test_what_the_service_makes_of_a_text_is_no_edit(
    copies: Copies, change: dict[str, str]
) -> None:
    """Both digests are noted, so nothing is sent or pulled for it again."""
    answering(copies, change)
    copies.here.put("home", "cafe\u0301\r\nedited\r\n")
    await copies.rest()
    await copies.rest()
    assert copies.there.changes == ["write home"]
    assert copies.here.changes == []


async def test_another_text_in_the_answer_is_somebodys_edit(copies: Copies) -> None:
    """It is pulled, not taken for what was agreed on."""
    answering(copies, {"edited": "edited, and corrected on the way"})
    copies.here.put("home", "edited\n")
    await copies.rest()
    assert copies.texts()["home"] == "edited, and corrected on the way\n"


async def test_a_refused_page_waits_and_the_others_go_on(copies: Copies) -> None:
    copies.here.put("home", "too long\n")
    copies.here.put("other", "fine\n")
    copies.there.fail("write home", errors.Rejected("the page is too large"))
    first = await copies.cycle()
    second = await copies.cycle()
    assert copies.there.texts()["other"] == "fine\n"
    assert [one.subject for one in first.problems] == ["home"]
    assert [(one.slug, one.reason) for one in second.held] == [
        (HOME, HoldReason.REFUSED)
    ]
    assert not copies.known.intents()


async def test_a_rename_that_is_refused_is_told_once_and_keeps_nothing_back(
    state: State,
) -> None:
    """Edits of the page did not arrive, and no other page was removed."""
    copies = await rested(
        state, {"home": "one\n", "home/below": "two\n", "other": "three\n"}
    )
    copies.rename_here("home", "Start")
    copies.rename_here("home/below", "Start/below")
    copies.here.remove("other")
    copies.there.fail("move home Start", errors.Rejected("the title is reserved"))
    first = await copies.cycle()
    await copies.rest()
    copies.here.put("Start", "edited\n")
    copies.here.put("Start/below", "edited, too\n")
    last = await copies.rest()
    assert [(one.code, one.subject) for one in first.problems] == [
        ("rename-refused", "Start")
    ]
    assert last.problems == ()
    assert copies.there.texts() == {"home": "edited\n", "home/below": "edited, too\n"}
    assert copies.here.texts() == {"Start": "edited\n", "Start/below": "edited, too\n"}


async def test_a_revoked_token_ends_the_cycle(copies: Copies) -> None:
    copies.here.put("home", "edited\n")
    copies.there.fail(
        "write home", errors.AuthenticationFailed("the token was revoked")
    )
    with pytest.raises(errors.AuthenticationFailed):
        await copies.cycle()
    assert copies.known.memory.health.problem == "the token was revoked"


@pytest.mark.parametrize(
    ("text", "later_s", "options"),
    [
        pytest.param("short\n", 0, CycleOptions(), id="another text"),
        # the service may have changed its mind, or its limits
        pytest.param("too long\n", 3600, CycleOptions(), id="an hour later"),
        pytest.param("too long\n", -3600, CycleOptions(), id="the clock set right"),
        pytest.param("too long\n", 0, CycleOptions(tries_again=True), id="asked for"),
    ],
)
async def test_a_refused_page_is_sent_again(
    copies: Copies, text: str, later_s: int, options: CycleOptions
) -> None:
    copies.here.put("home", "too long\n")
    copies.there.fail("write home", errors.PermissionDenied("the page is too large"))
    await copies.cycle()
    copies.there.before = copies.here.before
    copies.here.put("home", text)
    copies.now += later_s
    await copies.cycle(options)
    assert copies.texts()["home"] == text


async def test_a_service_that_answers_no_page_is_not_asked_for_each(
    state: State,
) -> None:
    pages = {f"page-{number}": "text\n" for number in range(8)}
    copies = await rested(state, pages)
    for slug in pages:
        copies.here.put(slug, "edited\n")
    tried = []

    async def before(entry: str) -> None:
        if entry.startswith("write"):
            tried.append(entry)
            raise errors.Unavailable("no answer")

    copies.there.before = before
    with pytest.raises(errors.Unavailable):
        await copies.cycle()
    # the others that were on their way by then come to their end
    assert UNAVAILABLE_MAX <= len(tried) < UNAVAILABLE_MAX + SENDS_MAX


async def test_a_text_with_a_marker_line_is_never_sent(copies: Copies) -> None:
    text = "%%%% wikisync conflict 1 of 1: here %%%%\nmine\n"
    copies.here.put("home", text)
    copies.here.put("fresh", text)
    result = await copies.rest()
    assert {(one.slug, one.reason) for one in result.held} == {
        (HOME, HoldReason.MARKER),
        (Slug("fresh"), HoldReason.MARKER),
    }
    assert copies.there.changes == []


async def test_a_removed_page_is_in_the_trash_before_it_is_removed(
    copies: Copies,
) -> None:
    copies.here.remove("home")
    await copies.rest()
    assert copies.texts() == {"other": "other\n"}
    assert [(slug, text) for slug, text, _ in copies.here.trash] == [
        (HOME, PAGES["home"])
    ]


async def test_a_format_that_the_service_changes_is_told(copies: Copies) -> None:
    write = copies.there.write

    async def as_markdown(page: Page, *, expected: object) -> Page:
        taken = Page(page.slug, Format.MARKDOWN, page.content)
        return await write(taken, expected=expected)  # type: ignore[arg-type]

    copies.there.write = as_markdown  # type: ignore[method-assign]
    copies.here.put("fresh", "= Fresh\n", Format.ASCIIDOC)
    result = await copies.cycle()
    assert [one.code for one in result.problems] == ["format-changed"]


async def test_the_worst_window_is_kept(copies: Copies) -> None:
    copies.here.put("home", "edited\n")
    copies.there.last_window_s = 0.25
    await copies.cycle()
    copies.there.last_window_s = 0.1
    copies.here.put("home", "edited again\n")
    await copies.cycle()
    health = copies.known.memory.health
    assert (health.worst_window_s, health.worst_window_slug) == (0.25, HOME)


async def test_a_text_that_something_changes_back_is_held(copies: Copies) -> None:
    """Four times the same text, and each time it was another one afterwards."""
    for _ in range(5):
        copies.here.put("home", "mine\n")
        await copies.cycle()
        copies.now -= 20
        copies.there.put("home", PAGES["home"])
        await copies.cycle()
        copies.now -= 20
    copies.here.put("home", "mine\n")
    result = await copies.cycle()
    assert [(one.slug, one.reason) for one in result.held] == [(HOME, HoldReason.LOOP)]


async def test_a_page_whose_times_two_machines_write_in_turn_is_held(
    copies: Copies,
) -> None:
    """Editors that write the time of a change at each pull would go on for ever."""

    def page(minute: int, text: str = "text") -> str:
        return f"---\nupdated: 2026-01-02T10:{minute:02}:00Z\n---\n{text}\n"

    for minute in range(0, 10, 2):
        copies.here.put("home", page(minute))
        await copies.cycle()
        copies.now -= 20
        copies.there.put("home", page(minute + 1))
        await copies.cycle()
        copies.now -= 20
    copies.here.put("home", page(10))
    result = await copies.cycle()
    assert [(one.slug, one.reason) for one in result.held] == [(HOME, HoldReason.LOOP)]

    copies.here.put("home", page(11, "more text"))
    await copies.cycle()
    assert copies.there.texts()["home"] == page(11, "more text")


async def test_a_text_that_its_writer_takes_back_and_saves_again_is_sent(
    copies: Copies,
) -> None:
    for _ in range(10):
        for text in ("with a line\n", PAGES["home"]):
            copies.here.put("home", text)
            result = await copies.cycle()
            assert not result.held
            assert copies.texts()["home"] == text


async def test_a_removal_that_is_refused_is_held_and_its_text_kept_once(
    copies: Copies,
) -> None:
    """A try at every cycle would fill the trash and push other texts out of it."""
    copies.here.remove("home")
    copies.there.fail(
        "delete home", errors.PermissionDenied("this role may not delete")
    )
    await copies.rest()
    result = await copies.cycles(3)
    assert [(one.slug, one.reason) for one in result.held] == [
        (HOME, HoldReason.REFUSED)
    ]
    assert not result.problems
    await copies.cycle(CycleOptions(tries_again=True))
    copies.known.forget_when_refused()
    await copies.cycle()
    assert [slug for slug, *_ in copies.here.trash] == [HOME]
    copies.there.before = copies.here.before
    await copies.rest(CycleOptions(tries_again=True))
    assert "home" not in copies.texts()
    assert not copies.known.memory.refusals
