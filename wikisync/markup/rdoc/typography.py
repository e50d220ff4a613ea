"""Quotes, dashes and signs in the text of an RDoc page.  Pure.

One forward scan that remembers, over the pieces of a paragraph, which quotation
marks are open.  Code is never touched, nor is the value of an attribute.
"""

import re

from wikisync.markup.tokens import escape_marks

SPECIAL = re.compile(
    r"\\(?P<escaped>\S)|(?P<dots>\.{3,4})|\((?P<sign>[cCrR])\)|-{2,3}|\"|``|'+|`"
)
SIGNS = {"c": "©", "r": "®"}
TAGS_AT_END = re.compile(r"(?:<[^<>]*>)+$")
WORD = re.compile(r"[A-Za-z0-9_]")


class Typography:
    """The state of the quotation marks in one paragraph."""

    def __init__(self) -> None:
        self._is_in_double = False
        self._is_in_single = False
        self._is_after_word = False

    def html_of(self, text: str) -> str:
        """One piece of text as HTML."""
        pieces: list[str] = []
        at = 0
        for found in SPECIAL.finditer(text):
            if found.start() > at:
                pieces.append(text[at : found.start()])
                self._is_after_word = WORD.match(pieces[-1][-1]) is not None
            pieces.append(self._replace(found))
            at = found.end()
        if at < len(text):
            pieces.append(text[at:])
            self._is_after_word = WORD.match(pieces[-1][-1]) is not None
        return escape_marks("".join(pieces))

    def pass_over(self, html: str) -> None:
        """Take note of a text that is already set: a quote behind it may close.

        Code says nothing about what stands behind it.
        """
        shown = TAGS_AT_END.sub("", html)
        if shown and "</code>" not in html[len(shown) :]:
            self._is_after_word = WORD.match(shown[-1]) is not None

    def _replace(self, found: re.Match[str]) -> str:
        mark = found[0]
        if mark[0] == "'":
            return self._single_quotes(len(mark))
        if mark == "`":
            return self._backtick()
        self._is_after_word = False
        if found["escaped"]:
            return found["escaped"]
        if found["dots"]:
            return "." * (len(mark) - 3) + "…"
        if found["sign"]:
            return SIGNS[found["sign"].lower()]
        if mark == '"':
            self._is_in_double = not self._is_in_double
            return "“" if self._is_in_double else "”"
        return {"---": "—", "--": "–", "``": "“"}[mark]

    def _single_quotes(self, count: int) -> str:
        pieces = ["”"] * (count // 2)
        if pieces:
            self._is_after_word = False
        if count % 2:
            pieces.append(self._single_quote())
        return "".join(pieces)

    def _single_quote(self) -> str:
        is_closing = self._is_in_single or self._is_after_word
        self._is_in_single = not is_closing
        self._is_after_word = False
        return "’" if is_closing else "‘"

    def _backtick(self) -> str:
        if self._is_in_single or self._is_after_word:
            self._is_after_word = False
            return "`"
        self._is_in_single = True
        return "‘"
