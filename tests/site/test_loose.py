"""Files beside the pages: what a page links to is in the site, and nothing else."""

import os
import re
import time

import pytest

from tests.site.sites import Studio
from tests.support.site_links import dead_addresses

FILES = """\
-- pics/top.png --
top
-- docs/pics/red.png --
red
-- docs/a#b.png --
odd
-- data.csv --
1;2
"""
MARKDOWN = """\
-- docs/page.md --
![red](pics/red.png) [data](../data.csv) ![top](/pics/top.png) ![odd](a%23b.png?x#y)
"""
ASCIIDOC = """\
-- docs/page.asciidoc --
image::pics/red.png[red]

link:../data.csv[data] image:/pics/top.png[top] image:a%23b.png[odd]
"""
ORG = """\
-- docs/page.org --
[[file:pics/red.png]] [[../data.csv][data]] [[/pics/top.png]] [[./a%23b.png]]
"""
RDOC = """\
-- docs/page.rdoc --
rdoc-image:pics/red.png {data}[link:../data.csv] rdoc-image:/pics/top.png
{odd}[link:a%23b.png]
"""
OLD_NS = 1_700_000_000_000_000_000


def copied(studio: Studio) -> dict[str, str]:
    """Files of the site that lay beside pages, by their names."""
    files = (studio.site / "-/files").glob("*/*")
    return {file.name: file.read_text() for file in files}


@pytest.mark.parametrize("page", [MARKDOWN, ASCIIDOC, ORG, RDOC])
def test_file_beside_a_page_is_in_the_site_in_every_format(
    studio: Studio, page: str
) -> None:
    studio.add(FILES + page)
    report = studio.build()
    assert (report.broken_links, report.problems) == ((), ())
    assert copied(studio) == {
        "red.png": "red\n",
        "data.csv": "1;2\n",
        "top.png": "top\n",
        "a#b.png": "odd\n",
    }
    assert studio.article("docs/page.html").count("-/files/") >= 4
    assert "missing-media" not in studio.article("docs/page.html")
    assert dead_addresses(studio.site) == []


def test_file_whose_name_is_no_text_is_not_in_the_way(studio: Studio) -> None:
    folder = studio.add("-- home.md --\n# Home\n")
    for name in (b"\xff.png", b".\xfe.png"):
        (folder / os.fsdecode(name)).write_bytes(b"x")
    assert studio.build().problems == ()


def test_link_of_a_picture_without_text_has_the_name_of_its_file(
    studio: Studio,
) -> None:
    """That of its address would be read out letter by letter."""
    folder = studio.add("-- home.md --\n![](图%201.png) ![](a&amp;b.mp4)\n")
    for name in ("图 1.png", "a&b.mp4"):
        (folder / name).write_bytes(b"x")
    studio.build()
    named = re.findall(r'<[av][^>]* aria-label="([^"]*)"', studio.article("index.html"))
    assert named == ["图 1.png", "a&amp;b.mp4"]


def test_wiki_link_to_a_file_starts_at_the_root(studio: Studio) -> None:
    studio.add("-- red.png --\nroot\n-- docs/red.png --\ndocs\n-- docs/a.md --\n")
    (studio.sources[0].folder / "docs/a.md").write_text("[[red.png]]")
    studio.build()
    assert copied(studio) == {"red.png": "root\n"}
    assert "<img src=" in studio.article("docs/a.html")


def test_picture_beside_the_pages_shows_in_the_sidebar_of_each(studio: Studio) -> None:
    studio.start("-- a/b.md --\nx\n-- _sidebar.md --\n![](p.png)\n-- p.png --\np\n")
    assert 'src="../-/files/' in studio.read("a/b.html")
    assert dead_addresses(studio.site) == []


def test_files_of_several_wikis_lie_apart(studio: Studio) -> None:
    archive = "-- home.md --\n![p](p.png)\n-- p.png --\n"
    studio.add(f"{archive}one\n", "docs/one")
    studio.add(f"{archive}two\n", "docs/two")
    studio.build()
    files = studio.site.glob("docs/*/-/wikis/-/files/*/p.png")
    assert sorted(file.read_text() for file in files) == ["one\n", "two\n"]
    assert dead_addresses(studio.site) == []


def test_page_of_the_same_name_wins_also_where_the_link_does_not_find_it(
    studio: Studio,
) -> None:
    """The service looks for it at the root, and a sync uploads no such file."""
    folder = studio.start("-- a/b.md --\n[x](data)\n-- a/data --\nfile\n")
    assert copied(studio) == {"data.txt": "file\n"}
    (folder / "a/data.md").write_text("page")
    assert [link.href for link in studio.build().broken_links] == ["data"]
    assert copied(studio) == {}


