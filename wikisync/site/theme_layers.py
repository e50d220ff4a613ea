"""The folders that a theme is made of, read whole and put in their order.

Only this module knows where themes lie: in ``wikisync/themes`` of a wheel, in the
checkout's ``themes``, or in a folder that the site names.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from wikisync.core.decoding import decode_text
from wikisync.errors import FolderError, SiteError, UnknownTheme
from wikisync.folder.safe_open import opened_inside, read_all
from wikisync.site import theme_manifest

MANIFEST = "theme.toml"
_SUBFOLDERS = ("templates", "static", "i18n", "icons")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


class Layer(Struct, frozen=True):
    """One folder of theme files, read whole."""

    name: str
    folder: Path
    files: Mapping[str, bytes]
    """Path inside the folder (``templates/base.html``) to content."""
    manifest: theme_manifest.ThemeManifest | None
    """None for the project's own folder, which is no theme of its own."""


def builtin_folder() -> Path:
    """``wikisync/themes`` of a wheel, else the checkout's ``themes``."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "themes"
    return installed if installed.is_dir() else package.parent / "themes"


def contract_file() -> Path:
    """``docs/themes.md``, the contract with theme authors."""
    return builtin_folder().parent / "docs" / "themes.md"


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


def declared_options(chain: Sequence[Layer]) -> dict[str, theme_manifest.ThemeOption]:
    """Every option of a theme; what it declares counts before what it extends."""
    found: dict[str, theme_manifest.ThemeOption] = {}
    for layer in reversed(chain):
        found |= layer.manifest.options if layer.manifest else {}
    return found


def _read_theme(name: str, beside: Path | None) -> Layer:
    folder = _theme_folder(name, beside)
    files = read_files(folder)
    source = folder / MANIFEST
    text = decoded(_read_file(folder, MANIFEST), source)
    return Layer(
        folder.name, folder, files, theme_manifest.parse_manifest(text, str(source))
    )


def _theme_folder(name: str, beside: Path | None) -> Path:
    if "/" in name or "\\" in name:
        folder = Path(name).expanduser().resolve()
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
        else theme_manifest.did_you_mean(name, theme_names()),
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
