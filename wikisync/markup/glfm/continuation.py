"""White space in front of a paragraph's lines, which is none of its text.

markdown-it leaves it in and takes it out where plain text goes on; what stands in code,
formulas, tags and titles keeps it there.  To the service's parser only a lazy line, on
which a container of the paragraph ends, keeps what no container takes of it.
"""

from __future__ import annotations

import re

from markdown_it.rules_core import StateCore

from wikisync.markup.glfm.state import LAZY_SPACES

INDENTED = re.compile(r"\n[ \t]+")


def continuation(state: StateCore) -> None:
    """Begin each line of running text at its first character."""
    kept = state.env[LAZY_SPACES]
    for token in state.tokens:
        if token.type == "inline" and "\n" in token.content:
            token.content = INDENTED.sub("\n", token.content)
            if kept and token.map is not None:
                texts = enumerate(token.content.split("\n"), token.map[0])
                token.content = "\n".join(
                    kept.get(line, "") + text for line, text in texts
                )
