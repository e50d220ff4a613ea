"""What docstrings, comments and documents refer to is there.

Docstrings and comments cite a document, ``docs/sync.md``; a heading of it,
``docs/sync.md`` "Safety stop"; or a rule by its number: I1 and the like stand in
``docs/sync.md``, Q1 and the like in ``docs/service.md``.  Documents link to files and
headings, and name modules and tests by their paths.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "wikisync"
DOCUMENTS = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])
FOLDERS = ("wikisync", "tests", "tools", "benchmarks")
MODULES = sorted(
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*.py")
    if "node_modules" not in path.parts
)
HOMES = {"I": "sync", "Q": "service"}
"""First letter of a rule's number to the document that has the rule."""

CITATION = re.compile(r"\bdocs/(?P<name>[\w-]+)\.md(?:`{1,2} \"(?P<heading>[^\"]+)\")?")
RULE = re.compile(r"\b(?P<rule>(?P<home>[IQ])[1-9]\d?)\b")
DEFINED_RULE = re.compile(r"^(?:- \*\*|\| )(?P<rule>[IQ]\d+)\b", re.MULTILINE)
BY_SECTION = re.compile(
    r"service-(?:behaviour|api)\b|(?<!/)\b(?:sync|service)\.md`{1,2}"
    r"|\.md`{0,2} \d|\((?:API )?\d\.\d{1,2}(?:[,)]| to )"
)
"""Sections by their number, and documents without their folder: no form of ours."""
MAY_CITE = re.compile(r"\.md\b|\b[IQ][1-9]|service-(?:beh|api)|\(\s*(?:API\s+)?\d\.\d")
"""Where none of this is, a module need not be read token by token."""
FENCE = re.compile(r"^(?P<mark>```+|~~~+).*?^(?P=mark)\s*?$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"\]\((?P<target>[^()\s]+)\)")
ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*:")
FILE = re.compile(r"`(?P<path>[a-z_]+(?:/[a-z0-9_]+)+\.py)(?:::(?P<test>\w+))?`")


def headings(text: str) -> set[str]:
    found = re.findall(r"^#{1,6} +(.+?) *$", FENCE.sub("", text), re.MULTILINE)
    return {heading.replace("`", "") for heading in found}


def anchor(heading: str) -> str:
    """The id that the usual hosts of repositories give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def rules_of(name: str) -> frozenset[str]:
    return frozenset(DEFINED_RULE.findall(text_of(ROOT / "docs" / f"{name}.md")))


def remarks(source: str) -> Iterator[str]:
    """Docstrings, of attributes too, and comments, each on one line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield " ".join(str(node.value.value).split())
    lines = io.StringIO(source).readline
    comments = [
        token.string.lstrip("# ")
        for token in tokenize.generate_tokens(lines)
        if token.type == tokenize.COMMENT
    ]
    yield " ".join(comments)


def wrong_citations(text: str) -> Iterator[str]:
    """Citations in one remark, or in a document, that lead nowhere."""
    for citation in CITATION.finditer(text):
        path = ROOT / "docs" / f"{citation['name']}.md"
        heading = citation["heading"]
        if not path.is_file() or (heading and heading not in headings(text_of(path))):
            yield citation.group()
    for rule in RULE.finditer(text):
        if rule["rule"] not in rules_of(HOMES[rule["home"]]):
            yield rule.group()
    for section in BY_SECTION.finditer(text):
        yield section.group()


def wrong_links(path: Path, text: str) -> Iterator[str]:
    """Relative links of a document, and names of files, that lead nowhere."""
    prose = CODE.sub("", FENCE.sub("", text))
    for link in LINK.finditer(prose):
        if ABSOLUTE.match(link["target"]):
            continue
        file, _, wanted = unquote(link["target"]).partition("#")
        there = path.parent / file if file else path
        if not there.exists() or (
            wanted and wanted not in map(anchor, headings(text_of(there)))
        ):
            yield link.group()
    for named in FILE.finditer(text):
        files = [base / named["path"] for base in (ROOT, PACKAGE)]
        found = next((file for file in files if file.is_file()), None)
        if found is None or (named["test"] or "") not in text_of(found):
            yield named.group()


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_what_modules_cite_is_there() -> None:
    found = {
        name_of(path): wrong
        for path in MODULES
        if MAY_CITE.search(text_of(path))
        for text in remarks(text_of(path))
        if (wrong := list(wrong_citations(text)))
    }
    assert found == {}


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_what_a_document_cites_and_links_to_is_there(path: Path) -> None:
    text = text_of(path)
    assert [*wrong_citations(text), *wrong_links(path, text)] == []


@pytest.mark.parametrize("name", HOMES.values())
def test_the_documents_have_rules(name: str) -> None:
    """Otherwise no citation of a rule would be looked up."""
    assert len(rules_of(name)) >= 8


@pytest.mark.parametrize(
    "text",
    [
        *("see ``docs/nowhere.md``", 'see ``docs/sync.md`` "Nowhere"'),
        *("so it is (Q99)", "I99 says so", "(``sync.md`` 3.4)", "see sync.md 3.4"),
        *("service-behaviour.md 2.2", "(``service-behaviour`` 5.6)"),
        *("one method each (API 4.3, 4.4)", "as on the real one (5.4)."),
    ],
)
def test_a_citation_that_leads_nowhere_is_found(text: str) -> None:
    assert list(wrong_citations(text))


def test_a_citation_over_two_lines_is_one() -> None:
    source = '"""See ``docs/sync.md``\n    "Nowhere\n    at all".\n"""\n'
    (remark, _) = remarks(source)
    assert list(wrong_citations(remark)) == ['docs/sync.md`` "Nowhere at all"']


@pytest.mark.parametrize(
    "text",
    [
        *("[there](nowhere.md)", "[there](sync.md#nowhere)", "[here](#nowhere)"),
        *("`tests/sync/test_nowhere.py`", "`sync/nowhere.py`"),
        "`tests/sync/test_echo.py::test_nowhere`",
    ],
)
def test_a_link_that_leads_nowhere_is_found(text: str) -> None:
    assert list(wrong_links(ROOT / "docs" / "sync.md", text))
