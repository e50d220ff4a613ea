"""What every engine for AsciiDoc fulfils, run against each that is installed."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.markup.asciidoc.constructs import Construct, flat, read_constructs
from wikisync.errors import LimitExceeded, RenderError
from wikisync.markup.asciidoc.document import (
    KINDS,
    SERVICE_ATTRIBUTES,
    TAG,
    choose_engine,
    is_installed,
    mark_ids,
)
from wikisync.markup.asciidoc.engine import USUAL_LIMITS, Engine, WorkerLimits
from wikisync.markup.context import include_nothing

SCRIPTED = ("quickjs", "mini-racer")
CONSTRUCTS = read_constructs()


def skip_unless_installed(name: str) -> None:
    if not is_installed(name):
        pytest.skip(f"the engine {name} is not installed: {KINDS[name][1]}")


def engine_named(name: str, limits: WorkerLimits = USUAL_LIMITS) -> Engine:
    skip_unless_installed(name)
    return choose_engine(name, limits)


@pytest.fixture(scope="module", params=list(KINDS))
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    engine = engine_named(request.param)
    yield engine
    engine.close()


@pytest.fixture(scope="module", params=SCRIPTED)
def asciidoctor(request: pytest.FixtureRequest) -> Iterator[Engine]:
    engine = engine_named(request.param)
    yield engine
    engine.close()


def html_of(engine: Engine, source: str, pages: Mapping[str, str] | None = None) -> str:
    include = include_nothing if pages is None else pages.get
    return TAG.sub(mark_ids, engine.render(source, SERVICE_ATTRIBUTES, include))


def is_right(engine: Engine, construct: Construct) -> bool:
    return flat(html_of(engine, construct.source)) == flat(construct.html)


def test_asciidoctor_gets_every_construct_right(asciidoctor: Engine) -> None:
    wrong = [known.name for known in CONSTRUCTS if not is_right(asciidoctor, known)]
    assert len(CONSTRUCTS) >= 118
    assert wrong == []


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("== Head", "Head</h2>"),
        ("a *b* _c_ `d`", "<strong>b</strong> <em>c</em> <code>d</code>"),
        ("* a\n* b", "<li>"),
        ("https://example.com[Site]", '<a href="https://example.com">Site</a>'),
        ("link:other.adoc[Other]", '<a href="other.adoc">Other</a>'),
        ("[source,ruby]\n----\na < b\n----", '<pre data-canonical-lang="ruby"><code>'),
        ("NOTE: mind", 'class="admonitionblock note"'),
        ("|===\n|a |b\n|===", "<table"),
        ("a <b> & c", "a &lt;b&gt; &amp; c"),
    ],
)
def test_every_engine_knows_the_heart_of_the_language(
    engine: Engine, source: str, html: str
) -> None:
    assert html in html_of(engine, source)


def test_includes_come_from_the_wiki_and_inside_of_each_other(engine: Engine) -> None:
    pages = {"a.adoc": "from a\n\ninclude::b.adoc[]", "b.adoc": "from b"}
    html = html_of(engine, "include::a.adoc[]", pages)
    assert "from a" in html
    assert "from b" in html


def test_missing_include_says_so(engine: Engine) -> None:
    html = html_of(engine, "include::gone.adoc[]", {})
    assert "[ERROR: include::gone.adoc[] - unresolved directive]" in html


def test_includes_are_counted(engine: Engine) -> None:
    html = html_of(engine, "include::a.adoc[]\n\n" * 40, {"a.adoc": "text"})
    assert html.count("<p>text</p>") == 32
    assert html.count("ERROR") == 8


def test_includes_end_at_the_third_level(engine: Engine) -> None:
    html = html_of(
        engine, "include::a.adoc[]", {"a.adoc": "again\n\ninclude::a.adoc[]"}
    )
    assert html.count("again") == 3


def test_part_of_an_include_is_chosen(engine: Engine) -> None:
    html = html_of(engine, "include::a.adoc[lines=2..2]", {"a.adoc": "one\ntwo\nthree"})
    assert "two" in html
    assert "one" not in html


def test_nothing_is_left_for_the_next_page(engine: Engine) -> None:
    html_of(engine, ":mine: secret\n\n{mine} {counter:n}")
    html = html_of(engine, "{counter:n} text\n\n== Head\n\n{mine}")
    assert "secret" not in html
    assert "1 text" in html


def test_characters_of_all_scripts_come_through(engine: Engine) -> None:
    assert "日本語 🎉 é" in html_of(engine, "日本語 🎉 é")


@pytest.mark.parametrize(
    "source",
    [
        "include::{file}[]",
        "[source]\n----\ninclude::{file}[]\n----",
        ":x: {file}\n\ninclude::{x}[]",
        ":docinfo: shared\n:stylesheet: {file}\n\nx",
        "image::{file}[opts=inline]",
        "a,b\n\n[format=csv]\n,===\ninclude::{file}[]\n,===",
        ":data-uri:\n\nimage::{file}[]",
    ],
)
def test_page_reads_no_file(engine: Engine, tmp_path: Path, source: str) -> None:
    secret = tmp_path / "secret.svg"
    secret.write_text("<svg>the secret</svg>")
    filled = source.replace("{file}", str(secret))
    try:
        html = html_of(engine, filled, {})
    except RenderError:
        html = ""
    assert "the secret" not in html
    assert "dGhlIHNlY3Jld" not in html


@pytest.mark.parametrize("name", SCRIPTED)
def test_page_over_its_memory_is_stopped_and_the_next_is_right(name: str) -> None:
    engine = engine_named(name, WorkerLimits(memory_bytes_max=24 << 20))
    with pytest.raises(LimitExceeded, match="engine") as caught:
        html_of(engine, "x\n\n" * 200_000)
    assert caught.value.breach == "memory"
    assert "<p>x</p>" in html_of(engine, "x")
    engine.close()


@pytest.mark.parametrize(
    ("name", "pages", "growth_max"), [("quickjs", 4, 1.08), ("mini-racer", 12, 1.25)]
)
def test_memory_of_a_worker_stays_flat(
    name: str, pages: int, growth_max: float
) -> None:
    """A quarter of a megabyte lost with each page is seen; mini-racer's own ups and
    downs take more pages for that."""
    engine = engine_named(name)
    assert isinstance(engine, Engine)
    page = "\n\n".join(known.source for known in CONSTRUCTS[:60])
    sizes = []
    for _ in range(4):
        for _ in range(pages):
            html_of(engine, page)
        sizes.append(resident_bytes(engine))
    engine.close()
    assert sizes[-1] < growth_max * sizes[1], sizes


def resident_bytes(engine: Engine) -> int:
    process = engine._worker._process
    assert process is not None
    status = Path(f"/proc/{process.pid}/statm").read_text("utf-8")
    return int(status.split()[1]) * 4096


def test_best_engine_that_is_installed_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    where = "wikisync.markup.asciidoc.document.is_installed"
    monkeypatch.setattr(where, lambda _: True)
    assert choose_engine().name == "mini-racer"
    monkeypatch.setattr(where, lambda name: name != "mini-racer")
    assert choose_engine().name == "quickjs"
    monkeypatch.setattr(where, lambda name: name == "asciidoc3")
    assert choose_engine().name == "asciidoc3"


def test_without_any_engine_the_next_step_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "wikisync.markup.asciidoc.document.is_installed", lambda _: False
    )
    with pytest.raises(RenderError, match="no engine for asciidoc") as caught:
        choose_engine()
    assert "pip install" in str(caught.value.hint)
    with pytest.raises(RenderError, match="engine quickjs is not installed"):
        choose_engine("quickjs")


def test_unknown_engine_lists_the_known_ones() -> None:
    with pytest.raises(RenderError, match="no asciidoc engine node") as caught:
        choose_engine("node")
    assert "quickjs" in str(caught.value.hint)


def test_missing_library_names_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "wikisync.markup.asciidoc.document.LIBRARY", tmp_path / "asciidoctor.js"
    )
    with pytest.raises(RenderError, match="not part of this installation"):
        choose_engine("quickjs")
