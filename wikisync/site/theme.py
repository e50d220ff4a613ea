"""Themes: templates, static files and strings in layers, and how a page is made.

A file of a theme is looked up in the project's own folder, then in the theme,
then in each theme it extends, then in ``default``.  One file replaces one file;
a template reaches the one it replaces as ``!theme/page.html``, or by a theme's
name as ``!default/page.html``.

The contract with theme authors (blocks, context, filters) is ``docs/themes.md``.
Every address in a template's context (``site.context``) is a path from the top
of the site, not percent-encoded; the filter ``url`` turns it into a link
relative to the page being rendered.
"""

from __future__ import annotations

import base64
import hashlib
import posixpath
import re
import tomllib
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from wikisync.errors import SiteError
from wikisync.model import Digest, digest_of
from wikisync.site.addresses import (
    ASSETS_FOLDER,
    NOT_FOUND_PAGE,
    relative_url,
    root_url,
)
from wikisync.site.theme_manifest import (
    THEME_API,
    OptionValue,
    ThemeManifest,
    ThemeOption,
    did_you_mean,
    parse_manifest,
    resolve_options,
)

if TYPE_CHECKING:
    from jinja2 import BaseLoader, Environment
    from jinja2.runtime import Context
    from markupsafe import Markup

_SUBFOLDERS = ("templates", "static", "i18n", "icons")
_FILE_OPTIONS = frozenset({"extra_css", "extra_js", "logo", "favicon"})
"""Options of any theme that name static files."""
_PROJECT = "project"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_CSS_URL = re.compile(r"""url\(\s*(["']?)([^"')]+)\1\s*\)""")
_EMPTY: Mapping[str, Any] = {
    "wiki": None,
    "page": None,
    "content": "",
    "toc": (),
    "nav": (),
    "sidebar": None,
    "ancestors": (),
    "prev": None,
    "next": None,
    "children": (),
    "backlinks": (),
    "translations": (),
    "listing": None,
    "groups": (),
}
"""What a template finds where the build has nothing to say."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One folder of theme files, read whole."""

    name: str
    folder: Path
    files: Mapping[str, bytes]
    """Path inside the folder (``templates/base.html``) to content."""
    manifest: ThemeManifest | None
    """None for the project's own folder, which is no theme of its own."""


