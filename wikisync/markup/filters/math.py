"""Formulas as MathML; one that no converter reads stays TeX, with the reason.

Pure.  math-core is asked first: it writes MathML Core, which every browser draws, and
refuses what it does not know.  Then latex2mathml, which knows more commands, but gives
those that it does not know as text.  Whatever they give is read again, and only names
and attributes of MathML presentation are written.  A page's policy allows no style
attributes, so what math-core says by styles is said by classes and ``mathcolor``.
"""

from __future__ import annotations

import functools
import html.entities
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from wikisync.markup.tokens import Draft, NotDrawn, escape

if TYPE_CHECKING:
    from math_core import LatexToMathML

ELEMENTS = ("span", "code", "pre", "div")
FORMULA_CHARS_SHOWN = 60
"""As much of a formula stands in a message."""
INLINE_CHARS_MAX = 40
"""A longer formula in a line may be wider than a phone."""


def filter_math(draft: Draft) -> None:
    """Rewrite every element with ``data-math-style``, and blocks of language math."""
    document = draft.document
    refused: list[str] = []
    for name in ELEMENTS:
        for index in document.starts.get(name, ()):
            tag = document.html[index]
            if "math" not in tag or not tag.startswith(f"<{name}"):
                continue
            style = style_of(document.attributes(index))
            if not style:
                continue
            draft.features.add("math")
            source = document.text(index).strip()
            is_display = style == "display"
            if draft.options.math == "source":
                html = source_html(source, is_display=is_display)
            else:
                formula = to_mathml(source, is_display=is_display)
                if isinstance(formula, NotDrawn):
                    refused.append(f"{source[:FORMULA_CHARS_SHOWN]}: {formula.reason}")
                    html = source_html(source, formula.reason, is_display=is_display)
                else:
                    tex = f' data-tex="{escape(source)}"'
                    is_long = len(source) > INLINE_CHARS_MAX
                    start = start_tag(
                        "span", tex, is_display=is_display, may_scroll=is_long
                    )
                    html = f"{start}{formula}</span>"
            document.replace(index, html)
    if refused:
        more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
        draft.report(
            "formula-not-drawn",
            f"formula {refused[0]}{more}",
            "the page shows its TeX source; use commands that the converters know",
        )


def style_of(attributes: dict[str, str]) -> str:
    """``inline`` or ``display`` for a formula, else empty."""
    is_block = "math" in (attributes.get("lang"), attributes.get("data-canonical-lang"))
    style = attributes.get("data-math-style")
    # a page's own HTML may say anything there
    return style if style in ("inline", "display") else "display" if is_block else ""


def source_html(source: str, reason: str = "", *, is_display: bool) -> str:
    """A formula's TeX; why it is not drawn is its title."""
    name = "div" if is_display else "span"
    notice = f' title="Not drawn: {escape(reason)}"' if reason else ""
    start = start_tag(name, is_display=is_display)
    return f"{start}<code{notice}>{escape(source)}</code></{name}>"


def start_tag(
    name: str, attributes: str = "", *, is_display: bool, may_scroll: bool = False
) -> str:
    """Of a formula; one in a line of its own or a long one scrolls, by keyboard too."""
    style = "display" if is_display else "inline"
    focus = ' tabindex="0"' if is_display or may_scroll else ""
    return f'<{name}{focus} class="math" data-math-style="{style}"{attributes}>'


# -- formulas that the converters read -------------------------------------------

