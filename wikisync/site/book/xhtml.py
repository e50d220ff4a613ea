"""The sanitiser's HTML as XHTML of a book: well-formed, and without what left HTML.

Pure.  The sanitiser closes every tag and quotes every value; what is left is the
difference between the two notations, and attributes and elements that its pages may
still have but books may not.
"""

import re
from html import unescape
from urllib.parse import quote

from wikisync.markup.tokens import TAG, VOID, escape_marks

MATHML = "http://www.w3.org/1998/Math/MathML"
SVG = "http://www.w3.org/2000/svg"
_NAMESPACES = {"math": MATHML, "svg": SVG}
_NAMES = {"h7": "h6", "h8": "h6", "big": "span", "font": "span", "strike": "s"}
_NAMES |= {"tt": "code", "center": "div"}
_ATTRIBUTE = re.compile(r"""\s+([a-zA-Z_][\w:.-]*)(?:="([^"]*)")?""")
_TAG_NAME = re.compile(r"</?([a-zA-Z][a-zA-Z0-9-]*)")
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_IPV6 = re.compile(r"^(\w+://)%5B([\da-fA-F:.]+)%5D")
_URL_SIGNS = "!$%&'()*+,/:;=?@~"
_ALIGNED = frozenset({"left", "right", "center", "justify"})
_GLOBAL = frozenset({"class", "dir", "hidden", "id", "lang", "role", "style", "title"})
_OWN = {
    "a": {"href", "hreflang", "rel", "type"},
    "blockquote": {"cite"},
    "col": {"span"},
    "colgroup": {"span"},
    "del": {"cite", "datetime"},
    "details": {"open"},
    "img": {"alt", "height", "src", "width"},
    "input": {"checked", "disabled", "type", "value"},
    "ins": {"cite", "datetime"},
    "li": {"value"},
    "ol": {"reversed", "start", "type"},
    "q": {"cite"},
    "td": {"colspan", "headers", "rowspan"},
    "th": {"abbr", "colspan", "headers", "rowspan", "scope"},
    "time": {"datetime"},
}
_NUMBERS = frozenset(
    {"colspan", "height", "rowspan", "span", "start", "value", "width"}
)


def as_xhtml(html: str) -> str:
    """The same text in the notation of XML."""
    pieces = TAG.split(html)
    texts, tags = pieces[::3], [*pieces[1::3], ""]
    out: list[str] = []
    ids: set[str] = set()
    summaries: list[str] = []
    """What stands for each that is open: it must be the first of its details."""
    foreign: list[str] = []
    """The outermost element of MathML or SVG that is open."""
    for number, (text, tag) in enumerate(zip(texts, tags, strict=True), start=1):
        out.append(_text(text))
        found = _TAG_NAME.match(tag)
        if found is None:
            continue
        name = found[1]
        is_end, is_empty = tag[1] == "/", name in VOID or tag.endswith("/>")
        own = _NAMES.get(name, name)
        if name == "summary":
            if not is_end:
                before = tags[number - 2] if number > 1 and not text.strip() else ""
                summaries.append("summary" if before[1:8] == "details" else "div")
            own = summaries.pop() if is_end else summaries[-1]
        if is_end:
            out.append(f"</{own}>")
        else:
            if name in _NAMESPACES:
                foreign.append(name)
            given = _given(name, tag[found.end() :], ids, is_foreign=bool(foreign))
            out.append(f"<{own}{given}{'/' if is_empty else ''}>")
            has_summary = not texts[number].strip() and tags[number][1:8] == "summary"
            if name == "details" and not has_summary:
                out.append("<summary/>")
        if (is_end or is_empty) and foreign and name == foreign[-1]:
            foreign.pop()
    return "".join(out)


def _text(text: str) -> str:
    return escape_marks(_NO_XML.sub("", unescape(text)))


def _given(name: str, rest: str, ids: set[str], *, is_foreign: bool) -> str:
    given = {key: unescape(value) for key, value in _ATTRIBUTE.findall(rest)}
    if not is_foreign:
        given = _kept(name, given)
    elif name in _NAMESPACES:
        given["xmlns"] = _NAMESPACES[name]
    if given.get("id") in ids:  # a browser takes the first one
        del given["id"]
    ids |= {given["id"]} if "id" in given else set()
    return "".join(f' {key}="{_text(value)}"' for key, value in given.items())


def _kept(name: str, given: dict[str, str]) -> dict[str, str]:
    """The attributes that an element of a book may have."""
    kept = {
        key: value
        for key, value in given.items()
        if (key in _GLOBAL or key in _OWN.get(name, ()) or key.startswith("aria-"))
        and (key not in _NUMBERS or value.isdecimal())
    }
    align = given.get("align", "").lower()
    if align in _ALIGNED and name != "img":
        style = kept.get("style", "")
        kept["style"] = f"{style.rstrip('; ')}; text-align: {align}".lstrip("; ")
    if name == "a" and "name" in given:
        kept.setdefault("id", given["name"])
    if name == "img":
        kept.setdefault("alt", "")
    if "href" in kept:  # a browser takes any sign, a reader of books what RFC 3986 has
        parts = kept["href"].split("#", 1)
        kept["href"] = "#".join([quote(part, safe=_URL_SIGNS) for part in parts])
        kept["href"] = _IPV6.sub(r"\1[\2]", kept["href"])
    return {
        key: value for key, value in kept.items() if value or key not in {"id", "lang"}
    }
