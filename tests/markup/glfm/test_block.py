"""Asking few rules must give what asking all of them gives."""

import pytest
from markdown_it import MarkdownIt
from markdown_it.parser_block import ParserBlock

from tests.support.markup import load_cases
from wikisync.markup.glfm.block import STARTS, GlfmBlock
from wikisync.markup.glfm.engine import engine, make_engine, parse


@pytest.fixture(scope="module")
def asking_all() -> MarkdownIt:
    """The engine with the library's own loop over blocks."""
    block = GlfmBlock()
    block.ruler = ParserBlock().ruler
    return make_engine(block)


@pytest.mark.parametrize("case", load_cases("cases.json"), ids=lambda c: c["source"])
def test_result_is_that_of_asking_every_rule(
    case: dict[str, str], asking_all: MarkdownIt
) -> None:
    assert parse(case["source"]) == asking_all.render(case["source"])


def test_every_named_rule_exists() -> None:
    assert isinstance(engine().block, GlfmBlock)
    assert set(STARTS) <= set(engine().block.ruler.get_all_rules())
