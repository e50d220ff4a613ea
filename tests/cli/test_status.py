import os
import re
import shutil
import time
from pathlib import Path

import pytest

from tests.support.commands import Run
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService
from tests.support.workspaces import FILES, HANDBOOK, PAGES, Cloned, clone_handbook
from wikisync.config.sections import WikiSection
from wikisync.contract.project_schema import AccessLevel
from wikisync.core.model import Slug
from wikisync.errors import ExitCode
from wikisync.folder.workspace import locked
from wikisync.sync.decide.ledger import Health
from wikisync.sync.run.pull import STALE_SAVE
from wikisync.workspace.status import WikiStatus, notes

STATUS = (("status",), ("status", "--offline"))
LATELY = r"(just now|\d+ seconds? ago)"


@pytest.fixture
async def cloned(cloned: Cloned) -> Cloned:
    await cloned.run("sync")
    return cloned


async def test_quiet_names_only_what_is_not_in_sync(cloned: Cloned) -> None:
    await cloned.add_wiki("other", {"home": "other\n"})
    await cloned.run("sync")
    for words in (("status",), ("sync",), ("sync", "--dry-run")):
        ran = await cloned.run("--quiet", *words)
        assert (ran.code, ran.told) == (0, "")
    cloned.write("guide.md", "mine\n")
    ran = await cloned.run("--quiet", "status")
    assert ran.out.startswith("handbook: 4 pages, 1 not in sync")
    assert "other" not in ran.out
    ran = await cloned.run("--quiet", "sync")
    assert ran.out == "handbook: 4 pages, 1 pushed\n"


async def test_every_page_not_in_sync_has_a_sentence(cloned: Cloned) -> None:
    cloned.write("guide.md", "mine\n")
    cloned.write("new.md", "new\n")
    await cloned.edit({"home": "theirs\n", "added": "added\n"})
    ran = await cloned.run("status")
    assert ran.code == 0
    assert "handbook: 5 pages, 4 not in sync" in ran.out
    assert "  guide: edited here; the next sync uploads it\n" in ran.out
    assert "  new: new here; the next sync uploads it\n" in ran.out
    assert "  home: edited on the wiki; the next sync downloads it\n" in ran.out
    assert "  added: new on the wiki; the next sync downloads it\n" in ran.out


async def test_what_no_sync_can_carry_leaves_the_others_good(cloned: Cloned) -> None:
    """Else a watch is ill for good, and no sync of a new clone can be undone."""
    cloned.write("guide.org", "* Guide\n")
    cloned.write(".wikisyncignore", "!\n")
    cloned.write(" .md", "blank\n")
    cloned.write("uploads/a\\b.png", "no name of an attachment\n")
    (cloned.folder / "link.md").symlink_to("home.md")
    (cloned.folder / "folder.md").mkdir()
    os.mkfifo(cloned.folder / "pipe.md")
    (cloned.folder / os.fsdecode(b"\xff.md")).write_text("odd\n")
    picture = f"uploads/{'0' * 32}/p.png"
    (cloned.folder / picture).mkdir(parents=True)
    await cloned.service.put_file(HANDBOOK, picture, b"\x89PNG")
    pages = {"uploads/page": "below\n", "shown": f"![p]({picture})\n"}
    await cloned.service.add_pages(HANDBOOK, pages)
    began = time.time()

    ran = await cloned.run("sync")

    status = (await cloned.run("status", "--json")).json["wikis"][0]
    assert ran.code == ExitCode.HELD
    assert sorted(one["code"] for one in status["problems"]) == [
        "attachment-name",
        "attachment-unwritable",
        "duplicate-page",
        "folder-in-place",
        "ignore-pattern",
        "link-ignored",
        "name-not-text",
        "no-regular-file",
        "page-below-uploads",
    ]
    assert status["last_good_at"] > began


async def test_two_files_of_one_page_are_reported_once(cloned: Cloned) -> None:
    cloned.write("guide.org", "* Guide\n")
    ran = await cloned.run("status")
    assert ran.code == 3
    headline, line = ran.out.splitlines()
    known = "handbook: 4 pages, 1 problem, last good sync"
    assert re.fullmatch(f"{known} {LATELY}", headline)
    assert line.startswith("  guide.org: is the same page as guide.md: guide (keep")


