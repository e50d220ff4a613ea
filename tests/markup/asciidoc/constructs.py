"""The list of constructs in ``tests/markup/cases/asciidoc.txt``."""

import re
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).parents[1] / "cases" / "asciidoc.txt"


@dataclass(frozen=True, slots=True)
class Construct:
    """One construct of the language, and what comes out."""

    name: str
    source: str
    html: str


def read_constructs() -> list[Construct]:
    """All of them, in order."""
    parts = re.split(r"^### (.*)\n", LIST.read_text("utf-8"), flags=re.MULTILINE)
    return [
        Construct(name, *(part.rstrip("\n") for part in body.split("###>\n", 1)))
        for name, body in zip(parts[1::2], parts[2::2], strict=True)
    ]


def flat(html: str) -> str:
    """HTML with white space folded, and without that between tags."""
    return re.sub(r"\s+", " ", re.sub(r">\s+<", "><", html)).strip()
