"""How the markdown engines do on every corpus: the table behind docs/markup.md.

    python tools/conformance.py [--differences]

Compared is what the HTML says (tags, attributes, words), without the attributes
that only the dialect writes.  Where an engine gives other HTML than an example
asks for, the service's own parser (comrak with the service's settings) is the
judge: what it gives as well is the dialect.  Of the rest some differences are known,
with their reasons, in tests/markup/cases/parity.json; ``--differences`` prints the
others, of which there must be none.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable

from corpora import OWN_CASES, Example, corpora
from markdown_it import MarkdownIt

from tests.support.markup import load_cases, sanitize, shape
from wikisync.markup import fast
from wikisync.markup.glfm import engine
from wikisync.markup.links import resolve_link

DIALECT = (
    (re.compile(r"<span data-escaped-char>(.*?)</span>"), r"\1"),
    (re.compile(r' data-meta="[^"]*"'), ""),
    (re.compile(r' class="(?:contains-task-list|task-list-item(?:-checkbox)?)"'), ""),
    (
        re.compile(r'(<pre lang="math"|<code class="language-math") data-math[^>]*'),
        r"\1",
    ),
    (re.compile(r'<pre lang="([^"]*)"><code>'), r'<pre><code class="language-\1">'),
)
OTHER_SETTINGS = "comrak-wikilinks_title_after_pipe.md"
"""Examples of an option that the service does not set."""

Parse = Callable[[str], str]


def plain(html: str) -> list[str]:
    """What HTML says without what only the dialect writes."""
    for pattern, replacement in DIALECT:
        html = pattern.sub(replacement, html)
    return shape(html)


def right(found: list[Example], parse: Parse) -> set[str]:
    """Sources for which a parser gives what the example asks for."""
    return {source for source, html in found if plain(parse(source)) == plain(html)}


def print_corpora(*, with_differences: bool) -> bool:
    """The table of examples; whether ours differs nowhere but where it is known."""
    has_fast = fast.is_installed()
    print(
        f"{'corpus':<40}{'examples':>9}{'comrak':>8}{'ours':>6}"
        f"{'known':>7}{'unexplained':>13}"
    )
    known = json.loads((OWN_CASES / "parity.json").read_text("utf-8"))
    is_clean = True
    for name, found in corpora():
        if name == OTHER_SETTINGS:
            continue
        ours = right(found, engine.parse)
        service = right(found, fast.parse) if has_fast else set()
        differing = [
            source
            for source, _ in found
            if source not in ours
            and not (
                has_fast and plain(fast.parse(source)) == plain(engine.parse(source))
            )
        ]
        left = [source for source in differing if source not in known]
        shown = str(len(service)) if has_fast else "-"
        print(
            f"{name:<40}{len(found):>9}{shown:>8}{len(ours):>6}"
            f"{len(differing) - len(left):>7}{len(left):>13}"
        )
        is_clean = is_clean and not left
        if with_differences:
            print("".join(f"    {source!r}\n" for source in left), end="")
    return is_clean


def print_alone() -> None:
    """markdown-it without the dialect on CommonMark's own examples."""
    bare = MarkdownIt("commonmark")
    for name, found in corpora():
        if name.startswith("spec-"):
            kept = sum(
                shape(bare.render(source)) == shape(html) for source, html in found
            )
            print(f"{name + ', commonmark setting':<40}{len(found):>9}{'':>8}{kept:>6}")


def print_rules() -> None:
    """The rules for links and the allow list."""
    links = load_cases("wiki_links.json")
    kept = sum(
        resolve_link(case["page_slug"], case["href"], "/ns/proj/-/wikis")
        == case["result"]
        for case in links
    )
    print(f"{'wiki_links.json':<40}{len(links):>9}{'':>8}{kept:>6}")
    fragments = load_cases("sanitise_cases.json")
    kept = sum(
        shape(sanitize(case["in"])) == shape(case["gitlab"]) for case in fragments
    )
    print(
        f"{'sanitise_cases.json':<40}{len(fragments):>9}{'':>8}{kept:>6}"
        "   the others: stricter, see tests/markup/test_sanitize.py"
    )


def main() -> int:
    """Print all tables; 1 where something differs that nobody has explained."""
    print_alone()
    is_clean = print_corpora(with_differences="--differences" in sys.argv[1:])
    print_rules()
    return 0 if is_clean else 1


if __name__ == "__main__":
    raise SystemExit(main())