def test_file_is_found_from_where_its_page_lies_not_from_its_slug(
    studio: Studio,
) -> None:
    """wikisync itself would have written this folder as ``100%25``."""
    studio.add("-- 100%/a.md --\n![p](p.png)\n-- 100%/p.png --\np\n")
    assert studio.build().broken_links == ()


def test_page_whose_folder_got_another_name_looks_there(studio: Studio) -> None:
    """The slug and the text are the same, so that nothing else tells it."""
    folder = studio.start("-- 100%/a.md --\n![p](p.png)\n-- 100%/p.png --\np\n")
    (folder / "100%25").mkdir()
    (folder / "100%/a.md").rename(folder / "100%25/a.md")
    assert [link.href for link in studio.build().broken_links] == ["p.png"]


def test_folder_called_uploads_is_only_at_the_top_that_of_attachments(
    studio: Studio,
) -> None:
    studio.add("-- docs/a.md --\n![p](uploads/p.png)\n-- docs/uploads/p.png --\np\n")
    assert studio.build().broken_links == ()


def test_nothing_is_published_that_no_page_links_to(studio: Studio) -> None:
    studio.start("-- home.md --\n![p](p.png) `q.png`\n-- p.png --\np\n-- q.png --\nq\n")
    assert copied(studio) == {"p.png": "p\n"}


@pytest.mark.parametrize(
    ("file", "href"),
    [
        (".attachments/p.png", "/.attachments/p.png"),
        (".attachments/p.png", ".attachments/p.png"),
        (".gitbook/assets/p.png", ".gitbook/assets/p.png"),
        ("node_modules/x/p.png", "node_modules/x/p.png"),
        ("docs/__pycache__/LICENSE", "/docs/__pycache__/LICENSE"),
        ("vendor/bundle/p.png", "vendor/bundle/p.png"),
        ("gru\u0308n.png", "gr\u00fcn.png"),
        ("gr\u00fcn/p.png", "gru%CC%88n/p.png"),
        ("gru\u0308n.png", "gr&uuml;n.png"),
        (f"uploads/{'0f' * 16}/gru\u0308n.png", f"uploads/{'0f' * 16}/gr\u00fcn.png"),
    ],
)
def test_file_is_found_in_a_folder_that_is_left_out_and_in_any_form_of_its_name(
    studio: Studio, file: str, href: str
) -> None:
    folder = studio.add(f"-- home.md --\n![x]({href})\n-- {file} --\nred\n")
    report = studio.build()
    assert (report.broken_links, report.problems) == ((), ())
    assert dead_addresses(studio.site) == []
    assert studio.build().written == 0
    (folder / file).write_text("blue\n")
    studio.build()
    assert studio.files() == studio.clean_build()
    (folder / file).unlink()
    assert len(studio.build().broken_links) == 1


REASONS = {
    ".git/config.png": "none in .git",
    ".tool/main.js": "only pictures and documents in hidden folders",
    ".kept/a.png": ".wikisyncignore leaves it out",
    ".tool/gone.png": "no such file",
    "venv/a.png": ".wikisyncignore leaves it out",
    "venv/gone.png": "no such file",
    "node_modules/README.md": "no page in this folder of a program",
    "node_modules/gone": "no such page",
    "guide": "its content is not on this computer",
    "Guide.md#part": "its content is not on this computer",
    "more/pics/p.png": "its content is not on this computer",
    f"uploads/{'0f' * 16}/a.png": "its content is not on this computer",
    "team/plan.md": "its content is not on this computer",
    "linked": "it is a symbolic link",
    "elsewhere/a.md": "it is a symbolic link",
    "pipe.md": "it is a pipe",
}


def test_reason_of_a_broken_link_says_why_a_file_is_not_in_the_site(
    studio: Studio,
) -> None:
    folder = studio.add(
        "-- home.md --\n"
        + "\n".join(f"[x]({href})" for href in REASONS)
        + "\n-- .git/config.png --\n-- .tool/main.js --\n-- .kept/a.png --\n"
        "-- .wikisyncignore --\n.kept/\nvenv/\n-- venv/a.png --\n"
        "-- node_modules/README.md --\n-- .guide.md.icloud --\n-- .team.icloud --\n"
        f"-- more/pics/.p.png.icloud --\n-- uploads/{'0f' * 16}/a.png.nextcloud --\n"
    )
    (folder / "linked.md").symlink_to("home.md")
    (folder / "elsewhere").symlink_to("/")
    os.mkfifo(folder / "pipe.md")
    reasons = {link.href: link.reason for link in studio.build().broken_links}
    untrue = {href: why for href, why in reasons.items() if REASONS[href] not in why}
    assert (untrue, reasons.keys()) == ({}, REASONS.keys())
    assert studio.build().written == 0
    assert copied(studio) == {}


