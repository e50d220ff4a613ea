import hashlib
import re
import time
import unicodedata
from collections.abc import Iterable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.folder.hostile import HOSTILE_SLUGS, MARKDOWN, formats, repeatable, slugs
from wikisync.core.model import Format, Slug
from wikisync.folder import naming
from wikisync.folder.ignore import is_ignored_file, is_ignored_folder
from wikisync.folder.naming import attachment_path, parse_path, path_of

WINDOWS_ILLEGAL = set('<>:"|?*\\')
WINDOWS_DEVICES = {"con", "prn", "aux", "nul", "com1", "com¹", "lpt³", "conin$"}


def assert_stays_inside(path: str) -> None:
    """No disk, shell or scan can take this path for another place or thing."""
    parts = path.split("/")
    for part in parts:
        assert part not in {"", ".", ".."}
        assert not part.startswith(".")
        assert len(part.encode("utf-8")) <= 255
        assert part.isprintable() or " " in part or not part.isascii()
        assert not set(part) & WINDOWS_ILLEGAL
        assert not any(unicodedata.category(char) in {"Cc", "Cs"} for char in part)
        assert part.split(".")[0].rstrip(" ").casefold() not in WINDOWS_DEVICES
        assert unicodedata.is_normalized("NFC", part)
    assert not any(is_ignored_folder(part) for part in parts[:-1])
    assert not any(part.endswith((".", " ")) for part in parts)
    assert not is_ignored_file(parts[-1])
    assert len(parts) == 1 or parts[0].casefold() != "uploads"


def assert_stay_inside(paths: Iterable[str]) -> None:
    for path in paths:
        assert_stays_inside(path)


@pytest.mark.parametrize(
    "page_format", [Format.MARKDOWN, Format.REST, Format.PLAINTEXT]
)
def test_hostile_slug_gets_a_safe_name_and_is_read_back(page_format: Format) -> None:
    for slug in HOSTILE_SLUGS:
        path = path_of(Slug(slug), page_format)
        assert parse_path(path) == (slug, page_format)
        assert_stays_inside(path)


@repeatable
@given(slugs, formats)
def test_any_slug_gets_a_safe_name_and_is_read_back(
    slug: Slug, page_format: Format
) -> None:
    path = path_of(slug, page_format)
    assert parse_path(path) == (slug, page_format)
    assert_stays_inside(path)


@repeatable
@given(slugs, slugs)
@example(Slug("café"), Slug("cafe\u0301"))
@example(Slug("\u212b"), Slug("\u00c5"))
def test_names_of_two_slugs_differ_on_a_disk_that_normalises(
    first: Slug, second: Slug
) -> None:
    forms = [
        {
            unicodedata.normalize(form, path_of(slug, MARKDOWN))
            for form in ("NFC", "NFD")
        }
        for slug in (first, second)
    ]
    assert first == second or not forms[0] & forms[1]


@repeatable
@given(slugs)
def test_path_that_a_disk_decomposes_is_read_as_the_same_page(slug: Slug) -> None:
    listed = unicodedata.normalize("NFD", path_of(slug, MARKDOWN))
    assert parse_path(listed) == (slug, MARKDOWN)


@repeatable
@given(st.text(st.characters(exclude_categories=())) | slugs)
def test_any_path_at_all_is_a_page_with_a_safe_name_or_none(path: str) -> None:
    found = parse_path(path + ".md")
    if found is not None:
        assert_stays_inside(path_of(*found))


@pytest.mark.parametrize(
    ("slug", "path"),
    [
        ("home", "home.md"),
        ("dir/my-page", "dir/my-page.md"),
        ("naïve café", "naïve café.md"),
        ("日本語", "日本語.md"),
        ("dir/with space", "dir/with space.md"),
        ("it's (mostly) fine, [x] & +1 #2 @3 ~ok", None),
        ("v1.2 notes", "v1.2 notes.md"),
        ("_sidebar", "_sidebar.md"),
        ("uploads", "uploads.md"),
        ("backup~2024", "backup~2024.md"),
        ("हिन्दी/ไทย/👩‍🚀", None),
    ],
)
def test_readable_name_stays_readable(slug: str, path: str | None) -> None:
    assert path_of(Slug(slug), MARKDOWN) == (path or f"{slug}.md")


