"""Writing in the browser: what a page of the preview may do with the files of a wiki.

Every write says which text it replaces.  Where the file holds another one by then, the
two are merged by the sync's own merge (``merging``), and where they clash nothing is
written: the person gets both.  Files are reached and replaced as the sync does it
(``folder.swap``): through no link, with nothing lost that a program saves meanwhile,
and what goes lies in the trash.

Everything here blocks and belongs to no thread.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Literal

from msgspec import Struct

from wikisync.core import model
from wikisync.core.system.libc import identity_of
from wikisync.errors import FolderError, NotFound, PreconditionFailed, SiteError
from wikisync.folder.naming import decode_page, page_of_conflict, parse_path, path_of
from wikisync.folder.replica import LATE
from wikisync.folder.safe_open import opened_below, read_below
from wikisync.folder.swap import FileWrite, OwnFolders
from wikisync.folder.trash import Trashed
from wikisync.folder.workspace import holder_of
from wikisync.merging.conflict import Clash, MergedText, Piece, read_conflict_file
from wikisync.merging.diff import word_changes
from wikisync.merging.merge import merge
from wikisync.site.preview.states import digest_of_pieces

TEXT_BYTES_MAX = 1024 * 1024
"""Of a page that is written here; a larger one would be shown as its source."""
NAME_BYTES_MAX = 500
"""Of the path that a person gives a page."""
DEPTH_MAX = 20
"""Folders in it."""
REPLACED_MAX = 32
"""Texts that are known for a program that writes late."""
WRITTEN_S = 0.1
"""So long a file that another program saved has to stay as it is."""
TRIES_MAX = 8
"""So often a text is merged anew while another program saves the same file."""

TwoByPath = Mapping[model.PagePath, tuple[str, str]]
KnowAgain = Callable[[Path, TwoByPath, Set[model.PagePath], TwoByPath], None]
"""Notes in the workspace by what files of a wiki's folder were known, and are now;
which of them are about to be renamed; and what texts they had, and have."""

Outcome = Literal["saved", "merged", "clash", "gone"]


class Part(Struct, frozen=True, omit_defaults=True):
    """A settled text, or both texts of a clash."""

    text: str = ""
    mine: str | None = None
    other: str | None = None
    words: tuple[tuple[str, str], ...] = ()
    """Of both: those of both sides (``""``), of the other (``-``) and of mine."""


class Written(Struct, frozen=True):
    """What became of a save."""

    outcome: Outcome
    """``clash`` and ``gone``: nothing was written."""
    text: str
    """What the file holds now."""
    parts: tuple[Part, ...] = ()
    """The page with the places that clash."""


class WikiDesk:
    """The folder of one wiki, for a person who writes in the browser."""

    def __init__(
        self, root: Path, private: Path | None, know_again: KnowAgain | None = None
    ) -> None:
        """``private`` is the workspace's own folder, if it is one."""
        self.root = root
        self._private = private
        self._know_again = know_again
        self._replaced: dict[model.Digest | None, str] = {}
        """Texts that files held before saves here, the oldest first."""

    def know_again(
        self,
        files: Mapping[model.PagePath, str],
        moved: Set[model.PagePath],
        texts: TwoByPath,
    ) -> None:
        """Let the sync know files that were written, or are renamed next.

        Args:
            files: What ``identities`` said before.
            moved: Those that are renamed next.
            texts: Those whose links were changed, before and after.
        """
        if self._know_again is not None:
            now = self.identities(files)
            changed = {
                path: (before, now[path])
                for path, before in files.items()
                if path in now and (path in moved or before != now[path])
            }
            self._know_again(self.root, changed, moved, texts)

    def identities(self, paths: Iterable[model.PagePath]) -> dict[model.PagePath, str]:
        """By what files are known when they are renamed."""
        found: dict[model.PagePath, str] = {}
        for path in paths:
            with suppress(OSError), opened_below(self.root, path) as opened:
                found[path] = identity_of(opened)
        return found

    def read(self, path: str) -> str | None:
        """A page's text as an editor shows it; None where the file is gone.

        Raises:
            SiteError: it is no text.
            FolderError: it cannot be read.
        """
        content = self._content(path)
        return None if content is None else _shown(content, path)

    def save(
        self,
        path: str,
        page_format: model.Format,
        text: str,
        base: str | None,
        *,
        is_dry: bool = False,
    ) -> Written:
        """Write a text that was made from another one.

        Args:
            path: The page's file.
            page_format: Its markup, by which texts are merged.
            text: To be written.
            base: What it was made from; None where there was no file.
            is_dry: Only tell what the file would hold.

        Raises:
            SiteError: the file is no text, or the new one is too large.
            FolderError: it cannot be read or written.
        """
        for _ in range(TRIES_MAX):
            content = self._content(path)
            now = None if content is None else _shown(content, path)
            if now not in (base, text):
                # some programs empty a file, then write it
                sleep(WRITTEN_S)
                if self._content(path) != content:
                    continue
            merged = _merged(base, text, now, page_format)
            if merged is None:
                return Written("gone", "")
            if merged.text is None:
                return Written("clash", now or "", parts_of(merged.pieces))
            new = encoded(merged.text, content or b"", path)
            if new != content and not is_dry:
                expected = None if content is None else model.digest_of(content)
                if now is not None:
                    self._replaced[expected] = now
                    while len(self._replaced) > REPLACED_MAX:
                        del self._replaced[next(iter(self._replaced))]
                try:
                    self._own().write(FileWrite(path, new, expected))
                except PreconditionFailed:
                    continue
            outcome: Outcome = "saved" if merged.text == text else "merged"
            return Written(outcome, merged.text)
        message = f"{path} is saved by another program all the time"
        raise SiteError(message, hint="close the other program, then save again")

    def recover(self) -> list[str]:
        """Bring back what programs wrote into files that saves here had replaced.

        A sync that holds the workspace does so itself.

        Returns:
            The files whose late text clashes with that of the save: it is in the trash.
        """
        clashing: list[str] = []
        if self._private is not None and holder_of(self._private) is not None:
            return clashing
        for late in self._own().limbo.late_saves():
            found, merged = parse_path(late.path), None
            if found is not None:
                base = self._replaced.get(late.before)
                with suppress(SiteError):
                    text = _shown(late.content, late.path)
                    merged = self.save(late.path, found[1], text, base)
            if merged is None or merged.outcome not in {"saved", "merged"}:
                self._own().trash.put_once(late.path or "unknown", late.content, LATE)
                clashing.append(late.path)
            self._own().limbo.acknowledge(late.id)
        return clashing

    def create(self, path: str, content: bytes) -> None:
        """Write a file that is not there yet.

        Raises:
            PreconditionFailed: it is there.
            FolderError: it cannot be written.
        """
        self._own().write(FileWrite(path, content, None))

    def delete(self, path: str, text: str) -> None:
        """Move a page's file into the trash, if it still holds the text that was seen.

        Raises:
            PreconditionFailed: it holds another one, or is gone.
            FolderError: it cannot be removed, or not be kept.
        """
        content = self._content(path)
        if content is None or _shown(content, path) != text:
            raise PreconditionFailed(f"{path} was changed in the meantime")
        digest, why = model.digest_of(content), "deleted by a person"
        self._own().remove(path, expected=digest, why=why)

    def restore(self, path: str) -> str:
        """Bring the page back that was removed last from a path; gives its path.

        Raises:
            NotFound: the trash has none.
            PreconditionFailed: there is a file by now.
            FolderError: it cannot be written.
        """
        if (entry := self._trashed(path)) is None:
            raise NotFound(f"the trash has no text of {path}")
        own = self._own()
        own.write(FileWrite(entry.path, own.trash.read(entry), None))
        return entry.path

    def has_trashed(self, path: str) -> bool:
        """Whether the trash has a page that was at a path."""
        with suppress(FolderError):
            return self._trashed(path) is not None
        return False

    def _trashed(self, path: str) -> Trashed | None:
        found = parse_path(path)
        entries = self._own().trash.entries(slug=found[0]) if found else ()
        return next((one for one in entries if parse_path(one.path)), None)

    def move(self, path: str, target: str) -> None:
        """Give a file another name, which nothing has.

        Raises:
            PreconditionFailed: it is gone, or something has the name.
            FolderError: it cannot be moved.
        """
        content = self._content(path)
        if content is None:
            raise PreconditionFailed(f"{path} is gone")
        with self._own().writer() as writer:
            writer.move(path, target, expected=model.digest_of(content))

    def pieces(self, path: str) -> Sequence[Piece]:
        """What a conflict file holds."""
        return read_conflict_file(self.read(path) or "").pieces

    def settle(self, path: str, text: str, seen: str) -> None:
        """Settle a conflict file that holds clashes of this digest.

        Raises:
            PreconditionFailed: it holds others, or is gone.
            FolderError: it cannot be read or written.
        """
        content = self._content(path) or b""
        if digest_of_pieces(self.pieces(path)) != seen:
            raise PreconditionFailed(f"{path} was changed in the meantime")
        new, expected = encoded(text, content, path), model.digest_of(content)
        self._own().write(FileWrite(path, new, expected))

    def _content(self, path: str) -> bytes | None:
        try:
            return read_below(self.root, path, TEXT_BYTES_MAX)
        except FileNotFoundError:
            return None

    def _own(self) -> OwnFolders:
        return OwnFolders.of(self.root, self._private)


