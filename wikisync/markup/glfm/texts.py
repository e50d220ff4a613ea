"""Steps over the texts of all blocks: white space, and the lines of links."""

import re

from markdown_it.common.utils import normalizeReference
from markdown_it.rules_core import StateCore

from wikisync.markup.glfm.state import LAZY_SPACES

# markdown-it leaves it in and takes it out where plain text goes on; what stands in
# code, formulas, tags and titles keeps it there. To the service's parser only a lazy
# line, on which a container of the paragraph ends, keeps what no container takes of it.

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


# To the service's parser they are text there. While blocks are searched for other
# characters stand in for them.

WIDE = (
    "\x0b\x0c\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
FIRST_STANDIN = 0xFFF00
"""Of a private plane: a page that uses these characters itself keeps its spaces as
markdown-it has them."""
STANDINS = {ord(wide): FIRST_STANDIN + position for position, wide in enumerate(WIDE)}
MEANT = {standin: wide for wide, standin in STANDINS.items()}
HIDDEN = "spaces"
"""Key of the environment: whether there are stand-ins."""
TAKEN = re.compile(f"[{chr(min(MEANT))}-{chr(max(MEANT))}]")


def hide_spaces(state: StateCore) -> None:
    """Put stand-ins in their positions."""
    # one search for each is ten times as fast as one for all of them
    has_wide = any(wide in state.src for wide in WIDE)
    state.env[HIDDEN] = has_wide and TAKEN.search(state.src) is None
    if state.env[HIDDEN]:
        state.src = state.src.translate(STANDINS)


def show_spaces(state: StateCore) -> None:
    """Put them back into all that blocks hold."""
    if not state.env[HIDDEN]:
        return
    state.src = state.src.translate(MEANT)
    for token in state.tokens:
        token.content = token.content.translate(MEANT)
        token.info = token.info.translate(MEANT)
        for child in token.children or ():
            child.content = child.content.translate(MEANT)
    links = state.env.get("references", {})
    state.env["references"] = {
        normalizeReference(label.translate(MEANT)): {
            part: value.translate(MEANT) if isinstance(value, str) else value
            for part, value in link.items()
        }
        for label, link in links.items()
    }
