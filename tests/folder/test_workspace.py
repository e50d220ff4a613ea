import os
import resource
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from tests.support.git import needs_git, run_git
from wikisync.core.layout import FOLDER_ID_FILE, LOCK_FILE
from wikisync.errors import FolderError, Halted
from wikisync.folder import workspace as workspace_module
from wikisync.folder.workspace import (
    FolderIdentity,
    Identity,
    StateMatch,
    _identity,
    adopt,
    current_folder,
    file_system_of,
    locked,
    refuse_emptied,
    refuse_network_disk,
    refuse_overlaps,
    state_match,
)

HOLD = (
    "import sys; from pathlib import Path\n"
    "from wikisync.folder.workspace import locked\n"
    "with locked(Path(sys.argv[1]), 'it'):\n"
    "    print('held', flush=True); sys.stdin.read()\n"
)


@pytest.fixture
def private(tmp_path: Path) -> Path:
    (tmp_path / "ws" / ".wikisync").mkdir(parents=True)
    return tmp_path / "ws" / ".wikisync"


def holding(private: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(private)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


# -- one process -----------------------------------------------------------------------


def test_second_process_is_told_who_holds_the_workspace(private: Path) -> None:
    with (
        holding(private) as process,
        pytest.raises(
            FolderError, match="another wikisync is running in the ws"
        ) as caught,
        locked(private, "the ws"),
    ):
        pass
    assert f"process {process.pid} on " in caught.value.message
    assert ", since 2" in caught.value.message


def test_lock_of_a_killed_process_is_free(private: Path) -> None:
    with holding(private) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        with locked(private, "the ws"):
            assert f'"pid":{os.getpid()},' in (private / LOCK_FILE).read_text()


def test_lock_makes_its_folder(tmp_path: Path) -> None:
    with locked(tmp_path / "a" / ".wikisync", "it"):
        assert (tmp_path / "a" / ".wikisync" / LOCK_FILE).exists()


@pytest.mark.parametrize("content", ["", "x", "{}", '{"pid": 1, "since": 1e400}'])
def test_lock_that_says_nothing_is_refused_without_a_name(
    private: Path, content: str
) -> None:
    with locked(private, "it"):
        (private / LOCK_FILE).write_text(content)
        with pytest.raises(FolderError) as caught, locked(private, "it"):
            pass
    assert caught.value.message == "another wikisync is running in it"


def test_lock_is_not_written_through_a_link(private: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("theirs")
    (private / LOCK_FILE).symlink_to(tmp_path / "outside")
    with (
        pytest.raises(FolderError, match="link exists at this path"),
        locked(private, "it"),
    ):
        pass
    assert (tmp_path / "outside").read_text() == "theirs"


# -- the marker ------------------------------------------------------------------------


def test_workspace_stays_the_same(private: Path) -> None:
    identity = adopt(private)
    assert adopt(private) == identity
    assert state_match(private, identity) is StateMatch.SAME
    assert Identity.parse(str(identity)) == identity


def test_state_without_a_sync_says_nothing(private: Path) -> None:
    assert state_match(private, None) is StateMatch.NEW


def test_missing_marker_stops_and_offers_to_adopt(private: Path) -> None:
    identity = adopt(private)
    (private / FOLDER_ID_FILE).unlink()
    with pytest.raises(Halted, match="folder-id is missing") as caught:
        state_match(private, identity)
    assert "wikisync adopt" in (caught.value.hint or "")
    assert not (private / FOLDER_ID_FILE).exists()


@needs_git
async def test_git_takes_nothing_of_ours_and_cleans_nothing_away(private: Path) -> None:
    adopt(private)
    (private / "state.db").touch()
    await run_git("init", "--quiet", folder=private.parent)
    await run_git("add", "--all", folder=private.parent)
    assert (await run_git("ls-files", folder=private.parent)).out == ""
    await run_git("clean", "--force", "-d", folder=private.parent)
    assert (private / "state.db").exists()


def test_adopting_keeps_what_is_in_the_trash(private: Path) -> None:
    """A writer removes leftovers from its place, which must not be all of ours."""
    (private / "trash").mkdir()
    (private / "trash/home.md").write_text("the only copy")
    adopt(private)
    assert (private / "trash/home.md").read_text() == "the only copy"


def test_copied_workspace_is_known_by_its_place(private: Path, tmp_path: Path) -> None:
    identity = adopt(private)
    copy = tmp_path / "copy" / ".wikisync"
    copy.mkdir(parents=True)
    (copy / FOLDER_ID_FILE).write_text((private / FOLDER_ID_FILE).read_text())
    assert state_match(copy, identity) is StateMatch.COPIED


def test_workspace_that_comes_back_to_a_machine_is_shared(
    private: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the disk has another number by then."""
    here = adopt(private)
    (tmp_path / "machine-id").write_text("0123456789abcdef\n")
    with monkeypatch.context() as patch:
        patch.setattr(workspace_module, "MACHINE_IDS", (tmp_path / "machine-id",))
        there = adopt(private)
        assert state_match(private, here, []) is StateMatch.COPIED
    assert "0123456789abcdef" not in str(there)
    earlier = replace(here, place="0:1")
    assert state_match(private, there, [earlier]) is StateMatch.SHARED
    assert state_match(private, here, [earlier]) is StateMatch.SAME
    assert state_match(private, earlier, [earlier]) is StateMatch.COPIED


def test_machine_that_cannot_be_read_is_no_other_machine(
    private: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "machine-id").write_text("0123456789abcdef\n")
    numbers = (tmp_path / "none", tmp_path, tmp_path / "machine-id")
    monkeypatch.setattr(workspace_module, "MACHINE_IDS", numbers)
    identity = adopt(private)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with (private / FOLDER_ID_FILE).open() as marker:
        resource.setrlimit(resource.RLIMIT_NOFILE, (marker.fileno(), limits[1]))
        try:
            with pytest.raises(FolderError, match="machine-id: too many open files"):
                _identity(private, identity.marker)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert state_match(private, identity) is StateMatch.SAME


def test_other_marker_is_another_workspace(private: Path) -> None:
    identity = adopt(private)
    (private / FOLDER_ID_FILE).write_text("f" * 32)
    assert state_match(private, identity) is StateMatch.COPIED


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe"])
def test_marker_that_says_nothing_is_a_missing_one(
    private: Path, content: bytes
) -> None:
    identity = adopt(private)
    (private / FOLDER_ID_FILE).write_bytes(content)
    with pytest.raises(Halted, match="folder-id is missing"):
        state_match(private, identity)


@pytest.mark.parametrize("text", ["", "[]", "{}", '"x"'])
def test_identity_that_is_none_is_none(text: str) -> None:
    assert Identity.parse(text) is None


def test_folder_that_had_pages_and_is_empty_stops(tmp_path: Path) -> None:
    (tmp_path / ".wikisync").mkdir()
    with pytest.raises(Halted, match="is empty but had 3 pages") as caught:
        refuse_emptied(tmp_path, known_pages=3)
    assert "wikisync adopt" in (caught.value.hint or "")
    refuse_emptied(tmp_path, known_pages=0)
    (tmp_path / "home.md").write_text("x")
    refuse_emptied(tmp_path, known_pages=3)


def test_folder_that_had_pages_and_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="does not exist"):
        refuse_emptied(tmp_path / "gone", known_pages=3)


def test_file_in_the_place_of_a_folder_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "handbook").touch()
    with pytest.raises(FolderError, match="handbook is not a folder") as caught:
        refuse_emptied(tmp_path / "handbook", known_pages=3)
    assert (caught.value.hint or "").startswith("move the file with its name")


# -- its own folders -------------------------------------------------------------------


def workspace_at(folder: Path) -> Path:
    (folder / ".wikisync").mkdir(parents=True)
    (folder / "wikisync.toml").write_text("")
    return folder


def test_folders_side_by_side_are_fine(tmp_path: Path) -> None:
    ws = workspace_at(tmp_path / "ws")
    refuse_overlaps(ws, [ws / "a", ws / "ab", ws / "b/c", tmp_path / "elsewhere"])


@pytest.mark.parametrize(
    ("folders", "words"),
    [
        (["a", "a/b"], "is inside .*a, another wiki's"),
        (["a/b", "a"], "is inside .*a, another wiki's"),
        (["a", "b", "c/d/e", "a/b/c/d"], "a/b/c/d is inside .*a, another wiki's"),
        (["c/d/e", "c/x", "c"], "c/d/e is inside .*c, another wiki's"),
        (["a", "./a"], "is the same folder as"),
        (["a", "b", "a"], "is the same folder as"),
        (["."], "contains the workspace itself"),
        ([".."], "contains the workspace itself"),
        ([".wikisync/x"], "is inside wikisync's private folder"),
    ],
)
def test_folders_that_overlap_are_refused(
    tmp_path: Path, folders: list[str], words: str
) -> None:
    ws = workspace_at(tmp_path / "ws")
    with pytest.raises(FolderError, match=words):
        refuse_overlaps(ws, [ws / folder for folder in folders])


@pytest.mark.parametrize(
    ("target", "other", "words"),
    [
        ("a", "b", "is the same folder as"),
        ("a/inner", "b/c", "b/c is inside .*a, another wiki's"),
    ],
)
def test_folders_that_overlap_by_way_of_a_link_are_refused(
    tmp_path: Path, target: str, other: str, words: str
) -> None:
    ws = workspace_at(tmp_path / "ws")
    (ws / target).mkdir(parents=True)
    (ws / "b").symlink_to(ws / target)
    with pytest.raises(FolderError, match=words):
        refuse_overlaps(ws, [ws / "a", ws / other])


@pytest.mark.parametrize(
    ("other", "words"), [("A", "is the same"), ("A/b", "is inside")]
)
def test_names_that_the_disk_takes_for_one_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str, words: str
) -> None:
    def status_of(place: str) -> SimpleNamespace:
        return SimpleNamespace(st_dev=1, st_ino=hash(place.casefold()))

    ws = workspace_at(tmp_path / "ws")
    with monkeypatch.context() as disk:
        disk.setattr(os, "stat", status_of)
        with pytest.raises(FolderError, match=words):
            refuse_overlaps(ws, [ws / "a", ws / other])


def test_a_thousand_folders_cost_few_scans_at_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each pair was compared: a minute of a processor for a thousand wikis."""
    ws = workspace_at(tmp_path / "ws")
    folders = [ws / f"group{n % 9}" / f"wiki{n}" for n in range(1_000)]
    asked: Counter[str] = Counter()
    names_of = workspace_module._names

    def counted(place: str) -> list[str | tuple[int, int]]:
        asked[place] += 1
        return names_of(place)

    monkeypatch.setattr(workspace_module, "_names", counted)
    refuse_overlaps(ws, folders)

    assert set(asked.values()) == {1}
    assert len(asked) < 1_100


def test_workspace_in_a_workspace_is_refused(tmp_path: Path) -> None:
    outer = workspace_at(tmp_path / "outer")
    inner = workspace_at(outer / "wiki/inner")
    with pytest.raises(FolderError, match="is inside the workspace"):
        refuse_overlaps(inner, [inner / "a"])


def test_wikis_folder_that_is_a_workspace_is_refused(tmp_path: Path) -> None:
    ws = workspace_at(tmp_path / "ws")
    other = workspace_at(tmp_path / "other")
    with pytest.raises(FolderError, match="is another workspace"):
        refuse_overlaps(ws, [other])


def test_folder_that_cannot_be_scanned_into_is_no_other_workspace(
    tmp_path: Path,
) -> None:
    """Its own wiki says what is wrong with it; the others go on."""
    ws = workspace_at(tmp_path / "ws")
    too_long = "n" * 300
    with pytest.raises(OSError, match="too long"):
        (ws / too_long).stat()
    refuse_overlaps(ws, [ws / "a", ws / too_long])


# -- the disk --------------------------------------------------------------------------

MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:26 / /home/ann/My\\040Disk rw shared:2 - nfs4 server:/x rw
31 22 0:27 / /home/ann/My\\040Disk/local rw - ext4 /dev/sdb rw
32 22 0:28 / /mnt rw - ext4 /dev/sdc rw
33 22 0:29 / /mnt rw - fuse.sshfs ann@example.com: rw
damaged line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv", "ext4"),
        ("/home/ann/My Disk", "nfs4"),
        ("/home/ann/My Disk/wiki", "nfs4"),
        ("/home/ann/My Disk/local/wiki", "ext4"),
        ("/home/ann/My Disk2", "ext4"),
        ("/mnt/x", "fuse.sshfs"),
    ],
)
def test_file_system_is_that_of_the_nearest_mount(path: str, kind: str) -> None:
    assert file_system_of(path, MOUNTS) == kind


def test_network_disk_is_refused_unless_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS + f"40 22 0:30 / {tmp_path} rw - cifs //server/x rw\n")
    monkeypatch.setattr(workspace_module, "MOUNTS", mounts)
    with pytest.raises(FolderError, match=r"network file system \(cifs\)"):
        refuse_network_disk(tmp_path / "wiki")
    refuse_network_disk(tmp_path / "wiki", is_allowed=True)