async def test_a_file_that_cannot_be_read_is_reported_once(cloned: Cloned) -> None:
    (cloned.folder / "guide.md").write_bytes(b"\xff")
    ran = await cloned.run("status")
    assert ran.code == 3
    assert ran.out.startswith("handbook: 4 pages, 1 problem, last good sync")
    assert ran.out.count("\n") == 2
    assert "  guide.md: is not UTF-8" in ran.out
    cloned.write("home.md", "edited\n")
    ran = await cloned.run("status")
    assert ran.out.startswith("handbook: 4 pages, 1 not in sync, 1 problem, last good")


async def test_held_page_is_told_with_the_way_out(cloned: Cloned) -> None:
    await cloned.clash()
    for words in STATUS:
        ran = await cloned.run(*words)
        assert ran.code == 3
        assert "1 held" in ran.out
        assert "guide: edited here and on the wiki" in ran.out
        assert "wikisync resolve handbook/guide --both" in ran.out
    # one block that is left is not settled
    cloned.write("guide.conflict.md", cloned.read("guide.conflict.md") + "a thought\n")
    ran = await cloned.run("status")
    told = "guide: edited here and on the wiki; resolve handbook/guide.conflict.md"
    assert (ran.code, told in ran.out) == (3, True)


async def test_settled_conflict_file_is_told_as_such(cloned: Cloned) -> None:
    """Also with its note: a sync takes such a file, so nobody is sent to it again."""
    await cloned.clash()
    note = cloned.read("guide.conflict.md").splitlines(keepends=True)[0]
    for text in ("ours\n", f"{note}ours\n"):
        cloned.write("guide.conflict.md", text)
        for words in STATUS:
            ran = await cloned.run(*words)
            assert ran.code == 0
            assert "guide: its conflict file is resolved; the next sync" in ran.out
    await cloned.run("sync")
    assert await cloned.wiki() == FILES | {"guide.md": "ours\n"}


async def test_what_a_safety_stop_holds_is_exit_code_4(cloned: Cloned) -> None:
    cloned.service.quirks = {Quirk.EMPTY_LIST}
    await cloned.run("sync")
    for words in STATUS:
        ran = await cloned.run(*words)
        assert ran.code == 4
        assert "4 of 4 pages would be removed here" in ran.out
        told = "wikisync approve handbook:1; to reject, run: wikisync refuse"
        assert told in ran.out


async def test_conflict_file_that_is_no_text_is_told(cloned: Cloned) -> None:
    await cloned.clash()
    (cloned.folder / "guide.conflict.md").write_bytes(b"\xff\xfe")
    cloned.write("home.md", "mine\n")
    way = "save it as UTF-8; or run (--mine or --wiki keep one text): wikisync resolve"
    for words in STATUS:
        ran = await cloned.run(*words)
        assert ran.code == 3
        assert "handbook: 4 pages, 1 not in sync, 1 held" in ran.out
        assert "home: edited here" in ran.out
        held = "guide: edited here and on the wiki: guide.conflict.md: is not"
        assert held in ran.out
        assert way in ran.out


async def test_what_has_the_place_of_a_conflict_file_is_told(cloned: Cloned) -> None:
    await cloned.clash()
    place = cloned.folder / "guide.conflict.md"
    place.unlink()
    place.mkdir()
    resolve = "or run (--mine or --wiki keep one text): wikisync resolve handbook/guide"
    told = (
        "guide: edited here and on the wiki: cannot use guide.conflict.md: a folder"
        f" is in the file's place; move guide.conflict.md away; {resolve} --both\n"
    )
    ran = await cloned.run("sync")
    assert f"handbook/{told}" in ran.err
    assert f"handbook/{told}" in cloned.attention
    for words in STATUS:
        assert f"  {told}" in (await cloned.run(*words)).out
    place.rmdir()
    told = "its conflict file could not be written; see what wikisync sync"
    for words in STATUS:
        assert told in (await cloned.run(*words)).out


async def test_hidden_conflict_file_is_not_asked_for(cloned: Cloned) -> None:
    """Each hint is a command that works as it is told."""
    await cloned.clash()
    (cloned.folder / "guide.conflict.md").unlink()
    for command in ("status", "sync"):
        ran = await cloned.run(command)
        told = ran.out + ran.err
        assert ran.code == 3
        assert "see wikisync diff handbook/guide; then run (--mine" in told
        assert "wikisync resolve handbook/guide --both" in told
        assert "settle handbook/guide.conflict.md" not in told
    assert (await cloned.run("diff", "handbook/guide")).code == 0
    assert (await cloned.run("resolve", "handbook/guide", "--mine")).code == 0
    assert (await cloned.wiki())["guide.md"] == "mine\n"


