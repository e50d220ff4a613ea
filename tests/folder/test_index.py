"""What is known of a folder's files, also from the process before, and until when."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from wikisync.core.model import AttachmentPath, LooseFile, Problem, Slug, digest_of
from wikisync.core.system import file_status
from wikisync.errors import FolderError
from wikisync.folder import index as index_module
from wikisync.folder import naming
from wikisync.folder.index import FolderIndex
from wikisync.folder.naming import decode_page
from wikisync.folder.pages import READ_ALL_S, PageFolder
from wikisync.folder.scan import scan_pages
from wikisync.folder.swap import OwnFolders


class Desk:
    """A folder whose files are settled at once, seen by one process after another."""

    def __init__(self, place: Path) -> None:
        self.root = place / "wiki"
        self.root.mkdir()
        self.file = place / ".wikisync" / "scans" / "wiki"
        self.now = time.time()

    def process(self) -> PageFolder:
        index = FolderIndex(self.root, self.file)
        return PageFolder(OwnFolders.of(self.root), index, lambda: self.now)

    def scan(self) -> dict[str, str]:
        """Digests of all pages, as the next process sees them."""
        pages = self.process().snapshot().pages
        return {slug: state.digest for slug, state in pages.items()}

    def save(self, text: str) -> None:
        (self.root / "home.md").write_text(text)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr(file_status, "SETTLED_NS", -1_000_000_000_000)
    return Desk(tmp_path)


@pytest.fixture
def scanned(desk: Desk) -> Desk:
    """One with a page, which a process has scanned."""
    desk.save("one\n")
    desk.scan()
    return desk


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths of the page files that are read from now on."""
    found: list[str] = []

    def noted(content: bytes, path: str) -> str | Problem:
        found.append(path)
        return decode_page(content, path)

    monkeypatch.setattr(naming, "decode_page", noted)
    return found


def test_the_next_process_reads_no_file_that_stayed_as_it_was(
    desk: Desk, reads: list[str]
) -> None:
    desk.save("one\r\n")
    first = desk.process().snapshot()
    reads.clear()

    again = desk.process().snapshot()

    assert reads == []
    assert again == first
    before, after = first.pages[Slug("home")], again.pages[Slug("home")]
    assert (after.folded, after.identity, after.size) == (
        before.folded,
        before.identity,
        before.size,
    )
    assert after.folded == digest_of("one\n")


def test_a_file_of_the_same_size_and_time_is_read_when_it_was_saved_since(
    scanned: Desk,
) -> None:
    times = (scanned.root / "home.md").stat()
    scanned.save("two\n")
    os.utime(scanned.root / "home.md", ns=(times.st_atime_ns, times.st_mtime_ns))

    assert scanned.scan() == {"home": digest_of("two\n")}


def test_a_file_that_is_gone_is_no_page(scanned: Desk) -> None:
    (scanned.root / "home.md").unlink()

    assert scanned.scan() == {}


