"""Whole wikis of pages that try to run a script or to leave the site, for a browser.

Every attack is a page of its own, for an open comment or element would hide those that
follow.  A harness builds the site, shows each page, and counts what runs.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tests.security.attack_html import RUN, clobbering, hostile_html
from tests.security.attack_texts import ATTACKS, SCRIPT_URLS
from wikisync.core.model import Format

PAGES_OF_A_WIKI = 100
EXTENSIONS = {
    Format.MARKDOWN: "md",
    Format.RDOC: "rdoc",
    Format.ASCIIDOC: "adoc",
    Format.ORG: "org",
    Format.REST: "rst",
    Format.PLAINTEXT: "txt",
}
MORE_URLS = (
    *(f"{space}javascript:{RUN}" for space in ("\x00", "\x1f", "\u00a0", "\u2028")),
    *(f"java{inside}script:{RUN}" for inside in ("\x00", "\r", "\x0b", "\u200b", "\\")),
    f"javascript\t:{RUN}",
    f"javascript\\:{RUN}",
    f"javascript%3A{RUN}",
    f"%6aavascript:{RUN}",
    f"%256aavascript:{RUN}",
    f"\\u006aavascript:{RUN}",
    f"\\6aavascript:{RUN}",
    f"&#0000106;avascript:{RUN}",
    f"&#x6A&#x61&#x76&#x61script:{RUN}",
    f"&bsol;javascript:{RUN}",
    f"&amp;#106;avascript:{RUN}",
    f"javascript&#0;:{RUN}",
    f"javascript://x.example/%0a{RUN}",
    f"javascript:/*https://x.example/*/{RUN}",
    f"javascript:void({RUN})#.png",
    f"javascript:{RUN}//.md",
    f"uploads/javascript:{RUN}",
    f"./javascript:{RUN}",
    f"x/../javascript:{RUN}",
    f"#javascript:{RUN}",
    f"?javascript:{RUN}",
    f"//evil.example/javascript:{RUN}",
    f"https:javascript:{RUN}",
    f"http:/javascript:{RUN}",
    f"url:javascript:{RUN}",
    f"javascript:javascript:{RUN}",
    f"jscript:{RUN}",
    f"mocha:{RUN}",
    f"wyciwyg://javascript:{RUN}",
    f"view-source:data:text/html,<script>{RUN}</script>",
    f"data:,<script>{RUN}</script>",
    f"data:text/xml,<script xmlns='http://www.w3.org/1999/xhtml'>{RUN}</script>",
    f"data:application/xhtml+xml,<script>{RUN}</script>",
    "data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+",
    f"data:text/javascript,{RUN}",
    f"DATA:text/html;charset=utf-7,+ADw-script+AD4-{RUN}",
    "chrome://settings",
    "about:blank",
    "intent://x#Intent;scheme=javascript;end",
    "ms-msdt:/id",
    "search-ms:query=x",
    "res://x",
    "x-javascript:x",
)
_LINKED = {
    Format.MARKDOWN: (
        "[x]({0}) [x](<{0}>) ![x]({0})",
        "[x][r]\n\n[r]: {0}\n\n<{0}> [[x|{0}]] [[{0}]]",
        "<a href='{0}'>x</a> <img src='{0}'> <video src='{0}' poster='{0}'></video>",
        "| [x]({0}) |\n|--|\n| ![x]({0}) |\n\n# [x]({0})\n\n[^1]\n\n[^1]: [x]({0})",
    ),
    Format.RDOC: (
        "{{x}}[{0}] x[{0}] {0} link:{0}",
        "rdoc-image:{0} {{rdoc-image:{0}}}[{0}]",
    ),
    Format.ASCIIDOC: (
        "link:{0}[x] {0}[x] link:++{0}++[x] xref:{0}[x] <<{0},x>>",
        "image::{0}[x,link='{0}']\n\nvideo::{0}[]\n\nimage:{0}[x]",
        ":u: {0}\n\nlink:{{u}}[x] link:pass:[{0}][x]",
    ),
    Format.ORG: ("[[{0}][x]] [[{0}]] <{0}>", "#+link: u {0}\n\n[[u:x]] [[file:{0}]]"),
    Format.REST: (
        "`x <{0}>`_ {0}\n\n.. image:: {0}\n   :target: {0}\n",
        ".. _r: {0}\n\nr_ |s|\n\n.. |s| image:: {0}\n",
    ),
}
"""How addresses stand in each format."""
_RAW_HTML = (Format.MARKDOWN, Format.ORG)
_WRAPPED = {
    Format.MARKDOWN: ("{0}", "# {0}\n\n- {0}\n\n| a |\n|--|\n| {0} |\n"),
    Format.RDOC: ("{0}",),
    Format.ASCIIDOC: ("++++\n{0}\n++++\n\n* pass:[{0}] +++{0}+++\n",),
    Format.ORG: ("#+begin_export html\n{0}\n#+end_export\n\n* @@html:{0}@@\n",),
    Format.REST: (".. raw:: html\n\n   {0}\n",),
}
"""How HTML stands in each format."""
_CLOBBERED = {page_format: _WRAPPED[page_format] for page_format in _RAW_HTML}
_CLOSERS = (
    '">',
    "'>",
    "-->",
    "]]>",
    "</title>",
    "</style>",
    "</script>",
    "</textarea>",
    "</code></pre>",
    '" onmouseover="alert(1)" x="',
    "' onmouseover='alert(1)' x='",
    "` onmouseover=alert(1) `",
    "\\u003c/script\\u003e",
)
_PLACES = {
    Format.MARKDOWN: (
        "---\ntitle: '{0}'\ntags: ['{0}']\ndescription: '{0}'\n---\nx\n",
        "# {0}\n\n[[_TOC_]]\n\n## {0}\n",
        "``` {0}\ncode\n```\n\n~~~{{.{0}}}\ncode\n~~~\n",
        '![{0}](a.png "{0}") [{0}](a "{0}")',
        "a[^{0}]\n\n[^{0}]: {0}\n",
        "[[{0}]] [[x|{0}]] [x](y#{0}) [x](y?{0})",
        (
            "::include{{file={0}}}\n\n```mermaid\n{0}\n```"
            "\n\n```plantuml\n{0}\n```\n\n$`{0}`$\n"
        ),
        "> [!note] {0}\n> x\n\n- [ ] {0}\n\n@{0} #{0} ~{0} %{{{0}}} :{0}:\n",
    ),
    Format.RDOC: ("= {0}\n\n[{0}] x\n", "rdoc-label:{0}[{0}]\n\n  code {0}\n"),
    Format.ASCIIDOC: (
        "= {0}\n:author: {0}\n:toc:\n\n== {0}\n\n[#{0}.{0}%{0}]\nx\n",
        "[source,{0}]\n----\ncode\n----\n\n[{0}]#x# footnote:[{0}] image:a.png[{0}]\n",
    ),
    Format.ORG: (
        "#+title: {0}\n* {0} :{0}:\n:PROPERTIES:\n:CUSTOM_ID: {0}\n:END:\n",
        (
            "#+begin_src {0}\ncode\n#+end_src\n\n#+attr_ht"
            "ml: :class {0} :onclick {0}\n[[a.png]]\n"
        ),
    ),
    Format.REST: (
        ".. class:: {0}\n\n.. code:: {0}\n\n   x\n\n.. image:: a.png\n   :alt: {0}\n",
        "Title\n=====\n\n:field {0}: {0}\n\n.. _{0}:\n\n.. math:: {0}\n",
    ),
}
"""Where text of a page gets into an attribute, a script, a head or a search index."""
NAMES = (
    *("<img src=x onerror=alert(1)>", '"onmouseover="alert(1)', "'onclick='alert(1)"),
    *("javascript:alert(1)", "javascript&colon;alert(1)", "data:text,x", "-->x<!--"),
    *("<script>alert(1)<", "{{7*7}}", "{% raw %}", "${alert(1)}", "`alert(1)`"),
    *("a?b=<svg onload=alert(1)>", "a#<svg onload=alert(1)>", "%3Cscript%3E", "&lt;b"),
    *("..%2f..%2fx", "\\x3cscript", "]]>", "a\u202eb", "CON", "index", "404", "-"),
    *("search", "constructor", "__proto__", "toString", "a;alert(1)", "a'b\"c", "a b"),
)
"""Names of pages, without their extensions."""
SIDEBAR = "\n".join(
    ["- [[home]]", *(text for _, text in ATTACKS[:60]), *list(hostile_html())[:60]]
)


@dataclass(frozen=True, slots=True)
class AttackPage:
    """One page of an attack."""

    kind: str
    path: str
    """In the folder of its wiki."""
    text: str


def attack_pages() -> Iterator[AttackPage]:
    """Every page, with names that are their own."""
    named: list[tuple[str, Format, str]] = [
        *(("snippets", page_format, text) for page_format, text in ATTACKS),
        *(("html", *page) for page in _in_all(list(hostile_html()), _WRAPPED)),
        *(("clobbering", *page) for page in _in_all(list(clobbering()), _CLOBBERED)),
        *(("addresses", *page) for page in _in_all(_addresses(), _LINKED)),
        *(("break-outs", *page) for page in _in_all(_break_outs(), _PLACES)),
    ]
    for number, (kind, page_format, text) in enumerate(named):
        yield AttackPage(kind, f"{number}.{EXTENSIONS[page_format]}", text)
    for number, name in enumerate(NAMES):
        text = f"# {name}\n\n[[{name}]]\n\n[x](<{name}>)\n"
        yield AttackPage("names", f"{name.replace('/', '-')} {number}.md", text)


def _addresses() -> list[str]:
    return [*SCRIPT_URLS, *MORE_URLS]


def _break_outs() -> list[str]:
    return [
        closer if RUN in closer else f"{closer}<img src=x onerror={RUN}>"
        for closer in _CLOSERS
    ]


def _in_all(
    texts: list[str], ways: dict[Format, tuple[str, ...]]
) -> Iterator[tuple[Format, str]]:
    """Each text in each way of each format."""
    for page_format, patterns in ways.items():
        for pattern in patterns:
            for text in texts:
                yield page_format, pattern.format(text)