class Theme:
    """A theme with its options set, ready to render.

    Holds no state of a page; the same theme, options and context give the same
    text, byte for byte.
    """

    def __init__(
        self, layers: tuple[Layer, ...], options: Mapping[str, OptionValue]
    ) -> None:
        self._layers = layers
        self.name = next(layer.name for layer in layers if layer.manifest)
        self.options = dict(options)
        self._static = _fingerprinted(_merged(layers, "static"))
        self._strings = _parse_strings(layers)
        self._check_extra_files()

    @cached_property
    def fingerprint(self) -> Digest:
        """Hash of everything that a rendered page can depend on in the theme."""
        hasher = hashlib.sha256(f"theme api {THEME_API}".encode())
        for layer in self._layers:
            for name, content in sorted(layer.files.items()):
                hasher.update(f"\n{layer.name}/{name} ".encode())
                hasher.update(digest_of(content).encode())
        hasher.update(repr(sorted(self.options.items())).encode())
        return Digest(hasher.hexdigest())

    def assets(self) -> Mapping[str, bytes]:
        """Output path of every static file, with its hash in it, to its bytes."""
        return {
            ASSETS_FOLDER + name: content for name, content in self._static.values()
        }

    def find(self, template: str) -> Path:
        """The file that wins for a template's name."""
        for layer in self._layers:
            if f"templates/{template}" in layer.files:
                return layer.folder / "templates" / template
        raise SiteError(
            f"theme {self.name} has no template {template!r}",
            hint=did_you_mean(template, self._template_names()),
        )

    def render(self, template: str, context: Mapping[str, object], *, at: str) -> str:
        """The text of the output file ``at``, made by a template.

        Args:
            template: Name below ``templates/``, such as ``page.html``.
            context: The names of ``docs/themes.md``; ``site`` must be there,
                the rest has empty defaults.  ``content`` and ``sidebar`` are
                safe HTML.
            at: Output path of the file, from which links are relative.

        Raises:
            SiteError: The template fails; file and line are named.
        """
        from jinja2 import TemplateError

        try:
            return self._environment.get_template(template).render(
                self._full_context(context, at)
            )
        except (
            TemplateError,
            ArithmeticError,
            AttributeError,
            LookupError,
            RecursionError,
            TypeError,
            ValueError,
        ) as exc:
            # A template can raise any of these with an expression of its own.
            raise self._template_error(exc, template, at) from exc

    def text(self, key: str, lang: str) -> str:
        """A string of the user interface; English where the language lacks it."""
        for name in (lang, lang.partition("-")[0], "en"):
            found = self._strings.get(name, {}).get(key)
            if found is not None:
                return found
        raise LookupError(
            f"no string {key!r}: {did_you_mean(key, self._strings['en'])}"
        )

    def _full_context(self, context: Mapping[str, object], at: str) -> dict[str, Any]:
        from markupsafe import Markup

        full: dict[str, Any] = {**_EMPTY, **context}
        full["content"] = Markup(full["content"])  # noqa: S704 - sanitised by markup
        if full["sidebar"] is not None:
            full["sidebar"] = Markup(full["sidebar"])  # noqa: S704 - same
        full |= {
            "api": THEME_API,
            "theme": self.options,
            "at": at,
            "root": root_url(at),
        }
        return full

    @cached_property
    def _environment(self) -> Environment:
        return _make_environment(self, self._layers)

    def _template_names(self) -> list[str]:
        return [
            name.removeprefix("templates/")
            for layer in self._layers
            for name in layer.files
            if name.startswith("templates/")
        ]

    def _check_extra_files(self) -> None:
        for option, value in self.options.items():
            if option not in _FILE_OPTIONS or not value:
                continue
            for name in value if isinstance(value, tuple) else (str(value),):
                if name not in self._static:
                    raise SiteError(
                        f"theme option {option!r} names {name!r}, which is not there",
                        hint=f"put the file at theme/static/{name}",
                    )

    def asset_path(self, name: str) -> str:
        """Output path of a static file."""
        try:
            return ASSETS_FOLDER + self._static[name][0]
        except KeyError:
            raise LookupError(
                f"no static file {name!r}: {did_you_mean(name, self._static)}"
            ) from None

    def icon(self, name: str) -> str:
        """The source of ``icons/<name>.svg``."""
        icons = _merged(self._layers, "icons")
        try:
            return icons[f"{name}.svg"].decode().strip()
        except KeyError:
            raise LookupError(
                f"no icon {name!r}: {did_you_mean(name, icons)}"
            ) from None

    def _template_error(self, exc: Exception, template: str, at: str) -> SiteError:
        where = _location(exc, self._layers) or template
        message = getattr(exc, "message", None) or str(exc)
        return SiteError(
            f"{where}: {message}",
            hint=f"found while rendering {at}; the names are listed in docs/themes.md",
        )


def load_theme(
    name: str,
    *,
    project: Path | None = None,
    options: Mapping[str, object] | None = None,
) -> Theme:
    """The theme of that name with the project's files on top.

    Args:
        name: A theme that comes with wikisync, or the path of a theme's folder
            (anything with a slash).
        project: Folder with the site's own ``templates/``, ``static/``,
            ``i18n/`` and ``icons/``; None where there is none.
        options: Values for the theme's options.

    Raises:
        SiteError: No such theme, a broken ``theme.toml``, an option that is
            unknown or of a wrong type, a file that cannot be read.
    """
    chain = _chain(name)
    declared: dict[str, ThemeOption] = {}
    for layer in reversed(chain):
        declared |= layer.manifest.options if layer.manifest else {}
    resolved = resolve_options(declared, options or {}, chain[0].name)
    if project is not None:
        chain = [Layer(_PROJECT, project, _read_files(project), None), *chain]
    return Theme(tuple(chain), resolved)


def theme_names() -> tuple[str, ...]:
    """The themes that come with wikisync."""
    folder = _builtin_folder()
    return tuple(sorted(path.parent.name for path in folder.glob("*/theme.toml")))


def link_from(at: str, target: str, fragment: str = "") -> str:
    """The link from one output path to another; a whole URL stays as it is."""
    if "://" in target:
        return target
    return relative_url(at, target, fragment)


def csp_hash(text: str) -> str:
    """The source expression that allows one inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _builtin_folder() -> Path:
    """``wikisync/themes`` of a wheel, else the checkout's ``themes``."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "themes"
    return installed if installed.is_dir() else package.parent / "themes"


