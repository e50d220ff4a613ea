"""A folder of files as one text: ``-- path --`` and then the file's lines."""

import re
from pathlib import Path

_MARK = re.compile(r"^-- (.+) --\n", re.MULTILINE)


def unpack(text: str, root: Path) -> Path:
    """Write the files of a text archive below ``root`` and return it."""
    _, *rest = _MARK.split(text)
    for path, content in zip(rest[::2], rest[1::2], strict=True):
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")
    root.mkdir(parents=True, exist_ok=True)
    return root


def tree_bytes(root: Path) -> dict[str, bytes]:
    """Every file below a folder with its bytes, by path."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
