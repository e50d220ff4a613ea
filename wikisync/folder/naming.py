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

from __future__ import annotations

import codecs
import hashlib
import itertools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from wikisync.core import model
from wikisync.errors import FolderError
from wikisync.folder import ignore

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
    """The page that a path in the wiki's folder stands for; None where it is none's."""
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
    """The path of an attachment, if it is one and safe on every disk; else None.

    That is ``uploads/<hash>/<name>``, or a file that pages may link to, with nothing
    encoded, hidden, ours or ignored.
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
    if top != ignore.UPLOADS:
        # a file beside the pages
        is_ours = raw == ignore.CONFIG_FILE or ignore.is_ignored_file(name)
        is_uploads = top.casefold() == ignore.UPLOADS
        if is_ours or is_uploads or model.split_extension(name):
            return None
    if raw == ignore.UPLOADS:
        return None
    if any(len(part.encode()) > NAME_BYTES_MAX for part in (*folders, name)):
        return None
    return model.AttachmentPath(raw) if len(raw.encode()) <= PATH_BYTES_MAX else None


def check_attachment(path: model.AttachmentPath) -> None:
    """Refuse a path that no attachment may have: not safe, or hidden."""
    if path == model.REDIRECTS_PATH:
        return
    if is_hidden(path) and not may_show_hidden(path):
        raise FolderError(
            f"{path} is in a hidden folder, of which only pictures and documents are"
            " synced"
        )
    if attachment_path(path) is None:
        raise FolderError(f"not a safe path of an attachment: {path!r}")


def is_hidden(path: str) -> bool:
    """Whether a file is in a hidden folder."""
    folders = path.split("/")[:-1]
    return any(
        ignore.is_ignored_folder(one) and one not in _NO_NAMES for one in folders
    )


def is_listed_attachment(path: str) -> bool:
    """Whether a scan says of a file in ``uploads`` no more than that it is there."""
    name = path.rpartition("/")[2]
    is_read = not ignore.is_ignored_file(name) and ignore.stub_of(name) is None
    is_page = model.split_extension(name) is not None
    return is_read and not is_page and attachment_path(path) is not None


def is_unlisted(path: str) -> bool:
    """Whether a file is in a folder that no scan lists, hidden or of a program."""
    folders = ("", *path.split("/")[:-1])
    return is_hidden(path) or any(
        ignore.folder_maker(name) or ignore.folder_maker(f"{above}/{name}")
        for above, name in itertools.pairwise(folders)
    )


def may_show_hidden(path: str) -> bool:
    """Whether a file in a hidden folder is a page's to show, where one links to it.

    Mostly it is a program's own, and may be secret: neither published nor written.
    """
    hidden = filter(ignore.is_ignored_folder, path.split("/"))
    return _SHOWN.fullmatch(path) is not None and all(
        map(_HIDDEN_FOLDER.fullmatch, hidden)
    )


# -- the code, per component and in both directions ------------------------------
#
# A *part* is one name on the disk without mark and extension.


COMPONENT_BYTES_MAX = 200
"""Longest part of a name before mark and extension; 255 is the disk's limit."""

MARK_DIGITS = range(4, 41, 4)
"""How many digits a mark may have, fewest first."""

_CONTINUED = "%+"
_EMPTY = "%-"
_TOKEN_BYTES_MAX = 12
_MARKS_IN_ROW_MAX = 30

_MARK = re.compile(r"~([0-9a-f]{4,40})\Z")
_UNCODED = re.compile(r"[A-Za-z0-9_-]+( [A-Za-z0-9_-]+)*\Z")
_MUST_CODE = re.compile(
    '[\x00-\x1f\x7f-\x9f<>:"|?*\\\\%\u2028\u2029\ud800-\udfff\ufdd0-\ufdef]'
)
_CODES = re.compile(r"(?:%[0-9A-F]{2})+")
_HIGH_CODES = re.compile(r"(?:%[89A-F][0-9A-F])+")
_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *\Z"
    rf"|{ignore.ATTENTION}\Z",
    re.IGNORECASE,
)


def encode_slug(slug: str, page_format: model.Format) -> list[str]:
    """The names on the way to a page, the last one without extension."""
    digest = PathDigest()
    *folders, leaf = slug.split("/")
    parts: list[str] = []
    for folder in folders:
        parts += encode_component(folder, None, digest, is_top=not parts)
    return parts + encode_component(leaf, page_format, digest, is_top=not parts)


