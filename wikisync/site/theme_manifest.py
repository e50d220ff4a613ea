"""``theme.toml``: what a theme says of itself, and its options.  Pure.

A theme declares every option with type, default, choices and help.  What a
site sets is checked against that before any page is rendered: an unknown name
or a wrong type is an error that names the option and what would be right.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from operator import gt, lt
from typing import Literal, TypeVar

from msgspec import Struct, ValidationError, field
from msgspec.structs import replace

from wikisync.core.decoding import convert
from wikisync.errors import SiteError, UnknownTheme

THEME_API = 1
"""Version of the contract between themes and builds (``docs/themes.md``)."""

T = TypeVar("T")
OptionValue = str | int | bool | tuple[str, ...]

_COLOR = re.compile(r"(#[0-9a-fA-F]{3}|#[0-9a-fA-F]{6})?")
_WANTED = {
    "integer": "an integer",
    "strings": "a list of strings",
    "color": "a colour such as #2553c4, or empty",
}
Kind = Literal["string", "integer", "boolean", "strings", "color"]


class ThemeOption(Struct, frozen=True, forbid_unknown_fields=True):
    """One knob of a theme."""

    kind: Kind = field(name="type")
    default: OptionValue
    help: str = ""
    choices: tuple[OptionValue, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    name: str = ""


class ThemeManifest(Struct, frozen=True, forbid_unknown_fields=True):
    """A parsed ``theme.toml``."""

    name: str
    version: str
    api: object = None
    extends: str | None = None
    license: str = ""
    description: str = ""
    options: Mapping[str, ThemeOption] = field(default_factory=dict)


def parse_manifest(text: str, source: str) -> ThemeManifest:
    """The manifest in a ``theme.toml``; ``source`` names the file in errors."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise SiteError(
            f"{source} is not TOML: {exc}", hint="correct the line it names"
        ) from exc
    given = _converted(
        table.pop("options", {}), dict[str, object], f"{source}: options"
    )
    manifest = _converted(table, ThemeManifest, source)
    if manifest.api != THEME_API:
        raise SiteError(
            f"{source}: api is {manifest.api!r}, this version knows {THEME_API}",
            hint=f"write api = {THEME_API}, or use a theme made for this version",
        )
    options = {name: _option(name, given[name], source) for name in given}
    return replace(manifest, options=options)


def resolve_options(
    declared: Mapping[str, ThemeOption], given: Mapping[str, object], theme: str
) -> dict[str, OptionValue]:
    """Every declared option with the site's value or the default."""
    for name in given:
        if name not in declared:
            raise UnknownTheme(
                f"theme {theme} has no option {name!r}",
                hint=did_you_mean(name, declared),
            )
    return {
        name: checked_value(option, given[name]) if name in given else option.default
        for name, option in declared.items()
    }


def checked_value(option: ThemeOption, value: object) -> OptionValue:
    """``value`` in the option's type, or a SiteError that says what is wanted."""
    typed = _typed(option.kind, value)
    if typed is None:
        wanted = _WANTED.get(option.kind, f"a {option.kind}")
        raise SiteError(
            f"theme option {option.name!r} is {value!r}, it must be " + wanted,
            hint=option.help or None,
        )
    if option.choices and typed not in option.choices:
        names = ", ".join(repr(choice) for choice in option.choices)
        raise SiteError(
            f"theme option {option.name!r} is {value!r}, it must be one of {names}",
            hint=did_you_mean(str(value), [str(choice) for choice in option.choices]),
        )
    bounds = ("least", option.minimum, lt), ("most", option.maximum, gt)
    for word, bound, is_beyond in bounds if isinstance(typed, int) else ():
        if bound is not None and is_beyond(typed, bound):
            raise SiteError(
                f"theme option {option.name!r} is {typed},"
                f" it must be at {word} {bound}",
                hint=option.help or None,
            )
    return typed


def did_you_mean(name: str, known: Mapping[str, object] | Sequence[str]) -> str:
    """A hint: the nearest known name, else all of them."""
    import difflib  # nobody needs it as long as all names are right

    near = difflib.get_close_matches(name, list(known), n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return "there is: " + (", ".join(sorted(known)) or "nothing")


def _typed(kind: str, value: object) -> OptionValue | None:
    match kind, value:
        case "boolean", bool():
            return value
        case "integer", int() if not isinstance(value, bool):
            return value
        case "string", str():
            return value
        case "color", str() if _COLOR.fullmatch(value):
            return value
        case "strings", list() | tuple():
            texts = tuple(item for item in value if isinstance(item, str))
            return texts if len(texts) == len(value) else None
        case _:
            return None


def _option(name: str, given: object, source: str) -> ThemeOption:
    where = f"{source}: options.{name}"
    option = replace(_converted(given, ThemeOption, where), name=name)
    default = _typed(option.kind, option.default)
    if default is None:
        raise SiteError(f"{where}.default is not of type {option.kind}")
    checked_value(option, default)
    return option


def _converted(table: object, kind: type[T], source: str) -> T:
    """A table, none of whose keys is unknown or has a value of another type."""
    try:
        return convert(table, kind)
    except ValidationError as exc:
        hint = "wikisync theme docs lists the keys, and the types of options"
        raise SiteError(f"{source}: {exc}", hint=hint) from exc
