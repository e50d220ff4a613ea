"""How the time of a page grows with its length, for texts that are made to hurt.

    python benchmarks/growth.py [--all] [WORD ...]

Each text is repeated to 10, 20, 40 and 80 KB and goes through both phases, with
each markdown engine.  The figures are CPU milliseconds of this process, the best of
two runs without the garbage collector, and the ratio of each single doubling: two
is a line, four a square; the goal is 2.6, or an answer of a limit (``source``).  A
busy machine only ever adds time, so a doubling above the goal is measured again, up
to twelve times, and once more so at the end, before it counts.  Words take the texts
whose names hold one of them.  Without ``--all`` the worst are shown.  The exit code is
1 where a doubling stays above the goal.
"""

import gc
import itertools
import sys
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from wikisync.core.model import AttachmentPath, Format, Page, Slug
from wikisync.markup import fast
from wikisync.markup.filters.code import highlighted
from wikisync.markup.links import LinkIndex
from wikisync.markup.page import parse_page
from wikisync.markup.record import MarkdownEngine, MarkupOptions
from wikisync.markup.resolve import finish_page

SIZES = (10_000, 20_000, 40_000, 80_000)
RUNS = 2
RUNS_MAX = 12
RATIO_MAX = 2.6
NOISE_MS = 50.0
"""A doubling that ends below this is no danger: were it a square, the largest page of
1 MiB would still take less than its deadline of 10 s.  It is no measure either: where a
parser's memory outgrows a cache, small figures jump by three, once.
"""
SHOWN = 15

