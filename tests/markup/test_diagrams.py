"""Mermaid diagrams as pictures in which nothing runs."""

import re
import subprocess
import sys
import time
from html import unescape
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from tests.support.markup import render
from wikisync.markup import diagrams

pytest.importorskip("merman")

FLOW = "graph LR\nA[Grüße & co]-->B{yes?}\n"
KINDS = [
    FLOW,
    "sequenceDiagram\nAlice->>Bob: Hi\n",
    "classDiagram\nA <|-- B\n",
    "stateDiagram-v2\n[*] --> Still\n",
    "erDiagram\nCUSTOMER ||--o{ ORDER : places\n",
    "gantt\ntitle T\ndateFormat YYYY-MM-DD\nsection S\nA :a1, 2014-01-01, 30d\n",
    'pie title Pets\n"Dogs" : 386\n"Cats" : 85\n',
    "mindmap\nroot((m))\n  a\n",
    "gitGraph\ncommit\nbranch d\ncommit\n",
]


def page_of(source: str) -> str:
    return render(f"```mermaid\n{source}```\n").html


def drawings(html: str) -> list[str]:
    """The drawings of a page, the light one first, as paper needs it."""
    found = re.findall(r'="data:image/svg\+xml,([^"]*)"', html)
    return [unquote(unescape(address)) for address in found]


@pytest.mark.parametrize("source", KINDS, ids=lambda source: source.split()[0])
def test_diagram_is_two_drawings_with_its_source_below(source: str) -> None:
    html = page_of(source)
    light, dark = drawings(html)
    assert dark != light
    assert "#1b202a" in dark
    assert {ElementTree.fromstring(one).tag for one in (dark, light)} == {
        "{http://www.w3.org/2000/svg}svg"
    }
    (shown,) = re.findall(r"<details>.*<pre[^>]*>(.*)</pre></details>", html, re.DOTALL)
    assert unescape(shown) == source
    assert re.search(r'<img [^>]*alt="[^"]+" width="\d+" height="\d+">', html)


def test_drawing_shows_the_words_of_its_source() -> None:
    for drawing in drawings(page_of(FLOW)):
        assert "Grüße" in "".join(ElementTree.fromstring(drawing).itertext())


def test_diagram_with_a_mistake_stays_source_and_is_reported() -> None:
    page = render("```mermaid\ngraph TD\nA[[[ -->\n```\n")
    assert (
        '<pre class="mermaid" tabindex="0">graph TD\nA[[[ --&gt;\n</pre>' in page.html
    )
    (problem,) = page.problems
    assert problem.code == "diagram-not-drawn"
    assert "Unterminated node label" in problem.message


def test_process_that_has_drawn_ends_without_a_traceback() -> None:
    """Where modules are kept to the end, as here, an engine outlives its library."""
    drawn = f"{__file__}::test_drawing_shows_the_words_of_its_source"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", drawn],
        capture_output=True,
        check=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stderr == ""


def test_without_the_extra_the_source_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagrams, "can_draw", lambda: False)
    page = render(f"```mermaid\n{FLOW}```\n")
    assert '<pre class="mermaid"' in page.html
    assert page.problems == ()


@pytest.mark.parametrize(
    "source",
    [
        'graph TD;A["<img src=x onerror=alert(1)>"]-->B\n',
        'graph TD;A["<script>alert(1)</script>"]-->B\n',
        'graph TD;A-->B\nclick A "javascript:alert(1)"\n',
        "graph TD;A-->B\nclick A call alert()\n",
        'graph TD;A-->B\nclick A href "https://x.example" _blank\n',
        '%%{init: {"securityLevel": "loose", "htmlLabels": true}}%%\ngraph TD;A-->B\n',
        '%%{init: {"themeCSS": "*{fill:url(//x.example)}"}}%%\ngraph TD;A-->B\n',
        "graph TD;A-->B\nstyle A fill:url(https://x.example/a)\n",
        'graph TD;A@{ img: "https://x.example/a.png" }\n',
        'pie title </text><script>alert(1)</script>\n"a" : 1\n',
    ],
)
def test_nothing_in_a_drawing_runs_or_asks_for_anything(source: str) -> None:
    html = page_of(source)
    assert "<script" not in html
    for drawing in drawings(html):
        root = ElementTree.fromstring(drawing)
        for element in root.iter():
            assert element.tag.rpartition("}")[2] not in {
                "script",
                "a",
                "foreignObject",
            }
            for name, value in element.attrib.items():
                assert not name.startswith("on")
                if name.endswith("href"):
                    assert value.startswith(("#", "data:image/svg+xml;base64,"))
                assert "x.example" not in value
            assert "x.example" not in (element.text or "")


@pytest.mark.parametrize(
    "source",
    [
        "graph TD\n" + "".join(f"a{n}-->a{n + 1}\n" for n in range(4_000)),
        "graph TD\n" + "subgraph a\n" * 2_000,
        "graph TD;A[" + "x" * 49_000 + "]\n",
        "sequenceDiagram\n" + "A->>B: x\n" * 5_000,
        "x" * 60_000,
        "graph TD\n" + "".join(f"a-->b{n}\nb{n}-->c\n" for n in range(1_000)),
    ],
)
def test_diagram_without_end_costs_little(source: str) -> None:
    start = time.process_time()
    diagrams.mermaid_html(source)
    assert time.process_time() - start < 8
