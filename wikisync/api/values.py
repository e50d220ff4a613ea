"""Parameters: their names checked against the table.  Pure.

What a value may be, the service says.
"""

import difflib
from collections.abc import Mapping
from typing import cast

import msgspec

from wikisync.contract.parameters import parameters_of, rules_of
from wikisync.contract.routes import Endpoint
from wikisync.errors import UsageError


def named(endpoint: Endpoint) -> str:
    """An endpoint as its method and path, for messages."""
    return f"{endpoint.method} {endpoint.template}"


def check_values(endpoint: Endpoint, given: Mapping[str, object]) -> dict[str, object]:
    """The values as they go to the service; those that are None are left out.

    Names in the mapping that is given as ``also`` are not checked.  UsageError for
    parameters that are unknown, missing, given twice or exclude each other.
    """
    known, rules = parameters_of(endpoint), rules_of(endpoint)
    also = cast("Mapping[str, object]", given.get("also") or {})
    values = {name: value for name, value in given.items() if name != "also"}
    for name in values:
        if name not in known:
            raise _unknown(endpoint, name)
    checked = {name: value for name, value in values.items() if value is not None}
    for name in checked.keys() & also.keys():
        raise UsageError(
            f"{named(endpoint)}: {name} is given twice", hint=f"remove one {name}"
        )
    checked |= also
    for name, row in known.items():
        if row.is_required and name not in checked:
            raise UsageError(
                f"{named(endpoint)} needs {name}", hint=f"give {name}: {row.help}"
            )
    if rules.one_of and checked.keys().isdisjoint(rules.one_of):
        raise UsageError(
            f"{named(endpoint)} needs {' or '.join(rules.one_of)}",
            hint=f"give at least one of {', '.join(rules.one_of)}",
        )
    for names in rules.exclusive:
        both = [name for name in names if name in checked]
        if len(both) > 1:
            raise UsageError(
                f"{named(endpoint)} does not take {' together with '.join(both)}",
                hint=f"omit {' or '.join(both)}",
            )
    try:
        msgspec.json.encode(checked, enc_hook=lambda _file: "")
    except UnicodeEncodeError as exc:
        raise UsageError(
            f"{named(endpoint)}: a value is not UTF-8", hint="write it as UTF-8"
        ) from exc
    return checked


def _unknown(endpoint: Endpoint, name: str) -> UsageError:
    known = parameters_of(endpoint)
    near = difflib.get_close_matches(name, known, 1, 0.6)
    others = [other for other in Endpoint if name in parameters_of(other)]
    if others:
        hint = f"it belongs to {', '.join(named(other) for other in others[:3])}"
    elif near:
        hint = f"did you mean {near[0]}?"
    else:
        hint = f"it takes: {', '.join(known) or 'no parameters'}"
    return UsageError(f"{named(endpoint)} takes no parameter {name}", hint=hint)
