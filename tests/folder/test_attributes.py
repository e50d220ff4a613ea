"""Whose a file is after it was written, on real disks and as other users."""

import os
import stat
import struct
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from tests.folder.rooms import page_folder
from wikisync.core.model import AttachmentPath, Format, Page, Slug, digest_of
from wikisync.folder.limbo import Limbo
from wikisync.folder.replica import FolderReplica
from wikisync.folder.safe_open import make_folder
from wikisync.folder.swap import FileWrite, FolderWriter, write_atomically

ANN, BOB, TEAM = 4241, 4242, 4300
ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
NOBODY = 0xFFFFFFFF

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


def access_list(*entries: tuple[int, int, int]) -> bytes:
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *one) for one in entries)


def named_user(rights: int) -> bytes:
    """An access list with an entry for one user."""
    return access_list(
        *((0x01, 7, NOBODY), (0x02, rights, ANN), (0x04, 5, NOBODY)),
        *((0x10, 7, NOBODY), (0x20, 4, NOBODY)),
    )


BASE_ALONE = access_list((0x01, 7, NOBODY), (0x04, 5, NOBODY), (0x20, 0, NOBODY))


def set_or_skip(path: Path, name: str, value: bytes) -> None:
    if not hasattr(os, "setxattr"):
        pytest.skip("this system has other attributes")
    try:
        os.setxattr(path, name, value)
    except OSError as exc:
        pytest.skip(f"this disk has no {name}: {exc.strerror}")


def attributes(path: Path) -> object:
    """All that a file has besides its text."""
    status = path.stat()
    names = os.listxattr(path) if hasattr(os, "listxattr") else []
    extended = {name: os.getxattr(path, name) for name in sorted(names)}
    return stat.filemode(status.st_mode), status.st_uid, status.st_gid, extended


@pytest.fixture
def root() -> Iterator[Path]:
    """A wiki's folder in a workspace that every user may enter."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        workspace.chmod(0o777)
        (workspace / ".wikisync").mkdir()
        (workspace / ".wikisync").chmod(0o777)
        (workspace / "wiki").mkdir()
        (workspace / "wiki").chmod(0o777)
        yield workspace / "wiki"


def replace(root: Path, name: str) -> None:
    """Replace a file as a pull does."""
    expected = digest_of((root / name).read_bytes())
    with FolderWriter(root, limbo=Limbo(root.parent / ".wikisync/limbo")) as writer:
        (error,) = writer.write_many([FileWrite(name, b"from the wiki", expected)])
    if error is not None:
        raise error


def error_as(uid: int, group: int, act: Callable[[], None]) -> str:
    """What an act of another user raises, in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        said = ""
        try:
            os.setgroups([])
            os.setgid(group)
            os.setuid(uid)
            act()
        except BaseException as exc:  # noqa: BLE001 - the parent judges it
            said = f"{exc} {getattr(exc, 'hint', '')}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        return pipe.read()


# -- a file that is replaced -----------------------------------------------------------


@as_root
def test_replaced_file_keeps_owner_group_and_mode(root: Path) -> None:
    """A watch as root would make a person's own page unreadable to them."""
    (root / "home.md").write_bytes(b"one")
    (root / "home.md").chmod(0o600)
    os.chown(root / "home.md", ANN, TEAM)
    before = attributes(root / "home.md")
    replace(root, "home.md")
    assert (root / "home.md").read_bytes() == b"from the wiki"
    assert attributes(root / "home.md") == before


def test_replaced_file_keeps_tags_and_access_list(root: Path) -> None:
    (root / "home.md").write_bytes(b"one")
    set_or_skip(root / "home.md", "user.tags", b"important")
    set_or_skip(root / "home.md", ACCESS, named_user(6))
    before = attributes(root / "home.md")
    replace(root, "home.md")
    assert attributes(root / "home.md") == before


def test_replaced_file_gets_no_access_list_that_it_had_not(root: Path) -> None:
    """Our own files may have one, from the folder above the wiki's."""
    (root / "home.md").write_bytes(b"one")
    (root / "home.md").chmod(0o640)
    before = attributes(root / "home.md")
    limbo = root.parent / ".wikisync/limbo"
    limbo.mkdir()
    set_or_skip(limbo, DEFAULT, named_user(7))
    replace(root, "home.md")
    assert attributes(root / "home.md") == before


@as_root
@pytest.mark.parametrize("mode", [0o644, 0o600])
def test_file_is_not_written_where_its_owner_would_lose_access(
    root: Path, mode: int
) -> None:
    (root / "home.md").write_bytes(b"one")
    os.chown(root / "home.md", ANN, BOB)
    (root / "home.md").chmod(mode | 0o040)
    said = error_as(BOB, BOB, lambda: replace(root, "home.md"))
    assert f"cannot write home.md: it belongs to {ANN}" in said
    assert f"run wikisync as {ANN}" in said
    assert (root / "home.md").read_bytes() == b"one"


@as_root
def test_file_beside_another_users_page_names_the_page_to_change(root: Path) -> None:
    """A conflict file takes over what the page has, and is not there yet."""
    (root / "home.md").write_bytes(b"one")
    os.chown(root / "home.md", ANN, ANN)
    write = FileWrite("home.conflict.md", b"both", None, like="home.md")

    def act() -> None:
        with FolderWriter(root) as writer:
            (error,) = writer.write_many([write])
        raise error or AssertionError

    said = error_as(BOB, BOB, act)
    assert f"cannot write home.md: it belongs to {ANN}" in said
    assert said.endswith("chmod g+rw home.md")
    assert [one.name for one in root.iterdir()] == ["home.md"]