REPEATED: Mapping[str, str] = {
    "emphasis opened": "*a ",
    "emphasis closed": "a* ",
    "emphasis mixed": "*a __a ",
    "strong nested": "**a *b ",
    "stars": "*",
    "underscores": "_a",
    "brackets open": "[",
    "brackets close": "]",
    "brackets nested": "[a](b ",
    "links unfinished": "[a](",
    "links empty": "[](",
    "pictures unfinished": "![[]()",
    "references": "[a][b] ",
    "definitions": "[a]: b\n",
    "definitions unfinished": '[a]: b "\n',
    "notes": "[^1] ",
    "notes defined": "[^a]: b\n",
    "notes defined in items": "- [^a]:\n",
    "wiki links": "[[a|b]] ",
    "wiki links open": "[[a|",
    "spaced links": "[a](b c) ",
    "spaced links open": "[a](b ",
    "backticks rising": "`a``b",
    "backticks": "`",
    "math open": "$a ",
    "math": "$a$ ",
    "math code": "$`a",
    "entities": "&a",
    "entities right": "&amp;",
    "escapes": "\\#",
    "autolinks": "<http://a",
    "bare addresses": "http://a.b ",
    "bare mail": "a@b.c ",
    "tildes": "~a",
    "html open": "<a ",
    "html tags": "<b>a</b>",
    "html nested": "<div>",
    "html spans nested": "<span>",
    "html formatting": "<b><i>",
    "html attributes": "<a b=c ",
    "html comments": "<!-- ",
    "html declarations": "<!A ",
    "html instructions": "<?",
    "html cdata": "<![CDATA[",
    "html quotes": '<a title="',
    "html details": "<details><summary>a</summary>",
    "quotes nested": "> ",
    "quotes": "> a\n\n",
    "fenced quotes": ">>>\na\n",
    "alerts": "> [!note]\n> a\n\n",
    "lists": "- a\n",
    "lists nested": "- ",
    "lists numbered": "1. ",
    "lists loose": "- a\n\n",
    "lists indented": " - a\n",
    "tasks": "- [ ] a\n",
    "tasks third": "- [~] a\n",
    "descriptions": "a\n: b\n\n",
    "headings": "# a\n",
    "headings equal": "# a b\n\n",
    "headings underlined": "a\n-\n",
    "rules": "---\n",
    "code fences": "```\n",
    "code fences open": "```a\n",
    "code": "```py\nx = 1\n```\n",
    "code diagrams": "```mermaid\na\n```\n",
    "tables rows": "|a|b|\n|-|-|\n|c|d|\n\n",
    "tables cells": "|[~]",
    "tables pipes": "|",
    "emoji": ":tada: ",
    "colons": ":a",
    "inline diff": "{+a ",
    "inline diff right": "{+a+} ",
    "numbers": "#1 ",
    "users": "@a ",
    "labels": '~"a ',
    "pages": "[wiki_page:a:b] ",
    "pages open": "[wiki_page:",
    "commits": "0123456789abcdef ",
    "slashes": "a/",
    "placeholders": "%{project_path} ",
    "placeholders in links": "[a](%{project_path}) ",
    "sizes": "![a](b){width=1} ",
    "sizes open": "![a](b){",
    "includes": "::include{file=a}\n",
    "front matter": "---\na: b\n",
    "table of contents": "[[_TOC_]]\n\n",
    "spaces": " ",
    "tabs": "\t",
    "line ends": "\n",
    "hard breaks": "a  \n",
    "right to left": "א ",
    "chinese": "**中**文",
    "nul": "\0",
    "emphasis three": "***a ",
    "emphasis both": "*_a",
    "emphasis crossed": "*a _b* ",
    "emphasis in words": "a**b*",
    "emphasis closed and opened": "**a* ",
    "strikes opened": "~~a ",
    "strikes and stars": "~~*a ",
    "strikes closed": "a~~ ",
    "chinese opened": "**字",
    "chinese closed": "字**",
    "chinese marks": "。**「字」**",
    "chinese strikes": "~~字、",
    "links in angles": "[a](<b ",
    "links with titles open": '[a](b "c ',
    "links with parentheses": "[a](((b ",
    "links in links": "[[a](b)](c) ",
    "pictures": "![a](b) ",
    "pictures in links": "[![a](b)](c) ",
    "pictures in pictures": "![![a](b)",
    "pictures open": "![",
    "references collapsed": "[a][] ",
    "references open": "[a][",
    "definitions in angles": "[a]: <b\n",
    "definitions of links": "[a]: b 'c'\n[a] ",
    "notes open": "[^",
    "notes unnamed": "[^]",
    "notes in notes": "[^a]: [^a]\n\n",
    "notes in quotes": "> [^a]: b\n\n",
    "notes deeper": "[^a]: > - ",
    "wiki links bare": "[[",
    "wiki links of brackets": "[[a]",
    "wiki links of pipes": "[[a|b|",
    "quotes and lists": "> - ",
    "quotes and numbers": "> 1. ",
    "lists and quotes": "- > ",
    "lists of each mark": "- + * ",
    "lists of numbers": "1) 2. ",
    "quotes lazy": "> a\nb\n",
    "quotes deep lazy": ">>>>>>>>> a\nb\n",
    "fenced quotes open": ">>> a\n",
    "fenced quotes longer": ">>>\n>>>>\n",
    "alerts nested": "> [!note] ",
    "alerts in alerts": "> > [!note]\n",
    "alerts fenced": ">>> [!note]\na\n>>>\n",
    "alerts fenced open": ">>> [!note]\n",
    "math blocks open": "$$a\n",
    "math blocks": "$$\na\n$$\n",
    "math dollars": "$",
    "math dollars spaced": "$ ",
    "math and code": "$`a`$ ",
    "math prices": "$1 ",
    "math fences": "```math\na\n```\n",
    "math braces": "$a_{b$ ",
    "descriptions two": "a\n: b\n: c\n\n",
    "descriptions bare": ": a\n",
    "descriptions loose": "a\n\n: b\n\n",
    "descriptions nested": "a\n:   b\n    :   ",
    "descriptions inside": "a\n: : ",
    "tables one line": "a|b\n",
    "tables delimiters": "|-|-|\n",
    "tables delimiters alone": "|-",
    "tables without pipes": "a|b\n-|-\n",
    "tables escaped": "|a\\|b",
    "tables in quotes": "> |a|\n> |-|\n\n",
    "tables of code": "|`a|b`",
    "tables of boxes": "|[x]|[~]|\n|-|-|\n|[ ]|[a]|\n\n",
    "tasks on the next line": "-\n  [~] a\n",
    "tasks nested": "- [~] ",
    "tasks struck": "- [~] <b>a</b>\n  - b\n",
    "tasks raw": "<li><input type=checkbox class=task-list-item-checkbox data-sign=a>",
    "diff crossed": "{+ a -} ",
    "diff brackets": "[+ a +] ",
    "diff nested": "{+ {- a ",
    "diff open": "[- a ",
    "colours": "`#fff` ",
    "colours of functions": "`rgb(1,2,3)` ",
    "colours open": "`hsl(1` ",
    "placeholders open": "%{",
    "placeholders unknown": "%{abc} ",
    "placeholders encoded": "[a](%7Bproject_path%7D) ",
    "includes open": "::include{file=",
    "includes in code": "```\n::include{file=a}\n```\n",
    "front matter of equals": "+++\na=1\n",
    "front matter of semicolons": ";;;\n{}\n",
    "front matter nested": "---\na: {",
    "comments": "<!-- a -->",
    "comments short": "<!-->",
    "comments of dashes": "<!---",
    "comments in lines": "<!-- a\n\n",
    "comments ended": "-->",
    "entities of numbers": "&#1;",
    "entities of numbers open": "&#x1",
    "entities long": "&CounterClockwiseContourIntegral;",
    "entities unknown": "&abcdefghijk;",
    "entities of entities": "&amp;lt;",
    "addresses bare": "http://",
    "addresses of schemes": "a://b",
    "addresses of dots": "http://a.",
    "addresses of signs": "http://a&b;",
    "addresses in parentheses": "(http://a.b) ",
    "addresses of parentheses": "http://a)",
    "addresses open parentheses": "(http://a(",
    "addresses of underscores": "http://a_b",
    "addresses www": "www.a",
    "addresses www spaced": "www.a.b ",
    "addresses of colons": "a:b:",
    "addresses of schemes alone": "://",
    "mail open": "a@",
    "mail of dots": "a.b@c.",
    "mail of signs": "+@a.b",
    "mail addresses": "mailto:a@b.c ",
    "mail in angles": "<a@b.c> ",
    "autolinks right": "<http://a.b> ",
    "autolinks of schemes": "<a:",
    "references to issues": "a/b#1 ",
    "references of paths": "a/b/",
    "references of dots": "a.b/c.",
    "references to labels": "~a::b ",
    "references to milestones": '%"a ',
    "references in brackets": "[issue:1] ",
    "references to issues open": "[issue:",
    "references long": "[wiki_page:a/b:c d] ",
    "commits long": "0123456789abcdef0123456789abcdef01234567..",
    "users nested": "@a/b.c-",
    "emoji open": ":a:b:c",
    "emoji signs": ":+1",
    "contents and headings": "[[_TOC_]]\n\n# a\n\n",
    "contents of one bracket": "[TOC]\n\n",
    "headings of code": "# `a` *b*\n",
    "headings deeper": "# a\n## b\n### c\n",
    "headings closed": "# a #\n",
    "headings of marks": "#",
    "headings open": "a\n=",
    "code of four": "    a\n",
    "code of tabs": "\ta\n\n",
    "code with info": "```a b:c d\n```\n",
    "code unknown": "```nothing\na\n```\n",
    "code of tables": '```json:table\n{"items":[{"a":1}]}\n```\n',
    "code of cells": '```json:table\n{"markdown":true,"items":[{"a":"|"}]}\n```\n',
    "code of tildes": "~~~\n",
    "code spans crossed": "`a``",
    "html tables": "<table><tr><td>a",
    "html cells": "<td>",
    "html lists": "<ul><li>",
    "html items": "<li>",
    "html paragraphs": "<p>",
    "html ends": "</div>",
    "html ends of paragraphs": "</p>",
    "html ends of breaks": "</br>",
    "html headings": "<h1>a</h1>",
    "html headings open": "<h1>",
    "html code": "<pre>",
    "html code languages": '<pre lang="py"><code>a</code></pre>',
    "html pictures": "<img src=a>",
    "html boxes": "<input type=checkbox>",
    "html links": "<a href=b>",
    "html links nested": "<a href=b><b>",
    "html names": "<a name=b>",
    "html films": '<video src="a.mp4"></video>',
    "html drawings": "<svg><a>",
    "html formulas": "<math><mi>",
    "html styles": "<style>",
    "html scripts": "<script>",
    "html texts": "<textarea>",
    "html selections": "<select><option>",
    "html templates": "<template>",
    "html tags broken": "<a<b",
    "html tags empty": "<>",
    "html many attributes": "<a a='b' ",
    "html classes": '<p class="a b c">',
    "html ruby": "<ruby>a<rt>b",
    "html details nested": "<details><summary>",
    "html blocks": "<div>\n\n",
    "html in lists": "- <div>\n",
    "html in quotes": "> <div>\n",
    "html fonts": "<p><font color=a>",
    "html frames": "<table><b>",
    "html adoption": "<a><p>",
    "html bold paragraphs": "<b><p>",
    "html nobr": "<nobr>",
    "html forms": "<form><div>",
    "spaced links titled": '[a](b c "d") ',
    "spaced pictures": "![a](b c.png) ",
    "spaced links nested": "[a [b](c d) ",
    "sizes of names": "![a](b){a=b ",
    "sizes of raw pictures": '<img src="a">{width=1} ',
    "films": "![a](b.mp4) ",
    "letters": "a",
    "digits": "1",
    "hexadecimal": "a1",
    "words": "ab ",
    "lines": "a\n",
    "backslashes": "\\",
    "backslashes and brackets": "\\[",
    "quotation marks": "\"'",
    "line ends of Windows": "a\r\n",
    "wide spaces": "\u3000a",
    "combining": "a\u0301",
    "soft": "\u00ad\u200b",
    "beyond the plane": "\U0001f600",
    "form feeds": "\f",
    "separators": "\u2028",
}
"""What is repeated; kinds that brought down parsers, and one for each of our steps."""