FORMULA_CHARS_MAX = 10_000
"""Longer formulas stay TeX."""
SHORT_CHARS_MAX = 2_000
"""Of formulas for latex2mathml, whose time is not linear, and of those that define
names, which may grow by each use of one."""
OPENINGS_MAX = 12
"""math-core takes twice as long for each opening bracket that is never closed; a
formula with more of them goes to the other converter."""
BRACKET = re.compile(
    r"(?P<open>[(\[⟦⟨⟪⟬⟮⦃⦅⦇⦉⦋⌈⌊⌜⌞〈❨❪❬❮❰❲❴（［｛]|\\\{|\\(?:ulcorner|llcorner"
    r"|l(?:angle|Angle|langle|ang|brace|Brace|brack|lbracket|ceil|floor|group"
    r"|moustache|paren|lparenthesis|vert|Vert))(?![A-Za-z]))"
    r"|(?P<close>[)\]⟧⟩⟫⟭⟯⦄⦆⦈⦊⌉⌋⌝⌟]|\\\}|\\(?:urcorner|lrcorner"
    r"|r(?:angle|Angle|rangle|ang|brace|Brace|brack|rbracket|ceil|floor|group"
    r"|moustache|paren|rparenthesis|vert|Vert))(?![A-Za-z]))"
    r"|(?P<enter>\{|\\begin(?![A-Za-z])|\\left\s*(?:\\[A-Za-z]+|\\.|.))"
    r"|(?P<leave>\}|\\end(?![A-Za-z])|\\right\s*(?:\\[A-Za-z]+|\\.|.))"
    r"|(?P<next>&|\\\\)|\\.",
    re.DOTALL,
)
DEFINES = re.compile(
    r"\\(?:[gex]?def|let|futurelet|(?:re)?newcommand|providecommand)\b"
)
"""A name that is used often opens what stands in it once."""
COMMAND_LEFT = re.compile(r"\\[A-Za-z]")
MACROS = dict(
    [
        *(("centerdot", r"\cdot"), ("sdot", r"\cdot"), ("dotsb", r"\cdots")),
        *(("dotsi", r"\cdots"), ("dotsm", r"\cdots"), ("dotsc", r"\ldots")),
        *(("dotso", r"\ldots"), ("mathellipsis", r"\ldots"), ("textmd", r"\text")),
        *(("textnormal", r"\text"), ("textup", r"\text"), ("hbox", r"\text")),
        *(("shortmid", r"\mid"), ("nshortmid", r"\nmid")),
        *(("shortparallel", r"\parallel"), ("cr", r"\\")),
        *(("nshortparallel", r"\nparallel"), ("smallfrown", r"\frown")),
        *(("smallsmile", r"\smile"), ("smallsetminus", r"\setminus")),
        *(("thickapprox", r"\approx"), ("thicksim", r"\sim")),
        *(("varpropto", r"\propto"), ("overlinesegment", r"\overline")),
        *(("underlinesegment", r"\underline"), ("mathnormal", r"\mathit")),
        *(("pmb", r"\boldsymbol"), ("intop", r"\int\limits"), ("TeX", r"\text{TeX}")),
        *(("LaTeX", r"\text{LaTeX}"), ("KaTeX", r"\text{KaTeX}")),
        *(("varlimsup", r"\mathop{\overline{\lim}}"),),
        *(("varliminf", r"\mathop{\underline{\lim}}"),),
        *(("varinjlim", r"\mathop{\underrightarrow{\lim}}"),),
        *(("varprojlim", r"\mathop{\underleftarrow{\lim}}"),),
    ]
)
"""What KaTeX knows and math-core does not, said by what it knows."""
SPELLINGS = (
    (re.compile(r"^\s*\\(?:no)?limits(?![A-Za-z])"), ""),
    (re.compile(r"\\(left|middle|right)\s*<"), r"\\\1\\langle "),
    (re.compile(r"\\(left|middle|right)\s*>"), r"\\\1\\rangle "),
    (re.compile(r"(?<!\\)((?>(?:\\\\)*))\\\n"), r"\1\\ "),
    (re.compile(r"\\(begin|end)\{(align(?:ed)?)at(\*?)\}(?:\{\d*\})?"), r"\\\1{\2\3}"),
    (
        re.compile(r"\\substack\{((?>(?:[^{}]++|\{[^{}]*+\})*))\}"),
        r"\\begin{subarray}{c}\1\\end{subarray}",
    ),
    (re.compile(r"\\(begin|end)\{split\}"), r"\\\1{aligned}"),
    (re.compile(r"\\(begin|end)\{(.?matrix)\*\}(?:\[[lcr]\])?"), r"\\\1{\2}"),
)
"""The same for environments, brackets, a space that ends its line, and limits of
nothing."""
NUMBERED = re.compile(r"\\begin\{(?:equation|align|gather)\*?\}")
TOKEN = re.compile(r"\\(begin|end)(?![A-Za-z])|\\\\|\\.|[{}]", re.DOTALL)
WRONG = re.compile(r"\\rule(?![A-Za-z])|\{CD\}")
"""What latex2mathml reads as something else."""
CHILDREN = {
    **dict.fromkeys(("mfrac", "mroot", "msub", "msup", "munder", "mover"), 2),
    **dict.fromkeys(("msubsup", "munderover"), 3),
}
"""How many parts these elements have; with more or less no browser draws them."""
NAMED = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z][A-Za-z0-9]*;)")
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


