"""What every local replica does beside holding pages: in memory and in a folder."""

from pathlib import Path

import pytest

from tests.support.memory import MemoryReplica
from tests.support.plain_disk import make_plain
from wikisync.core.model import NO_FILE, ConflictFile, Format, Page, Slug, digest_of
from wikisync.errors import PreconditionFailed
from wikisync.folder.replica import FolderReplica
from wikisync.sync.replica import LocalReplica

HOME = Slug("home")


@pytest.fixture(params=["memory", "folder", "folder on a plain disk"])
def local(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> LocalReplica:
    if request.param == "memory":
        return MemoryReplica()
    if request.param.endswith("plain disk"):
        make_plain(monkeypatch)
    (tmp_path / "wiki").mkdir()
    return FolderReplica(tmp_path / "wiki")


def page(slug: str, text: str) -> Page:
    return Page(Slug(slug), Format.MARKDOWN, text)


async def test_many_pages_are_written_and_one_failure_stops_none(
    local: LocalReplica,
) -> None:
    await local.write(page("b", "held"), expected=None)
    results = await local.write_pages(
        [(page("a", "A"), None), (page("b", "B"), None), (page("c", "C"), None)]
    )
    assert [isinstance(result, Page) for result in results] == [True, False, True]
    assert isinstance(results[1], PreconditionFailed)
    assert (await local.read(Slug("b"))).content == "held"
    assert (await local.read(Slug("c"))).content == "C"


async def test_conflict_file_is_written_read_and_removed(local: LocalReplica) -> None:
    assert await local.conflict_file(HOME) is None
    path = await local.write_conflict(HOME, Format.ORG, "both\r\n")
    assert path.endswith("home.conflict.org")
    found = await local.conflict_file(HOME)
    assert found is not None
    assert found.text == "both\r\n"
    await local.write_conflict(HOME, Format.ORG, "other")
    found = await local.conflict_file(HOME)
    assert found is not None
    assert found.text == "other"
    await local.remove_conflict(HOME)
    assert await local.conflict_file(HOME) is None
    await local.remove_conflict(HOME)


async def test_conflict_file_is_no_page(local: LocalReplica) -> None:
    await local.write_conflict(HOME, Format.MARKDOWN, "both")
    assert not (await local.snapshot()).pages


async def test_conflict_file_follows_its_page(local: LocalReplica) -> None:
    await local.write(Page(HOME, Format.MARKDOWN, "text"), expected=None)
    await local.write_conflict(HOME, Format.MARKDOWN, "both")
    await local.move(HOME, Slug("dir/new"), expected=digest_of("text"))
    assert await local.conflict_file(HOME) is None
    found = await local.conflict_file(Slug("dir/new"))
    assert found == ConflictFile("dir/new.conflict.md", "both")


async def test_quiet_folder_has_no_late_saves(local: LocalReplica) -> None:
    await local.write(Page(HOME, Format.MARKDOWN, "old"), expected=None)
    await local.write(Page(HOME, Format.MARKDOWN, "new"), expected=digest_of("old"))
    assert list(await local.late_saves()) == []


async def test_text_can_be_kept_without_its_page(local: LocalReplica) -> None:
    await local.keep(Slug("gone"), "text", "why")
    assert not (await local.snapshot()).pages


async def test_pages_are_scanned_for_by_what_their_texts_say(
    local: LocalReplica,
) -> None:
    """A page that is gone by now is none of them, and stops no other."""
    texts = {HOME: "a mark", Slug("guide"): "plain", Slug("notes"): "a mark"}
    new = [(Page(slug, Format.MARKDOWN, text), None) for slug, text in texts.items()]
    await local.write_pages(new)
    await local.snapshot()
    asked = [Slug("gone"), HOME, Slug("guide")]
    assert await local.having(asked, lambda text: "mark" in text) == {HOME}


async def test_conflict_file_that_was_saved_since_stays(local: LocalReplica) -> None:
    await local.write_conflict(HOME, Format.MARKDOWN, "saved", expected=NO_FILE)
    seen = digest_of("before")
    for other in (seen, NO_FILE):
        with pytest.raises(PreconditionFailed):
            await local.write_conflict(HOME, Format.MARKDOWN, "newer", expected=other)
    with pytest.raises(PreconditionFailed):
        await local.remove_conflict(HOME, expected=seen)
    file = await local.conflict_file(HOME)
    assert file is not None
    assert file.text == "saved"
    await local.remove_conflict(HOME, expected=digest_of("saved"))
    assert await local.conflict_file(HOME) is None