def _chain(name: str) -> list[Layer]:
    """The theme, each theme it extends, and ``default`` at the end."""
    chain: list[Layer] = []
    following: str | None = name
    while following is not None:
        beside = chain[-1].folder.parent if chain else None
        layer = _read_theme(following, beside)
        if any(layer.folder == known.folder for known in chain):
            names = " -> ".join([*(known.name for known in chain), layer.name])
            raise SiteError(f"themes extend each other in a circle: {names}")
        chain.append(layer)
        following = layer.manifest.extends if layer.manifest else None
    if chain[-1].folder != _builtin_folder() / "default":
        chain.append(_read_theme("default", None))
    return chain


def _read_theme(name: str, beside: Path | None) -> Layer:
    folder = _theme_folder(name, beside)
    files = _read_files(folder)
    source = folder / "theme.toml"
    try:
        text = source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise SiteError(f"cannot read {source}: {exc}") from exc
    return Layer(folder.name, folder, files, parse_manifest(text, str(source)))


def _theme_folder(name: str, beside: Path | None) -> Path:
    if "/" in name or "\\" in name:
        folder = Path(name).expanduser().resolve()
        if not (folder / "theme.toml").is_file():
            raise SiteError(
                f"no theme at {name}",
                hint="a theme is a folder with theme.toml and templates/",
            )
        return folder
    candidates = [_builtin_folder()] if beside is None else [beside, _builtin_folder()]
    for parent in candidates:
        if _NAME.fullmatch(name) and (parent / name / "theme.toml").is_file():
            return parent / name
    raise SiteError(f"no theme {name!r}", hint=did_you_mean(name, list(theme_names())))


def _read_files(folder: Path) -> dict[str, bytes]:
    """Templates, static files, strings and icons below a folder."""
    if not folder.is_dir():
        raise SiteError(f"no theme folder at {folder}")
    files: dict[str, bytes] = {}
    for path in _theme_files(folder):
        try:
            files[path.relative_to(folder).as_posix()] = path.read_bytes()
        except OSError as exc:
            raise SiteError(f"cannot read theme file {path}: {exc.strerror}") from exc
    return files


def _theme_files(folder: Path) -> Iterator[Path]:
    real = folder.resolve()
    for subfolder in _SUBFOLDERS:
        for path in sorted((folder / subfolder).rglob("*")):
            if path.name.startswith(".") or not path.is_file():
                continue
            if not path.resolve().is_relative_to(real):
                # A static file is published: never one from outside the theme.
                raise SiteError(
                    f"theme file {path} is a link out of its folder",
                    hint="put a copy of the file there",
                )
            yield path


def _merged(layers: tuple[Layer, ...], subfolder: str) -> dict[str, bytes]:
    """Name below a subfolder to the content that wins."""
    merged: dict[str, bytes] = {}
    for layer in reversed(layers):
        for path, content in layer.files.items():
            if path.startswith(subfolder + "/"):
                merged[path.removeprefix(subfolder + "/")] = content
    return merged


def _fingerprinted(static: Mapping[str, bytes]) -> dict[str, tuple[str, bytes]]:
    """Name to (name with hash, bytes); style sheets point at the hashed names."""
    hashed = {
        name: (_hashed_name(name, content), content)
        for name, content in static.items()
        if not name.endswith(".css")
    }
    for name, content in static.items():
        if name.endswith(".css"):
            linked = _rewrite_urls(name, content, hashed)
            hashed[name] = (_hashed_name(name, linked), linked)
    return dict(sorted(hashed.items()))


def _hashed_name(name: str, content: bytes) -> str:
    stem, extension = posixpath.splitext(name)
    return f"{stem}.{digest_of(content)[:10]}{extension}"


def _rewrite_urls(
    name: str, content: bytes, hashed: Mapping[str, tuple[str, bytes]]
) -> bytes:
    folder = posixpath.dirname(name)

    def rewritten(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[2]))
        if target not in hashed:
            return match[0]
        return f'url("{posixpath.relpath(hashed[target][0], folder or ".")}")'

    return _CSS_URL.sub(rewritten, _decoded(content, name)).encode()


def _decoded(content: bytes, source: object) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise SiteError(f"theme file {source} is not UTF-8 text") from exc


def _parse_strings(layers: tuple[Layer, ...]) -> dict[str, dict[str, str]]:
    """Language to key to text; upper layers replace single strings."""
    strings: dict[str, dict[str, str]] = {"en": {}}
    for layer in reversed(layers):
        for path, content in layer.files.items():
            if not (path.startswith("i18n/") and path.endswith(".toml")):
                continue
            source = layer.folder / path
            try:
                table = tomllib.loads(_decoded(content, source))
            except tomllib.TOMLDecodeError as exc:
                raise SiteError(f"{source} is not TOML: {exc}") from exc
            wrong = [key for key, text in table.items() if not isinstance(text, str)]
            if wrong:
                raise SiteError(f"{source}: {wrong[0]} must be a string")
            strings.setdefault(Path(path).stem, {}).update(table)
    return strings


