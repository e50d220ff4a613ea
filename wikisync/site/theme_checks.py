"""Names in a theme's own files that are misspelt, so that nothing uses them.

A block that no template has, a string or an icon that no template asks for, and a
template that makes no page change nothing, and the theme looks as if it did not work.
Each is a problem that names the file and the nearest right name.
"""

import re
from collections.abc import Iterator, Sequence

from wikisync.core.model import Problem
from wikisync.site.theme_layers import (
    Layer,
    builtin_folder,
    decoded,
    did_you_mean,
    strings_of,
)

_TAG = re.compile(
    r"\{#.*?(?:#\}|\Z)|\{%[-+]?\s*raw\s*[-+]?%\}.*?(?:\{%[-+]?\s*endraw\b|\Z)"
    r"|\{%[-+]?\s*(block|endblock|extends)\b\s*(\w*)([\"'][^\"']*[\"']\s*[-+]?%\})?",
    re.DOTALL,
)
"""What tells the blocks of a template; a comment and a raw part tell nothing."""
_COMPUTED = {
    "templates": re.compile(
        r"""\{%[-+]?\s*(?:extends|include|import|from)\b\s*+\(?+\s*+"""
        r"""(?:["'][^%]*\belse\s+)?[^"'\s]"""
    ),
    "icons": re.compile(r"""inline_svg\(\s*[^"'\s]"""),
    "i18n": re.compile(r"""\b(?:t|plural)\(\s*[^"'\s]"""),
}
"""Uses of a name that is not written out: any could be meant."""
_BEGINNING = re.compile(
    r"""["']([^"'%]+)(?:%[^"']*)?["']\s*(?:[~+%](?![%}])|\|\s*format\b)"""
)
"""Of a name that is computed: ``about_`` of ``"about_" ~ kind``."""


def theme_problems(layers: Sequence[Layer]) -> Iterator[Problem]:
    """What is misspelt in the layers that did not come with wikisync."""
    ours, written, known = builtin_folder(), "", set[str]()
    filled: list[tuple[str, str]] = []
    for layer in layers:
        is_own = not layer.folder.is_relative_to(ours)
        for path, content in layer.files.items():
            if path.startswith("templates/"):
                text = decoded(content, layer.folder / path)
                blocks, added = _blocks(text, f"{layer.folder.name}/{path}")
                known |= added
                written += text if is_own else ""
                filled += blocks if is_own else []
    known.update(re.findall(r"\bself\.(\w+)", written))
    for place, name in filled:
        if name not in known:
            wrong = f"no template has a block {name!r}"
            yield _problem(place, wrong, name, sorted(known))
    for index, layer in enumerate(layers):
        if not layer.folder.is_relative_to(ours):
            yield from _string_problems(layer, layers[index + 1 :], written)
            yield from _file_problems(layer, layers[index + 1 :], written)


def _blocks(text: str, place: str) -> tuple[list[tuple[str, str]], set[str]]:
    """Blocks of another template that one fills, by line, and those that it adds."""
    filled: list[tuple[str, str]] = []
    added: set[str] = set()
    depth, extends = 0, ""
    for tag in _TAG.finditer(text):
        depth -= tag[1] == "endblock"
        if tag[1] == "extends":
            extends = tag[3]
        elif tag[1] == "block":
            if extends and not depth:
                line = text.count("\n", 0, tag.start()) + 1
                filled.append((f"{place}:{line}", tag[2]))
            else:
                added.add(tag[2])
            depth += 1
    return filled, added


def _string_problems(
    layer: Layer, below: Sequence[Layer], written: str
) -> Iterator[Problem]:
    known = {key for lower in below for _, table in strings_of(lower) for key in table}
    beginnings = (*_BEGINNING.findall(written), *_any_name("i18n", written))
    for path, table in strings_of(layer):
        for key in (key for key in table if key not in known):
            name = re.sub("_(one|other)$", "", key)
            if not key.startswith(beginnings) and not _is_named(written, key, name):
                place = f"{layer.folder.name}/{path}"
                wrong = f"no template shows a string {key!r}"
                yield _problem(place, wrong, key, sorted(known))


def _file_problems(
    layer: Layer, below: Sequence[Layer], written: str
) -> Iterator[Problem]:
    """Templates and icons that replace none and that no template asks for."""
    beginnings = tuple(_BEGINNING.findall(written))
    for path in layer.files:
        folder, _, name = path.partition("/")
        if folder not in {"templates", "icons"} or _any_name(folder, written):
            continue
        files = (one.partition("/") for lower in below for one in lower.files)
        known = [one for other, _, one in files if other == folder]
        if name in known or name.startswith(beginnings):
            continue
        if not _is_named(written, name.removesuffix(".svg")):
            word = folder.removesuffix("s")
            place = f"{layer.folder.name}/{path}"
            yield _problem(place, f"nothing uses the {word} {name!r}", name, known)


def _any_name(folder: str, written: str) -> tuple[str, ...]:
    return ("",) if _COMPUTED[folder].search(written) else ()


def _is_named(written: str, *names: str) -> bool:
    """Whether templates name one of these, or a template of that path in a theme."""
    quoted = "|".join(map(re.escape, names))
    return bool(re.search(rf"""["'](?:![^/"']*/)?(?:{quoted})["']""", written))


def _problem(place: str, message: str, name: str, known: Sequence[str]) -> Problem:
    return Problem("theme-name-unknown", place, message, did_you_mean(name, known))