def new_path(
    name: model.Slug, page_format: model.Format, extension: str = ""
) -> model.PagePath | None:
    """The file of a page that a person names; None for what no page can be called."""
    path = path_of(name, page_format) if name else model.PagePath("")
    if extension:
        path = model.PagePath(path.removesuffix(page_format.extensions[0]) + extension)
    is_small = len(path.encode()) <= NAME_BYTES_MAX and path.count("/") <= DEPTH_MAX
    # the service takes no NUL, and its list has attachments below uploads
    is_small &= "\0" not in name and not name.startswith("uploads/")
    is_page = is_small and parse_path(path) == (name, page_format)
    return path if is_page and page_of_conflict(path) is None else None


def _merged(
    base: str | None, mine: str, now: str | None, page_format: model.Format
) -> MergedText | None:
    """A text for a file that holds ``now``; None where the file is gone."""
    if base == now or mine == now:
        return MergedText((mine,))
    if now is None:
        return None
    if base is None:
        return MergedText((Clash("", mine, now),))
    return merge(base, mine, now, page_format=page_format)


def parts_of(pieces: Sequence[Piece]) -> tuple[Part, ...]:
    """Pieces of a page as the browser takes them."""

    def part(piece: Piece) -> Part:
        if isinstance(piece, str):
            return Part(text=piece)
        words = tuple(word_changes(piece.remote, piece.local))
        return Part(mine=piece.local, other=piece.remote, words=words)

    return tuple(map(part, pieces))


