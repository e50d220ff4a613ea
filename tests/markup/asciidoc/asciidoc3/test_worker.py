"""The last fallback, which as it comes runs what a page says: here it may nothing."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.markup.asciidoc.constructs import flat, read_constructs
from tests.markup.asciidoc.test_contract import engine_named, html_of
from wikisync.core.model import Format, Page, Slug
from wikisync.core.system.child import PageError
from wikisync.errors import RenderError
from wikisync.markup.asciidoc.asciidoc3 import worker
from wikisync.markup.asciidoc.engine import Engine
from wikisync.markup.page import parse_page
from wikisync.markup.record import MarkupOptions

RIGHT = (
    *("id in front of a section", "two sections of one name"),
    *("section anchors of other letters", "paragraph and hard break"),
    *("literal paragraph", "lead paragraph", "thematic break", "page break", "strong"),
    *("emphasis", "superscript and subscript"),
    *("single quotes are not emphasis", "entities", "escaped markup"),
    *("passthrough of three plus", "pass block", "attribute"),
    *("missing attribute", "comment line", "comment block", "ifdef"),
    *("ifdef in one line", "ifeval", "inline anchor", "inline image"),
    *("image with role and align", "images directory", "listing", "listing with title"),
    *("literal block", "source with language", "source paragraph"),
    *("source without frame and language of the page", "sidebar"),
    *("block with id and role", "block title on paragraph", "index terms"),
    *("preamble and sections", "level offset"),
    *("doctype of the page does not change the shape", "right single quote in words"),
    *("nonbreaking markup borders", "colon attribute entries are dropped"),
    *("angle brackets url", "escaped callout and plain angle"),
)
"""Constructs, over a quarter of all; without attributes, which differ everywhere."""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = engine_named("asciidoc3")
    yield engine
    engine.close()


ATTACKS = {
    "block macro sys": "sys::[touch {mark}; cat {file}]",
    "block macro sys2": "sys2::[touch {mark}; cat {file}]",
    "attribute sys": "a {sys:touch {mark}; cat {file}} b",
    "attribute sys3": "a {sys3:touch {mark}; cat {file}} b",
    "block macro eval": "eval::[open('{mark}', 'w') and open('{file}').read()]",
    "attribute eval": "a {eval:open('{mark}', 'w') and open('{file}').read()} b",
    "attribute eval3": "a {eval3:open('{file}').read()} b",
    "ifeval": "ifeval::[open('{mark}', 'w')]\nx\nendif::[]",
    "ifeval after an attribute": (
        ":e: open('{mark}','w')\n\nifeval::[{e}]\nx\nendif::[]"
    ),
    "filter of a block": '[filter="touch {mark}; cat {file}"]\n----\nx\n----',
    "filter of a paragraph": '[filter="touch {mark}; cat {file}"]\nx',
    "filter that looks as if it stood in a block": (
        'x\n\n----\n\n[filter="touch {mark}; cat {file}"]\n....\nx\n....\n----'
    ),
    "attribute sys in a block that reads attributes": (
        '[subs="attributes"]\n----\n{sys:touch {mark}; cat {file}}\n----'
    ),
    "block macro sys in a block": "----\nsys::[touch {mark}; cat {file}]\n----",
    "filter of a table": '[filter="touch {mark}; cat {file}"]\n|===\n|x\n|===',
    "filter behind another attribute": (
        '[style="listing",filter="touch {mark}; cat {file}"]\n----\nx\n----'
    ),
    "name of a language": '[source,"x$(touch {mark})"]\n----\nx\n----',
    "include": "include::{file}[]",
    "include of a second kind": "include1::{file}[]\n\n{include1:{file}}",
    "attribute include": "a {include:{file}} b",
    "include by attribute": ":f: {file}\n\ninclude::{f}[]",
    "include in a block": "----\ninclude::{file}[]\n----",
    "escaped directive by attribute": ":i: include\n\n{i}::{file}[]",
    "picture as data": ":data-uri:\n\nimage::{file}[]",
    "icon as data": ":data-uri:\n:icons:\n:iconsdir: {folder}\n\nNOTE: x",
    "counter": "{counter:n:\"}{counter:n}{counter:n:open('{mark}','w')}",
    "configuration": ":conf-files: {file}\n:theme: {file}\n\nx",
    "docinfo": ":docinfo:\n:docinfo1:\n:docdir: {folder}\n\nx",
    "nested attribute": ":s: sys\n\n{{s}:touch {mark}}\n\n{s}::[touch {mark}]",
}


@pytest.mark.parametrize("name", list(ATTACKS))
def test_attack_reaches_neither_files_nor_commands(
    engine: Engine, tmp_path: Path, name: str
) -> None:
    secret, mark = tmp_path / "note.png", tmp_path / "mark"
    secret.write_text("the secret")
    source = (
        ATTACKS[name]
        .replace("{mark}", str(mark))
        .replace("{file}", str(secret))
        .replace("{folder}", str(tmp_path))
    )
    try:
        html = html_of(engine, f"{source}\n", {})
    except RenderError:
        html = ""
    assert "the secret" not in html
    assert "dGhlIHNlY3Jld" not in html
    assert not mark.exists()


def test_attributes_that_grow_are_cut_off(engine: Engine) -> None:
    bomb = ":a0: xxxxxxxxxx\n" + "".join(
        f":a{depth}: {f'{{a{depth - 1}}}' * 10}\n" for depth in range(1, 9)
    )
    with pytest.raises(RenderError):
        html_of(engine, f"{bomb}\n{{a8}}\n")
    assert "text" in html_of(engine, "text")


@pytest.mark.parametrize(
    "event", ["open", "os.system", "subprocess.Popen", "socket.connect", "import"]
)
def test_hook_forbids_what_reaches_the_machine(event: str) -> None:
    with pytest.raises(PageError, match=event):
        worker.forbid(event, ())


def test_hook_lets_the_parser_parse() -> None:
    worker.forbid("compile", ())


@pytest.mark.parametrize(
    ("expression", "value"),
    [('"a" == "a"', True), ("'a'!='a'", False), ("7+1", 8), ('chr(ord("b")+1)', "c")],
)
def test_counters_and_comparisons_are_evaluated(expression: str, value: object) -> None:
    assert worker.limited_eval(expression) == value


@pytest.mark.parametrize(
    "expression", ["open('x')", "1+1+1", '"a" == __import__("os")', "9**9", ""]
)
def test_nothing_else_is_evaluated(expression: str) -> None:
    with pytest.raises(PageError):
        worker.limited_eval(expression)


def test_paths_show_nothing_of_the_machine() -> None:
    limited = worker.limited_os({worker.PROGRAM: ""})
    assert limited.path.isfile(worker.PROGRAM)
    assert not limited.path.isfile(sys.executable)
    assert not limited.path.exists("/")
    assert not hasattr(limited, "system")


def test_configuration_starts_no_program() -> None:
    text = 'a=1\nb={sys:cat}\ninclude1::x[]\nc=subs=(),filter="x"'
    assert worker.without_programs(text) == "a=1"


def test_line_with_an_unknown_name_is_not_lost(engine: Engine) -> None:
    assert "a {unknown} b" in html_of(engine, "a {unknown} b")


def test_id_in_front_of_a_heading_keeps_the_heading(engine: Engine) -> None:
    assert "Head</h2>" in html_of(engine, "[#spot]\n== Head")


@pytest.mark.usefixtures("engine")
def test_page_tells_that_its_engine_is_the_last_resort() -> None:
    page = Page(Slug("home"), Format.ASCIIDOC, "text")
    parsed = parse_page(page, MarkupOptions(asciidoc_engine="asciidoc3"))
    assert [problem.code for problem in parsed.problems] == ["asciidoc-approximate"]
    assert "extra fast" in parsed.problems[0].hint


def test_title_of_the_page_is_shown(engine: Engine) -> None:
    assert "<h1>The Title</h1>" in html_of(engine, "= The Title\n\ntext")


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("== A, b.c\n\nx", 'id="user-content-a-b-c"'),
        ("== A\n\nx\n\n== A\n\ny", 'id="user-content-a-2"'),
        ('[id="own"]\n== A\n\nx', 'id="user-content-own"'),
        ("image::a/b.png[C]", '<img src="a/b.png" alt="C"'),
        ("----\n${name}\n----", "${name}"),
        ("Title\n-----\n\n{none} x", "{none} x"),
        ("include::gone.adoc[]\n\nx", '<a href="gone.adoc">'),
    ],
)
def test_what_both_languages_have_comes_out_alike(
    engine: Engine, source: str, html: str
) -> None:
    assert html in html_of(engine, source)


def test_mistakes_that_do_not_end_a_page_do_not_take_it_away(engine: Engine) -> None:
    assert "text" in html_of(engine, "= T\n\ntext\n\n=== too deep\n\nx\n")


def test_part_of_the_list_of_constructs_comes_out_right(engine: Engine) -> None:
    known = {construct.name: construct for construct in read_constructs()}
    wrong = [
        name
        for name in RIGHT
        if plain(html_of(engine, known[name].source)) != plain(known[name].html)
    ]
    assert wrong == []


def plain(html: str) -> str:
    """HTML without attributes, whose values differ between the engines."""
    return re.sub(r"<(\w+)[^<>]*>", r"<\1>", re.sub(r"> | <", "", flat(html)))
