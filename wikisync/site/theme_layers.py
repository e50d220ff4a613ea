"""The folders that a theme is made of, read whole and put in their order.

Each has a ``theme.toml``: what the theme says of itself, and its options.  A theme
declares every option with type, default, choices and help.  What a site sets is
checked against that before any page is rendered: an unknown name or a wrong type is
an error that names the option and what would be right.

Only this module knows where themes lie: in ``wikisync/themes`` of a wheel, in the
checkout's ``themes``, or in a folder that the site names.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from operator import gt, lt
from pathlib import Path
from typing import Literal, TypeVar

from msgspec import Struct, ValidationError, field
from msgspec.structs import replace

from wikisync.core.decoding import convert, decode_text
from wikisync.core.system.private import expanded
from wikisync.errors import FolderError, SiteError, UnknownTheme
from wikisync.folder.safe_open import opened_inside, read_all

THEME_API = 1
"""Version of the contract between themes and builds (``docs/themes.md``)."""
MANIFEST = "theme.toml"
_SUBFOLDERS = ("templates", "static", "i18n", "icons")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")

T = TypeVar("T")
OptionValue = str | int | bool | tuple[str, ...]

_COLOR = re.compile(r"(#[0-9a-fA-F]{3}|#[0-9a-fA-F]{6})?")
_WANTED = {
    "integer": "an integer",
    "strings": 'a list of strings, such as ["a", "b"]',
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


class Layer(Struct, frozen=True):
    """One folder of theme files, read whole."""

    name: str
    folder: Path
    files: Mapping[str, bytes]
    """Path inside the folder (``templates/base.html``) to content."""
    manifest: ThemeManifest | None
    """None for the project's own folder, which is no theme of its own."""


def builtin_folder() -> Path:
    """``wikisync/themes`` of a wheel, else the checkout's ``themes``."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "themes"
    return installed if installed.is_dir() else package.parent / "themes"


def theme_chain(name: str) -> list[Layer]:
    """The theme of that name or path, each that it extends, ``default`` at the end."""
    chain: list[Layer] = []
    following: str | None = name
    while following is not None:
        beside = chain[-1].folder.parent if chain else None
        layer = _read_theme(following, beside)
        if any(layer.folder == known.folder for known in chain):
            names = " -> ".join([*(known.name for known in chain), layer.name])
            raise SiteError(f"themes extend each other in a loop: {names}")
        chain.append(layer)
        following = layer.manifest.extends if layer.manifest else None
    if chain[-1].folder != builtin_folder() / "default":
        chain.append(_read_theme("default", None))
    return chain


def declared_options(chain: Sequence[Layer]) -> dict[str, ThemeOption]:
    """Every option of a theme; what it declares counts before what it extends."""
    found: dict[str, ThemeOption] = {}
    for layer in reversed(chain):
        found |= layer.manifest.options if layer.manifest else {}
    return found


def _read_theme(name: str, beside: Path | None) -> Layer:
    folder = _theme_folder(name, beside)
    files = read_files(folder)
    source = folder / MANIFEST
    text = decoded(_read_file(folder, MANIFEST), source)
    return Layer(folder.name, folder, files, parse_manifest(text, str(source)))


def _theme_folder(name: str, beside: Path | None) -> Path:
    if "/" in name or "\\" in name:
        folder = expanded(name).resolve()
        if not (folder / "theme.toml").is_file():
            raise UnknownTheme(
                f"no theme at {name}",
                hint="a theme is a folder with theme.toml and templates/",
            )
        return folder
    candidates = [builtin_folder()] if beside is None else [beside, builtin_folder()]
    for parent in candidates:
        if _NAME.fullmatch(name) and (parent / name / "theme.toml").is_file():
            return parent / name
    folders = (f"./{name}", f"themes/{name}")
    found = next((one for one in folders if Path(one, MANIFEST).is_file()), None)
    raise UnknownTheme(
        f"no theme {name!r}",
        hint=f"did you mean {found}? a theme of your own is given as a path"
        if found
        else did_you_mean(name, theme_names()),
    )


def read_files(folder: Path) -> dict[str, bytes]:
    """Templates, static files, strings and icons below a folder, if it is there."""
    return {name: _read_file(folder, name) for name in _theme_files(folder)}


def _theme_files(folder: Path) -> Iterator[str]:
    for subfolder in _SUBFOLDERS:
        for path in sorted((folder / subfolder).rglob("*")):
            if not path.name.startswith(".") and path.is_file():
                yield path.relative_to(folder).as_posix()


def _read_file(folder: Path, name: str) -> bytes:
    """A file of a theme: it is published, so never one from outside the theme."""
    try:
        with opened_inside(folder, name) as descriptor:
            return read_all(descriptor, name)
    except FolderError as exc:
        raise SiteError(
            f"cannot read theme file {folder / name}: {exc.message}",
            hint="put a copy of the file there",
        ) from exc
    except OSError as exc:
        raise SiteError(f"cannot read theme file {folder / name}: {exc}") from exc


def merged(layers: tuple[Layer, ...], subfolder: str) -> dict[str, bytes]:
    """Name below a subfolder to the content that wins."""
    merged: dict[str, bytes] = {}
    for layer in reversed(layers):
        for path, content in layer.files.items():
            if path.startswith(subfolder + "/"):
                merged[path.removeprefix(subfolder + "/")] = content
    return merged


def strings_of(layer: Layer) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The files of strings of a layer with texts by keys; raises ``SiteError``."""
    for path, content in layer.files.items():
        if not (path.startswith("i18n/") and path.endswith(".toml")):
            continue
        source = layer.folder / path
        try:
            table = tomllib.loads(decoded(content, source))
        except tomllib.TOMLDecodeError as exc:
            raise SiteError(f"{source} is not TOML: {exc}") from exc
        wrong = [key for key, text in table.items() if not isinstance(text, str)]
        if wrong:
            raise SiteError(f"{source}: {wrong[0]} must be a string")
        yield path, table


def theme_names() -> tuple[str, ...]:
    """The themes that come with wikisync."""
    folder = builtin_folder()
    return tuple(sorted(path.parent.name for path in folder.glob("*/theme.toml")))


def decoded(content: bytes, source: object) -> str:
    """The text of a theme's file, which ``source`` names in the error."""
    try:
        return decode_text(content)
    except UnicodeDecodeError as exc:
        raise SiteError(f"theme file {source} is not UTF-8 text") from exc
