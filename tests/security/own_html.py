"""HTML that is nearly what our parsers write, for the grammar before the sanitiser.

The grammar takes HTML of which it says that the sanitiser would give the same tokens.
Here is HTML that obeys the grammar, that breaks one rule of it, and that is put
together from its tags in any order.
"""

import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.security.attack_html import hostile_html
from tests.security.proof import Row
from wikisync.core.model import Format, Slug
from wikisync.markup import sanitize
from wikisync.markup.context import ParseContext
from wikisync.markup.markdown import to_html
from wikisync.markup.record import MarkdownEngine
from wikisync.markup.source import clean_source
from wikisync.markup.tokens import VOID, Document

PROVED = 1_000_000
LONGEST_S = 1.0
DEPTH = 6
SAMPLE = Path(__file__).parents[2] / "sample-site"
URLS = (
    *(
        "x",
        "",
        "a/b:c?d=e&amp;f#g",
        "#",
        "?",
        "//[x",
        "a&nbsp;b",
        "a b",
        "&quot;",
        ":x",
    ),
    *("http://a.b/c:d", "http://1.2/", "http://a.1", "https://a..b/", "http://xn--a/"),
    *("https://XN--a.b", "https://b.c.:80", "http://a:99999/", "http://a-/", "http:a"),
    *("http://ab--c.de?", "http://%61/", "http://u@h/", "http://", "mailto:x&nbsp;y"),
    *("javascript:x", "JAVASCRIPT:x", "data:x", "ftp://a.b/", "java&#9;script:x"),
    *("\\\\x", "\x01x", "x\ty", "&colon;", "vbscript&colon;x", "http://\u00e4.b/"),
)
VALUES = (
    "",
    "x",
    "a b",
    "&lt;",
    "&gt;",
    "&quot;",
    "&amp;",
    "\xa0",
    "\n",
    "'",
    "\u00e4",
    "&",
)
SIGNS = (
    *("", "\n", "x", " y ", "&amp;", "&lt;", "&quot;", "&nbsp;", "\xa0", "\n\n", "\t"),
    *("\u2003", "\x0b", "\x0c", "\x01", "\x7f", "\0", "\r", "&", "&amp", "&copy;", "'"),
    *(">", "<", '"', "<!-- x -->", "<?x>", "<!x>", "</x>", "<b>", "</b>", "<script>"),
    *("<p", "<P>", "<p >", "<p/>", "<a href='x'>", "<li x>", "</p >", "<svg>", "</br>"),
    *("<br>", "<hr>", "<input>", "<select>", "<template>", "<x>", "<caption>", "<i>"),
)


class Writer:
    """Writes HTML by chance, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        paths = sorted(SAMPLE.rglob("*.md"))
        self.pages = [html_of(path.read_text("utf-8")) for path in paths]

    def texts(self, count: int) -> Iterator[str]:
        """Texts of all kinds in turn."""
        kinds = (self.mixed, self.tree, self.obedient, self.changed)
        for number in range(count):
            yield kinds[number % len(kinds)]()

    def mixed(self) -> str:
        """Tags and signs in any order."""
        return "".join([self.any_piece() for _ in range(self.chance.randrange(1, 9))])

    def tree(self) -> str:
        """Elements that all end, in any element."""
        return self.element(sorted(sanitize.HOLDS), DEPTH - 2, is_obedient=False)

    def obedient(self) -> str:
        """Elements in what may hold them."""
        return self.element(sorted(sanitize.FLOW), DEPTH, is_obedient=True)

    def changed(self) -> str:
        """A part of a page, or an obedient text, with a piece put in or instead."""
        html = self.chance.choice(self.pages) if self.is_rare(0.1) else self.obedient()
        start = self.chance.randrange(len(html) + 1)
        return (
            html[:start] + self.any_piece() + html[start + self.chance.randrange(3) :]
        )

    def element(self, names: Sequence[str], depth: int, *, is_obedient: bool) -> str:
        if not names or depth == 0:
            return ""
        name = self.chance.choice(names)
        start = self.start_tag(name, is_obedient=is_obedient)
        if name in VOID:
            return start
        allowed: sanitize.Names = (
            sanitize.IN_LINK
            if names == sorted(sanitize.IN_LINK)
            else sanitize.HOLDS[name]
        )
        inside = sorted(allowed) if is_obedient else names
        gaps = sorted(
            sanitize.GAPS.get(name, {"", "\n", "x", "&lt;&quot;"})
            if is_obedient
            else SIGNS
        )
        pieces: list[str] = []
        for _ in range(self.chance.randrange(4)):
            pieces.append(self.element(inside, depth - 1, is_obedient=is_obedient))
            pieces.append(self.chance.choice(gaps) if gaps else "")
        return f"{start}{''.join(pieces)}</{name}>"

    def start_tag(self, name: str, *, is_obedient: bool) -> str:
        url = self.chance.choice(URLS[:3] if is_obedient else URLS)
        value = self.chance.choice(VALUES)
        match name:
            case "a":
                more = self.chance.choice(
                    ("", f' title="{value}"', ' data-wikilink="true"')
                )
                return f'<a href="{url}"{more}>'
            case "img":
                return f'<img src="{url}" alt="{value}" />'
            case "div":
                return '<div class="markdown-alert markdown-alert-tip">'
            case "td" | "th" if self.is_rare(0.3):
                return f'<{name} align="left">'
            case "pre" if self.is_rare(0.5):
                return f'<pre lang="{value}">'
            case "ol" if self.is_rare(0.3):
                return '<ol start="3">'
        spelled = [tag for tag in sanitize.OWN_TAGS if tag.partition(" ")[0] == name]
        return f"<{self.chance.choice(spelled) if spelled else name}>"

    def any_piece(self) -> str:
        if self.is_rare(0.4):
            return self.chance.choice(SIGNS)
        name = self.chance.choice(sorted(sanitize.HOLDS))
        return (
            f"</{name}>"
            if self.is_rare(0.5)
            else self.start_tag(name, is_obedient=False)
        )

    def is_rare(self, share: float) -> bool:
        return self.chance.random() < share


def html_of(text: str, engine: MarkdownEngine = "auto") -> str:
    """What a markdown parser gives, not yet safe."""
    return to_html(clean_source(text), ParseContext(Slug("a"), engine=engine))


def tokens(document: Document) -> tuple[object, ...]:
    """All that a document is made of."""
    starts = {name: found for name, found in document.starts.items() if found}
    return (
        *(document.html, document.names, document.close, document.parents, starts),
        *(document.addresses, document.is_ascii),
    )


def is_taken(html: str) -> bool:
    """Whether the grammar takes the HTML; fails where the sanitiser says otherwise."""
    own = sanitize.own_tokens(html)
    if own is None:
        return False
    assert tokens(own) == tokens(sanitize.cleaned_tokens(html, Format.MARKDOWN)), html
    return True


async def same_tokens(_root: Path) -> Row:
    """The family of ``prove-security``: all attacks, and a million texts."""
    row = Row("HTML that the sanitiser would change", limit_s=LONGEST_S)
    writer = Writer(seed=1)
    for texts in (hostile_html(), writer.pages, writer.texts(PROVED)):
        for html in texts:
            began = time.process_time()
            try:
                is_taken(html)
            except AssertionError:
                row.note(html[:100], time.process_time() - began, is_held=False)
            else:
                row.note(html[:100], time.process_time() - began, is_held=True)
    return row