def test_disk_of_this_machine_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_network_disk(tmp_path)
    monkeypatch.setattr(workspace_module, "MOUNTS", tmp_path / "gone")
    refuse_network_disk(tmp_path)


# -- which folder a wiki has -----------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "handbook"
    made.mkdir()
    (made / "home.md").write_text("one\n")
    return made


def test_a_folder_stays_the_same_whatever_is_saved_in_it(folder: Path) -> None:
    before = current_folder(folder)
    (folder / "guide.md").write_text("a guide\n")
    now = current_folder(folder, before)
    assert now != before
    assert now.is_same_folder(before)
    assert FolderIdentity.parse(str(now)) == now


def test_a_folder_in_the_place_of_another_is_another(folder: Path) -> None:
    before = current_folder(folder)
    shutil.copytree(folder, folder.parent / "copy")
    folder.rename(folder.parent / "away")
    (folder.parent / "copy").rename(folder)
    assert not current_folder(folder, before).is_same_folder(before)


def test_a_folder_removed_and_copied_back_is_another(folder: Path) -> None:
    """Most disks give it the same inode; so its birth is asked for."""
    before = current_folder(folder)
    shutil.copytree(folder, folder.parent / "copy")
    shutil.rmtree(folder)
    shutil.copytree(folder.parent / "copy", folder)
    assert not current_folder(folder, before).is_same_folder(before)


def test_where_nothing_changed_no_birth_is_asked_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That takes a library, and most syncs find nothing to do."""
    before = current_folder(folder)
    monkeypatch.delattr(workspace_module, "identity_of")
    assert current_folder(folder, before) is before


def test_another_disk_is_another_place(folder: Path) -> None:
    before = current_folder(folder)
    other = FolderIdentity(
        before.disk + 1, before.inode, before.changed_ns, before.birth
    )
    assert not current_folder(folder, other).is_same_folder(other)


def test_a_disk_that_knows_no_births_is_known_by_its_inodes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace_module, "identity_of", lambda _descriptor: "")
    before = current_folder(folder)
    (folder.parent / "other").mkdir()
    assert current_folder(folder).is_same_folder(before)
    assert not current_folder(folder.parent / "other").is_same_folder(before)
