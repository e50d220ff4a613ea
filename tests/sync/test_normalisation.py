"""What a service did to a text, told by comparing what was sent and answered."""

import pytest

from wikisync.merging.metadata import front_matter_of, with_front_matter
from wikisync.sync.run.pull import with_line_ends_of
from wikisync.sync.run.push import Normalisation, normalisation_of

WITH_BLOCK = "---\ntitle: Notes\n---\n\n# Notes\n"


@pytest.mark.parametrize(
    ("sent", "answered", "normalisation"),
    [
        ("one\n", "one\n", Normalisation.SAME),
        ("one\r\ntwo\r\n", "one\ntwo\n", Normalisation.FOLDED),
        ("one", "one\n", Normalisation.FOLDED),
        ("one\n\n", "one", Normalisation.FOLDED),
        ("cafe\u0301\n", "café\n", Normalisation.UNICODE),
        (WITH_BLOCK, "# Notes\n", Normalisation.FRONT_MATTER),
        (WITH_BLOCK, "\n# Notes", Normalisation.FRONT_MATTER),
        ("one\n", "two\n", Normalisation.OTHER),
        (WITH_BLOCK, "# Other\n", Normalisation.OTHER),
        ("one\n", "", Normalisation.OTHER),
    ],
)
def test_each_class_of_difference_is_told(
    sent: str, answered: str, normalisation: Normalisation
) -> None:
    assert normalisation_of(sent, answered) is normalisation


def test_a_rule_in_the_middle_of_a_page_is_no_front_matter() -> None:
    assert front_matter_of("# Notes\n\n---\ntitle: x\n---\n") == ""


def test_a_block_that_never_ends_is_no_front_matter() -> None:
    assert front_matter_of("---\ntitle: x\n") == ""


@pytest.mark.parametrize("mark", ["---", "+++", ";;;"])
def test_front_matter_is_known_by_each_of_its_marks(mark: str) -> None:
    block = f"{mark}\ntitle: x\n{mark}\n"
    assert front_matter_of(f"{block}text\n") == block


def test_the_known_block_comes_back_before_a_stripped_text() -> None:
    assert with_front_matter("# Edited\n", WITH_BLOCK) == (
        "---\ntitle: Notes\n---\n\n# Edited\n"
    )


@pytest.mark.parametrize(
    ("text", "file", "written"),
    [
        ("a\nb\n", "x\r\ny\r\nz\n", "a\r\nb\r\n"),
        ("a\n", "\ufeffx\n", "\ufeffa\n"),
        ("a\nb\n", "x\r\ny\nz\n", "a\nb\n"),
        ("a\r\nb\n", "x\r\n", "a\r\nb\n"),
    ],
    ids=[
        "Windows",
        "byte order mark",
        "one odd line end",
        "carriage returns of its own",
    ],
)
def test_a_file_keeps_its_line_ends(text: str, file: str, written: str) -> None:
    assert with_line_ends_of(text, file) == written
