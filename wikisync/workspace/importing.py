"""Wikis of other programs as a folder of pages that is ready to be synced.

Whatever has no counterpart is named, with file and line.  Nothing of the source is
changed, and the folder is a new one.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from wikisync.api.git_fetch import Fetching, FetchStopped, fetch, write_files
from wikisync.errors import FolderError, Unavailable, UsageError
from wikisync.folder.safe_open import make_folder
from wikisync.workspace.import_dump import import_dump
from wikisync.workspace.import_notes import import_notes
from wikisync.workspace.imported import Imported

KINDS = ("obsidian", "github", "mediawiki")


def import_wiki(kind: str, source: str, folder: Path, files: Path | None) -> Imported:
    """Make the folder, which must be empty, from a source of one of ``KINDS``."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FolderError(f"{folder} is not empty", hint="name a new folder")
    is_address = "://" in source and kind == "github"
    if not is_address and not Path(source).exists():
        raise UsageError(f"there is no {source}", hint="check the path")
    is_folder = is_address or Path(source).is_dir()
    if is_folder is (kind == "mediawiki"):
        wanted = "an XML dump" if kind == "mediawiki" else "a folder"
        raise UsageError(f"{source} is not {wanted}", hint="see wikisync import --help")
    try:
        make_folder(folder)
    except OSError as error:
        raise FolderError(f"cannot make {folder}: {error.strerror}") from error
    imported = Imported(folder)
    if kind == "mediawiki":
        import_dump(Path(source), files, imported)
    elif is_address:
        with TemporaryDirectory(prefix="wikisync-") as name:
            root = _fetched(source, Path(name))
            import_notes(root, imported, is_github=True, address=source)
    else:
        import_notes(Path(source), imported, is_github=kind == "github")
    imported.lost.sort()
    return imported


def _fetched(address: str, place: Path) -> Path:
    try:
        fetch(address, place / "git", Fetching(None, address))
        write_files(place / "git", place / "files")
    except FetchStopped as error:
        raise Unavailable(
            f"cannot fetch {address}: {error}",
            hint="clone it with git, and import the folder",
        ) from error
    except OSError as error:
        raise FolderError(f"cannot write to {place}: {error.strerror}") from error
    return place / "files"
