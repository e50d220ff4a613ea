"""Links of Org and RDoc pages to headings, led to the ids that these have."""

import pytest

from tests.support.markup import render
from wikisync.core.model import Format
from wikisync.markup.record import LinkResult


def link_of(source: str) -> LinkResult:
    """What became of the only link of a page."""
    (link,) = render(source, Format.ORG).links
    return link


@pytest.mark.parametrize(
    ("written", "heading", "identity"),
    [
        pytest.param("*A b!", "A b!", "a-b", id="text"),
        pytest.param("*a B", "A =b=", "a-b", id="other case and marks"),
        pytest.param("*A%20b", "A b", "a-b", id="as older editors write it"),
        pytest.param("*A: b", "A: b", "a-b", id="what looks like a scheme"),
        pytest.param("*A b", "TODO [#A] A b [1/2] :t:", "a-a-b-12", id="cookies"),
        pytest.param("*Ä", "Ä", "ä", id="letters of any script"),
    ],
)
def test_link_leads_to_the_heading(written: str, heading: str, identity: str) -> None:
    link = link_of(f"[[{written}]]\n* x\n* {heading}")
    assert (link.kind, link.fragment, link.reason) == ("fragment", identity, "")


def test_first_of_equal_headings_is_meant() -> None:
    assert link_of("* A\n* A\n[[*A]]").fragment == "a"


def test_id_that_the_heading_is_given_is_the_target() -> None:
    source = "[[*B]]\n* B\n:PROPERTIES:\n:CUSTOM_ID: own\n:END:"
    assert link_of(source).fragment == "own"


def test_number_in_front_of_a_heading_is_no_part_of_its_name() -> None:
    assert link_of("#+OPTIONS: num:t\n* A\n** B\n[[*B]]").fragment == "11-b"


def test_heading_that_is_missing_is_reported_as_one() -> None:
    link = link_of("[[*None of *these*]]\n* A")
    assert (link.fragment, link.reason) == ("none-of-these", "no-heading")


@pytest.mark.parametrize(
    ("link", "shown"),
    [("[[*A b]]", "A b"), ("[[*A: b]]", "A: b"), ("[[*A b][*x]]", "*x")],
)
def test_link_without_a_label_goes_without_the_star(link: str, shown: str) -> None:
    html = render(f"{link}\n* A b\n* A: b", Format.ORG).html
    assert f">{shown}</a></p>" in html


def test_star_in_another_format_is_a_page() -> None:
    (link,) = render("[x](*A)\n\n# A\n").links
    assert (link.kind, link.reason) == ("page", "no-page")


@pytest.mark.parametrize(
    ("label", "heading", "fragment"),
    [
        ("My+Title", "My Title", "my-title"),
        (
            "Task-3A+Write+to+-24stdout",
            "Task: Write to $stdout",
            "task-write-to-stdout",
        ),
        ("A-2FB", "A/B", "ab"),
        ("Bold+text", "*Bold* text", "bold-text"),
        ("22Q-22+--+it-27s", '"Q" -- it\'s', "q--its"),
        ("Gr-C3-BC-C3-9Fe", "Grüße", "grüße"),
        ("Not-there", "Other", "not-there"),
    ],
)
def test_label_of_rdoc_leads_to_its_heading(
    label: str, heading: str, fragment: str
) -> None:
    (link,) = render(f"= {heading}\n\n{{x}}[#label-{label}]", Format.RDOC).links
    is_there = heading != "Other"
    assert (link.fragment, link.is_broken) == (fragment, not is_there)


def test_label_of_equal_headings_is_the_first_one() -> None:
    page = render("= A\n\n= A\n\nrdoc-label:label-A", Format.RDOC)
    assert page.links[0].fragment == "a"


def test_label_on_another_page_leads_to_the_id_that_it_has_there() -> None:
    page = render(
        "{x}[rdoc-ref:other.rdoc#label-A+B] {y}[other.rdoc#label-C]",
        Format.RDOC,
        pages=["other"],
        headings={"other": ["a-b"]},
    )
    assert [(link.target, link.fragment) for link in page.links] == [
        ("other", "a-b"),
        ("other", "c"),
    ]
    assert [link.reason for link in page.links] == ["", "no-heading"]
