"""Formulas as MathML; one that no converter reads stays TeX, with the reason.

What the converters do is in ``markup.formulas``.
"""

from wikisync.markup.draft import Draft
from wikisync.markup.formulas import Refused, to_mathml
from wikisync.markup.tokens import escape

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
                if isinstance(formula, Refused):
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
