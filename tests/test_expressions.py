"""Regular expressions are read alike by every Python that the project runs on."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

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


GROWN = """
import sys
from pathlib import Path
from wikisync.markup.glfm.inline import WIKILINK
from wikisync.markup.links import _KEY
from wikisync.markup.nesting import MARKUP, PLAIN_VOID
from wikisync.merging.units import _CELL

def held() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])

start, piece, end = sys.argv[2:]
text = start + piece * (1_000_000 // len(piece)) + end
before = held()
assert globals()[sys.argv[1]].match(text).end() == len(text)
print(held() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("name", "start", "piece", "end"),
    [
        ("MARKUP", "<p", " b", ">"),
        ("MARKUP", "<p", "/ ", "/>"),
        ("PLAIN_VOID", "<br", " b", ""),
        ("WIKILINK", "[[", "b", "]]"),
        ("WIKILINK", "[[a|", "b", "]]"),
        ("_KEY", "a", "b", ": "),
        ("_CELL", "", "b", "|"),
    ],
)
def test_long_match_takes_no_memory_for_each_sign(
    name: str, start: str, piece: str, end: str
) -> None:
    """A group keeps a record of each time round: 114 to 217 MiB for 1 MB of text."""
    child = subprocess.run(
        [sys.executable, "-c", GROWN, name, start, piece, end],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    assert int(child.stdout) < 10_000  # KiB
