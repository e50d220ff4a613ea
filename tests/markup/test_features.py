"""The features of the service's markdown documentation, shown as the table says."""

import pytest

from tests.support.features import Case, Feature, read_features, seen, shown
from tests.support.markup import render
from tools.features import DOCUMENT, with_table
from wikisync.markup.record import MarkdownEngine

FEATURES = read_features()
CASES = [(feature, case) for feature in FEATURES for case in feature.case]
NAMES = [f"{feature.name} {case.source!r}" for feature, case in CASES]


@pytest.mark.parametrize("engine", ["comrak", "markdown-it"])
@pytest.mark.parametrize(("feature", "case"), CASES, ids=NAMES)
def test_feature_is_shown_as_its_verdict_says(
    feature: Feature, case: Case, engine: MarkdownEngine
) -> None:
    pytest.importorskip("comrak")
    html = shown(case, engine)
    assert html == (case.service if case.here is None else case.here)
    assert (html == case.service) is (feature.verdict == "same")


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_feature_has_cases_and_a_reason_where_it_differs(feature: Feature) -> None:
    assert feature.case
    assert bool(feature.reason) is (feature.verdict != "same")
    assert "|" not in feature.name + feature.reason


def test_feature_has_one_row() -> None:
    assert len({feature.name for feature in FEATURES}) == len(FEATURES)


def test_the_table_is_what_the_cases_say() -> None:
    text = DOCUMENT.read_text("utf-8")
    assert text == with_table(text), "docs/markup.md is stale; run: make features"


def test_document_without_the_marks_of_the_table_is_refused() -> None:
    with pytest.raises(SystemExit, match="lacks the marks"):
        with_table("# Title\n")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("# a", "# b"),
        ("# a", "## a"),
        ("[a](setup)", "[a](my-page)"),
        ("> [!note]\n> a", "> [!tip]\n> a"),
        ("```\na  b\n```", "```\na b\n```"),
        ("- [x] a", "- [ ] a"),
        ("{+ a +}", "{- a -}"),
        ("|a|\n|:-|", "|a|\n|-:|"),
        ("3. a", "4. a"),
    ],
)
def test_difference_that_a_reader_sees_counts(first: str, second: str) -> None:
    assert seen(render(first).html) != seen(render(second).html)
