"""Slugs as a hostile or careless service may send them."""

from hypothesis import settings
from hypothesis import strategies as st

from wikisync.core.model import EXTENSIONS, Format, Slug

repeatable = settings(max_examples=120, deadline=None, derandomize=True, database=None)
"""The same cases in every run; failures are found again without a record."""

MARKDOWN = Format.MARKDOWN

HOSTILE_SLUGS = (
    *("", "/", "//", ".", "..", "...", "../../etc/x", "/etc/passwd", "a/../b", "a//b"),
    *("a/", "CON", "con.txt/x", "aux .b/nul", "COM1", "com¹/lpt³", "CONIN$", "a:b"),
    *('C++ & "quotes"', "<b>|?*\\", "a\x00b", "\x1b[31m\r\n\t\x7f\x85"),
    *("\u2028\u2029\ufffe\U0010ffff\ufdd0", "x" * 300, "é" * 300, "%" * 300),
    *("日本語" * 100 + "/" + "語" * 100, "." * 300, ("a" * 200 + ".") * 3),
    *("a" * 200 + "CON", "a" * 200 + "~$x", "e" + "\u0301" * 300, "caf\u00e9"),
    *("cafe\u0301", "\u0301x", ".\u0301\u0327x", "\x0c\u0301", "\u212b\u0958\u0344"),
    *("\u1100\u1161\u11a8", "\ud800", "\ud83d\ude00", ".git/config"),
    *(".wikisync/state", "uploads/0a/notes", "Uploads/x", "UPLOADS", "uploads"),
    *("a/uploads/b", "foo.md", "foo.md/bar", "foo.RST.TXT/bar", "notes.rst"),
    *("notes.REST", ".rst", "Page.conflict", ".x.conflict", "a.conflict.b"),
    *("~$office", "trailing ", "trailing /x", "trailing./x", " leading", "100%"),
    *("%41", "a%2Fb", "%-", "%+", "a%+/b", "a" * 198 + "%+/b", "backup~2024"),
    "home~0123456789abcdef",
)

_PIECES = (
    *'/.%~ +-:\\"*\x00\n\ud800',
    "..",
    "~abcd",
    "%+",
    "%-",
    "%2E",
    "%C3%A9",
    "\u0301",
    "e",
    "\u00e9",
    "CON",
    "uploads",
    ".conflict",
    "x" * 90,
    "é" * 50,
    *(extension for known in EXTENSIONS.values() for extension in known),
)

slugs = st.one_of(
    st.lists(st.sampled_from(_PIECES), max_size=12).map("".join),
    st.text(st.characters(exclude_categories=()), max_size=40),
    st.lists(
        st.one_of(st.sampled_from(_PIECES), st.characters(exclude_categories=())),
        max_size=20,
    ).map("".join),
).map(Slug)
formats = st.sampled_from(list(Format))
