"""Names and contents of a stranger's files in a site: nothing that anybody runs."""

import re
import xml.etree.ElementTree as ET  # - of what we wrote ourselves
from pathlib import Path

import msgspec
import pytest

from tests.security.hostile_files import (
    SERVER_NAMES,
    HostileFile,
    drawings,
    named_pages,
    server_programs,
)
from tests.security.published_files import site_with, written_links
from tests.site.sites import Studio
from wikisync.core.model import digest_of
from wikisync.markup.diagrams import SVG, static_drawing
from wikisync.markup.file_types import OPENED, SAVED, file_extension, file_type
from wikisync.site.addresses import MANIFEST, file_name, page_path
from wikisync.site.manifest import content_type

RUN = re.compile(
    r"(?i)\.(php\d?|phtml|phar|pht|cgi|pl|py|rb|sh|lua|asp|aspx|jspx?|cfm|shtml|stm"
    r"|asis|var|map|html?|xhtml|xht|xml|xslt?|svgz|mht|rss|atom)(\.|$)"
)
ALL = [*named_pages(), *server_programs(), *drawings()]
DRAWINGS = list(drawings())
FOLDER = "uploads/0123456789abcdef0123456789abcdef"


def test_name_is_one_of_the_list_and_nothing_runs_it() -> None:
    for name in (file_name(file.name) for file in ALL):
        assert file_extension(name) in OPENED.keys() | SAVED.keys(), name
        assert not RUN.search(name), name
        assert not name.startswith("."), name
        assert len(name.encode()) <= 255, name
        assert len(name) > 200 or file_name(name) == name


def test_page_named_like_a_program_is_published_as_a_page() -> None:
    """Some web servers run ``x.php.html``, for ``.php`` stands in its name."""
    for name in SERVER_NAMES:
        path = page_path("", f"{name}/{name}")
        assert path.endswith(".html"), name
        assert not RUN.search(path.removesuffix(".html").replace("/", ".")), name


@pytest.mark.parametrize(
    "name", ["a.png", "John.Smith.pdf", "v1.2.tar.gz", "a b.docx", "日本.svg", "x.txt"]
)
def test_usual_file_keeps_its_name(name: str) -> None:
    assert len(name) > 200 or file_name(name) == name


@pytest.mark.parametrize("place", ["uploads", "beside"])
def test_every_link_leads_to_a_file_of_the_list(tmp_path: Path, place: str) -> None:
    studio = site_with(tmp_path, ALL, place)
    links = written_links(studio)
    # a backslash and NUL stand in no link of a page
    assert len(links) > len(ALL) - 8
    names = [path.rpartition("/")[2] for path in links]
    assert {file_extension(name) for name in names} <= OPENED.keys() | SAVED.keys()
    assert set(links) <= studio.files().keys()


@pytest.mark.parametrize(
    ("name", "kind", "mark"),
    [
        ("a.png", "image/png", ""),
        ("a.txt", "text/plain", ""),
        ("a.zip", "application/zip", " download"),
        ("a.svg", "image/svg+xml", " download"),
        ("a.html", "text/plain", ' download="a.html"'),
        ("a.PHP", "text/plain", ' download="a.PHP"'),
        ("a'b.step", "text/plain", ' download="a&#39;b.step"'),
        ("LICENSE", "text/plain", ' download="LICENSE"'),
    ],
)
def test_what_may_not_open_is_saved_under_its_own_name(
    tmp_path: Path, name: str, kind: str, mark: str
) -> None:
    studio = site_with(tmp_path, [HostileFile(name, b"x")], "uploads")
    (link,) = written_links(studio)
    found = re.search(r'href="uploads[^"]*"([^>]*)>', studio.article("index.html"))
    assert found is not None
    assert found[1].replace("&#x27;", "&#39;") == mark
    assert content_type(link) == file_type(link) == kind


