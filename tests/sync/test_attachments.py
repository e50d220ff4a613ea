"""Attachments that pages mention, in cycles both ways: what is fetched and told."""

from collections.abc import AsyncIterator

import pytest

from tests.support.copies import Copies
from wikisync.core.model import AttachmentPath, LooseFile, Slug, digest_of
from wikisync.errors import FolderError, NotFound, Unavailable
from wikisync.sync.base.state import State

H = "uploads/" + "0123456789abcdef" * 2
CODE = f"Write `![a picture]({H}/example.png)`.\n"


def path(name: str) -> AttachmentPath:
    return AttachmentPath(f"{H}/{name}")


def copies_of(state: State, text: str, *files: str) -> Copies:
    """A wiki with a page and these files, none of which is here."""
    copies = Copies(state, {"home": text})
    copies.there.files = {path(name): name.encode() for name in files}
    return copies


def asked(copies: Copies) -> list[str]:
    """What the wiki was asked for, in order."""
    words = [line.split(" ", 1) for line in copies.there.log]
    return [
        subject.removeprefix(f"{H}/")
        for operation, subject in words
        if operation == "read_attachment"
    ]


@pytest.mark.parametrize(
    ("text", "name", "requests"),
    [
        (f"![p]({H}/p.png)", "p.png", ["p.png"]),
        (f"image:{H}/p.png[alt,link={H}/p.png,window=_blank]", "p.png", ["p.png"]),
        (f"[[file:{H}/p.png::5]]", "p.png", ["p.png"]),
        (f"<<{H}/p.png,x>>", "p.png", ["p.png"]),
        (f"<{H}/my file.png>", "my file.png", ["my file.png"]),
        (f"![p]({H}/a'b.png)", "a'b.png", ["a'b.png"]),
        (f"![p]({H}/a,b.png)", "a,b.png", ["a,b.png"]),
        (f"<<{H}/README,x>>", "README", ["README,x", "README"]),
    ],
)
async def test_spelling_that_the_wiki_has_is_fetched_and_all_is_well(
    state: State, text: str, name: str, requests: list[str]
) -> None:
    copies = copies_of(state, text, name)
    first = await copies.rest()
    assert first.problems == (await copies.cycle()).problems == ()
    assert copies.here.files == copies.there.files
    assert asked(copies) == requests


async def test_name_in_code_is_told_once_and_every_cycle_is_a_good_one(
    state: State,
) -> None:
    copies = copies_of(state, CODE)
    first = await copies.cycle()
    assert first.problems == ()
    assert [(one.code, one.subject) for one in first.absent] == [
        ("attachment-missing", f"{H}/example.png")
    ]
    assert copies.known.memory.health.last_good_at == copies.now
    assert (await copies.cycle()).absent == ()
    (event,) = copies.known.events(9, Slug(f"{H}/example.png"))
    assert event.what == first.absent[0].message


async def test_what_was_told_is_still_scanned_for(state: State) -> None:
    copies = copies_of(state, CODE)
    await copies.cycle()
    await copies.cycle()
    copies.there.files[path("example.png")] = b"drawn since"
    assert (await copies.cycle()).attachments == 1
    assert copies.here.files == copies.there.files


async def test_spelling_that_could_not_be_asked_for_is_the_one_told(
    state: State,
) -> None:
    """The other one is not on the wiki, which says nothing of this one."""
    copies = copies_of(state, f"<<{H}/p.png,x>>")
    no_answer = Unavailable("the service does not answer")
    copies.there.fail(f"read_attachment {H}/p.png,x", no_answer)
    first = await copies.cycle()
    assert [one.subject for one in first.problems] == [f"{H}/p.png,x"]
    assert first.problems == (await copies.cycle()).problems


async def test_file_that_cannot_be_had_is_told_every_time(state: State) -> None:
    """The wiki may have it: without it, no cycle is a good one."""
    copies = copies_of(state, f"![p]({H}/p.png)", "p.png")
    kept = NotFound("it is kept")
    kept.__cause__ = NotFound("no repository")
    copies.there.fail("read_attachment", kept)
    first = await copies.cycle()
    assert first.problems == (await copies.cycle()).problems != ()
    assert copies.known.memory.health.last_good_at is None


async def test_file_that_somebody_saves_meanwhile_is_not_written_over(
    state: State,
) -> None:
    copies = copies_of(state, f"![p]({H}/p.png)", "p.png")
    mine = {path("p.png"): b"mine"}
    copies.there.before_once(
        f"read_attachment {H}/p.png", lambda: copies.here.files.update(mine)
    )
    assert (await copies.cycle()).problems == ()
    assert copies.here.files == mine


async def test_what_the_wiki_has_is_on_record_before_the_file_is_there(
    state: State,
) -> None:
    """The process may end in between, and a person change the file then."""
    copies = copies_of(state, f"![p]({H}/p.png)", "p.png")

    async def fail(
        _path: AttachmentPath, chunks: AsyncIterator[bytes], **_options: object
    ) -> LooseFile:
        [chunk async for chunk in chunks]
        raise FolderError("permission denied")

    copies.here.write_attachment = fail  # type: ignore[assignment,method-assign]
    await copies.cycle()
    known = copies.known.attachments()[path("p.png")]
    assert (known.digest, known.here) == (digest_of(b"p.png"), None)
