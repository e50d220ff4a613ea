"""What ``--markup`` and ``[markup]`` come to."""

from wikisync.config.sections import MarkupSection
from wikisync.workspace.page_files import chosen_markup


def test_defaults_of_the_file_and_of_the_pipeline_agree() -> None:
    assert chosen_markup(()) == chosen_markup((), MarkupSection())


def test_an_option_counts_without_a_section() -> None:
    assert not chosen_markup(("emoji=false",)).emoji