ENDED: Mapping[str, tuple[str, str]] = {
    "brackets": ("[", "]"),
    "links": ("[a", "](b)"),
    "links unfinished": ("[a](", "](b)"),
    "links in angles": ("[a](<", ">)"),
    "pictures": ("![a", "](b)"),
    "wiki links": ("[[a", "]]"),
    "wiki links of pipes": ("[[a|", "]]"),
    "notes": ("[^a", "]\n\n[^b]: x"),
    "definitions": ("[a", "]\n\n[a]: b"),
    "emphasis": ("*a", "**"),
    "code spans": ("``a ", "`"),
    "formulas": ("$a ", "$"),
    "formulas as code": ("$`a ", "`$"),
    "comments": ("<!--a", "-->"),
    "tags": ('<a b="c ', '">'),
    "letters": ("a", " a@b.c http://a.b #1"),
    "mail": ("a.", "@b.c"),
    "paths": ("a/", "#1 @a"),
    "digits": ("0a", " #1"),
    "labels": ('~"a', '"'),
    "references": ("[wiki_page:a", ":b]"),
    "emoji": (":a", ":"),
    "diff": ("{+ a ", "+}"),
    "placeholders": ("%{a", "}"),
    "sizes": ("![a](b){c ", "}"),
}
"""What is repeated, and what comes once: an end for whatever looks for one."""


