"""The block of metadata with which a page may begin: YAML, TOML or JSON.  Pure."""

import re

_FRONT_MATTER = re.compile(
    r"(?P<mark>---|\+\+\+|;;;)[ \t]*\r?\n.*?^(?P=mark)[ \t]*(?:\r?\n|\Z)",
    re.DOTALL | re.MULTILINE,
)


def front_matter_of(text: str) -> str:
    """The block at the text's start with its closing line, or empty."""
    found = _FRONT_MATTER.match(text)
    return found.group() if found else ""


def with_front_matter(text: str, known: str) -> str:
    """A text from a service that strips front matter, with the block we know of."""
    block = front_matter_of(known)
    if not block or front_matter_of(text):
        return text
    gap = known[len(block) :]
    blank = gap[: len(gap) - len(gap.lstrip("\r\n"))]
    return block + blank + text.lstrip("\r\n")