def test_page_that_a_cloud_drive_takes_away_changes_the_reason_and_no_page_is_wanted(
    studio: Studio,
) -> None:
    folder = studio.start("-- home.md --\n[x](guide)\n")
    assert len(studio.report()["wanted_pages"]) == 1
    (folder / "guide.md.owncloud").write_text("")
    (broken,) = studio.build().broken_links
    assert "not on this computer" in broken.reason
    assert studio.report()["wanted_pages"] == []
    assert studio.files() == studio.clean_build()


@pytest.mark.parametrize(
    "href",
    [
        ".hidden.png",
        ".git/config",
        "draft.part",
        "wikisync.toml",
        "link.png",
        "folder/inside.png",
        "../outside.png",
        "/../outside.png",
        "%2e%2e/outside.png",
        "gone.png",
        "sub",
    ],
)
def test_link_to_what_is_no_loose_file_is_broken(studio: Studio, href: str) -> None:
    folder = studio.add(
        f"-- home.md --\n![x]({href})\n-- .hidden.png --\n-- .git/config --\n"
        "-- draft.part --\n-- wikisync.toml --\n-- sub/x.png --\n"
    )
    outside = folder.parent / "outside.png"
    outside.write_text("secret")
    (folder / "link.png").symlink_to(outside)
    (folder.parent / "other").mkdir()
    (folder.parent / "other" / "inside.png").write_text("secret")
    (folder / "folder").symlink_to(folder.parent / "other")
    assert [link.href for link in studio.build().broken_links] == [href]
    assert copied(studio) == {}


# Builds that follow each other ---------------------------------------------------

PICTURE = "-- home.md --\n![p](p.png)\n-- p.png --\none\n-- q.png --\nq\n"


def test_build_without_change_leaves_files_unread(
    studio: Studio, read_files: list[str]
) -> None:
    """A linked file is not read again, and another one never."""
    studio.start(PICTURE)
    assert "p.png" in read_files
    assert "q.png" not in read_files
    read_files.clear()
    report = studio.build()
    assert (report.written, report.removed, read_files) == (0, 0, [])


def test_file_that_had_to_be_read_once_more_is_known_from_then_on(
    studio: Studio, read_files: list[str]
) -> None:
    """It was too new at the first build, and nothing else changes ever after."""
    folder = studio.add(PICTURE)
    in_an_hour = time.time_ns() + 3600 * 10**9
    os.utime(folder / "p.png", ns=(in_an_hour, in_an_hour))
    studio.build()
    read_files.clear()
    studio.build()
    assert set(read_files) == {"p.png"}
    os.utime(folder / "p.png", ns=(OLD_NS, OLD_NS))
    studio.build()
    read_files.clear()
    studio.build()
    assert read_files == []


def test_changed_file_is_copied_anew_and_its_page_stays(studio: Studio) -> None:
    folder = studio.start(PICTURE)
    (folder / "p.png").write_text("another\n")
    report = studio.build()
    assert report.written == 2  # the file and the manifest
    assert copied(studio) == {"p.png": "another\n"}
    assert studio.files() == studio.clean_build()


def test_file_that_is_removed_breaks_the_link(studio: Studio) -> None:
    folder = studio.start(PICTURE)
    (folder / "p.png").unlink()
    assert [link.href for link in studio.build().broken_links] == ["p.png"]
    assert copied(studio) == {}
    assert "missing-media" in studio.article("index.html")
    assert studio.files() == studio.clean_build()


def test_page_that_comes_takes_the_link_from_the_file(studio: Studio) -> None:
    folder = studio.start("-- home.md --\n[x](data)\n-- data --\nfile\n")
    assert copied(studio) == {"data.txt": "file\n"}
    (folder / "data.md").write_text("page")
    studio.build()
    assert copied(studio) == {}
    assert studio.files() == studio.clean_build()


def test_file_that_no_page_links_to_any_more_leaves_the_site(studio: Studio) -> None:
    folder = studio.start(PICTURE)
    (folder / "home.md").write_text("no picture")
    studio.build()
    assert copied(studio) == {}