async def test_rename_into_a_taken_name_names_the_file(cloned: Cloned) -> None:
    """Another name for the page that was renamed would change nothing."""
    await cloned.remove("guide")
    await cloned.edit({"manual": PAGES["guide"]})
    cloned.write("manual.md", "another manual\n")
    for command in ("sync", "status"):
        ran = await cloned.run(command)
        assert "rename the file of handbook/manual" in ran.out + ran.err
        assert "handbook/guide another" not in ran.out + ran.err
    (cloned.folder / "manual.md").rename(cloned.folder / "handout.md")
    assert (await cloned.run("sync")).code == 0
    expected = FILES | {"manual.md": PAGES["guide"], "handout.md": "another manual\n"}
    del expected["guide.md"]
    assert cloned.files() == await cloned.wiki() == expected


async def test_a_watch_that_runs_is_named_as_such(cloned: Cloned) -> None:
    cloned.write("guide.md", "mine\n")
    with locked(cloned.root / ".wikisync", "it"):
        ran = await cloned.run("status")
    ran.ended(0, "another wikisync is running: process")
    assert "guide: edited here" in ran.out
    told = "`wikisync watch` is running (pid "
    with locked(cloned.root / ".wikisync", "it", is_watch=True):
        status, doctor = await cloned.run("status"), await cloned.run("doctor")
        sync = await cloned.run("sync")
    assert status.err.startswith(told)
    assert f"fine   {told}" in doctor.out
    assert f"error: {told}" in sync.err
    assert "another wikisync" not in status.err + doctor.out + sync.err


async def test_service_away_tells_what_the_folder_tells(cloned: Cloned) -> None:
    cloned.write("guide.md", "mine\n")
    (cloned.folder / "home.md").unlink()
    cloned.service.quirks = {Quirk.TOKEN_REVOKED}
    ran = await cloned.run("status")
    assert ran.code == 3
    assert "the wiki could not be checked" in ran.out
    assert "guide: edited here" in ran.out
    assert "home: its file is missing here" in ran.out


async def test_folder_that_is_gone_is_no_trouble_of_the_wiki(cloned: Cloned) -> None:
    cloned.folder.rename(cloned.root / "away")
    ran = await cloned.run("status")
    ran.ended(3, f"the folder {cloned.folder} does not exist")
    assert "the wiki could not be checked" not in ran.out


async def test_offline_asks_no_service_and_that_is_no_trouble(cloned: Cloned) -> None:
    """And a wiki that was not scanned is not said to be in sync."""
    await cloned.edit({"home": "theirs\n"})
    cloned.service.quirks = {Quirk.TOKEN_REVOKED}
    cloned.write("guide.md", "a guide\r\n")
    ran = await cloned.run("status", "--offline")
    assert ran.code == 0
    assert ran.out.startswith("handbook: 4 pages, no edits here, last good sync")
    told = "the wiki was not checked; this status is based on the folder alone"
    assert told in ran.out
    assert "guide" not in ran.out


async def test_offline_page_that_is_kept_out_is_no_removal(cloned: Cloned) -> None:
    """It said that the next sync deletes the page, which no sync does."""
    cloned.write(".wikisyncignore", "guide.md\nteam/\n")
    (cloned.folder / "team/rules.md").unlink()
    ran = await cloned.run("status", "--offline")
    assert ran.code == 0
    assert "handbook: 4 pages, no edits here" in ran.out


async def test_offline_removal_waits_as_in_a_sync(cloned: Cloned) -> None:
    (cloned.folder / "home.md").unlink()
    await cloned.run("sync")
    first = await cloned.run("status", "--offline")
    cloned.age_sightings(10)
    second = await cloned.run("status", "--offline")
    assert "home: its file is missing here; waiting until the deletion" in first.out
    told = "home: its file was deleted here; the next sync deletes the page"
    assert told in second.out