@as_root
def test_file_is_not_written_where_its_group_would_lose_access(root: Path) -> None:
    (root / "home.md").write_bytes(b"one")
    (root / "home.md").chmod(0o660)
    os.chown(root / "home.md", BOB, TEAM)
    said = error_as(BOB, BOB, lambda: replace(root, "home.md"))
    assert f"cannot write home.md: its group {TEAM} would lose access" in said
    assert (root / "home.md").read_bytes() == b"one"


@as_root
def test_file_of_another_user_is_replaced_where_a_group_shares_it(root: Path) -> None:
    (root / "home.md").write_bytes(b"one")
    (root / "home.md").chmod(0o664)
    os.chown(root / "home.md", ANN, TEAM)
    assert error_as(BOB, TEAM, lambda: replace(root, "home.md")) == ""
    assert (root / "home.md").read_bytes() == b"from the wiki"
    assert attributes(root / "home.md") == ("-rw-rw-r--", BOB, TEAM, {})


# -- a file that is new ----------------------------------------------------------------


@pytest.mark.parametrize("default", [named_user(6), named_user(7), BASE_ALONE])
def test_new_file_is_as_any_program_makes_it_there(root: Path, default: bytes) -> None:
    team = root / "team"
    team.mkdir()
    set_or_skip(team, DEFAULT, default)
    team.chmod(0o2775)
    (team / "reference.md").touch()
    write_atomically(root, "team/new.md", b"new")
    assert attributes(team / "new.md") == attributes(team / "reference.md")
    (team / "folder").mkdir()
    write_atomically(root, "team/below/new.md", b"new")
    assert attributes(team / "below") == attributes(team / "folder")


@as_root
def test_new_file_gets_the_group_of_a_folder_that_says_so(root: Path) -> None:
    (root / "team").mkdir()
    os.chown(root / "team", 0, TEAM)
    (root / "team").chmod(0o2775)
    write_atomically(root, "team/below/new.md", b"new")
    for made in (root / "team/below", root / "team/below/new.md"):
        assert (made.stat().st_uid, made.stat().st_gid) == (0, TEAM)


@as_root
def test_new_files_of_root_belong_to_whom_their_folder_belongs(root: Path) -> None:
    os.chown(root, ANN, TEAM)
    write_atomically(root, "a/b/new.md", b"new")
    with FolderWriter(root) as writer, writer.open_stream("uploads/p.png") as stream:
        stream.write(b"png")
        stream.finish()
    for name in ("a", "a/b", "a/b/new.md", "uploads", "uploads/p.png"):
        status = (root / name).stat()
        assert (status.st_uid, status.st_gid) == (ANN, TEAM), name


# -- a file that stands for another one ------------------------------------------------


def test_page_in_another_format_keeps_what_its_file_had(root: Path) -> None:
    (root / "home.md").write_bytes(b"one")
    (root / "home.md").chmod(0o600)
    pages = page_folder(root)
    page = Page(Slug("home"), Format.ORG, "* one\n")
    pages.write_many([(page, digest_of(b"one"))])
    assert [one.name for one in root.iterdir()] == ["home.org"]
    assert stat.S_IMODE((root / "home.org").stat().st_mode) == 0o600


async def test_attachment_that_is_replaced_keeps_what_its_file_had(root: Path) -> None:
    (root / "img").mkdir()
    (root / "img/p.png").write_bytes(b"old")
    (root / "img/p.png").chmod(0o640)

    async def chunks() -> AsyncIterator[bytes]:
        yield b"new"

    folder = FolderReplica(root)
    path = AttachmentPath("img/p.png")
    await folder.write_attachment(path, chunks(), replaces=digest_of(b"old"))
    assert (root / "img/p.png").read_bytes() == b"new"
    assert stat.S_IMODE((root / "img/p.png").stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("text", "is_back"),
    [("a first line\n", True), ("a first line\nand new ones\n", True), ("x\n", False)],
)
async def test_earlier_text_of_a_removed_page_is_for_whom_the_page_was(
    root: Path, text: str, *, is_back: bool
) -> None:
    last = "a first line\n" + "".join(f"line {number}\n" for number in range(9))
    (root / "home.md").write_text(last)
    (root / "home.md").chmod(0o600)
    folder = FolderReplica(root)
    await folder.delete(Slug("home"), expected=digest_of(last))
    await folder.write(Page(Slug("home"), Format.MARKDOWN, text), expected=None)
    mode = stat.S_IMODE((root / "home.md").stat().st_mode)
    assert (mode == 0o600) is is_back


async def test_conflict_file_is_for_whom_its_page_is(root: Path) -> None:
    (root / "home.md").write_bytes(b"secret")
    (root / "home.md").chmod(0o600)
    folder = FolderReplica(root)
    await folder.write_conflict(Slug("home"), Format.MARKDOWN, "both secrets")
    made = root / "home.conflict.md"
    assert stat.S_IMODE(made.stat().st_mode) == 0o600


@as_root
def test_folder_of_a_wiki_belongs_to_whom_the_workspace_belongs(root: Path) -> None:
    os.chown(root, ANN, TEAM)
    make_folder(root / "docs/handbook")
    for made in (root / "docs", root / "docs/handbook"):
        assert (made.stat().st_uid, made.stat().st_gid) == (ANN, TEAM)
