"""TeX formulas to MathML.  Pure.

math-core is asked first: it writes MathML Core, which every browser draws, and refuses
what it does not know.  Then latex2mathml, which knows more commands, but gives those
that it does not know as text.  Whatever they give is read again, and only names and
attributes of MathML presentation are written.  A page's policy allows no style
attributes, so what math-core says by styles is said by classes and ``mathcolor``.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from msgspec import Struct

from wikisync.markup.tokens import escape

if TYPE_CHECKING:
    from math_core import LatexToMathML

FORMULA_CHARS_MAX = 2_000
"""Longer formulas stay TeX: latex2mathml's time is not linear."""
OPENINGS_MAX = 12
"""math-core takes twice as long for each opening bracket that is never closed; a
formula with more of them goes to the other converter."""
OPENING = re.compile(r"[(\[⟦⟨⟪⟬⟮⦃⦅⦇⦉⦋⌈⌊⌜⌞〈❨❪❬❮❰❲❴（［｛]|\\\{")
COMMAND_LEFT = re.compile(r"\\[A-Za-z]")
NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"

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
CLASS_OF_STYLE = {
    "text-align: right": "math-right",
    "text-align: left": "math-left",
    "width: 50%": "math-side",
    "width: 100%": "math-wide",
    "padding-left: 0": "math-joined-left",
    "padding-right: 0": "math-joined-right",
    **{
        f"border-{side}: 0.05em {line} currentcolor": f"math-{line}-{side}"
        for side in ("top", "left", "right")
        for line in ("solid", "dashed")
    },
}
"""What math-core says of cells; themes give each of these classes its style."""
COLOUR = re.compile(r"color: ?(#[0-9A-Fa-f]{6})")


class Refused(Struct, frozen=True):
    """No converter reads a formula."""

    reason: str


@functools.lru_cache(maxsize=1024)
def to_mathml(source: str, *, is_display: bool) -> str | Refused:
    """MathML of a formula, or why there is none: math-core's reason and position."""
    if len(source) > FORMULA_CHARS_MAX:
        return Refused(f"it has more than {FORMULA_CHARS_MAX} characters")
    first = Refused("no converter reads it")
    if len(OPENING.findall(source)) <= OPENINGS_MAX:
        found = by_math_core(source, is_display=is_display)
        if isinstance(found, str):
            return found
        first = found
    return by_latex2mathml(source, is_display=is_display) or first


def by_math_core(source: str, *, is_display: bool) -> str | Refused:
    """What the first converter gives, or what it refuses and where."""
    from math_core import LatexError

    try:
        mathml = math_core().convert_with_local_state(source, displaystyle=is_display)
    except LatexError as error:
        position, _, said = str(error).partition(": ")
        return Refused(f"{said.rstrip('.')}, at character {position}")
    try:
        return written(ElementTree.fromstring(mathml))  # noqa: S314 - made right above
    except (ElementTree.ParseError, RecursionError):
        return Refused("it is nested too deeply")


@functools.cache
def math_core() -> LatexToMathML:
    """The first converter; each formula is numbered by itself, as in the service."""
    from math_core import LatexToMathML

    return LatexToMathML(fancy_error=False)


def by_latex2mathml(source: str, *, is_display: bool) -> str | None:
    """What the second converter gives, or None where it gives up or leaves commands."""
    from latex2mathml.converter import convert

    try:
        converted = convert(source, display="block" if is_display else "inline")
    except Exception:  # noqa: BLE001 - its errors share no base class
        return None
    try:
        root = ElementTree.fromstring(converted)  # noqa: S314 - made right above
        if COMMAND_LEFT.search("".join(root.itertext())):
            return None
        return written(root)
    except (ElementTree.ParseError, RecursionError):
        return None


def written(root: ElementTree.Element) -> str:
    """An element of MathML presentation with all that it holds."""
    out: list[str] = []
    write_element(root, out)
    return "".join(out)


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
        out.append(f"<{name}{attributes}{style_attributes(element)}>")
    out.append(escape(element.text or ""))
    for child in element:
        write_element(child, out)
        out.append(escape(child.tail or ""))
    if is_known:
        out.append(f"</{name}>")


def style_attributes(element: ElementTree.Element) -> str:
    """An element's style as classes and a colour, as far as those are known."""
    style = element.get("style")
    if style is None and "class" not in element.attrib:
        return ""
    parts = [part.strip() for part in (style or "").split(";")]
    classes = [CLASS_OF_STYLE[part] for part in parts if part in CLASS_OF_STYLE]
    classes += re.findall(r"menclose-\w+", element.get("class", ""))
    colour = COLOUR.search(style or "")
    return (f' class="{" ".join(classes)}"' if classes else "") + (
        f' mathcolor="{colour[1]}"' if colour else ""
    )