async def test_offline_tells_what_a_safety_stop_would_hold(cloned: Cloned) -> None:
    """Before any sync: nothing is deleted without a yes, and nothing says so."""
    shutil.rmtree(cloned.folder / "team")
    (cloned.folder / "home.md").unlink()
    (cloned.folder / "guide.md").unlink()
    cloned.write("new.md", "new\n")
    ran = await cloned.run("status", "--offline")
    assert ran.code == 4
    assert "4 of 4 pages would be deleted on the wiki" in ran.out
    assert "the next sync deletes the page" not in ran.out


async def test_paused_wiki_is_told_with_the_reason(cloned: Cloned) -> None:
    await cloned.run("pause", "handbook", "the big move")
    cloned.write("guide.md", "mine\n")
    ran = await cloned.run("status")
    assert ran.code == 0
    assert "paused (the big move)" in ran.out
    assert (await cloned.run("sync")).out.startswith("handbook: paused (the big move)")
    assert (await cloned.wiki())["guide.md"] == "a guide\n"
    await cloned.run("resume")
    assert "1 pushed" in (await cloned.run("sync")).out


async def test_attachment_with_other_spellings_is_counted_once(cloned: Cloned) -> None:
    folder = "uploads/" + "0123456789abcdef" * 2
    await cloned.edit({"guide": f"<<{folder}/p.png,x>> <<{folder}/lost.png,y>>\n"})
    await cloned.service.put_file(HANDBOOK, f"{folder}/p.png", b"\x89PNG")
    await cloned.run("sync")
    ran = await cloned.run("status", "--json")
    assert ran.json["wikis"][0]["missing_attachments"] == [f"{folder}/lost.png"]


async def test_json_tells_everything_for_programs(cloned: Cloned) -> None:
    cloned.write("guide.md", "mine\n")
    await cloned.run("sync")
    cloned.write("home.md", "mine\n")
    (wiki,) = (await cloned.run("status", "--json")).json["wikis"]
    assert (wiki["folder"], wiki["path"]) == ("handbook", HANDBOOK.full_path)
    (one,) = wiki["differences"]
    assert one["page"] == "home"
    assert one["sentence"] == "edited here; the next sync uploads it"
    assert wiki["worst_window_s"] > 0
    assert wiki["worst_window_page"] == "guide"
    assert wiki["last_good_age_s"] < 60
    assert wiki["is_wiki_seen"] is True


@pytest.mark.parametrize(("seconds", "is_told"), [(0.9, False), (7.1, True)])
def test_long_time_before_a_write_is_told(seconds: float, is_told: bool) -> None:
    health = Health(worst_window_s=seconds, worst_window_slug=Slug("guide"))
    section = WikiSection(HANDBOOK.kind, HANDBOOK.full_path, "handbook")
    told = "\n".join(notes(WikiStatus(section, health)))
    sentence = "guide: an edit on the wiki less than 7 seconds before a push may"
    assert (sentence in told) == is_told


@pytest.mark.parametrize(
    "words", [("status", "handbok"), ("approve", "handbok:1"), ("pause", "handbok")]
)
async def test_wiki_that_is_none_of_the_workspace_is_a_usage_error(
    cloned: Cloned, words: tuple[str, str]
) -> None:
    (await cloned.run(*words)).ended(2, "its wikis are: handbook")


