"""The examples that the markdown engines are held to, as pairs of source and HTML."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

CORPUS = ROOT.parent / "shared" / "corpus"
OWN_CASES = ROOT / "tests" / "markup" / "cases"
EXAMPLE = re.compile(
    r"^`{32} example[^\n]*\n(.*?)^\.\n(.*?)^`{32}$", re.DOTALL | re.MULTILINE
)
HEADING_LINK = re.compile(r'<a href="#[^"]*" aria-label="[^>]*class="anchor"></a>')
HEADING_ID = re.compile(r'(<h\d) id="user-content-[^"]*"')

Example = tuple[str, str]


def examples(path: Path) -> list[Example]:
    """Source and HTML of each example of a specification's text."""
    text = path.read_text("utf-8").replace("→", "\t")
    return [(match[1], match[2]) for match in EXAMPLE.finditer(text)]


def service_cases() -> list[Example]:
    """Our own snippets with the HTML of the service's parser, ids of headings out."""
    cases = json.loads((OWN_CASES / "cases.json").read_text("utf-8"))
    return [
        (case["source"], HEADING_ID.sub(r"\1", HEADING_LINK.sub("", case["html"])))
        for case in cases
    ]


def dialect_cases() -> list[Example]:
    """Our own snippets of the dialect."""
    blocks = (OWN_CASES / "dialect.txt").read_text("utf-8").split("\n=====\n")
    split = [block.split("\n-----\n") for block in blocks]
    return [(source, html) for _, source, html in split]


def corpora() -> Iterator[tuple[str, list[Example]]]:
    """Name and examples of each corpus that is there."""
    yield "cases.json", service_cases()
    yield "dialect.txt", dialect_cases()
    for path in sorted([*CORPUS.glob("commonmark/*.txt"), *CORPUS.glob("glfm/*.md")]):
        if path.name != "SOURCES.txt":
            yield path.name, examples(path)
