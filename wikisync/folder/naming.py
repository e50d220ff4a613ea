"""Slug <-> path: only this file knows how a page's slug becomes a file name.

Pure.  ``path_of`` gives a name for *every* string that a service can send as a
slug, and ``parse_path`` reads it back without any record.  The rules:

- A slug's components become folders, the last one a file with its format's
  extension.  What no common file system takes, what another rule below needs,
  and what scans ignore is written as ``%`` and two hexadecimal digits per byte.
- Names are in Unicode's form C: a character that form C would change is coded,
  so twins in the forms C and D never meet, also where the disk normalises.
- A component too long for a disk goes on in a folder below: its parts end in
  ``%+``.  An empty component is ``%-``.  ``%`` itself is always coded, so neither
  can come from a slug.
- Where a disk folds case, the later twin gets ``~`` and digits of the SHA-256 of
  its name.  The mark counts only when the digits are right, and a slug that ends
  in its own right digits has its ``~`` coded.
- A disk that hands names back in form D changes nothing: paths are read in form C.
- A name that people made themselves and that the rules would have written in
  another way (``100% sure.md``) stands for itself.

Nothing returned here leaves the folder: no component is empty, ``.`` or ``..``,
starts with a dot, holds a separator or NUL, or has more than 255 bytes.
"""

import itertools
import re
import unicodedata
from functools import lru_cache

from wikisync.core import model
from wikisync.errors import FolderError
from wikisync.folder import ignore
from wikisync.folder.coding import decode_slug, encode_slug

__all__ = [
    "PATH_BYTES_MAX",
    "attachment_path",
    "check_attachment",
    "parse_path",
    "path_of",
]

NAME_BYTES_MAX = 255
"""Longest name that common file systems take."""

PATH_BYTES_MAX = 3072
"""Longest path in a folder that is written; a disk takes 4096 with its root."""

PATHS_KNOWN_MAX = 1 << 16
"""Paths whose page is remembered: a watch reads the same names all day."""

_PLAIN = re.compile(
    rf"(?!{ignore.UPLOADS}/|(?:[^/]*/)*(?i:{ignore.ATTENTION})\.md)[A-Za-z0-9_-]+(?:/[A-Za-z0-9_-]+)*\.md"
)
"""What most pages are called: nothing of it is coded, marked or ignored."""
_PLAIN_ATTACHMENT = re.compile(
    rf"{ignore.UPLOADS}/[0-9a-f]{{32}}/[A-Za-z0-9_-][A-Za-z0-9_.-]{{0,100}}"
)
"""What most attachments are called: short and safe on every disk."""
_FETCHED = re.compile(rf"{ignore.UPLOADS}/[0-9a-fA-F]{{32}}(?:/|\Z)")
_HIDDEN_FOLDER = re.compile(r"(?ai)\.(?!(?:git|wikisync)\Z)[a-z0-9][\w-]*")
_SHOWN = re.compile(
    r"""(?xi) .*\. (?: png|jpe?g|gif|bmp|tiff?|ico|webp|avif|svg|heic
      | mp4|m4v|mov|webm|ogv|mp3|m4a|oga|ogg|opus|spx|wav|flac
      | pdf|epub|docx?|xlsx?|pptx?|od[tsp]|rtf|csv|tsv|drawio|vsdx?|zip|7z|gz )"""
)
"""What is shown of a hidden folder: pictures and documents, which configure nothing."""
_NO_NAMES = frozenset({"", ".", ".."})
"""What stands for a folder in a path without being the name of one."""
_NOT_A_NAME = "[\x00\ud800-\udfff]"
_UNSAFE_ATTACHMENT = "[\x00-\x1f\x7f-\x9f\\\\\u2028\u2029\ud800-\udfff]"


def path_of(slug: model.Slug, page_format: model.Format) -> model.PagePath:
    """The one path that wikisync itself gives a page, clashes aside."""
    extension = model.EXTENSIONS[page_format][0]
    return model.PagePath("/".join(encode_slug(slug, page_format)) + extension)


def page_of_conflict(path: str) -> str | None:
    """The path of the page that a conflict file is of; None where it is none."""
    split = model.split_extension(path)
    if split is None or not split[0].endswith(ignore.CONFLICT_MARK):
        return None
    return split[0].removesuffix(ignore.CONFLICT_MARK) + path[len(split[0]) :]


