"""markdown-it's block rules, each asked only at lines that it can start with.

The library asks every rule at every line, and again at every line of a paragraph
whether it ends there.  Most lines begin with a letter, which few rules can start
with; naming the characters takes a third of the time away and changes no result.
"""

import string
from collections.abc import Mapping

from markdown_it import MarkdownIt
from markdown_it.parser_block import ParserBlock, RuleFuncBlockType
from markdown_it.ruler import Ruler
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from markdown_it.utils import EnvType

STARTS: Mapping[str, str] = {
    "fence": "`~",
    "fenced_quote": ">",
    "alert": ">",
    "blockquote": ">",
    "hr": "*-_",
    "list": "*+-" + string.digits,
    "reference": "[",
    "footnote_def": "[",
    "html_block": "<",
    "heading": "#",
    "description": ":~",
    "lone_pipe": "|",
}
"""Rule name to the characters it can start with; an unnamed rule is always asked."""
OTHER = "a"
"""Stands for all characters that no named rule starts with."""
KEEP_BLANKS = frozenset({"fence", "blockquote_close", "alert_close", "dl_close"})
"""Tokens at the end of blocks to which the blank lines at their end belong."""
LISTS = frozenset({"bullet_list_close", "ordered_list_close"})
NOTE_END = "footnote_reference_close"

Rules = list[RuleFuncBlockType]


def ask_by_start(ruler: Ruler[RuleFuncBlockType]) -> None:
    """Make each chain of a ruler one rule that asks those that can apply."""
    ruler.getRules("")  # compiles the chains of all rules
    chains = ruler.__cache__ or {}
    names = {rule.fn: rule.name for rule in ruler.__rules__}
    for chain, rules in chains.items():
        chains[chain] = [one_rule(rules, names)]


def one_rule(rules: Rules, names: Mapping[RuleFuncBlockType, str]) -> RuleFuncBlockType:
    """A rule that asks those that can begin with a line's first character."""
    starts = [STARTS.get(names[rule]) for rule in rules]
    table = {
        character: tuple(
            rule
            for rule, start in zip(rules, starts, strict=True)
            if start is None or character in start
        )
        for character in set(OTHER).union(*filter(None, starts))
    }
    others = table[OTHER]

    def ask(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
        position = state.bMarks[line] + state.tShift[line]
        first = state.src[position : position + 1]
        for rule in table.get(first, others):
            if rule(state, line, end_line, silent):
                return True
        return False

    return ask


class GlfmBlock(ParserBlock):
    """The library's block parser, where blank lines part blocks otherwise."""

    def tokenize(self, state: StateBlock, startLine: int, endLine: int) -> None:  # noqa: N803
        """Make the tokens of all blocks between two lines.

        The library takes definitions of links for a block.  The service's parser takes
        them out of the page, with the blank line behind them: only blank lines behind
        what is left part blocks, and make a list loose.
        """
        assert isinstance(state, GlfmState)
        rules = self.ruler.getRules("")
        first, line, is_parted = len(state.tokens), startLine, False
        while line < endLine:
            state.line = line = state.skipEmptyLines(line)
            if line >= endLine or state.sCount[line] < state.blkIndent:
                break
            if state.level >= state.md.options.maxNesting:
                state.line = endLine
                break
            count = len(state.tokens)
            for rule in rules:
                if rule(state, line, endLine, False):
                    break
            line = state.line
            is_block = len(state.tokens) > count
            if is_block:
                last = state.tokens[-1].type
                if last == "dl_close":
                    # what parts its term from its descriptions is its own
                    is_parted = not state.tight
                state.tight = not is_parted
                # a list may have taken blank lines that are behind it
                is_behind = line <= endLine and state.isEmpty(line - 1)
                is_kept = last in KEEP_BLANKS or (last in LISTS and not state.is_parted)
                is_empty_note = last == NOTE_END and state.tokens[-2].nesting == 1
                is_parted |= is_empty_note or (is_behind and not is_kept)
                # the one behind a rule parts nothing
                is_block = last != "hr"
            if line < endLine and state.isEmpty(line):
                state.line = line = line + 1
                is_next = line < endLine and state.isEmpty(line)
                is_parted |= is_block or (len(state.tokens) > first and is_next)
        state.is_parted = is_parted

    def parse(
        self,
        src: str,
        md: MarkdownIt,
        env: EnvType,
        outTokens: list[Token],  # noqa: N803
    ) -> list[Token] | None:
        """Make the tokens of a text."""
        state = GlfmState(src, md, env, outTokens)
        state.enclosing = []
        state.lazy_spaces = env[LAZY_SPACES] = {}
        state.has_odd_dashes = state.is_parted = False
        self.tokenize(state, state.line, state.lineMax)
        return state.tokens


# -- lines, with the containers around each block --------------------------------


CODE_INDENT = 4
LAZY_SPACES = "lazy spaces"
"""Key of the environment: line to white space that its text begins with."""


class GlfmState(StateBlock):
    """The library's state, which knows only the innermost container.

    ``enclosing`` holds the indentation of the contents of the containers around that
    one, out to the next quote: a line that leaves the innermost container may still
    belong to one of them, and counts its indentation from there.  ``sCount`` of a lazy
    line of a quote is that indentation as ``-1 - columns``.  ``lazy_spaces`` holds the
    white space that lazy lines begin with, which is text to the service's parser.
    """

    enclosing: list[int]
    lazy_spaces: dict[int, str]
    has_odd_dashes: bool
    """Whether the open paragraph holds dashes of a table that its row does not fit."""
    is_parted: bool
    """Whether a blank line is behind one of the blocks that were parsed last."""

    def is_code_block(self, line: int) -> bool:
        """Whether a line is indented too far to begin anything but code."""
        count, indent = self.sCount[line], self.blkIndent
        if count - indent >= CODE_INDENT:
            return True
        return 0 <= count < indent and count - self.base(count) >= CODE_INDENT

    def base(self, count: int) -> int:
        """Columns that the containers take of a line that is indented so far."""
        if count >= self.blkIndent:
            return self.blkIndent
        return max((outer for outer in self.enclosing if outer <= count), default=0)

    def begins_block(self, line: int, end_line: int) -> bool:
        """Whether a line, if no quote has taken it, ends the paragraph above it."""
        rules = self.md.block.ruler.getRules("blockquote")
        return self.sCount[line] >= 0 and any(
            rule(self, line, end_line, True) for rule in rules
        )

    def spaces_before(self, line: int) -> str:
        """White space in front of a lazy line that no container takes, else nothing."""
        count = self.sCount[line]
        if count >= self.blkIndent:
            return ""
        base = self.base(count) if count >= 0 else -1 - count
        position = self.bMarks[line]
        return self.src[position + base : position + self.tShift[line]]

    def getLines(  # noqa: N802 - overridden
        self,
        begin: int,
        end: int,
        indent: int,
        keepLastLF: bool,  # noqa: N803
    ) -> str:
        """The text of lines, noting those that are lazy."""
        for line in range(begin + 1, end):
            if spaces := self.spaces_before(line):
                self.lazy_spaces[line] = spaces
        return super().getLines(begin, end, indent, keepLastLF)