class PathDigest:
    """SHA-256 over the bare names so far, so that a mark costs linear time."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def enter(self, part: str) -> None:
        """Go down into a folder of this name."""
        self._hash.update(part.encode() + b"/")

    def copy(self) -> PathDigest:
        """The same names so far, to go on from twice."""
        other = PathDigest()
        other._hash = self._hash.copy()
        return other

    def of(self, part: str) -> str:
        """Digits that a mark on this name, in this folder, must begin."""
        digest = self._hash.copy()
        digest.update(part.encode())
        return digest.hexdigest()

    def bare(self, part: str) -> str | None:
        """The name without its mark; None where it has none, or a wrong one."""
        mark = _MARK.search(part)
        if mark is None or not self.of(part[: mark.start()]).startswith(mark[1]):
            return None
        return part[: mark.start()]


def encode_component(
    component: str,
    page_format: model.Format | None,
    digest: PathDigest,
    *,
    is_top: bool,
) -> list[str]:
    """One component of a slug as one or more names; a folder's has no format."""
    is_top = is_top and page_format is None
    if _UNCODED.match(component) and len(component) <= COMPONENT_BYTES_MAX:
        is_special = (
            _DEVICE.match(component)
            or (is_top and component.casefold() == ignore.UPLOADS)
            or (page_format is None and ignore.folder_maker(component))
        )
        tokens = list(component) if is_special else None
    else:
        tokens = _tokens(component)
    if tokens is None:
        parts = [component]
    else:
        if page_format is None:
            _close_folder(tokens, is_top=is_top)
        else:
            _close_leaf(tokens, page_format)
        parts = list(_split(tokens)) if tokens else [_EMPTY]
    for index, part in enumerate(parts):
        if digest.bare(part) is not None:
            head, _, digits = part.rpartition("~")
            parts[index] = f"{head}%7E{digits}"
        digest.enter(parts[index])
    return parts


def _tokens(component: str) -> list[str]:
    if unicodedata.is_normalized("NFC", component) and not any(
        map(_is_coded, component)
    ):
        return list(component)
    tokens: list[str] = []
    run = ""
    for char in component:
        # what form C changes behind a starter and its marks is coded, and so is a run
        # of more marks than any script has: it costs the square of its length
        stays = len(run) <= _MARKS_IN_ROW_MAX
        stays = stays and unicodedata.is_normalized("NFC", run + char)
        if _is_coded(char) or not stays:
            tokens.append(_code(char))
            run = tokens[-1][-1]
        else:
            tokens.append(char)
            run = run + char if unicodedata.combining(char) else char
    return tokens


def _is_coded(char: str) -> bool:
    return _MUST_CODE.match(char) is not None or ord(char) & 0xFFFE == 0xFFFE


def _code(char: str) -> str:
    encoded = char.encode("utf-8", "surrogatepass")
    return "".join(f"%{byte:02X}" for byte in encoded)


def _code_at(tokens: list[str], index: int) -> None:
    """Code one more character, and marks that would join its last digit.

    ``.`` becomes ``%2E``, and an acute behind that would make it ``%2É``.
    """
    tokens[index] = _code(tokens[index])
    for following in range(index + 1, len(tokens)):
        if len(tokens[following]) > 1 or not unicodedata.combining(tokens[following]):
            return
        tokens[following] = _code(tokens[following])


def _close_folder(tokens: list[str], *, is_top: bool) -> None:
    """Code what a folder may not be called, though a file may: ``foo.md``."""
    name = "".join(tokens)
    if ignore.folder_maker(name):
        _code_at(tokens, _last_dot(tokens) if "." in tokens else 0)
    elif is_top and name.casefold() == ignore.UPLOADS:
        _code_at(tokens, 0)
    if model.split_extension(name) is not None:
        _code_at(tokens, _last_dot(tokens))
    if tokens and tokens[-1] in {".", " "}:
        _code_at(tokens, len(tokens) - 1)


def _close_leaf(tokens: list[str], page_format: model.Format) -> None:
    """Code what would change the meaning of the name with its extension.

    ``notes.rst`` as plain text would be another format's, ``page.conflict`` ignored.
    """
    stem = "".join(tokens)
    name = stem + model.EXTENSIONS[page_format][0]
    is_read_back = not stem or model.split_extension(name) == (stem, page_format)
    if not is_read_back or ignore.is_ignored_file("_" + name):
        _code_at(tokens, _last_dot(tokens))


def _last_dot(tokens: list[str]) -> int:
    return len(tokens) - 1 - tokens[::-1].index(".")


def _split(tokens: list[str]) -> Iterator[str]:
    """Names of at most COMPONENT_BYTES_MAX bytes, all but the last continued."""
    part: list[str] = []
    size = 0
    for token in tokens:
        token_size = len(token.encode())
        if size + token_size > COMPONENT_BYTES_MAX:
            yield _guard_start(part) + _CONTINUED
            part, size = [], 0
        part.append(token)
        size += token_size
    yield _guard_start(part)


