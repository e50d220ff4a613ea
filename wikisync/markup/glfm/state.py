"""markdown-it's view of a page's lines, with the containers around each block."""

from __future__ import annotations

from markdown_it.rules_block import StateBlock

CODE_INDENT = 4


class GlfmState(StateBlock):
    """The library's state, which knows only the innermost container.

    ``enclosing`` holds the indentation of the contents of the containers around that
    one, out to the next quote: a line that leaves the innermost container may still
    belong to one of them, and counts its indentation from there.
    """

    enclosing: list[int]

    def is_code_block(self, line: int) -> bool:
        """Whether a line is indented too far to begin anything but code."""
        count, indent = self.sCount[line], self.blkIndent
        if 0 <= count < indent:
            indent = max(
                (outer for outer in self.enclosing if outer <= count), default=0
            )
        return count - indent >= CODE_INDENT