async def test_clone_that_agreed_is_a_good_sync(
    service: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    fresh = await clone_handbook(service, run, tmp_path / "fresh")
    told = (await fresh.run("status")).out
    known = "handbook: 4 pages, in sync, last good sync"
    assert re.fullmatch(rf"{known} {LATELY}\n", told)


async def test_clone_that_missed_a_file_is_no_good_sync(
    service: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    lost = f"uploads/{'0123456789abcdef' * 2}/lost.png"
    await service.add_project("docs/handbook", {"home": f"![lost]({lost})\n"})
    await service.put_file(HANDBOOK, lost, b"\x89PNG")
    service.quirks = {Quirk.FILES_NEED_SESSION, Quirk.NO_GIT}
    root = tmp_path / "wikis"
    ran = await run("clone", service.url, "--project", "docs/handbook", root)
    assert ran.code == 3
    assert "last good sync never" in (await run("status", "-C", root)).out


async def test_page_refused_for_want_of_rights_is_told_what_to_do(
    cloned: Cloned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that could be written into the file would help."""
    token = await cloned.service.add_user("ann")
    await cloned.service.add_member("docs/handbook", "ann", AccessLevel.REPORTER)
    monkeypatch.setenv("WIKISYNC_TOKEN", token)
    cloned.write("guide.md", "mine\n")
    await cloned.run("sync")
    for words in STATUS:
        ran = await cloned.run(*words)
        assert ran.code == 3
        assert "this token may not change it" in ran.out
        assert "Developer" in ran.out
        assert "wikisync retries when the file changes, on `wikisync sync`" in ran.out
        assert "change the file or its name" not in ran.out
        assert "the next sync" not in ran.out


async def test_page_refused_long_ago_is_still_refused(cloned: Cloned) -> None:
    """It is tried again by then, which mends nothing yet."""
    cloned.service.quirks = {Quirk.SMALL_LIMITS}
    cloned.write("guide.md", "x" * 70_000)
    await cloned.run("sync")
    with cloned.state() as state:
        known = state.wiki(HANDBOOK)
        said = known.memory.refusals[Slug("guide")]
        known.record_refusal(Slug("guide"), said.local, said.message, said.at - 4000)
    for words in STATUS:
        ran = await cloned.run(*words)
        assert ran.code == 3
        assert "  guide: edited here; the next sync tries again\n" in ran.out
        assert "  guide: cannot edit page guide" in ran.out


async def test_save_over_what_was_not_shown_is_told_for_a_day(cloned: Cloned) -> None:
    """It brings back lines that somebody took out, who then wonders why."""
    old = "".join(f"line {number}\n" for number in range(10))
    cloned.write("guide.md", old)
    await cloned.run("sync")
    await cloned.edit({"guide": old + "their line\n"})
    await cloned.run("sync")
    cloned.write("guide.md", old.replace("line 3", "my line 3"))
    told = (await cloned.run("status")).out
    assert "guide: saved over an older text; the next sync merges it" in told
    await cloned.run("sync")
    assert "their line" in cloned.read("guide.md")
    ran = await cloned.run("status")
    assert ran.code == 0
    assert "  guide: saved over an older text" in ran.out
    assert re.search(rf"save again to remove them \({LATELY}\)", ran.out)
    (notice,) = (await cloned.run("status", "--json")).json["wikis"][0]["notices"]
    assert notice["page"] == "guide"


async def test_notice_of_another_day_is_left_to_the_log(cloned: Cloned) -> None:
    at = time.time() - 90_000
    with cloned.state() as state:
        state.wiki(HANDBOOK).note(at, Slug("guide"), STALE_SAVE, is_warning=True)
    assert "saved over" not in (await cloned.run("status")).out


@pytest.mark.parametrize(
    "words", [("resolve", "--mine"), ("restore",), ("diff",), ("sync",)]
)
async def test_name_that_no_page_has_is_a_usage_error(
    cloned: Cloned, words: tuple[str, ...]
) -> None:
    for name in ("", " ", ".", "..", "handbook/..", "../b", "a/../../b"):
        (await cloned.run(*words, name)).ended(2, "is not the name of a page")


async def test_page_that_is_nowhere_is_a_usage_error(cloned: Cloned) -> None:
    told = "handbook/gide: there is no such page, here or on the wiki"
    commands = ["log", "diff", "diff --base", "resolve --mine", "restore --list"]
    for command in commands:
        ran = await cloned.run(*command.split(), "gide")
        assert (ran.code, told in ran.err) == (2, True), command
        assert "no differences" not in ran.err
    assert (await cloned.run("log", "")).code == 2


async def test_wiki_that_was_not_asked_names_the_one_that_was(cloned: Cloned) -> None:
    with cloned.settings.open("a") as file:
        for name in "abcdef":
            file.write(f'[[wiki]]\nproject = "docs/{name}"\nfolder = "{name}"\n')
    cloned.configure(cloned.service.url, "http://127.0.0.1:1")
    ran = await cloned.run("status")
    first, *others = re.split("^[a-f]: ", ran.out, flags=re.MULTILINE)
    reason = "(as handbook, which was checked first: cannot "
    assert reason not in first
    assert [reason in other for other in others] == [True] * 6
    assert ran.err.count("hint: ") == 1


async def test_file_in_a_format_the_wiki_does_not_take(cloned: Cloned) -> None:
    cloned.write("note.txt", "plain\n")
    ran = await cloned.run("status")
    assert "note: not uploaded: " in ran.out
    assert "list it in .wikisyncignore" in ran.out
    cloned.write(".wikisyncignore", "note.txt\n")
    assert "in sync" in (await cloned.run("status")).out