def test_a_file_that_was_just_saved_is_not_kept(
    desk: Desk, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its times may not tell the next save."""
    monkeypatch.setattr(file_status, "SETTLED_NS", 3_600_000_000_000)
    desk.save("one\n")
    desk.scan()
    reads.clear()

    desk.scan()

    assert reads == ["home.md"]


def test_all_files_are_read_when_none_was_for_so_long(
    scanned: Desk, reads: list[str]
) -> None:
    scanned.now += READ_ALL_S - 1
    scanned.scan()
    assert reads == []
    scanned.now += 1
    scanned.scan()
    assert reads == ["home.md"]
    scanned.scan()
    assert reads == ["home.md"]


def set_clock_back(desk: Desk, _monkeypatch: pytest.MonkeyPatch) -> None:
    desk.now -= 1


def start_anew(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loss of power can leave a file's times with another text."""
    boot = desk.root.parent / "boot"
    boot.write_text("another start\n")
    monkeypatch.setattr(index_module, "_BOOT", boot)


def change_version(_desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may take files for other pages."""
    monkeypatch.setattr(index_module, "__version__", "9.9.9")


@pytest.mark.parametrize("change", [set_clock_back, start_anew, change_version])
def test_all_files_are_read_where_a_kept_scan_proves_nothing(
    scanned: Desk,
    reads: list[str],
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Desk, pytest.MonkeyPatch], None],
) -> None:
    change(scanned, monkeypatch)

    scanned.scan()

    assert reads == ["home.md"]


def test_nothing_is_believed_of_another_folder(scanned: Desk, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()

    assert FolderIndex(scanned.root, scanned.file).files
    assert not FolderIndex(other, scanned.file).files


def test_a_kept_scan_with_one_damaged_byte_is_not_believed(scanned: Desk) -> None:
    whole = scanned.file.read_bytes()

    def is_believed_with_damage(place: int) -> bool:
        damaged = bytes([whole[place] ^ 0x80])
        scanned.file.write_bytes(whole[:place] + damaged + whole[place + 1 :])
        return bool(FolderIndex(scanned.root, scanned.file).files)

    assert not any(map(is_believed_with_damage, range(len(whole))))


@pytest.mark.parametrize(
    "content", [b"", b"no look at all", b"\x96\x01", b"\x96\x02\xa0\x00\x00\x00\x90"]
)
def test_a_file_that_is_no_kept_scan_is_made_anew(
    scanned: Desk, reads: list[str], content: bytes
) -> None:
    scanned.file.write_bytes(content)

    assert scanned.scan() == {"home": digest_of("one\n")}

    reads.clear()
    scanned.scan()
    assert reads == []


def test_a_place_that_cannot_be_written_costs_only_time(desk: Desk) -> None:
    desk.file.parent.parent.mkdir()
    desk.file.parent.write_text("in the way")
    desk.save("one\n")

    assert desk.scan() == {"home": digest_of("one\n")}


def test_a_scan_that_found_all_as_it_was_writes_nothing(scanned: Desk) -> None:
    kept = scanned.file.stat()
    scanned.scan()
    assert scanned.file.stat().st_ino == kept.st_ino
    assert scanned.file.stat().st_mtime_ns == kept.st_mtime_ns
    assert [file.name for file in scanned.file.parent.iterdir()] == ["wiki"]


PICTURE = AttachmentPath(f"uploads/{'0' * 32}/red.png")


class Pictures:
    """A folder with a picture, and what an index says of it after a list."""

    def __init__(self, place: Path) -> None:
        self.root = place
        self.index = FolderIndex(place)
        self.put(b"red")

    def put(self, content: bytes) -> None:
        """Save the picture as most programs do."""
        (self.root / PICTURE).parent.mkdir(parents=True, exist_ok=True)
        (self.root / "made").write_bytes(content)
        (self.root / "made").replace(self.root / PICTURE)

    def there(self) -> LooseFile | None:
        listed = scan_pages(self.root).attachments
        return self.index.there([PICTURE], listed).get(PICTURE)

    def forge(self) -> None:
        """Have the index say something else of the picture."""
        known = self.index.files[PICTURE]
        self.index.note(PICTURE, replace(known, digest=digest_of(b"forged")))


@pytest.fixture
def pictures(tmp_path: Path) -> Pictures:
    return Pictures(tmp_path)


def test_file_is_there_with_what_it_holds(pictures: Pictures) -> None:
    assert pictures.there() == LooseFile(PICTURE, digest_of(b"red"), 3)
    (pictures.root / PICTURE).unlink()
    assert pictures.there() is None


def test_file_that_changed_just_now_is_read_again(pictures: Pictures) -> None:
    """It may change once more and show the same times."""
    before = pictures.there()
    pictures.forge()
    assert pictures.there() == before


def test_file_with_the_same_status_is_not_read_again(
    pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_status, "SETTLED_NS", -1)
    pictures.there()
    pictures.forge()
    assert pictures.there() == LooseFile(PICTURE, digest_of(b"forged"), 3)
    pictures.put(b"blu")
    assert pictures.there() == LooseFile(PICTURE, digest_of(b"blu"), 3)


@pytest.mark.parametrize("is_listed", [False, True])
def test_links_and_folders_are_no_files(pictures: Pictures, *, is_listed: bool) -> None:
    """Also where one took the place of a listed file: between a list and a look
    anything may happen."""
    listed = scan_pages(pictures.root).attachments if is_listed else {}
    secret = pictures.root.parent / f"{pictures.root.name}-secret"
    secret.write_bytes(b"secret")
    (pictures.root / PICTURE).unlink()
    (pictures.root / PICTURE).symlink_to(secret)
    (pictures.root / "link.png").symlink_to(secret)
    (pictures.root / "folder.png").mkdir()
    paths: list[str] = [PICTURE, "link.png", "folder.png"]
    assert not pictures.index.there(paths, {str(p): s for p, s in listed.items()})


# -- walks -----------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "wiki"
    (root / "dir" / "deep").mkdir(parents=True)
    for name in ("home.md", "dir/a.md", "dir/deep/b.md"):
        (root / name).write_text("text\n")
    return root


def overwrite_keeping_times(folder: Path) -> None:
    path = folder / "dir/a.md"
    status = path.stat()
    path.write_text("twxt\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def save_anew(folder: Path) -> None:
    (folder / "new").write_text("text\n")
    (folder / "new").replace(folder / "home.md")


def save_both(folder: Path) -> None:
    save_anew(folder)
    overwrite_keeping_times(folder)


def save_and_remove(folder: Path) -> None:
    save_anew(folder)
    (folder / "dir/a.md").unlink()


def walked(folder: Path) -> FolderIndex:
    index = FolderIndex(folder)
    index.saved_since()
    return index


BOTH = {"home.md", "dir/a.md"}
SAVES: list[tuple[Callable[[Path], object], set[str]]] = [
    (lambda folder: (folder / "dir/deep/b.md").write_text("two\n"), {"dir/deep/b.md"}),
    (overwrite_keeping_times, {"dir/a.md"}),
    (save_anew, {"home.md"}),
    (save_both, BOTH),
]
CHANGES: list[Callable[[Path], object]] = [
    lambda folder: (folder / "c.md").touch(),
    lambda folder: (folder / "home.md").unlink(),
    lambda folder: (folder / "home.md").rename(folder / "dir/home.md"),
    lambda folder: (folder / ".wikisyncignore").write_text("dir/\n"),
    lambda folder: (folder / "dir/.a.md.swp").touch(),
    lambda folder: (folder / "dir/.#a.md").symlink_to("user@host.1"),
    lambda folder: (folder / "c").symlink_to("home.md"),
    save_and_remove,
]


@pytest.mark.parametrize(("change", "saved"), SAVES)
def test_files_that_were_saved_are_named(
    folder: Path, change: Callable[[Path], object], saved: set[str]
) -> None:
    index = walked(folder)
    change(folder)
    assert index.saved_since() == frozenset(saved)


@pytest.mark.parametrize("change", CHANGES)
def test_every_other_change_is_one_of_the_whole_folder(
    folder: Path, change: Callable[[Path], object]
) -> None:
    index = walked(folder)
    change(folder)
    assert index.saved_since() is None


def test_nothing_is_known_without_a_walk_before(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert FolderIndex(folder).saved_since() is None
    assert FolderIndex(tmp_path / "empty").saved_since() is None


def test_reading_is_no_change(folder: Path) -> None:
    (folder / ".home.md.swp").touch()
    index = walked(folder)
    (folder / "home.md").read_text()
    (folder / ".home.md.swp").write_text("what an editor notes while it is typed\n")
    (folder / ".hidden").touch()
    (folder / ".git").mkdir()
    (folder / ".git" / "x").touch()
    assert index.saved_since() == frozenset()


def test_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (folder / "out").symlink_to(tmp_path)
    index = walked(folder)
    (tmp_path / "elsewhere").touch()
    assert index.saved_since() == frozenset()


def test_folder_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match=r"cannot list .*: it does not exist"):
        FolderIndex(tmp_path / "none").saved_since()
