"""The names of emoji that the service knows, as a data file.

    python tools/emoji_names.py INDEX EMOJI_TEST

INDEX is ``index-3.3.0.json`` of the service's emoji library (Debian's package
``ruby-tanuki-emoji`` has it): names and aliases.  EMOJI_TEST is Unicode's
``emoji-test.txt``, version 15.1 as in the service: every other emoji has its
Unicode name there, and the named ones have it as one more alias.  Only names and
code points are taken.
"""

import json
import re
import sys
import unicodedata
from pathlib import Path

TARGET = Path(__file__).parent.parent / "wikisync/markup/filters/emoji_names.txt"
QUALIFIED = re.compile(
    r"(?P<points>[0-9A-F ]+?) +; fully-qualified +# \S+ E[\d.]+ (?P<name>.+)"
)
AS_PICTURE = "\ufe0f"


def main() -> int:
    """Read both, write the names, one emoji a line."""
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    index, test = (Path(argument).read_text("utf-8") for argument in sys.argv[1:])
    names = named(json.loads(index), unicode_names(test))
    lines = (f"{emoji} {' '.join(found)}\n" for emoji, found in names.items() if found)
    TARGET.write_text("".join(lines), "utf-8")
    return 0


def unicode_names(test: str) -> dict[str, str]:
    """Each emoji of Unicode's file in its order, to its name."""
    return {
        "".join(chr(int(point, 16)) for point in line["points"].split()): line["name"]
        for line in QUALIFIED.finditer(test)
    }


def named(
    index: dict[str, dict[str, object]], unicode: dict[str, str]
) -> dict[str, list[str]]:
    """Each emoji to its names, the one that is shown first.

    A name of the index wins over a Unicode name that is spelled like it.
    """
    qualified = {emoji.replace(AS_PICTURE, ""): emoji for emoji in unicode}
    names: dict[str, list[str]] = {emoji: [] for emoji in unicode}
    taken = set()
    for name, entry in index.items():
        moji, aliases = str(entry["moji"]), entry["aliases"]
        assert isinstance(aliases, list)
        emoji = qualified.get(moji.replace(AS_PICTURE, ""), moji)
        found = [name, *(alias.strip(":") for alias in aliases)]
        names.setdefault(emoji, []).extend(found)
        taken.update(found)
    for emoji, words in unicode.items():
        name = spelled(words)
        if name not in taken:
            names[emoji].append(name)
            taken.add(name)
    return names


def spelled(words: str) -> str:
    """A Unicode name as the service writes it between colons."""
    plain = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "_", plain.lower()).strip("_")


if __name__ == "__main__":
    raise SystemExit(main())