class NoUrls:
    """Addresses of a wiki that has no other page."""

    def page(self, slug: Slug, fragment: str) -> str:
        """Some address."""
        return f"{slug}.html#{fragment}"

    def attachment(self, path: AttachmentPath) -> str:
        """The path."""
        return path

    def missing(self, target: str) -> str | None:
        """The target."""
        return target


def texts_of(piece: str) -> list[str]:
    """The piece at each length."""
    return [(piece * (size // len(piece) + 1))[:size] for size in SIZES]


def structured() -> dict[str, list[str]]:
    """Texts whose length grows in two directions, or that hold different names."""
    return {
        "table wide and short": [
            "|a" * (size // 8)
            + "\n"
            + "|-" * (size // 8)
            + "\n"
            + "|b\n" * (size // 12)
            for size in SIZES
        ],
        "different links": [
            "".join(f"[a](p{number}) " for number in range(size // 11))
            for size in SIZES
        ],
        "different raw links": [
            "".join(f"<a href=p{number}>x</a> " for number in range(size // 18))
            for size in SIZES
        ],
        "definitions used": [
            "".join(f"[r{number}]: x\n" for number in range(size // 20))
            + "".join(f"[r{number}] " for number in range(size // 20))
            for size in SIZES
        ],
        "notes used": [
            "".join(f"[^{n}] " for n in range(size // 20))
            + "".join(f"\n\n[^{n}]: a" for n in range(size // 20))
            for size in SIZES
        ],
        "backticks of every length": [
            " ".join("`" * length for length in range(1, int((2 * size) ** 0.5)))
            for size in SIZES
        ],
        "brackets open and closed": [
            "[" * (size // 2) + "]" * (size // 2) for size in SIZES
        ],
        "html open and closed": [
            "<div>" * (size // 11) + "</div>" * (size // 11) for size in SIZES
        ],
        "quotes of fences shorter and shorter": [
            "".join(
                ">" * width + "\na\n" for width in range(int((2 * size) ** 0.5), 3, -1)
            )
            for size in SIZES
        ],
        "lists deeper and deeper": [
            "".join("  " * depth + "- a\n" for depth in range(int(size**0.5)))
            for size in SIZES
        ],
        "quotes deeper and deeper": [
            "".join("> " * depth + "a\n" for depth in range(int(size**0.5)))
            for size in SIZES
        ],
        "json table long": [
            '```json:table\n{"markdown":true,"items":['
            + '{"a":"[~]"},' * (size // 13)
            + "{}]}\n```\n"
            for size in SIZES
        ],
        "different headings": [
            "".join(f"# a{number}\n\n" for number in range(size // 9)) for size in SIZES
        ],
        "different placeholders": [
            "".join(f"%{{a{number}}} " for number in range(size // 9)) for size in SIZES
        ],
        **{
            f"{name} and an end": [piece * (size // len(piece)) + end for size in SIZES]
            for name, (piece, end) in ENDED.items()
        },
    }


class Growth(NamedTuple):
    """What one text costs at each length."""

    engine: MarkdownEngine
    name: str
    costs: list[float]
    """CPU milliseconds."""
    is_source: bool
    """Whether a limit answered for the longest: it was shown as source."""

    @property
    def ratios(self) -> list[float]:
        """Of each doubling; nothing where it ends below what can be measured."""
        return [
            longer / shorter if longer >= NOISE_MS else 0.0
            for shorter, longer in itertools.pairwise(self.costs)
        ]

    @property
    def is_over(self) -> bool:
        """Whether a doubling takes more than the goal, and no limit ended it."""
        return max(self.ratios) > RATIO_MAX and not self.is_source


def whole(engine: MarkdownEngine) -> Callable[[str], bool]:
    """Both phases of a page, and whether it came out as source."""
    options = MarkupOptions(engine=engine, placeholders={"project_path": "a/b"})
    index = LinkIndex([Slug("page")], web_url="https://gitlab.example.com/a/-/wikis")

    def render(text: str) -> bool:
        parsed = parse_page(Page(Slug("page"), Format.MARKDOWN, text), options)
        finish_page(parsed, index, NoUrls())
        return parsed.is_source

    return render


def grown(engine: MarkdownEngine, name: str, texts: list[str]) -> Growth:
    """Measure one text, as often as a doubling seems to be above the goal."""
    work = whole(engine)
    costs = [float("inf")] * len(texts)
    found = Growth(engine, name, costs, is_source=False)
    for run in range(RUNS_MAX):
        if run >= RUNS and not found.is_over:
            break
        timed = [cost_of(work, text) for text in texts]
        costs = [min(pair) for pair in zip(costs, (ms for ms, _ in timed), strict=True)]
        found = Growth(engine, name, costs, is_source=timed[-1][1])
    return found


def cost_of(work: Callable[[str], bool], text: str) -> tuple[float, bool]:
    """Milliseconds of CPU for a text, and whether it came out as source."""
    highlighted.cache_clear()
    gc.collect()
    gc.disable()
    start = time.process_time()
    is_source = work(text)
    spent = time.process_time() - start
    gc.enable()
    return spent * 1000, is_source


def row_of(one: Growth) -> str:
    """One line of the table."""
    figures = f"{one.costs[0]:>9.1f}" + "".join(
        f"{cost:>9.1f} {f'x{ratio:.2f}' if ratio else '':<6}"
        for cost, ratio in zip(one.costs[1:], one.ratios, strict=True)
    )
    return f"{one.name:<30}{one.engine:<12}{figures}{' source' * one.is_source}"


def main() -> int:
    inputs = {name: texts_of(piece) for name, piece in REPEATED.items()} | structured()
    words = [word for word in sys.argv[1:] if word != "--all"]
    engines: list[MarkdownEngine] = ["markdown-it"]
    if fast.is_installed():
        engines.insert(0, "comrak")
    found = []
    for engine in engines:
        whole(engine)("# warm")
        for name, texts in inputs.items():
            if not words or any(word in name for word in words):
                found.append(grown(engine, name, texts))
                if found[-1].is_over:
                    print("to be measured again:", row_of(found[-1]), file=sys.stderr)
    # a neighbour on the machine may have been there for all twelve runs
    found = [
        grown(one.engine, one.name, inputs[one.name]) if one.is_over else one
        for one in found
    ]
    found.sort(key=lambda one: max(one.ratios), reverse=True)
    over = [one for one in found if one.is_over]
    sizes = f"{SIZES[0] // 1000:>6} KB" + "".join(
        f"{size // 1000:>6} KB       " for size in SIZES[1:]
    )
    print(f"{'text':<30}{'engine':<12}{sizes}")
    for one in found if "--all" in sys.argv else found[: max(SHOWN, len(over))]:
        print(row_of(one))
    print(
        f"\n{len(found)} measured, {3 * len(found)} doublings; "
        f"{len(over)} texts with one above {RATIO_MAX}"
    )
    return 1 if over else 0


if __name__ == "__main__":
    raise SystemExit(main())
