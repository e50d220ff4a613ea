"""Files beside the pages that a page may link to."""

from pathlib import Path

import pytest

from wikisync.core.model import AttachmentPath, LinkTarget, LooseFile, Slug, digest_of
from wikisync.errors import NotFound
from wikisync.folder.replica import FolderReplica

HEX = "0123456789abcdef" * 2
HOME, FIRST = Slug("home"), Slug("guide/first")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A wiki's folder with two pictures and much that is none."""
    folder = tmp_path / "wiki"
    for path in (
        *("red.png", "guide/blue one.png", "home.md", "wikisync.toml"),
        *(f"uploads/{HEX}/old.png", "uploads/own.png", "a:b.png", "data.md", "data"),
        *(".git/config", ".git/x.png", ".hidden/x.png", ".hidden/main.js"),
        *("\u00fc.png", "u\u0308/\u00fc.png", "home.md~", "home.conflict.md"),
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(path.encode())
    (tmp_path / "secret.png").write_bytes(b"secret")
    return folder


async def found(
    root: Path, slug: Slug, target: str, *, is_wikilink: bool = False
) -> str | None:
    files = FolderReplica(root)
    path = files.linked_path(slug, LinkTarget(target, is_wikilink))
    file = (await files.files_at([path])).get(path) if path else None
    return None if file is None else str(file.path)


async def test_listed_are_loose_files_alone(root: Path) -> None:
    assert await FolderReplica(root).loose_files() == {
        *("red.png", "guide/blue one.png", "uploads/own.png", "data", "a:b.png"),
        *("\u00fc.png", "\u00fc/\u00fc.png"),
    }


async def test_only_below_uploads_such_a_folder_is_the_services(root: Path) -> None:
    (root / f"pics/{HEX}").mkdir(parents=True)
    (root / f"pics/{HEX}/mine.png").write_bytes(b"mine")
    assert f"pics/{HEX}/mine.png" in await FolderReplica(root).loose_files()
    assert await found(root, HOME, f"pics/{HEX}/mine.png")


@pytest.mark.parametrize(
    ("slug", "target", "path"),
    [
        (HOME, "red.png", "red.png"),
        (HOME, "./red.png", "red.png"),
        (HOME, "/red.png", "red.png"),
        (HOME, "guide/blue one.png", "guide/blue one.png"),
        (HOME, "uploads/own.png", "uploads/own.png"),
        (FIRST, "blue one.png", "guide/blue one.png"),
        (FIRST, "../red.png", "red.png"),
        (FIRST, "/red.png", "red.png"),
        (FIRST, "red.png", None),
        (HOME, "../secret.png", None),
        (FIRST, "../../secret.png", None),
        (HOME, "home.md", None),
        (HOME, f"uploads/{HEX}/old.png", None),
        (HOME, "data", None),
        (HOME, ".hidden/x.png", ".hidden/x.png"),
        (FIRST, "../.hidden/x.png", ".hidden/x.png"),
        (HOME, ".hidden/main.js", None),
        (HOME, ".git/config", None),
        (HOME, ".git/x.png", None),
        (HOME, "u\u0308.png", "\u00fc.png"),
        (HOME, "\u00fc/u\u0308.png", "u\u0308/\u00fc.png"),
        (HOME, "wikisync.toml", None),
        (HOME, "guide", None),
        (HOME, "https://example.com/red.png", None),
        (HOME, "mailto:red.png", None),
        (HOME, "red.png\0", None),
        (HOME, "", None),
        (HOME, "missing.png", None),
        (HOME, "a:b.png", "a:b.png"),
    ],
)
async def test_a_link_leads_to_a_loose_file_or_to_none(
    root: Path, slug: Slug, target: str, path: str | None
) -> None:
    assert await found(root, slug, target) == path


async def test_a_wikilink_starts_at_the_root(root: Path) -> None:
    assert await found(root, FIRST, "red.png", is_wikilink=True) == "red.png"
    assert await found(root, FIRST, "blue one.png", is_wikilink=True) is None


async def test_a_symbolic_link_is_never_followed(root: Path) -> None:
    (root / "link.png").symlink_to(root.parent / "secret.png")
    (root / "out").symlink_to(root.parent)
    assert await found(root, HOME, "link.png") is None
    assert await found(root, HOME, "out/secret.png") is None


async def one(files: FolderReplica, target: str) -> LooseFile | None:
    """The file that a link on the home page leads to."""
    return (await files.files_at([target])).get(target)


async def test_a_file_is_read_in_full_until_it_is_gone(root: Path) -> None:
    files = FolderReplica(root)
    file = await one(files, "red.png")
    assert file == LooseFile("red.png", digest_of(b"red.png"), 7)
    assert (
        b"".join(
            [chunk async for chunk in files.read_attachment(AttachmentPath(file.path))]
        )
        == b"red.png"
    )
    (root / "red.png").unlink()
    with pytest.raises(NotFound):
        _ = [chunk async for chunk in files.read_attachment(AttachmentPath(file.path))]


@pytest.mark.parametrize("pattern", ["*.png", "/guide/", "blue*"])
async def test_a_file_that_a_person_keeps_out_is_left_alone(
    root: Path, pattern: str
) -> None:
    (root / ".wikisyncignore").write_text(f"{pattern}\n")
    files = FolderReplica(root)
    assert await one(files, "guide/blue one.png") is None
    assert "guide/blue one.png" not in await files.loose_files()


@pytest.mark.parametrize(
    ("target", "is_fetched"),
    [
        (f"uploads/{HEX}/old.png", True),
        (f"../uploads/{HEX}/old.png", True),
        (f"/uploads/{HEX}/old.png", False),
        ("uploads/own.png", False),
        ("../red.png", False),
    ],
)
def test_a_fetched_attachment_is_known_by_its_place(
    root: Path, target: str, *, is_fetched: bool
) -> None:
    """The way from the top is the project's own store, and not the wiki's."""
    place = FolderReplica(root).linked_path(FIRST, LinkTarget(target))
    assert (place == f"uploads/{HEX}/old.png") is is_fetched
