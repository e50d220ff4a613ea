"""Code in running text, with what the service's parser forgets.

Once it found no end of a run of backticks, it remembers where the last
run of each length stands.  Each code span that it finds then overwrites that with its
own end, so that the next span of the same length is text.
"""

from __future__ import annotations

import re

from markdown_it.rules_inline import StateInline, backtick

RUN = re.compile("`+")
NO_END = 0
"""Key, beside lengths of runs, of where the end of one was not found."""


def code(state: StateInline, silent: bool) -> bool:
    """A code span, or a run of backticks as text."""
    run = RUN.match(state.src, state.pos)
    if run is None or not backtick(state, silent):
        return False
    if silent:
        return True  # the service's parser has no lookahead
    length = len(run[0])
    if state.pos == run.end():
        state.backticks[NO_END] = run.start()
    elif NO_END in state.backticks:
        state.backticks[length] = state.pos - length
    return True
