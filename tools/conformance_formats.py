"""How near rdoc, org and asciidoc come to their own engines, printed as a table.

    python tools/conformance_formats.py [CORPUS]

CORPUS is a folder of documents with reference HTML: ``rdoc/cases.json``,
``rdoc/files`` with ``files_html.json``, ``org/spec``, ``org``, ``asciidoc`` (each
``in/`` and ``ref/``), and ``compare.py``, which scores text and structure.  A document
is good at text >= .98 and structure >= .95; the list of constructs is our own.
Where we differ on purpose the rule is named; ``docs/markup.md`` gives the reasons.
Documents of org are counted twice: against the reference as it is, and with the
constructs of ``ORG_DECISIONS`` taken out of both sides, so that nothing hides behind
a decision.  The scorer needs lxml, and rapidfuzz to be fast.
"""

import importlib.util
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.markup.asciidoc.constructs import Construct, flat, read_constructs  # noqa: E402
from tests.support.corpus import CORPUS  # noqa: E402
from wikisync.core.model import Slug  # noqa: E402
from wikisync.errors import RenderError  # noqa: E402
from wikisync.markup.asciidoc.document import (  # noqa: E402
    KINDS,
    SERVICE_ATTRIBUTES,
    TAG,
    choose_engine,
    is_installed,
    mark_ids,
)
from wikisync.markup.context import ParseContext, include_nothing  # noqa: E402
from wikisync.markup.org.document import to_html as org_html  # noqa: E402
from wikisync.markup.rdoc.blocks import to_html as rdoc_html  # noqa: E402

PAGE = ParseContext(Slug("home"))
GOOD_TEXT, GOOD_STRUCTURE = 0.98, 0.95
SPEC_TEXT, SPEC_STRUCTURE = 0.99, 0.95

RDOC_RULES = ("links to files", "badges as pictures")
"""What the service's pages need otherwise, taken out of both sides."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Where an Org page is shown otherwise than the reference shows it."""

    name: str
    """As ``docs/markup.md`` calls it; the reason stands there."""
    source: Callable[[str], str]
    """Takes the construct out of the page that we render."""
    reference: Callable[[str], str] = lambda html: html
    """Takes what stands for it out of the reference."""


def without(pattern: str, replacement: str = "") -> Callable[[str], str]:
    """What takes a pattern out of a text."""
    found = re.compile(pattern, re.IGNORECASE | re.MULTILINE | re.DOTALL)
    return lambda text: found.sub(replacement, text)


def without_block(names: str) -> Callable[[str], str]:
    """What takes blocks of these names out, with all that they hold."""
    return without(
        rf"^[ \t]*#\+begin_({names})\b(?:(?!^[ \t]*#\+end_\1\b).)*?"
        rf"^[ \t]*#\+end_\1[^\n]*\n?"
    )


KNOWN_BLOCKS = "src|example|quote|verse|center|export|comment|html"
ORG_DECISIONS = (
    Decision("export blocks of HTML", without_block("export")),
    Decision("verses", without_block("verse")),
    Decision("blocks of other names", without_block(rf"(?!(?:{KNOWN_BLOCKS})\b)\w+")),
    Decision("captions", without(r"^([ \t]*#\+)caption[^\n]*", r"\1name: x")),
    Decision(
        "rows of column widths",
        lambda text: text,
        without(r"\s*<tr>(?:<td>(?:&lt;[lrc]?\d*&gt;)?</td>)+</tr>"),
    ),
    Decision("brackets in a label", without(r"\[(?=\[[^\]]+\]\[\[\[)", "[\u200b")),
    Decision(
        "formulas", without(r"\A(?=.*(?:\$|\\[(\[]|\\begin\{))", "#+OPTIONS: tex:nil\n")
    ),
    Decision("macros", without(r"^[ \t]*#\+macro:[^\n]*\n")),
)
"""What org-ruby drops, or shows though it is meant for the editor."""


