"""``[text](page with spaces)``, which is no link in CommonMark but is in a wiki.

A pass over what a markdown parser gives, before it is sanitised, as in the
service: it reads running text only, outside of code, formulas and links, and
a text that any markup interrupts is no link.  Pure and linear.
"""

import re
from html import unescape

import mdurl

from wikisync.markup.tokens import escape

TAG = re.compile(r"(<[^<>]*+>)")
OPENS = re.compile(r"<(?:a|code|pre|tt)[\s>]|<span data-math")
CANDIDATE = re.compile(r"\]\([^\s()<>'\[\]]++ ")
SPACED = re.compile(
    r"(?P<bang>!?)\[(?P<text>[^\[\]\n<>]*+)\]\("
    r"(?P<target>[^\s()<>'\[\]]++(?:[ ]++[^\s()<>\[\]]++)++)[ ]*+\)"
)
QUOTE = "&quot;"


def link_spaced(html: str) -> str:
    """The same HTML with spaced links and pictures as elements."""
    if "](" not in html or CANDIDATE.search(html) is None:
        return html
    pieces = TAG.split(html)
    opened = ""
    for position, piece in enumerate(pieces):
        if position % 2:
            opened = state_behind(opened, piece)
        elif not opened and "](" in piece:
            pieces[position] = SPACED.sub(element, piece)
    return "".join(pieces)


def state_behind(opened: str, tag: str) -> str:
    """The end tag that is waited for behind a tag; empty in running text."""
    if opened:
        return "" if tag == opened else opened
    if OPENS.match(tag) is None:
        return ""
    name = re.split(r"[\s>]", tag[1:], maxsplit=1)[0]
    return f"</{name}>"


def element(match: re.Match[str]) -> str:
    """A link or picture; as it is where the target is no single address."""
    target, title = match["target"], None
    before, opening, quoted = target.removesuffix(QUOTE).rpartition(QUOTE)
    if opening and target.endswith(QUOTE) and before.endswith(" "):
        target, title = before.rstrip(" "), quoted
    if QUOTE in target or " " not in target:
        return match[0]
    address = escape(mdurl.encode(unescape(target)))
    rest = f' title="{title}"' if title else ""
    if match["bang"]:
        return f'<img src="{address}" alt="{match["text"]}"{rest} />'
    return f'<a href="{address}"{rest}>{match["text"]}</a>'
