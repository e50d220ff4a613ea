"""Formulas: MathML where it can be had, else the TeX source for a script to draw."""

from __future__ import annotations

import functools
import re
from xml.etree import ElementTree

from wikisync.markup.draft import Draft
from wikisync.markup.tokens import escape

FORMULA_CHARS_MAX = 2_000
"""Longer formulas stay TeX: the converter's time is not linear."""
ELEMENTS = ("span", "code", "pre", "div")
COMMAND_LEFT = re.compile(r"\\[A-Za-z]")
NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"


def filter_math(draft: Draft) -> None:
    """Rewrite every element with ``data-math-style``, and blocks of language math."""
    document = draft.document
    for name in ELEMENTS:
        for place in document.starts.get(name, ()):
            tag = document.html[place]
            if "math" not in tag or not tag.startswith(f"<{name}"):
                continue
            attributes = document.attributes(place)
            style = attributes.get("data-math-style", "")
            if not style and attributes.get("lang") == "math":
                style = "display"
            if style:
                draft.features.add("math")
                is_display = style == "display"
                source = document.text(place).strip()
                document.replace(
                    place, math_html(source, draft.options.math, is_display=is_display)
                )


def math_html(source: str, output: str, *, is_display: bool) -> str:
    """One formula as HTML; the TeX source is there in every form."""
    mathml = None
    if output == "mathml" and len(source) <= FORMULA_CHARS_MAX:
        mathml = to_mathml(source, is_display=is_display)
    style = "display" if is_display else "inline"
    if mathml is None:
        name = "div" if is_display else "span"
        return (
            f'<{name} class="math" data-math-style="{style}">'
            f"<code>{escape(source)}</code></{name}>"
        )
    return (
        f'<span class="math" data-math-style="{style}" data-tex="{escape(source)}">'
        f"{mathml}</span>"
    )


@functools.lru_cache(maxsize=1024)
def to_mathml(source: str, *, is_display: bool) -> str | None:
    """MathML of a formula, or None where the converter is absent or gives up.

    The converter passes commands it does not know through as text, and takes
    text from the formula; so its result is read again and only names and
    attributes of MathML presentation are written.
    """
    try:
        from latex2mathml.converter import convert
    except ImportError:
        return None
    try:
        converted = convert(source, display="block" if is_display else "inline")
    except Exception:  # noqa: BLE001 - its errors share no base class
        return None
    try:
        return rewrite_mathml(converted)
    except (ElementTree.ParseError, RecursionError):
        return None


def rewrite_mathml(converted: str) -> str | None:
    """The same formula in our own spelling; None where a command was left in it."""
    root = ElementTree.fromstring(converted)  # noqa: S314 - our converter's output
    if COMMAND_LEFT.search("".join(root.itertext())):
        return None
    out: list[str] = []
    write_element(root, out)
    return "".join(out)


PRESENTATION = frozenset(
    [
        *("math", "maction", "menclose", "merror", "mfenced", "mfrac", "mi"),
        *("mmultiscripts", "mn", "mo", "mover", "mpadded", "mphantom", "mprescripts"),
        *("mroot", "mrow", "ms", "mspace", "msqrt", "mstyle", "msub", "msubsup"),
        *("msup", "mtable", "mtd", "mtext", "mtr", "munder", "munderover", "none"),
    ]
)
MATH_ATTRIBUTES = frozenset(
    [
        *("accent", "accentunder", "columnalign", "columnlines", "columnspacing"),
        *("display", "displaystyle", "depth", "fence", "form", "height", "largeop"),
        *("linethickness", "lspace", "mathsize", "mathvariant", "maxsize", "minsize"),
        *("movablelimits", "notation", "rowlines", "rowspacing", "rspace"),
        *("scriptlevel", "separator", "stretchy", "symmetric", "voffset", "width"),
    ]
)


def write_element(element: ElementTree.Element, out: list[str]) -> None:
    """Write an element of MathML presentation; of any other only the content."""
    name = element.tag.removeprefix(NAMESPACE)
    is_known = name in PRESENTATION
    if is_known:
        attributes = "".join(
            f' {key}="{escape(value)}"'
            for key, value in element.attrib.items()
            if key in MATH_ATTRIBUTES
        )
        out.append(f"<{name}{attributes}>")
    out.append(escape(element.text or ""))
    for child in element:
        write_element(child, out)
        out.append(escape(child.tail or ""))
    if is_known:
        out.append(f"</{name}>")
