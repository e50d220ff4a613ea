"""Names in a theme's own files that are misspelt, so that nothing uses them.

A block that no template has, a string or an icon that no template asks for, and a
template that makes no page change nothing, and the theme looks as if it did not work.
Each is a problem that names the file and the nearest right name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from wikisync.core.model import Problem
from wikisync.site.theme_layers import Layer, builtin_folder, decoded, strings_of
from wikisync.site.theme_manifest import did_you_mean

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.nodes import Template

EXTENDS_MAX = 50
"""Templates above one that are looked at; a circle fails when it is rendered."""


class _Asked(Struct):
    strings: set[str] = field(default_factory=set)
    beginnings: set[str] = field(default_factory=set)
    """Of strings whose names are computed: ``about_`` of ``"about_" ~ kind``."""
    icons: set[str | None] = field(default_factory=set)
    templates: set[str | None] = field(default_factory=set)
    """None stands for a name that is computed."""


def theme_problems(
    layers: Sequence[Layer], environment: Environment
) -> tuple[Problem, ...]:
    """What is misspelt in the layers that did not come with wikisync."""
    ours = builtin_folder()
    own = [layer for layer in layers if not layer.folder.is_relative_to(ours)]
    parsed = {
        (layer.folder, path): tree
        for layer in own
        for path, tree in _parsed(layer, environment)
    }
    asked = _Asked()
    for tree in parsed.values():
        _note_asked(tree, asked)
    found: list[Problem] = []
    for index, layer in enumerate(own):
        below = [path for lower in layers[index + 1 :] for path in lower.files]
        for path, tree in parsed.items():
            if path[0] == layer.folder:
                place = f"{layer.folder.name}/{path[1]}"
                found += _block_problems(place, tree, environment)
        found += _string_problems(layer, layers[index + 1 :], asked)
        found += _file_problems(layer, below, asked)
    return tuple(found)


def _parsed(layer: Layer, environment: Environment) -> Iterator[tuple[str, Template]]:
    from jinja2 import TemplateSyntaxError

    for path, content in layer.files.items():
        if path.startswith("templates/"):
            try:
                yield path, environment.parse(decoded(content, layer.folder / path))
            except TemplateSyntaxError:
                # told with its line when the page is rendered
                continue


def _note_asked(tree: Template, asked: _Asked) -> None:
    from jinja2 import nodes
    from jinja2.meta import find_referenced_templates

    for name in find_referenced_templates(tree):
        asked.templates.add(name and re.sub(r"^![^/]*/", "", name))
    for call in tree.find_all(nodes.Call):
        function = call.node.name if isinstance(call.node, nodes.Name) else ""
        argument = call.args[0] if call.args else None
        if function == "t":
            _note_string(argument, asked)
        elif function == "inline_svg":
            name = argument.value if isinstance(argument, nodes.Const) else None
            asked.icons.add(name and f"{name}.svg")
    for filtered in tree.find_all(nodes.Filter):
        if filtered.name == "plural" and filtered.args:
            _note_string(filtered.args[0], asked, ("_one", "_other"))


def _note_string(
    argument: object, asked: _Asked, endings: Sequence[str] = ("",)
) -> None:
    from jinja2 import nodes

    if isinstance(argument, nodes.Const):
        asked.strings.update(f"{argument.value}{ending}" for ending in endings)
        return
    first = argument.nodes[0] if isinstance(argument, nodes.Concat) else None
    asked.beginnings.add(str(first.value) if isinstance(first, nodes.Const) else "")


def _block_problems(
    place: str, tree: Template, environment: Environment
) -> Iterator[Problem]:
    from jinja2 import nodes

    above = _above(tree, environment)
    if above is None:
        return
    known = {block.name for one in above for block in one.find_all(nodes.Block)}
    blocks = list(tree.find_all(nodes.Block))
    used = {inner.name for block in blocks for inner in block.find_all(nodes.Block)}
    used |= {
        one.attr
        for template in (tree, *above)
        for one in template.find_all(nodes.Getattr)
        if isinstance(one.node, nodes.Name) and one.node.name == "self"
    }
    for block in blocks:
        if block.name not in known | used:
            wrong = f"no template has a block {block.name!r}"
            line = f"{place}:{block.lineno}"
            yield _problem(line, wrong, block.name, sorted(known))


def _above(tree: Template, environment: Environment) -> list[Template] | None:
    """The templates that this one extends; None where that is not known."""
    from jinja2 import TemplateError, nodes

    above: list[Template] = []
    while len(above) < EXTENDS_MAX:
        extends = list((above[-1] if above else tree).find_all(nodes.Extends))
        if not extends:
            return above or None
        name = extends[0].template
        if len(extends) > 1 or not isinstance(name, nodes.Const):
            return None
        try:
            assert environment.loader is not None
            source, _, _ = environment.loader.get_source(environment, str(name.value))
            above.append(environment.parse(source))
        except TemplateError:
            return None
    return None


def _string_problems(
    layer: Layer, below: Sequence[Layer], asked: _Asked
) -> Iterator[Problem]:
    known = {key for lower in below for _, table in strings_of(lower) for key in table}
    for path, table in strings_of(layer):
        for key in table:
            is_used = key in known | asked.strings or any(
                key.startswith(beginning) for beginning in asked.beginnings
            )
            if not is_used:
                place = f"{layer.folder.name}/{path}"
                wrong = f"no template shows a string {key!r}"
                yield _problem(place, wrong, key, sorted(known))


def _file_problems(
    layer: Layer, below: Sequence[str], asked: _Asked
) -> Iterator[Problem]:
    """Templates and icons that replace none and that no template asks for."""
    wanted = {"templates": asked.templates, "icons": asked.icons}
    for path in layer.files:
        folder, _, name = path.partition("/")
        known = [one.partition("/")[2] for one in below if one.startswith(f"{folder}/")]
        used = wanted.get(folder, {None})
        if name not in known and None not in used and name not in used:
            word = folder.removesuffix("s")
            place = f"{layer.folder.name}/{path}"
            yield _problem(place, f"nothing uses the {word} {name!r}", name, known)


def _problem(place: str, message: str, name: str, known: Sequence[str]) -> Problem:
    return Problem("theme-name-unknown", place, message, did_you_mean(name, known))