@pytest.mark.parametrize(
    ("slug", "path"),
    [
        ("../../etc/x", "%2E%2E/%2E%2E/etc/x.md"),
        ("CON", "%43ON.md"),
        ("a:b", "a%3Ab.md"),
        ("a\x00b", "a%00b.md"),
        ("", "%-.md"),
        ("a//b", "a/%-/b.md"),
        ("cafe\u0301", "cafe%CC%81.md"),
        (".git/config", "%2Egit/config.md"),
        ("uploads/ab/c", "%75ploads/ab/c.md"),
        ("foo.md/bar", "foo%2Emd/bar.md"),
        ("Page.conflict", "Page%2Econflict.md"),
        ("x ./y", "x %2E/y.md"),
        ("100% sure", "100%25 sure.md"),
        ("x" * 300, "x" * 200 + "%+/" + "x" * 100 + ".md"),
    ],
)
def test_only_what_must_be_coded_is(slug: str, path: str) -> None:
    assert path_of(Slug(slug), MARKDOWN) == path


def test_slug_that_ends_in_its_own_mark_is_not_taken_for_a_marked_name() -> None:
    digits = hashlib.sha256(b"home").hexdigest()[:4]
    path = path_of(Slug(f"home~{digits}"), MARKDOWN)
    assert path == f"home%7E{digits}.md"
    assert parse_path(path) == (f"home~{digits}", MARKDOWN)
    assert parse_path(f"home~{digits}.md") == ("home", MARKDOWN)


@pytest.mark.parametrize(
    ("path", "slug", "page_format"),
    [
        ("100% sure.md", "100% sure", Format.MARKDOWN),
        ("a%2fb.md", "a%2fb", Format.MARKDOWN),
        ("a%2Fb.md", "a%2Fb", Format.MARKDOWN),
        ("%2F.md", "%2F", Format.MARKDOWN),
        ("dir/a%2F.md", "dir/a%2F", Format.MARKDOWN),
        ("%41.md", "%41", Format.MARKDOWN),
        ("a%+/b.md", "a%+/b", Format.MARKDOWN),
        ("%ff.md", "%ff", Format.MARKDOWN),
        ("%FF.md", "%FF", Format.MARKDOWN),
        ("CON.md", "CON", Format.MARKDOWN),
        ("back\\slash.md", "back\\slash", Format.MARKDOWN),
        ("foo.md/bar.md", "foo.md/bar", Format.MARKDOWN),
        ("My Notes.MARKDOWN", "My Notes", Format.MARKDOWN),
        ("a.adoc", "a", Format.ASCIIDOC),
        ("a.rst.txt", "a", Format.REST),
        ("a.txt", "a", Format.PLAINTEXT),
        ("notes~beef.md", "notes~beef", Format.MARKDOWN),
        ("cafe\u0301.md", "caf\u00e9", Format.MARKDOWN),
    ],
)
def test_name_that_a_person_gave_stands_for_itself(
    path: str, slug: str, page_format: Format
) -> None:
    assert parse_path(path) == (slug, page_format)


@pytest.mark.parametrize(
    "path",
    [
        *("", "/", "home", ".md", "dir/.md", "/home.md", "a//b.md", "./a.md"),
        *("../a.md", "a/../b.md", "a\x00.md", "bad\udcff.md", ".hidden.md"),
        *(".git/config.md", "a/.wikisync/x.md", "uploads/0a/notes.md"),
        *("uploads/notes.md", "Page.conflict.md", "~$home.md", "picture.png"),
        "wikisync.toml",
    ],
)
def test_path_that_is_no_pages(path: str) -> None:
    assert parse_path(path) is None