def _make_environment(theme: Theme, layers: tuple[Layer, ...]) -> Environment:
    """Jinja with our layers; sandboxed as soon as one layer is not our own."""
    from jinja2 import (
        ChoiceLoader,
        Environment,
        PrefixLoader,
        StrictUndefined,
    )
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    loaders = [_layer_loader(layer) for layer in layers]
    first = next(i for i, layer in enumerate(layers) if layer.manifest)
    prefixes: dict[str, BaseLoader] = {
        f"!{layer.name}": ChoiceLoader(loaders[index:])
        for index, layer in reversed(list(enumerate(layers)))
        if layer.manifest
    }
    prefixes["!theme"] = ChoiceLoader(loaders[first:])
    ours = _builtin_folder()
    is_ours = all(layer.folder.is_relative_to(ours) for layer in layers)
    kind = Environment if is_ours else ImmutableSandboxedEnvironment
    environment = kind(
        loader=ChoiceLoader([*loaders, PrefixLoader(prefixes)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    environment.filters |= _filters(theme)
    environment.globals |= _functions(theme)
    return environment


def _layer_loader(layer: Layer) -> BaseLoader:
    from jinja2 import FunctionLoader

    def load(name: str) -> tuple[str, str, Callable[[], bool]] | None:
        path = f"templates/{name}"
        if path not in layer.files:
            return None
        source = layer.folder / path
        return _decoded(layer.files[path], source), str(source), lambda: True

    return FunctionLoader(load)


def _filters(theme: Theme) -> dict[str, Callable[..., Any]]:
    """The filters of ``docs/themes.md``.

    Those that depend on the page take the context: Jinja computes a plain
    filter of a constant once, and would keep the first page's link for all.
    """
    from jinja2 import pass_context

    @pass_context
    def url(context: Context, target: str, fragment: str = "") -> str:
        return _link(context, target, fragment)

    @pass_context
    def as_date(context: Context, value: date | str) -> str:
        day = date.fromisoformat(value[:10]) if isinstance(value, str) else value
        months = theme.text("months", _lang(context)).split()
        return theme.text("date_format", _lang(context)).format(
            day=day.day, month=months[day.month - 1], year=day.year
        )

    @pass_context
    def plural(context: Context, count: int, key: str) -> str:
        lang = _lang(context)
        form = "one" if count == 1 else "other"
        number = f"{count:,}".replace(",", theme.text("thousands", lang))
        return theme.text(f"{key}_{form}", lang).format(n=number)

    return {"url": url, "date": as_date, "plural": plural, "csp_hash": csp_hash}


def _functions(theme: Theme) -> dict[str, Any]:
    from jinja2 import pass_context
    from markupsafe import Markup

    @pass_context
    def asset(context: Context, name: str) -> str:
        return _link(context, theme.asset_path(name))

    @pass_context
    def t(context: Context, key: str) -> str:
        return theme.text(key, _lang(context))

    def inline_svg(name: str) -> Markup:
        return Markup(theme.icon(name))  # noqa: S704 - a file of the theme

    return {
        "asset": asset,
        "t": t,
        "inline_svg": inline_svg,
    }


def _link(context: Context, target: str, fragment: str = "") -> str:
    """A link from the page in hand.

    The page for "not found" is answered at any address, so that only it has
    links from the top of the host, where the site's address is known.
    """
    at = context["at"]
    address = context.environment.getattr(context["site"], "url")
    if at == NOT_FOUND_PAGE and address and "://" not in target:
        base = urlsplit(str(address)).path.rstrip("/")
        return f"{base}/{link_from(at, target, fragment)}"
    return link_from(at, target, fragment)


def _lang(context: Context) -> str:
    return str(context.environment.getattr(context["site"], "lang"))


def _location(exc: Exception, layers: tuple[Layer, ...]) -> str | None:
    """``file:line`` of the template where an error came from."""
    filename = getattr(exc, "filename", None)
    if filename:
        return f"{filename}:{getattr(exc, 'lineno', 0)}"
    folders = tuple(f"{layer.folder}/" for layer in layers)
    # Jinja gives frames of templates the template's file and line.
    frames = [
        frame
        for frame in traceback.extract_tb(exc.__traceback__)
        if frame.filename.startswith(folders) and "/templates/" in frame.filename
    ]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None