def _shown(content: bytes, path: str) -> str:
    """The text of a file with the line ends of an editor.

    Raises:
        SiteError: it is no text.
    """
    text = decode_page(content, path)
    if isinstance(text, model.Problem):
        raise SiteError(f"{path} {text.message}", hint=text.hint)
    text = text.removeprefix(model.BYTE_ORDER_MARK)
    return text.replace("\r\n", "\n") if _is_crlf(text) else text


def encoded(text: str, like: bytes, path: str) -> bytes:
    """A text with the line ends and the byte order mark of the file before it.

    Raises:
        SiteError: it is too large for a page.
    """
    before = like.decode("utf-8")
    if _is_crlf(before):
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    mark = model.BYTE_ORDER_MARK if before.startswith(model.BYTE_ORDER_MARK) else ""
    content = (mark + text).encode("utf-8")
    if b"\0" in content:
        raise SiteError("a page cannot have a NUL character", hint="remove it")
    if len(content) > TEXT_BYTES_MAX:
        message = f"{path} would have more than {TEXT_BYTES_MAX >> 10} KiB"
        raise SiteError(message, hint="divide the page")
    return content


def _is_crlf(text: str) -> bool:
    """Whether every line ends as on Windows, so that nothing is lost by hiding it."""
    return "\r\n" in text and text.count("\r") == text.count("\n") == text.count("\r\n")
