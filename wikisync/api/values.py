"""Values of parameters, checked against the table and put on the wire.  Pure.

``check_values`` refuses what an endpoint does not take before anything is sent,
with the endpoint, the parameter and the nearest right name; the rest of the
file writes values as a query, as fields of a form, or as JSON.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from urllib.parse import quote, urlencode

import msgspec

from wikisync.contract.parameters import Parameter, parameters_of, rules_of
from wikisync.contract.routes import Endpoint
from wikisync.errors import UsageError

PER_PAGE_MAX = 100
REMOVED = {
    "operations_access_level": "it was removed in 16.0; use environments_access_level, "
    "feature_flags_access_level, infrastructure_access_level, "
    "monitor_access_level or releases_access_level"
}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")

KINDS = {
    "boolean": "true or false",
    "integer": "a whole number",
    "string": "a text",
    "datetime": "a time like 2026-01-31T12:00:00Z",
    "date": "a day like 2026-01-31",
    "integers": "a list of whole numbers",
    "strings": "a list of texts",
    "hash": "names with values",
    "file": "a file",
}
"""Type of a parameter to the words that say what it takes."""


def named(endpoint: Endpoint) -> str:
    """An endpoint as its method and path, for messages."""
    return f"{endpoint.route.method} {endpoint.route.template}"


def check_values(
    endpoint: Endpoint,
    values: Mapping[str, object],
    also: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """The values as they go to the service; those that are None are left out.

    Names in ``also`` are not in the table, and not checked.

    Raises:
        UsageError: a parameter is unknown, missing, given twice or of the wrong
            kind, or two cannot be used together.
    """
    known = parameters_of(endpoint)
    checked: dict[str, object] = {}
    for name, value in values.items():
        if name not in known:
            raise _unknown(endpoint, name)
        if value is not None:
            checked[name] = _checked(endpoint, known[name], value)
    for name, value in (also or {}).items():
        _require_text(endpoint, name, name)
        if name in checked:
            raise UsageError(
                f"{named(endpoint)}: {name} is given twice", hint=f"remove one {name}"
            )
        checked[name] = value
    _require_all(endpoint, checked)
    _require_rules(endpoint, checked)
    return checked


def _unknown(endpoint: Endpoint, name: str) -> UsageError:
    known = parameters_of(endpoint)
    near = difflib.get_close_matches(name, known, 1, 0.6)
    others = [other for other in Endpoint if name in parameters_of(other)]
    if name in REMOVED:
        hint = REMOVED[name]
    elif others:
        hint = f"it belongs to {', '.join(named(other) for other in others[:3])}"
    elif near:
        hint = f"did you mean {near[0]}?"
    elif known:
        hint = f"it takes: {', '.join(known)}"
    else:
        hint = "it takes no parameters"
    return UsageError(f"{named(endpoint)} takes no parameter {name}", hint=hint)


def _wrong(
    endpoint: Endpoint, parameter: str, wanted: str, value: object
) -> UsageError:
    shown = repr(value)
    if len(shown) > 60:
        shown = shown[:59] + "…"
    return UsageError(
        f"{named(endpoint)}: {parameter} takes {wanted}, not {shown}",
        hint=f"give {parameter} another value or omit it",
    )


def _checked(
    endpoint: Endpoint, parameter: Parameter, value: object, prefix: str = ""
) -> object:
    """One value in the form in which it is sent."""
    name = prefix + parameter.name
    sent = _converted(parameter, value)
    if sent is None:
        raise _wrong(endpoint, name, KINDS[parameter.type], value)
    if parameter.choices and str(sent) not in parameter.choices:
        wanted = "one of " + ", ".join(parameter.choices)
        raise _wrong(endpoint, name, wanted, value)
    if isinstance(sent, int) and parameter.minimum is not None:
        wanted = f"a number from {parameter.minimum}"
        is_too_large = name == "per_page" and sent > PER_PAGE_MAX
        if sent < parameter.minimum or is_too_large:
            wanted += f" to {PER_PAGE_MAX}" if name == "per_page" else ""
            raise _wrong(endpoint, name, wanted, value)
    if parameter.type == "hash" and isinstance(sent, Mapping):
        return _checked_hash(endpoint, parameter, sent)
    for text in _texts(sent):
        _require_text(endpoint, name, text)
    return sent


def _converted(parameter: Parameter, value: object) -> object | None:
    """The value in its form on the wire; None where it is of another kind."""
    match parameter.type, value:
        case ("boolean", bool()) | ("string", str()) | ("hash", Mapping()):
            return value
        case "integer", int() if not isinstance(value, bool):
            return value
        case "datetime", datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        case "datetime", str() if _is_moment(value):
            return value
        case "date", date() if not isinstance(value, datetime):
            return value.isoformat()
        case "date", str() if _DATE.fullmatch(value) and _is_moment(value):
            return value
        case "integers", list() | tuple():
            are_ids = all(type(item) is int for item in value)
            return list(value) if are_ids else None
        case "strings", list() | tuple():
            return list(value) if all(isinstance(item, str) for item in value) else None
        case "file", Path() | "":
            return value
    return None


def _checked_hash(
    endpoint: Endpoint, parameter: Parameter, value: Mapping[object, object]
) -> dict[str, object]:
    keys = {key.name: key for key in parameter.keys}
    checked: dict[str, object] = {}
    for name, held in value.items():
        if not isinstance(name, str):
            raise _wrong(endpoint, parameter.name, "texts as names", name)
        full = f"{parameter.name}[{name}]"
        _require_text(endpoint, full, name)
        if keys and name not in keys:
            near = difflib.get_close_matches(name, keys, 1, 0.6)
            raise UsageError(
                f"{named(endpoint)} takes no parameter {full}",
                hint=f"did you mean {near[0]}?"
                if near
                else f"it takes: {', '.join(keys)}",
            )
        if keys:
            checked[name] = _checked(
                endpoint, keys[name], held, prefix=f"{parameter.name}."
            )
        elif isinstance(held, str):
            _require_text(endpoint, full, held)
            checked[name] = held
        else:
            raise _wrong(endpoint, full, KINDS["string"], held)
    return checked


def _is_moment(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list):
        return (item for item in value if isinstance(item, str))
    return ()


def _require_text(endpoint: Endpoint, name: str, text: str) -> None:
    """Refuse what no service takes in a text: NUL, half characters."""
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        raise _wrong(endpoint, ascii(name), "whole characters", text) from exc
    if "\0" in text:
        raise _wrong(endpoint, ascii(name), "a text without NUL", text)


def _require_all(endpoint: Endpoint, values: Mapping[str, object]) -> None:
    known = parameters_of(endpoint)
    missing = [name for name in known if known[name].is_required and name not in values]
    one_of = rules_of(endpoint).one_of
    if missing:
        raise UsageError(
            f"{named(endpoint)} needs {', '.join(missing)}",
            hint=f"give {missing[0]}: {known[missing[0]].help}",
        )
    if one_of and not any(name in values for name in one_of):
        raise UsageError(
            f"{named(endpoint)} needs {' or '.join(one_of)}",
            hint=f"give at least one of {', '.join(one_of)}",
        )
    for names in rules_of(endpoint).exclusive:
        given = [name for name in names if name in values]
        if len(given) > 1:
            raise _together(endpoint, *given[:2])


def _together(endpoint: Endpoint, first: str, second: str) -> UsageError:
    return UsageError(
        f"{named(endpoint)} does not take {first} together with {second}",
        hint=f"omit {first} or {second}",
    )


def _require_rules(endpoint: Endpoint, values: Mapping[str, object]) -> None:
    """What the notes of the reference say about parameters together."""
    if endpoint in {Endpoint.CREATE, Endpoint.CREATE_FOR_USER}:
        _require_one_beginning(endpoint, values)
    if values.get("order_by") == "similarity" and not values.get("search"):
        raise UsageError(
            f"{named(endpoint)}: order_by=similarity needs a search",
            hint="give search, or another order",
        )
    times = [name for name in ("updated_after", "updated_before") if name in values]
    if endpoint == Endpoint.LIST and times and values["order_by"] != "updated_at":
        raise UsageError(
            f"{named(endpoint)}: {times[0]} works only with order_by=updated_at",
            hint="omit order_by to set it automatically",
        )
    if values.get("pagination") == "keyset" and values.get("order_by") != "id":
        raise UsageError(
            f"{named(endpoint)}: keyset paging works only with order_by=id",
            hint="give order_by=id, or omit pagination",
        )
    if values.get("permanently_remove") and not values.get("full_path"):
        raise UsageError(
            f"{named(endpoint)}: permanently_remove needs full_path",
            hint="give the project's full path as full_path",
        )


def _require_one_beginning(endpoint: Endpoint, values: Mapping[str, object]) -> None:
    """A repository begins with one thing."""
    has_readme = values.get("initialize_with_readme") is True
    others = ("import_url", "template_name", "template_project_id")
    for other in others:
        if has_readme and values.get(other):
            raise _together(endpoint, "initialize_with_readme", other)
    is_empty = not has_readme and not any(values.get(other) for other in others)
    if values.get("default_branch") and is_empty:
        raise UsageError(
            f"{named(endpoint)}: default_branch needs initialize_with_readme",
            hint="give initialize_with_readme too; an empty repository has no branch",
        )
    uses_custom = values.get("use_custom_template") is True
    if values.get("group_with_project_templates_id") is not None and not uses_custom:
        raise UsageError(
            f"{named(endpoint)}: group_with_project_templates_id needs "
            "use_custom_template",
            hint="give use_custom_template too",
        )


# -- on the wire -------------------------------------------------------------------


def query_of(values: Mapping[str, object]) -> str:
    """The values as a percent-encoded query."""
    return urlencode(fields_of(values), quote_via=quote)


def fields_of(values: Mapping[str, object]) -> list[tuple[str, str]]:
    """The values as fields of a form: ``a[]`` for lists, ``a[key]`` for hashes."""
    fields: list[tuple[str, str]] = []
    for name, value in values.items():
        match value:
            case Mapping():
                inner = {f"{name}[{key}]": held for key, held in value.items()}
                fields += fields_of(inner)
            case list() | tuple() if not value:
                fields.append((name, ""))
            case list() | tuple():
                fields += [(f"{name}[]", _written(item)) for item in value]
            case _:
                fields.append((name, _written(value)))
    return fields


def json_of(values: Mapping[str, object]) -> bytes:
    """The values as a JSON object."""
    return msgspec.json.encode(values)


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
