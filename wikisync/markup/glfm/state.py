"""markdown-it's view of a page's lines, with the containers around each block."""

from markdown_it.rules_block import StateBlock

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
