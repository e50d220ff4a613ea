"""TeX to MathML: what the two converters give, and what a page gets of it."""

from __future__ import annotations

import re
import time

import pytest

from wikisync.markup.formulas import CLASS_OF_STYLE, Refused, to_mathml
from wikisync.site.theme import load_theme


def mathml(source: str) -> str:
    found = to_mathml(source, is_display=True)
    assert isinstance(found, str), found
    return found


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("a^2", "<msup><mi>a</mi><mn>2</mn></msup>"),
        (r"\mathbb{R}", "<mi>ℝ</mi>"),
        (r"\textcolor{red}{x}", '<mrow mathcolor="#FF0000"><mi>x</mi></mrow>'),
        (r"\cancel{x}", '<mrow class="menclose-updiagonalstrike"></mrow>'),
        (r"\begin{array}{r|}a\end{array}", 'class="math-right math-solid-right"'),
        (r"\begin{align}a&=b\end{align}", '<mtd class="math-right math-joined-right">'),
        ("a < b", "<mo>&lt;</mo>"),
    ],
)
def test_formula_of_the_first_converter(source: str, part: str) -> None:
    assert part in mathml(source)


@pytest.mark.parametrize("source", [r"\rule{1em}{2em}", r"\widetilde{x}"])
def test_command_that_only_the_second_converter_knows_is_drawn(source: str) -> None:
    assert mathml(source).startswith("<math")


@pytest.mark.parametrize(
    "source",
    [
        *(r"\href{javascript:alert(1)}{x}", r"\style{color:red}{x}", r"\class{a}{x}"),
        *(r"\htmlId{a}{x}", r"\begin{equation}\label{a}x\end{equation}\ref{a}"),
        *(r"\text{<script>x</script>}", r"\unicode{x}", r"\color{red;x:y}{z}"),
    ],
)
def test_formula_holds_nothing_but_presentation(source: str) -> None:
    found = to_mathml(source, is_display=False)
    if isinstance(found, Refused):
        return
    assert not re.search(r"<(?!/?m)| (?:id|href|style|on\w+)=", found)


@pytest.mark.parametrize(
    "piece", ["(", "[", r"\bigl(", "⟨", r"\{", "(x", "{(}", r"\sqrt[", "(x,"]
)
@pytest.mark.parametrize("count", [12, 13, 200])
def test_brackets_that_are_never_closed_cost_little(piece: str, count: int) -> None:
    """The first converter takes twice as long for each of them."""
    start = time.process_time()
    to_mathml(piece * count, is_display=True)
    assert time.process_time() - start < 2


def test_formula_of_a_thousand_roots_gives_up_quietly() -> None:
    source = r"\sqrt" * 300 + "x"
    assert to_mathml(source, is_display=False)


@pytest.mark.parametrize(
    "name", [*CLASS_OF_STYLE.values(), "menclose-updiagonalstrike"]
)
def test_default_theme_has_a_style_for_each_class(name: str) -> None:
    sheets = load_theme("default").assets().items()
    css = b"".join(content for path, content in sheets if path.endswith(".css"))
    assert f".{name} {{" in css.decode()