@lru_cache(PATHS_KNOWN_MAX)
def parse_path(path: str) -> tuple[model.Slug, model.Format] | None:
    """The page that a path in the wiki's folder stands for.

    None where it is not a page's: no known extension, ignored, below ``uploads``, not
    text, or not a plain relative path.
    """
    if _PLAIN.fullmatch(path):
        return model.Slug(path.removesuffix(".md")), model.Format.MARKDOWN
    *folders, name = unicodedata.normalize("NFC", path).split("/")
    split = model.split_extension(name)
    if split is None or ignore.is_ignored_file(name) or re.search(_NOT_A_NAME, path):
        return None
    for folder in folders:
        if not folder or ignore.is_ignored_folder(folder):
            return None
    if folders and folders[0] == ignore.UPLOADS:
        return None

    stem, page_format = split
    return model.Slug(decode_slug([*folders, stem], page_format)), page_format


def is_fetched(path: str) -> bool:
    """Whether a path is, or is in, an attachment's folder, which the service named."""
    return _FETCHED.match(path) is not None


def attachment_path(raw: str) -> model.AttachmentPath | None:
    """The path of an attachment, if it is one and safe on every disk.

    Args:
        raw: path inside the wiki with nothing encoded: ``uploads/<hash>/<name>``, or
            that of any other file that pages may link to.

    Returns:
        None for a page, anything that is ours or ignored, hidden, empty or ``..``
        parts, control characters, backslashes, or longer than a disk takes.
    """
    if _PLAIN_ATTACHMENT.fullmatch(raw):
        return model.AttachmentPath(raw)
    *folders, name = raw.split("/")
    if re.search(_UNSAFE_ATTACHMENT, raw) or not name:
        return None
    if not _NO_NAMES.isdisjoint(folders):
        return None
    if name.startswith(".") or (is_hidden(raw) and not may_show_hidden(raw)):
        return None
    top = raw.split("/", 1)[0]
    if (top != ignore.UPLOADS and not _is_beside_pages(raw)) or raw == ignore.UPLOADS:
        return None
    if any(len(part.encode()) > NAME_BYTES_MAX for part in (*folders, name)):
        return None
    return model.AttachmentPath(raw) if len(raw.encode()) <= PATH_BYTES_MAX else None


def check_attachment(path: model.AttachmentPath) -> None:
    """Refuse a path that no attachment may have: not safe, or hidden."""
    if is_hidden(path) and not may_show_hidden(path):
        raise FolderError(
            f"{path} is in a hidden folder, of which only pictures and documents are"
            " synced"
        )
    if attachment_path(path) is None:
        raise FolderError(f"not a safe path of an attachment: {path!r}")


def _is_beside_pages(path: str) -> bool:
    """Whether a file outside ``uploads`` is none of our own, and no page."""
    name = path.rpartition("/")[2]
    is_ours = path == ignore.CONFIG_FILE or ignore.is_ignored_file(name)
    is_uploads = path.split("/", 1)[0].casefold() == ignore.UPLOADS
    return not (is_ours or is_uploads or model.split_extension(name))


def is_hidden(path: str) -> bool:
    """Whether a file is in a hidden folder."""
    folders = path.split("/")[:-1]
    return any(
        ignore.is_ignored_folder(one) and one not in _NO_NAMES for one in folders
    )


def is_unlisted(path: str) -> bool:
    """Whether a file is in a folder that no scan lists, hidden or of a program."""
    folders = ("", *path.split("/")[:-1])
    return is_hidden(path) or any(
        ignore.folder_maker(name) or ignore.folder_maker(f"{above}/{name}")
        for above, name in itertools.pairwise(folders)
    )


def may_show_hidden(path: str) -> bool:
    """Whether a file in a hidden folder is a page's to show, where one links to it.

    A hidden folder is mostly a program's own: what configures it, or is secret, is
    neither published nor written for somebody who writes pages.
    """
    hidden = filter(ignore.is_ignored_folder, path.split("/"))
    return _SHOWN.fullmatch(path) is not None and all(
        map(_HIDDEN_FOLDER.fullmatch, hidden)
    )