def _guard_start(part: list[str]) -> str:
    """A name that is neither hidden, nor an office program's, a device's or ours."""
    name = "".join(part)
    if name.startswith((".", "~$")) or _DEVICE.match(name.split(".", 1)[0]):
        _code_at(part, 0)
        return "".join(part)
    return name


def decode_slug(parts: Sequence[str], page_format: model.Format) -> str:
    """The slug that names on the disk stand for, the last one without extension."""
    plain = "/".join(parts)
    if "%" not in plain and "~" not in plain:
        return plain
    bare = without_marks(parts)
    return "/".join(text for text, _ in decode_parts(bare, page_format))


def without_marks(parts: Sequence[str]) -> list[str]:
    """The names with the marks taken off that carry the right digits."""
    digest = PathDigest()
    bare: list[str] = []
    for part in parts:
        unmarked = digest.bare(part)
        bare.append(part if unmarked is None else unmarked)
        digest.enter(bare[-1])
    return bare


def decode_parts(
    parts: Sequence[str], page_format: model.Format
) -> list[tuple[str, int]]:
    """The slug's components, each with where its names end among all names.

    Names that nobody coded stand for themselves.
    """
    digest = PathDigest()
    components: list[tuple[str, int]] = []
    start = 0
    while start < len(parts):
        end = start + 1
        while end < len(parts) and _is_continued(parts[end - 1]):
            end += 1
        group = parts[start:end]
        found = _decode(group)
        if found is not None and (len(group) > 1 or "%" in group[0]):
            # Are these the names that ``encode_component`` writes?  What form C changes
            # depends on Python's Unicode: codes beyond ASCII are all right.
            role = page_format if end == len(parts) else None
            written = encode_component(found, role, digest.copy(), is_top=start == 0)
            is_ours = _shown(_joined(written)) == _shown(_joined(group))
            found = found if is_ours else None
        if found is None:
            found, end = parts[start], start + 1
        for part in parts[start:end]:
            digest.enter(part)
        components.append((found, end))
        start = end
    return components


def _is_continued(part: str) -> bool:
    shortest = COMPONENT_BYTES_MAX - _TOKEN_BYTES_MAX
    return part.endswith(_CONTINUED) and len(part.encode()) > shortest


def _joined(parts: Sequence[str]) -> str:
    return "".join(part.removesuffix(_CONTINUED) for part in parts[:-1]) + parts[-1]


def _decode(group: Sequence[str]) -> str | None:
    """What a coded component stands for; None where it is not coded by us."""
    text = _joined(group)
    if text == _EMPTY:
        return ""
    try:
        decoded = _CODES.sub(lambda run: _decoded_bytes(run[0]), text)
    except UnicodeDecodeError:
        return None
    # no component of a slug has a slash, so a person wrote this ``%2F``
    return None if "/" in decoded else decoded


def _decoded_bytes(codes: str) -> str:
    return bytes.fromhex(codes.replace("%", "")).decode("utf-8", "surrogatepass")


def _shown(text: str) -> str:
    """The text with all codes beyond ASCII decoded; valid ones, by now."""
    return _HIGH_CODES.sub(lambda run: _decoded_bytes(run[0]), text)


# -- what a page's file holds ------------------------------------------------------


def decode_page(content: bytes, path: str) -> str | model.Problem:
    """A page file's text, line ends and all; a problem where it is none."""
    hint = "save it as UTF-8"
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return model.Problem("page-not-text", path, "is not UTF-8 but UTF-16", hint)
    if b"\x00" in content:
        what = "contains a NUL character, which a page cannot have"
        hint = "remove the character, or move the file into uploads"
        return model.Problem("page-not-text", path, what, hint)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as exc:
        what = f"is not UTF-8 at byte {exc.start}"
        return model.Problem("page-not-text", path, what, hint)


def encode_page(page: model.Page) -> bytes:
    """A page's text as its file's bytes, which ``decode_page`` will take."""
    if "\x00" in page.content:
        what = "a NUL character"
    else:
        try:
            return page.content.encode("utf-8")
        except UnicodeEncodeError:
            what = "half a character"
    raise FolderError(
        f"the page {page.slug} contains {what}, which a text file cannot have",
        hint="remove it on the wiki",
    )


def title_of(slug: str) -> str:
    """The service's display title: the slug's leaf with hyphens as spaces."""
    return slug.rpartition("/")[2].replace("-", " ")