@given(
    st.lists(
        st.sampled_from(
            [
                *("a", "0-_", "uploads", "wikisync-attention", "con", "b.conflict"),
                *("A", "Uploads", "WIKISYNC-Attention", "COM1", "~", "4"),
            ]
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([".md", ".MD", ".rst", ""]),
)
@example(["a", "WIKISYNC-Attention"], ".md")
@example(["Uploads", "a"], ".md")
def test_plain_names_are_read_like_all_others(parts: list[str], extension: str) -> None:
    """The short way for what most pages are called gives what the rules give."""
    path = "/".join(parts) + extension
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(naming, "_PLAIN", re.compile("(?!)"))
        by_the_rules = naming.parse_path.__wrapped__(path)
    assert naming.parse_path.__wrapped__(path) == by_the_rules


@pytest.mark.parametrize(
    "slug",
    [
        "a/" * 20_000,
        "~abcd/" * 8_000,
        "e" + "\u0301" * 20_000,
        "%+" * 20_000,
        "." * 20_000,
    ],
    ids=["deep", "marks", "accents", "signs", "dots"],
)
def test_naming_a_huge_slug_takes_linear_time(slug: str) -> None:
    """A square of the length would be minutes here."""
    started_s = time.process_time()
    assert parse_path(path_of(Slug(slug), MARKDOWN)) == (slug, MARKDOWN)
    assert time.process_time() - started_s < 10


@pytest.mark.parametrize(
    "raw",
    [
        *("uploads/0123456789abcdef0123456789abcdef/picture.png", "uploads/logo.png"),
        *("uploads/a/b/c d (1).pdf", "uploads/ab/ünï.png", "uploads/ab/" + "x" * 255),
        *("img/p.png", "LICENSE", "a.tar.gz", "tools/make.py", ".attachments/p-1.png"),
        *(".gitbook/assets/p (1).pdf", "a/.Media/b/P.JPG"),
    ],
)
def test_attachment_is_taken_as_it_is(raw: str) -> None:
    assert attachment_path(raw) == raw


@pytest.mark.parametrize(
    "raw",
    [
        *("", "uploads", "uploads/", "Uploads/ab/x", "uploads//x", "uploads/../x"),
        *("uploads/ab/..", "uploads/./x", "/uploads/ab/x", "../uploads/ab/x"),
        *("uploads/ab/.htaccess", "uploads/.git/config", "page.md", "img/p.png~"),
        *("img/.p.png", "wikisync.toml", ".wikisyncignore", ".git/p.png"),
        *(".Git/p.png", "a/.git/p.png", ".wikisync/p.png", ".wikisync/../p.png"),
        *(".gi\u200ct/p.png", ".git./p.png", ".git /p.png"),
        *(".obsidian/plugins/a/main.js", ".vscode/tasks.json", ".ssh/id_rsa"),
        *("uploads/ab/x\x00.png", "uploads/ab/x\n.png", "uploads/ab\\..\\x"),
        *("uploads/ab/x\ud800", "uploads/ab/" + "é" * 128),
        "uploads/" + "ab/" * 1024 + "x",
    ],
)
def test_unsafe_attachment_path_is_refused(raw: str) -> None:
    assert attachment_path(raw) is None


# -- codes -----------------------------------------------------------------------------


@repeatable
@given(slugs, formats)
def test_names_leave_room_for_a_mark_and_any_extension(
    slug: Slug, page_format: Format
) -> None:
    """255 less the longest extension, the longest mark, and one sign coded late."""
    parts = naming.encode_slug(slug, page_format)
    assert max(len(part.encode()) for part in parts) <= naming.COMPONENT_BYTES_MAX + 4


def test_folder_and_page_of_one_name_are_coded_by_their_own_rules() -> None:
    folder = naming.encode_component("x.md", None, naming.PathDigest(), is_top=True)
    page = naming.encode_component("x.md", Format.ORG, naming.PathDigest(), is_top=True)
    assert (folder, page) == (["x%2Emd"], ["x.md"])


def test_digest_of_a_name_depends_on_its_folder() -> None:
    inside = naming.PathDigest()
    inside.enter("docs")
    assert inside.of("home") != naming.PathDigest().of("home")


def test_code_of_a_newer_unicode_is_read_though_we_would_not_write_it() -> None:
    """Which characters form C changes grows with Unicode's version."""
    assert naming.decode_slug(["caf%C3%A9"], Format.MARKDOWN) == "café"
