"""Options of commands made from the table of parameters, and read back.

What is newer than the table goes through ``--attribute``.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

from wikisync.cli.options import InputPath, joined
from wikisync.contract.parameters import Parameter, parameters_of
from wikisync.contract.project_schema import AccessLevel
from wikisync.contract.routes import Endpoint
from wikisync.errors import UsageError

PREFIX = "value_"
"""Names of option values, so that none collides with an argument."""
ROLES = {
    level.name.lower(): level.value
    for level in AccessLevel
    if level >= AccessLevel.GUEST
}
"""Those that a member can be given."""


class Role(click.ParamType[int]):
    """A role by its number or its name."""

    name = "role"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """The number of a role."""
        text = str(value).lower()
        if text not in ROLES and not (text.isascii() and text.isdigit()):
            names = ", ".join(ROLES)
            self.fail(f"{value!r} is none of {names} and no number", param, ctx)
        return ROLES[text] if text in ROLES else int(text)


def parameter_options(
    *endpoints: Endpoint, leave_out: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Options for all parameters that any of the endpoints takes, but old names.

    The command gets them as one mapping, ``given``, for ``read_values``.  The last one
    is ``--attribute``, for what the table does not know yet.
    """
    rows: dict[str, Parameter] = {}
    for endpoint in endpoints:
        for name, row in parameters_of(endpoint).items():
            rows.setdefault(name, row)
    newer = click.option(
        "--attribute",
        "newer",
        multiple=True,
        metavar="KEY=VALUE",
        help="Set an attribute that this version does not know; VALUE may be JSON.",
    )
    known = [
        _option(row)
        for name, row in rows.items()
        if name != leave_out and not row.is_deprecated
    ]
    return joined("given", dict, *known, newer)


def _option(row: Parameter) -> Callable[..., Any]:
    name = row.name.replace("_", "-")
    word = f"--{name}/--no-{name}" if row.type == "boolean" else f"--{name}"
    limits = [f"default {row.default}"] if row.default else []
    limits += [f"for {row.role}s"] if row.role != "anyone" else []
    limits += [row.tier] if row.tier != "free" else []
    limited = f"{row.help} [{', '.join(limits)}]" if limits else row.help
    settings: dict[str, Any] = {"help": limited, "default": None}
    match row.type:
        case "integer" if row.choices:
            settings |= {"type": Role(), "metavar": "ROLE"}
        case "integer":
            settings |= {"type": int, "metavar": "NUMBER"}
        case "string" if row.choices:
            settings["type"] = click.Choice(row.choices)
        case "string":
            settings["metavar"] = "TEXT"
        case "datetime" | "date":
            settings["metavar"] = "TIME" if row.type == "datetime" else "DAY"
        case "integers" | "strings":
            settings |= {"multiple": True, "metavar": "A,B"}
        case "hash":
            settings |= {"multiple": True, "metavar": "KEY=VALUE"}
        case "file":
            settings["metavar"] = "FILE"
    return click.option(word, PREFIX + row.name, **settings)


def read_values(endpoint: Endpoint, options: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the command line; others than the endpoint's are refused later."""
    rows = {
        row.name: row
        for endpoint in Endpoint
        for row in parameters_of(endpoint).values()
    }
    rows |= parameters_of(endpoint)
    values: dict[str, Any] = {}
    for option, given in options.items():
        name = option.removeprefix(PREFIX)
        if not option.startswith(PREFIX) or given is None or given == ():
            continue
        values[name] = _read(rows[name], given)
    if newer := options.get("newer"):
        values["also"] = {k: _parsed(text) for k, text in _pairs("--attribute", newer)}
    return values


def _read(row: Parameter, given: Any) -> Any:
    option = f"--{row.name.replace('_', '-')}"
    match row.type:
        case "strings":
            return _items(given)
        case "integers":
            return [_parsed(item) for item in _items(given)]
        case "hash":
            return {key: _parsed(text) for key, text in _pairs(option, given)}
        case "file":
            return InputPath("file").convert(given, None, None) if given else ""
    return given


def _items(words: Iterable[str]) -> list[str]:
    return [item.strip() for word in words for item in word.split(",") if item.strip()]


def _pairs(option: str, words: Iterable[str]) -> list[tuple[str, str]]:
    pairs = []
    for word in words:
        key, sign, text = word.partition("=")
        if not key or not sign:
            raise UsageError(
                f"{option} takes KEY=VALUE, not {word!r}",
                hint=f"write {option} {key or 'KEY'}=VALUE",
            )
        pairs.append((key, text))
    return pairs


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
