"""The types of what projects take and show, made from the table of the operations.

    python -m tools.project_types          (``make types``)

``wikisync/contract/project_types.py`` is written anew as a whole; ruff formats it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from wikisync.contract.parameters import Parameter, group_of, parameters_of, rules_of
from wikisync.contract.routes import Endpoint
from wikisync.contract.schema import SimpleProject

MODULE = Path(__file__).resolve().parent.parent / "wikisync/contract/project_types.py"
HEAD = '''\
"""What projects show and operations on them take, as types: made by `make types`.

Pure.  Every line comes from ``operations.toml``.  A record has the settings that an
edit changes; a group of parameters is a ``TypedDict``, and an operation takes those of
its groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Literal, Required, TypedDict

from wikisync.contract.schema import SimpleProject
'''
SHOWN = {"boolean": "bool", "integer": "int", "string": "str"}
TAKEN = SHOWN | {
    "datetime": "datetime | str",
    "date": "date | str",
    "integers": "list[int] | tuple[int, ...]",
    "strings": "list[str] | tuple[str, ...]",
    "hash": "Mapping[str, str]",
    "file": 'Path | Literal[""]',
}
RENAMED = frozenset({"public_builds"})
"""What records call otherwise."""


def module() -> str:
    """The text of the module, not yet in the format of the house."""
    # an upload has parameters of its own, since its file may be bytes
    taking = [one for one in Endpoint if rules_of(one).takes and one != Endpoint.UPLOAD]
    groups = {name: None for one in taking for name in rules_of(one).takes}
    parts = [HEAD, _settings()]
    parts += [_group(name, group_of(name)) for name in groups]
    parts += [_operation(one) for one in taking]
    return "\n\n".join(parts)


def _settings() -> str:
    known = {*SimpleProject.__struct_fields__, *RENAMED}
    lines = [
        f"    {row.name}: {SHOWN[row.type]} | None = None"
        for row in parameters_of(Endpoint.EDIT).values()
        if row.type in SHOWN and row.name not in known
    ]
    head = "class ProjectSettings(SimpleProject, frozen=True, kw_only=True):"
    return _class(head, "The settings of a project.", lines)


def _group(name: str, rows: Mapping[str, Parameter]) -> str:
    parts = [
        _typed_dict(_camel(row.name), f"The keys of ``{row.name}``.", row.keys)
        for row in rows.values()
        if row.keys
    ]
    about = f"The parameters of the group ``{name}``."
    parts.append(_typed_dict(_camel(name), about, rows.values()))
    return "\n\n".join(parts)


def _typed_dict(name: str, about: str, rows: Iterable[Parameter]) -> str:
    lines = [f"    {row.name}: {_taken(row)}" for row in rows]
    return _class(f"class {name}(TypedDict, total=False):", about, lines)


def _operation(endpoint: Endpoint) -> str:
    bases = ", ".join(_camel(name) for name in rules_of(endpoint).takes)
    return _class(
        f"class {_camel(endpoint)}Arguments({bases}, total=False):",
        f"What ``{endpoint}`` takes.",
        [],
    )


def _class(head: str, about: str, lines: Iterable[str]) -> str:
    return "\n".join([head, f'    """{about}"""', "", *lines, ""])


def _taken(row: Parameter) -> str:
    kind = TAKEN[row.type]
    if row.keys:
        kind = _camel(row.name)
    elif row.name == "namespace":
        kind = "int | str"  # an id or a path
    elif row.choices and row.type == "string":
        kind = f"Literal[{', '.join(map(repr, row.choices))}]"
    return f"Required[{kind}]" if row.is_required else kind


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


if __name__ == "__main__":
    MODULE.write_text(module(), "utf-8")