def test_names_that_become_one_are_told_apart(tmp_path: Path) -> None:
    studio = Studio(tmp_path)
    studio.add(
        f"-- home.md --\n[a]({FOLDER}/a.html) [b]({FOLDER}/a-html.txt)"
        f" [c]({FOLDER}/a.html%2E)\n"
        f"-- {FOLDER}/a.html --\none\n-- {FOLDER}/a-html.txt --\ntwo\n"
        f"-- {FOLDER}/a.html. --\nthree\n"
    )
    report = studio.build()
    texts = {studio.read(link) for link in written_links(studio)}
    assert texts == {"one\n", "two\n", "three\n"}
    assert [one.code for one in report.problems] == ["address-twin"] * 2


def test_file_that_an_older_build_published_as_a_page_is_removed(
    tmp_path: Path,
) -> None:
    script = b"<script>alert(1)</script>"
    studio = site_with(tmp_path, [HostileFile("notes.html", script)], "uploads")
    (link,) = written_links(studio)
    old = link.replace("-html.txt", ".html")
    (studio.site / old).write_bytes(script)
    manifest = msgspec.json.decode((studio.site / MANIFEST).read_bytes())
    manifest["files"].append(
        {"path": old, "size": 9, "sha256": digest_of(script), "type": "text/html"}
    )
    (studio.site / MANIFEST).write_bytes(msgspec.json.encode(manifest))
    studio.set(title="Another")
    studio.build()
    assert not (studio.site / old).exists()
    assert (studio.site / link).read_bytes() == script


# Drawings --------------------------------------------------------------------------

PLAIN = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    "<!-- by hand -->\n"
    f'<svg xmlns="{SVG}" xmlns:xlink="http://www.w3.org/1999/xlink"'
    ' xmlns:i="http://www.inkscape.org/namespaces/inkscape" i:version="1"'
    ' viewBox="0 0 9 9">'
    '<style>rect { fill: url( "#a") }'
    " @font-face { src: url(data:font/woff2;base64,aaaa) }</style>"
    "<defs><g id='a'><rect width='3'/></g></defs>"
    "<i:grid/><use xlink:href='#a'/><image href='data:image/png;base64,aaaa'/>"
    "<text x='1'>on load</text></svg>"
)


def test_drawing_that_is_plainly_a_picture_is_published_as_it_is() -> None:
    assert static_drawing(PLAIN.encode()) == PLAIN.encode()


def test_any_other_drawing_is_a_picture_in_a_drawing_of_ours() -> None:
    for file in DRAWINGS:
        root = ET.fromstring(static_drawing(file.content))
        (image,) = root
        assert (root.tag, image.tag) == (f"{{{SVG}}}svg", f"{{{SVG}}}image"), file
        assert set(root.attrib) <= {"width", "height", "viewBox"}, file
        assert set(image.attrib) == {"width", "height", "href"}, file
        assert image.get("href", "").startswith("data:image/svg+xml;base64,"), file


ASKING = [
    "<style>@import 'https://evil.example.com/x.css';</style>",
    "<style>rect { fill: url( 'https://evil.example.com/x.svg#a') }</style>",
    "<style>rect { fill: u\\72l(https://evil.example.com/x) }</style>",
    "<style>&#64;import 'https://evil.example.com/x.css';</style>",
    f"<style>/*{'x' * 9000}*/@import 'https://evil.example.com/x.css';</style>",
    "<rect fill='url(//evil.example.com/x.svg#a)'/>",
    "<rect style='filter:URL(https://evil.example.com/x.svg#a)'/>",
    "<image href='https://evil.example.com/x.png'/>",
    "<use href='other.svg#a'/>",
    *(
        f"<style>svg {{ background-image: {function} }}</style>"
        for function in (
            "image-set('https://evil.example.com/x.png' 1x)",
            "-webkit-image-set('https://evil.example.com/x.png' 1x)",
            "IMAGE-SET( 'https://evil.example.com/x.png' )",
            "image('https://evil.example.com/x.png')",
            "src('https://evil.example.com/x.png')",
            "cross-fade('https://evil.example.com/x.png', red)",
            "-webkit-cross-fade(url(https://evil.example.com/x.png), red, 1%)",
            "-moz-image-rect('https://evil.example.com/x.png', 1, 1, 1, 1)",
            "image-se\\74('https://evil.example.com/x.png' 1x)",
            "image-<!-- -->set('https://evil.example.com/x.png' 1x)",
            "image-<![CDATA[set]]>('https://evil.example.com/x.png' 1x)",
            "image-<title/>set('https://evil.example.com/x.png' 1x)",
            "url(data:text/css,@import%20'https://evil.example.com/x.css')",
            "url('data:image/svg+xml,&lt;svg/>#a')",
            "url('data:,x')",
        )
    ),
    "<rect style=\"cursor: image-set('https://evil.example.com/x.png' 1x)\"/>",
    "<style>@imp<title/>ort 'https://evil.example.com/x.css';</style>",
]


