"""TeX to MathML: what the two converters give, and what a page gets of it."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.markup import CASES
from wikisync.markup.filters.math import CLASS_OF_STYLE, to_mathml
from wikisync.markup.tokens import NotDrawn
from wikisync.site.theme import load_theme

KATEX = CASES / "katex.txt"
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "markup.md"


def katex_uses() -> Iterator[tuple[str, str, bool]]:
    """Name and formula of each use of what KaTeX knows, and whether it is drawn."""
    use = ""
    for line in KATEX.read_text("utf-8").splitlines():
        if line.startswith(" "):
            for name in line.split():
                plain = name.removeprefix("-")
                yield plain, use.replace("NAME", plain), plain == name
        elif not line.startswith("#"):
            use = line


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


@pytest.mark.parametrize("source", [r"\smash{x}", r"{\small x}"])
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
    if isinstance(found, NotDrawn):
        return
    assert not re.search(r"<(?!/?m)| (?:id|href|style|on\w+)=", found)


def test_all_of_katex_is_drawn_but_what_the_guide_names() -> None:
    wrong = [
        formula
        for _, formula, is_drawn in katex_uses()
        if isinstance(to_mathml(formula, is_display=True), str) != is_drawn
    ]
    assert wrong == []
    found = re.search(
        r"all are drawn but these: (.*?)\.\n", GUIDE.read_text(), re.DOTALL
    )
    assert found is not None
    named = re.findall(r"`[\\{](\w+)}?`", found[1])
    missing = [name for name, _, is_drawn in katex_uses() if not is_drawn]
    assert sorted(named) == sorted(missing)


@pytest.mark.parametrize(
    ("source", "part"),
    [
        (r"n\log n", '<mo lspace="0.1667em">\u2061</mo><mi>n</mi>'),
        (r"\dim V", '<mi>dim</mi></mrow><mo lspace="0.1667em">\u2061</mo>'),
        (r"\max_{i} a", "<munder><mrow><mspace></mspace><mi>max</mi></mrow>"),
        (r"\arg z", "<mi>arg</mi>"),
        (r"\arg\min_{x} W", "<munder>"),
        (r"\begin{alignedat}{2}a&b\\c&d\end{alignedat}", "<mtable"),
        ("a\\\nb", "<mi>a</mi><mtext>\xa0</mtext><mi>b</mi>"),
        ("a \\\\\nb", "<mtr><mtd><mi>b</mi></mtd></mtr>"),
        (r"\begin{pmatrix*}[r]a&b\end{pmatrix*}", "<mo>(</mo>"),
        (r"\left<a\right>", "⟨"),
        (r"\limits", '<math display="block"></math>'),
        (r"\widetilde{ab}", "<mrow><mi>a</mi><mi>b</mi></mrow>"),
        (r"a\tag{1}", "<mtext>(1)</mtext>"),
        ("f(x)+" * 20 + "f(x)", '<mo stretchy="false">)</mo>'),
        ("a+" * 2_000 + r"\log b", "<mi>log</mi>"),
    ],
)
def test_formula_is_drawn_as_katex_draws_it(source: str, part: str) -> None:
    assert part in mathml(source)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (r"\log \char 1", r'Unknown command "\char", at character 5'),
        ("(" * 13 + r"\char 1", "more than 12 of its brackets are not closed"),
        (r"a\limits", "may only appear after"),
        (r"\begin{CD}a\end{CD}", 'Unknown environment "CD", at character 6'),
        ("x" * 10_001, "it has more than 10000 characters"),
    ],
)
def test_formula_that_is_not_drawn_says_why(source: str, reason: str) -> None:
    found = to_mathml(source, is_display=True)
    assert isinstance(found, NotDrawn)
    assert reason in found.reason


@pytest.mark.parametrize(
    "piece",
    [
        "(",
        "[",
        r"\bigl(",
        "⟨",
        r"\{",
        "(x",
        "{(}",
        r"\sqrt[",
        "(x,",
        r"\langle ",
        r"\lvert ",
    ],
)
@pytest.mark.parametrize("count", [12, 13, 200])
def test_brackets_that_are_never_closed_cost_little(piece: str, count: int) -> None:
    """The first converter takes twice as long for each of them."""
    start = time.process_time()
    to_mathml(piece * count, is_display=True)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    "start", [r"\def\x{(}", r"\let\x()", r"\newcommand{\x}{[}", r"\gdef\x{\lvert}"]
)
def test_brackets_of_a_defined_name_cost_little(start: str) -> None:
    began = time.process_time()
    to_mathml(start + r"\x " * 200, is_display=True)
    assert time.process_time() - began < 2


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