def main() -> int:
    """Print the table; 2 where the folder that was named is none."""
    corpus = Path(sys.argv[1]) if sys.argv[1:] else CORPUS
    if not corpus.is_dir():
        print(f"{corpus} is no folder: nothing to measure with", file=sys.stderr)
        return 0 if not sys.argv[1:] else 2
    try:
        compare = load(corpus / "compare.py")
    except ModuleNotFoundError as error:
        print(f"compare.py needs {error.name}: pip install lxml rapidfuzz")
        return 2
    print(f"{'what':<44}{'right':>7}{'of':>6}{'share':>8}  goal")
    rdoc(corpus / "rdoc")
    org(compare, corpus / "org")
    asciidoc(compare, corpus / "asciidoc")
    return 0


def load(path: Path) -> ModuleType:
    """The scorer, which lies with the documents."""
    spec = importlib.util.spec_from_file_location("compare", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def row(what: str, right: int, count: int, goal: str = "") -> None:
    """Print one line."""
    print(f"{what:<44}{right:>7}{count:>6}{right / max(count, 1):>8.1%}  {goal}")


# -- rdoc -------------------------------------------------------------------------


def rdoc(folder: Path) -> None:
    """Cases and documents of rdoc."""
    cases = json.loads((folder / "cases.json").read_text("utf-8"))
    unlike = [
        case["name"]
        for case in cases
        if rdoc_form(rdoc_html(case["source"], PAGE)) != rdoc_form(case["html"])
    ]
    row("rdoc, cases", len(cases) - len(unlike), len(cases), "all but the listed")
    print("    on purpose:", "; ".join(unlike))
    files = json.loads((folder / "files_html.json").read_text("utf-8"))
    equal, by_rule, unlike = 0, 0, []
    for name, reference in files.items():
        source = (folder / "files" / name).read_text("utf-8")
        ours, theirs = rdoc_form(rdoc_html(source, PAGE)), rdoc_form(reference)
        if ours == theirs:
            equal += 1
        elif ruled(ours) == ruled(theirs):
            by_rule += 1
        else:
            unlike.append(name)
    row("rdoc, documents to the letter", equal, len(files))
    row(
        f"rdoc, documents but for {len(RDOC_RULES)} rules",
        equal + by_rule,
        len(files),
        "98 %",
    )
    print("    by rule:", "; ".join(RDOC_RULES), "- others:", "; ".join(unlike))


def rdoc_form(html: str) -> str:
    """HTML without ids, classes, links from headings and ways to write a sign."""
    html = re.sub(r' (?:id|class|style|type)="[^"]*"', "", html)
    html = re.sub(r'(<h\d>)<a href="#[^>]*>(.*?)</a>(</h\d>)', r"\1\2\3", html)
    html = re.sub(r"</?span>", "", html).replace(" />", ">")
    for name, sign in (("&quot;", '"'), ("&#39;", "'"), ("&gt;", ">")):
        html = html.replace(name, sign)
    html = re.sub(r"[ \t]+\n", "\n", html)
    blocks = "p|ul|ol|li|dl|dt|dd|pre|h\\d|blockquote|hr"
    return re.sub(rf"\s*(</?(?:{blocks})[^>]*>)\s*", r"\1", html).strip()


def ruled(html: str) -> str:
    """HTML without what the rules are about."""
    html = re.sub(r'href="[^"]*"', "", html)
    html = re.sub(r"(?:&lt;|<)img src=.*?(?:/?>)(?=</a>|\s|$)", "", html)
    html = re.sub(r"</?a[^>]*>", "", html)
    return re.sub(r"\s+", " ", html)


# -- org --------------------------------------------------------------------------


def documents(folder: Path, suffix: str) -> Iterator[tuple[str, str, str]]:
    """Name, source and reference HTML of each."""
    for path in sorted((folder / "in").glob(f"*{suffix}")):
        reference = (folder / "ref" / f"{path.stem}.html").read_text("utf-8")
        yield path.stem, path.read_text("utf-8"), reference


def org(compare: ModuleType, folder: Path) -> None:
    """Cases and documents of org."""
    spec = [
        (name, compare.score(reference, org_html(source, PAGE)))
        for name, source, reference in documents(folder / "spec", ".org")
    ]
    unlike = [
        name
        for name, score in spec
        if score["text"] < SPEC_TEXT or score["structure"] < SPEC_STRUCTURE
    ]
    row("org, cases", len(spec) - len(unlike), len(spec), "all but the listed")
    print("    on purpose:", "; ".join(unlike))
    good, decided, headings, count = 0, 0, 0, 0
    lines = []
    for name, source, reference in documents(folder, ".org"):
        score = compare.score(reference, org_html(source, PAGE))
        count += 1
        headings += score["headings_equal"]
        if is_good(score):
            good += 1
            continue
        reasons, agreed = agree_but_for_decisions(compare, source, reference)
        decided += is_good(agreed)
        lines.append(
            f"    {shown(score)} {name}\n"
            f"        {shown(agreed)} but for {', '.join(reasons) or 'nothing'}"
        )
    row("org, documents good as the service shows them", good, count)
    row("org, documents but for the listed decisions", good + decided, count, "95 %")
    row("org, headings equal", headings, count, "98 %")
    print("\n".join(lines))


def is_good(score: Mapping[str, float]) -> bool:
    """Whether a document counts as right."""
    return score["text"] >= GOOD_TEXT and score["structure"] >= GOOD_STRUCTURE


def shown(score: Mapping[str, float]) -> str:
    """Both numbers of a score."""
    return f"{score['text']:.3f} {score['structure']:.3f}"


def agree_but_for_decisions(
    compare: ModuleType, source: str, reference: str
) -> tuple[list[str], Mapping[str, float]]:
    """The decisions that a document meets, and its score without them.

    Each construct is taken out of both sides; what else differs is still counted.
    """
    met = []
    for decision in ORG_DECISIONS:
        left_source = decision.source(source)
        left_reference = decision.reference(reference)
        if (left_source, left_reference) != (source, reference):
            met.append(decision.name)
        source, reference = left_source, left_reference
    return met, compare.score(reference, org_html(source, PAGE))


# -- asciidoc ---------------------------------------------------------------------


def asciidoc(compare: ModuleType, folder: Path) -> None:
    """Constructs and documents, by each engine that is installed."""
    constructs = read_constructs()
    for name in KINDS:
        if not is_installed(name):
            print(f"asciidoc, {name}: not installed ({KINDS[name][1]})")
            continue
        engine = choose_engine(name)

        def render(source: str, engine: object = engine) -> str:
            html = engine.render(source, SERVICE_ATTRIBUTES, include_nothing)  # type: ignore[attr-defined]
            return TAG.sub(mark_ids, html)

        try:
            right = sum(is_right(render, known) for known in constructs)
            row(f"asciidoc, {name}, constructs", right, len(constructs), "117 of 118")
            good, count = good_documents(compare, folder, render)
            row(f"asciidoc, {name}, documents good", good, count, "100 %")
        except RenderError as error:
            print(f"asciidoc, {name}: {error.message}")
        finally:
            engine.close()


def is_right(render: Callable[[str], str], known: Construct) -> bool:
    """Whether a construct comes out as it should."""
    try:
        return flat(render(known.source)) == flat(known.html)
    except RenderError:
        return False


def good_documents(
    compare: ModuleType, folder: Path, render: Callable[[str], str]
) -> tuple[int, int]:
    """How many documents are good, of how many."""
    good = count = 0
    for _, source, reference in documents(folder, ".adoc"):
        count += 1
        try:
            score = compare.score(reference, render(source))
        except RenderError:
            continue
        good += is_good(score)
    return good, count


if __name__ == "__main__":
    sys.exit(main())