@pytest.mark.parametrize("inside", ASKING)
def test_drawing_that_asks_another_address_is_a_picture(inside: str) -> None:
    """The site promises that no request leaves it; a picture makes none."""
    drawing = f'<svg xmlns="{SVG}">{inside}</svg>'.encode()
    shown = static_drawing(drawing)
    assert shown.startswith(f'<svg xmlns="{SVG}"><image '.encode())
    assert b"evil" not in shown


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "svg11.dtd">',
        '<!DOCTYPE svg PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x.dtd">',
        "<!DOCTYPE svg>",
        '<!DOCTYPE svg [<!ENTITY set "image-set">]>',
    ],
)
def test_drawing_with_a_doctype_is_a_picture(doctype: str) -> None:
    """A browser knows ``&lpar;`` of XHTML, and puts together what a check does not."""
    style = "<style>svg { background: image-set&lpar;'https://evil.example.com/') }"
    drawing = f'{doctype}<svg xmlns="{SVG}">{style}</style></svg>'.encode()
    assert b"evil" not in static_drawing(drawing)


@pytest.mark.parametrize(
    ("root", "frame"),
    [
        ('width="20" height="10"', 'width="20" height="10" viewBox="0 0 20 10"'),
        ('viewBox="-5,-5 20 10.5"', 'viewBox="0 0 20 10.5"'),
        ('width="20mm" height="100%"', 'width="20mm" height="100%"'),
        ('width="1" height="&quot;&gt;"', 'width="1"'),
        ('viewBox="0 0 &lt;x 1" width="calc(1px)"', ""),
    ],
)
def test_drawing_of_ours_is_as_large(root: str, frame: str) -> None:
    shown = static_drawing(f'<svg xmlns="{SVG}" {root}><script/></svg>'.encode())
    head = f'<svg xmlns="{SVG}" {frame}>'.replace(" >", ">")
    assert shown.startswith(head.encode())


def test_drawing_follows_its_file_in_the_next_build(tmp_path: Path) -> None:
    red = f'<svg xmlns="{SVG}"><script/></svg>'.encode()
    studio = site_with(tmp_path, [HostileFile("a.svg", red)], "uploads")
    (link,) = written_links(studio)
    assert (studio.site / link).read_bytes() == static_drawing(red)
    (source,) = (tmp_path / "wikis").rglob("*.svg")
    source.write_text(PLAIN, encoding="utf-8")
    studio.build()
    assert studio.read(link) == PLAIN
    studio.set(title="Another")
    assert studio.build().written <= 10
    assert studio.files() == studio.clean_build()


def test_drawing_that_is_too_large_is_empty_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wikisync.site.writing.DRAWING_BYTES_MAX", 10)
    studio = site_with(tmp_path, [HostileFile("a.svg", PLAIN.encode())], "uploads")
    (link,) = written_links(studio)
    assert (studio.site / link).read_bytes() == static_drawing(b"")
    studio.set(title="Another")
    assert [one.code for one in studio.build().problems] == ["drawing-large"]
