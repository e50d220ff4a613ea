"""Somebody who may write in a wiki's folder swaps files for links while it is read.

A build lists names first and opens files later.  Here another process swaps files and
folders for symbolic links to what lies outside, and back, as fast as it can.
"""

import re
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from wikisync.site.search_words import unpacked_texts

SECRET = "SECRET-of-the-file-outside"
UPLOADS = "uploads/0123456789abcdef0123456789abcdef"
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><text>{}</text></svg>'
WIKI = {
    "home.md": (
        f"# Home\n\n::include{{file=part.md}}\n\n::include{{file={UPLOADS}/t.txt}}\n\n"
        f"[[folder/page]] ![a]({UPLOADS}/a.png) ![b]({UPLOADS}/b.svg)\n"
        f"[t]({UPLOADS}/t.txt) ![c](pics/c.png) ![d](pics/d.svg)\n"
    ),
    "part.md": "a part\n",
    "folder/page.md": "# Page\n\nwords\n",
    "folder/other.org": "* Other\n",
    "_sidebar.md": "- [[home]]\n",
    f"{UPLOADS}/a.png": "picture\n",
    f"{UPLOADS}/b.svg": SVG.format("one"),
    f"{UPLOADS}/t.txt": "a text\n",
    "pics/c.png": "picture\n",
    "pics/d.svg": SVG.format("two"),
}
"""A wiki with everything that a build reads: pages, includes, attachments, files beside
the pages, drawings, a sidebar."""
SWAPPED = (*WIKI, "folder", "uploads", UPLOADS, "pics")
"""What is swapped: every file, and the folders that they lie in."""
RUN_S_MAX = 120
"""The swapping process ends by itself after that."""

_SWAPPING = """
import os, random, sys, time
inside, outside, away, seed, limit = sys.argv[1:6]
names, chance = sys.argv[6:], random.Random(int(seed))
end = time.monotonic() + float(limit)
parent = os.getppid()
while time.monotonic() < end and os.getppid() == parent:
    name = chance.choice(names)
    path, link, kept = f"{inside}/{name}", f"{away}/link", f"{away}/kept"
    os.symlink(f"{outside}/{name}", link)
    if os.path.isdir(path):
        os.rename(path, kept)
        os.rename(link, path)
        os.sched_yield()
        os.unlink(path)
    else:
        os.link(path, kept)
        os.rename(link, path)
        os.sched_yield()
    os.rename(kept, path)
    for _ in range(chance.randrange(200)):
        os.sched_yield()
    if not os.path.exists(away + "/go"):
        break
"""


def write_wiki(root: Path, *, pages: int = 0) -> tuple[Path, Path]:
    """The wiki, and a folder outside with the same names and a secret in each file.

    Args:
        root: where both are made.
        pages: so many more pages, which give the swapping process time.

    Returns:
        The wiki's folder and the folder outside.
    """
    inside, outside = root / "wiki", root / "outside"
    more = {f"more/{number}.md": f"# Page {number}\n" for number in range(pages)}
    for path, text in {**WIKI, **more}.items():
        secret = SVG.format(SECRET) if path.endswith(".svg") else f"{SECRET}\n"
        for folder, content in ((inside, text), (outside, secret)):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content, encoding="utf-8")
    return inside, outside


@contextmanager
def swapping(inside: Path, outside: Path, seed: int) -> Iterator[None]:
    """Swap files of a folder for links while the block runs; whole afterwards."""
    away = inside.parent / "away"
    away.mkdir()
    (away / "go").touch()
    arguments = [*map(str, (inside, outside, away, seed, RUN_S_MAX)), *SWAPPED]
    process = subprocess.Popen([sys.executable, "-I", "-c", _SWAPPING, *arguments])
    try:
        yield
    finally:
        (away / "go").unlink()
        assert process.wait(timeout=RUN_S_MAX) == 0
        away.rmdir()


def leaked(files: Mapping[str, bytes]) -> list[str]:
    """Files that hold the secret: as it is, in Base64, or in texts of the search."""
    spellings = [SECRET.encode(), b64encode(SECRET.encode())[:16]]
    return [
        path
        for path, content in files.items()
        if any(spelling in content for spelling in spellings)
        or any(SECRET in text for text in _search_texts(content))
    ]


def _search_texts(content: bytes) -> Iterator[str]:
    for packed in re.findall(rb"[0-9A-Za-z+/]{16,}=*", content):
        with suppress(ValueError):
            yield from unpacked_texts(packed.decode())
