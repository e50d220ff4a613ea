"""The private cache of an export: its folder, marked as ours, held by one process."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from wikisync.core.layout import LOCK_FILE
from wikisync.core.system.private import make_private_file, make_private_folder
from wikisync.errors import FolderError, UsageError
from wikisync.folder.safe_open import folder_error
from wikisync.folder.workspace import locked

CACHE_TAG = "CACHEDIR.TAG"
CACHE_TAG_TEXT = """\
Signature: 8a477f597d28d172789f06886806bc55
# Wikis that `wikisync export` has read; it is safe to delete this folder; the next
# export takes longer.
"""


def check_apart(output: Path, cache: Path) -> None:
    """Refuse a cache in the site or a site in the cache: each tidies its own folder."""
    site, private = Path(os.path.realpath(output)), Path(os.path.realpath(cache))
    if site.is_relative_to(private) or private.is_relative_to(site):
        raise UsageError(
            f"the output {output} and the cache {cache} overlap",
            hint="give --cache a separate folder; nothing was changed",
        )


def default_cache(url: str, output: Path, environment: Mapping[str, str]) -> Path:
    """The cache folder of this service and this output folder."""
    ours = _users_cache(environment)
    if ours is None:
        raise UsageError(
            "there is no home folder for the cache",
            hint="name a folder with --cache, or set HOME",
        )
    key = f"{url}\n{output.absolute()}".encode("utf-8", "surrogateescape")
    return ours / "export" / hashlib.sha256(key).hexdigest()[:24]


def _users_cache(environment: Mapping[str, str]) -> Path | None:
    configured = environment.get("XDG_CACHE_HOME", "")
    # the specification wants relative values ignored
    if configured.startswith("/"):
        return Path(configured) / "wikisync"
    try:
        return Path.home() / ".cache" / "wikisync"
    except RuntimeError:
        return None


@contextmanager
def held_cache(cache: Path) -> Iterator[None]:
    """Hold the cache folder, marked as ours; FolderError where it is not ours."""
    _refuse_foreign(cache, {LOCK_FILE})
    _make(cache)
    with locked(cache, f"the cache {cache}"):
        tag = cache / CACHE_TAG
        if not tag.exists():
            _write_tag(tag)
        yield


def _make(folder: Path) -> None:
    try:
        make_private_folder(folder)
    except OSError as exc:
        error = folder_error("write to", str(exc.filename or folder), exc)
        step = "name another folder for the cache with --cache"
        error.hint = f"{error.hint}; or {step}" if error.hint else step
        raise error from exc


def _write_tag(tag: Path) -> None:
    try:
        make_private_file(tag)
        tag.write_text(CACHE_TAG_TEXT, encoding="utf-8")
    except OSError as exc:
        # a tag that was cut off would still make the folder ours
        tag.unlink(missing_ok=True)
        raise FolderError(
            f"cannot write to the cache {tag.parent}: {exc.strerror}",
            hint="free some space, or choose another folder with --cache",
        ) from exc


def _refuse_foreign(cache: Path, ours: set[str]) -> None:
    try:
        names = {path.name for path in cache.iterdir()} if cache.exists() else set()
    except OSError as exc:
        raise FolderError(
            f"the cache {cache} cannot be read: {exc.strerror}",
            hint="choose another folder with --cache",
        ) from exc
    if CACHE_TAG not in names and names - ours:
        raise FolderError(
            f"the cache {cache} holds files that are not from an export",
            hint="choose an empty folder with --cache; nothing was changed",
        )
