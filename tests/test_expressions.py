"""Regular expressions are read alike by every Python that the project runs on."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
# behind a group that is not empty and ends without a backslash, or with two of them
_POSSESSIVE = re.compile(r"(?:(?<![\\(])|(?<=\\\\))\)(?:[*+?]|\{\d*,?\d*\})\+")


def test_no_group_is_repeated_possessively() -> None:
    """Python before 3.11.5 goes on where a failed repetition of a group has stopped.

    ``(?>(?:...)*)`` says what ``(?:...)*+`` says, and every version reads it so.
    """
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / "wikisync").rglob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if _POSSESSIVE.search(line)
    ]
    assert not found, "write (?>(?:...)*) for (?:...)*+"