@functools.lru_cache(maxsize=1024)
def to_mathml(source: str, *, is_display: bool) -> str | NotDrawn:
    """MathML of a formula, or why there is none: math-core's reason and position."""
    most = SHORT_CHARS_MAX if DEFINES.search(source) else FORMULA_CHARS_MAX
    if len(source) > most:
        return NotDrawn(f"it has more than {most} characters")
    refused = NotDrawn(f"more than {OPENINGS_MAX} of its brackets are not closed")
    # the last one is as it was written, and so is the position in its reason
    for spelling in dict.fromkeys((respelled(source, is_display=is_display), source)):
        if is_quick(spelling):
            found = by_math_core(spelling, is_display=is_display)
            if isinstance(found, str):
                return found
            refused = found
    if len(source) > SHORT_CHARS_MAX:
        return refused
    return by_latex2mathml(source, is_display=is_display) or refused


def is_quick(source: str) -> bool:
    """Whether few brackets of a formula stay open, each in its group or cell."""
    unclosed, opened = 0, [0]
    # a bracket that is given a name opens wherever the name stands
    has_names = r"\let" in source or r"\futurelet" in source
    for sign in BRACKET.finditer(source):
        match sign.lastgroup:
            case "open":
                opened[-1] += 1
            case "close" if not has_names:
                opened[-1] = max(0, opened[-1] - 1)
            case "enter":
                opened.append(0)
            case "leave" if len(opened) > 1:
                unclosed += opened.pop()
            case "next":
                unclosed, opened[-1] = unclosed + opened[-1], 0
            case _:
                pass
    unclosed += sum(opened)
    return unclosed <= (0 if DEFINES.search(source) else OPENINGS_MAX)


def respelled(source: str, *, is_display: bool) -> str:
    """A formula without what only KaTeX spells so; lines of it become rows."""
    if "\\" not in source:
        return source
    for pattern, spelling in SPELLINGS:
        source = pattern.sub(spelling, source)
    if is_display and r"\tag" in source and not NUMBERED.search(source):
        return rf"\begin{{equation}}{source}\end{{equation}}"
    depth = 0
    for token in TOKEN.finditer(source):
        if token[0] in ("{", r"\begin"):
            depth += 1
        elif token[0] in ("}", r"\end"):
            depth -= 1
        elif token[0] == "\\\\" and not depth:
            return rf"\begin{{gathered}}{source}\end{{gathered}}"
    return source


def by_math_core(source: str, *, is_display: bool) -> str | NotDrawn:
    """What the first converter gives, or what it refuses and where."""
    from math_core import LatexError

    try:
        mathml = math_core().convert_with_local_state(source, displaystyle=is_display)
    except LatexError as error:
        position, _, said = str(error).partition(": ")
        return NotDrawn(f"{said.rstrip('.')}, at character {position}")
    try:
        return written(element_of(mathml))
    except ElementTree.ParseError as error:
        return NotDrawn(f"its MathML cannot be read: {error}")
    except RecursionError:
        return NotDrawn("it is nested too deeply")


@functools.cache
def math_core() -> LatexToMathML:
    """The first converter; each formula is numbered by itself, as in the service."""
    from math_core import LatexToMathML

    return LatexToMathML(
        fancy_error=False, macros=MACROS, allow_unreliable_rendering=True
    )


def by_latex2mathml(source: str, *, is_display: bool) -> str | None:
    """What the second converter gives, or None where it gives up or leaves commands."""
    from latex2mathml.converter import convert

    if WRONG.search(source):
        return None
    try:
        converted = convert(source, display="block" if is_display else "inline")
    except Exception:  # noqa: BLE001 - its errors share no base class
        return None
    try:
        root = element_of(converted)
        if COMMAND_LEFT.search("".join(root.itertext())) or not all(
            CHILDREN.get(one.tag.removeprefix(NAMESPACE), len(one)) == len(one)
            for one in root.iter()
        ):
            return None
        return written(root)
    except (ElementTree.ParseError, RecursionError):
        return None


def element_of(mathml: str) -> ElementTree.Element:
    """What a converter gives, parsed; XML knows five of HTML's named characters."""
    plain = NAMED.sub(lambda found: html.entities.html5.get(found[1], found[0]), mathml)
    return ElementTree.fromstring(plain)  # noqa: S314 - a converter made it


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
