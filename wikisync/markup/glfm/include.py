"""``::include{file=name}`` at the start of a line: a text of the same wiki.

A pass over the source, as in the service: it works in code blocks too, what is
included includes nothing further, and an address of the web is never fetched: it
becomes a link.
"""

import re

from wikisync.errors import RenderError
from wikisync.markup.context import Include

INCLUDES_MAX = 32
INCLUDED_CHARS_MAX = 1024 * 1024
"""All of a page's included texts together."""
DIRECTIVE = re.compile(r"^::include\{file=([^}\n]+)\}[ \t]*$", re.MULTILINE)
ADDRESS = re.compile(r"https?://[^\s<>]+")
MARKDOWN_SIGNS = re.compile(r"([\\`*_{}\[\]()#+.!|<>&~$:@-])")


def include_files(source: str, include: Include) -> str:
    """The source with its first includes replaced by texts, or by why not.

    Raises:
        RenderError: the texts together are larger than a page may be.
    """
    if "::include{" not in source:
        return source
    count = size = 0

    def text_for(match: re.Match[str]) -> str:
        nonlocal count, size
        count += 1
        target = match[1].strip().strip("\"'")
        if count > INCLUDES_MAX:
            return problem(target, f"more than {INCLUDES_MAX} includes")
        if ADDRESS.fullmatch(target):
            return f"<{target}>"
        text = include(target)
        if text is None:
            return problem(target, "there is no such text in this wiki")
        size += len(text)
        if size > INCLUDED_CHARS_MAX:
            raise RenderError(f"it includes more than {INCLUDED_CHARS_MAX} characters")
        return text.rstrip("\n")

    return DIRECTIVE.sub(text_for, source)


def problem(target: str, reason: str) -> str:
    """What stands for a text that cannot be included, as bold markdown."""
    shown = MARKDOWN_SIGNS.sub(r"\\\1", target)
    return f"**Cannot include {shown}: {reason}**"
