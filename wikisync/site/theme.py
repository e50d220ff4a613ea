"""Themes: templates, static files and strings in layers, and how a page is made.

A file of a theme is taken from the project's own folder, then from the
theme, from each theme that it extends, and from ``default``.  One file replaces one
file; a template reaches the one it replaces as ``!theme/page.html``, or by a theme's
name as ``!default/page.html``.

The contract with theme authors (blocks, context, filters) is ``docs/themes.md``.
Every address in a template's context (``site.context``) is a path from the top
of the site, not percent-encoded; the filter ``url`` turns it into a link
relative to the page being rendered.
"""

from __future__ import annotations

import contextlib
import hashlib
import posixpath
import re
import sys
import traceback
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, structs

from wikisync.core.model import Digest, digest_of
from wikisync.errors import SiteError
from wikisync.markup.resolve import REASONS
from wikisync.site import theme_layers
from wikisync.site.addresses import ASSETS_FOLDER, root_url
from wikisync.site.theme_checks import theme_problems
from wikisync.site.theme_functions import theme_filters, theme_functions
from wikisync.site.theme_layers import (
    THEME_API,
    OptionValue,
    did_you_mean,
    resolve_options,
)

if TYPE_CHECKING:
    from jinja2 import BaseLoader, Environment

    from wikisync.core.model import Problem
    from wikisync.site.theme_flat import FlatTemplate

T = TypeVar("T")
_FILE_OPTIONS = frozenset({"extra_css", "extra_js", "logo", "favicon"})
"""Options of any theme that name static files."""
PAGE_TEMPLATE = "page.html"
HISTORY_TEMPLATE = "history.html"
LIST_TEMPLATE = "list.html"
FLAT_TEMPLATES = (PAGE_TEMPLATE, HISTORY_TEMPLATE, LIST_TEMPLATE)
"""Those of which a site has many pages, or long ones."""
PAGES_APART = 300 if sys.dont_write_bytecode else 20
"""Are rendered before their templates are put together, which takes as long: less where
the code is kept."""
_CSS_URL = re.compile(r"""url\(\s*(["']?)([^"')]+)\1\s*\)""")
_WHY = re.compile(f'( title="[^"]*: )({"|".join(map(re.escape, REASONS.values()))})"')
"""Why a link or picture leads nowhere, as the page has it."""
_EMPTY: Mapping[str, Any] = {
    **dict.fromkeys(("wiki", "page", "sidebar", "wiki_footer", "prev", "next")),
    **dict.fromkeys(("listing", "since")),
    **dict.fromkeys(("toc", "nav", "comments", "ancestors", "children"), ()),
    **dict.fromkeys(("backlinks", "groups", "changes", "versions"), ()),
    "content": "",
    "backlinks_more": 0,
}
"""What a template finds where the build has nothing to say."""


class Theme:
    """A theme with its options set: the same context gives the same bytes."""

    def __init__(
        self,
        layers: tuple[theme_layers.Layer, ...],
        options: Mapping[str, OptionValue],
        page_count: int = 0,
    ) -> None:
        self._layers = layers
        self.name = next(layer.name for layer in layers if layer.manifest)
        self.options = dict(options)
        self._static = _fingerprinted(theme_layers.merged(layers, "static"))
        self._icons = theme_layers.merged(layers, "icons")
        # by language and key; upper layers replace single strings
        self._strings: dict[str, dict[str, str]] = {"en": {}}
        for layer in reversed(layers):
            for path, table in theme_layers.strings_of(layer):
                self._strings.setdefault(Path(path).stem, {}).update(table)
        self._shown_strings: dict[str, dict[str, str]] = {}
        ours = theme_layers.builtin_folder()
        self._is_ours = all(layer.folder.is_relative_to(ours) for layer in layers)
        self._page_count = page_count
        self._flat_pages: dict[tuple[str, str], FlatTemplate] = {}
        self._check_extra_files()

    def __reduce__(self) -> tuple[object, ...]:
        """The theme in another process, which compiles it again, for many pages."""
        return Theme, (self._layers, self.options, PAGES_APART)

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

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """Names in it that are misspelt, as far as they are not errors."""
        return () if self._is_ours else tuple(theme_problems(self._layers))

    def render(self, template: str, context: Mapping[str, object], *, at: str) -> str:
        """The text of the output file ``at``, made by a template such as ``page.html``.

        ``context`` has the names of ``docs/themes.md``, at least ``site``; ``content``,
        ``sidebar`` and ``wiki_footer`` are safe HTML.  ``SiteError`` names file and
        line where the template fails.
        """
        values = self._full_context(context, at)
        errors = _errors_of_templates()
        with contextlib.suppress(*errors):  # only the template itself has its lines
            if template in FLAT_TEMPLATES and self._is_ours:
                listing = values["listing"]
                self._page_count += len(listing.items) if listing else 1
                if self._page_count > PAGES_APART:
                    lang = str(values["site"].lang)
                    return self._flat_page(template, lang).render(values)
        try:
            return self._environment.get_template(template).render(values)
        except errors as exc:
            raise self._template_error(exc, template, at) from exc

    def stream(
        self, template: str, context: Mapping[str, object], *, at: str
    ) -> Iterator[str]:
        """The same text in pieces, for one that is too long for memory."""
        values = self._full_context(context, at)
        try:
            yield from self._environment.get_template(template).generate(values)
        except _errors_of_templates() as exc:
            raise self._template_error(exc, template, at) from exc

    def style(self, name: str) -> str:
        """The text of a style sheet, to stand inside a document."""
        return theme_layers.decoded(self._static[name][1], name)

    def _flat_page(self, name: str, lang: str) -> FlatTemplate:
        from wikisync.site.theme_flat import FlatTemplate, flat_code, kept_code

        if (name, lang) not in self._flat_pages:
            env = self._environment
            make = partial(flat_code, env, name, self, self.options, lang)
            file, source = self.find(name), self.fingerprint
            code = kept_code(env, f"{name} in {lang}", file, source, make)
            self._flat_pages[name, lang] = FlatTemplate(env, code)
        return self._flat_pages[name, lang]

    def text(self, key: str, lang: str) -> str:
        """A string of the user interface; English where the language lacks it."""
        if lang not in self._shown_strings:
            chain = ("en", lang.partition("-")[0], lang)
            shown = [self._strings.get(name, {}) for name in chain]
            self._shown_strings[lang] = dict(ChainMap(*reversed(shown)))
        return _named("string", key, self._shown_strings[lang])

    def explained(self, html: str, lang: str) -> str:
        """A page whose broken links say why in the site's language."""
        if lang == "en":
            return html
        keys = {said: f"reason_{word}" for word, said in REASONS.items()}
        return _WHY.sub(
            lambda it: f'{it[1]}{escape(self.text(keys[it[2]], lang))}"', html
        )

    def _full_context(self, context: Mapping[str, object], at: str) -> dict[str, Any]:
        from markupsafe import Markup

        full: dict[str, Any] = {**_EMPTY, **context}
        for name in ("content", "sidebar", "wiki_footer"):
            if full[name] is not None:
                html = self.explained(full[name], str(full["site"].lang))
                full[name] = Markup(html)  # noqa: S704 - sanitised by markup
        for name in ("comments", "versions"):
            full[name] = [
                structs.replace(one, html=Markup(one.html))  # noqa: S704 - or escaped
                for one in full[name]
            ]
        own = {"api": THEME_API, "theme": self.options, "at": at, "root": root_url(at)}
        return full | own

    @cached_property
    def _environment(self) -> Environment:
        """Jinja with our layers; sandboxed as soon as one layer is not our own."""
        from jinja2 import ChoiceLoader, Environment, PrefixLoader, StrictUndefined
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        # a subclass of Jinja's, so that it is loaded with it
        from wikisync.site.theme_flat import compiled_templates

        class NoSuchValue(StrictUndefined):
            def __init__(self, hint: str | None = None, **names: Any) -> None:
                owner, name = names.get("obj"), names.get("name")
                if hint is None and isinstance(owner, Struct) and isinstance(name, str):
                    fields = owner.__struct_fields__
                    hint = f"there is no value {name!r}: {did_you_mean(name, fields)}"
                super().__init__(hint, **names)

        layers = self._layers
        loaders = [_layer_loader(layer) for layer in layers]
        first = next(i for i, layer in enumerate(layers) if layer.manifest)
        prefixes: dict[str, BaseLoader] = {
            f"!{layer.name}": ChoiceLoader(loaders[index:])
            for index, layer in reversed(list(enumerate(layers)))
            if layer.manifest
        }
        prefixes["!theme"] = ChoiceLoader(loaders[first:])
        kind = Environment if self._is_ours else ImmutableSandboxedEnvironment
        environment = kind(
            loader=ChoiceLoader([*loaders, PrefixLoader(prefixes)]),
            autoescape=True,
            undefined=NoSuchValue,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            auto_reload=False,
            bytecode_cache=compiled_templates(kind),
        )
        environment.filters |= theme_filters(self)
        environment.globals |= theme_functions(self)
        return environment

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
        return ASSETS_FOLDER + _named("static file", name, self._static)[0]

    def icon(self, name: str) -> str:
        """The source of ``icons/<name>.svg``."""
        content = _named("icon", f"{name}.svg", self._icons)
        return theme_layers.decoded(content, name).strip()

    def _template_error(self, exc: Exception, template: str, at: str) -> SiteError:
        from jinja2 import TemplateNotFound

        where = template
        if filename := getattr(exc, "filename", None):
            where = f"{filename}:{getattr(exc, 'lineno', 0)}"
        else:
            folders = tuple(f"{layer.folder}/" for layer in self._layers)
            for frame in traceback.extract_tb(exc.__traceback__):
                # Jinja gives frames of templates the template's file and line
                file = frame.filename
                if file.startswith(folders) and "/templates/" in file:
                    where = f"{file}:{frame.lineno}"
        message = getattr(exc, "message", None) or str(exc)
        if isinstance(exc, TemplateNotFound):
            names = self._template_names()
            known = [*names, *(f"!theme/{name}" for name in names)]
            hint = did_you_mean(message, known)
            message = f"there is no template {message!r}: {hint}"
        return SiteError(
            f"{where}: {message}",
            hint=f"found while rendering {at}; wikisync theme docs lists the names",
        )


def _named(kind: str, name: str, known: Mapping[str, T]) -> T:
    """What a template asks for by its name."""
    try:
        return known[name]
    except KeyError:
        hint = did_you_mean(name, known)
        raise LookupError(f"no {kind} {name!r}: {hint}") from None


def _errors_of_templates() -> tuple[type[Exception], ...]:
    """What a template can raise with an expression of its own."""
    from jinja2 import TemplateError

    return (
        TemplateError,
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
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
            ``i18n/`` and ``icons/``, which may be missing.
        options: Values for the theme's options.

    Raises:
        SiteError: No such theme, a broken ``theme.toml``, an option that is
            unknown or of a wrong type, a file that cannot be read.
    """
    chain = theme_layers.theme_chain(name)
    resolved = resolve_options(
        theme_layers.declared_options(chain), options or {}, chain[0].name
    )
    if project is not None and (files := theme_layers.read_files(project)):
        chain = [theme_layers.Layer("project", project, files, None), *chain]
    return Theme(tuple(chain), resolved)


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

    return _CSS_URL.sub(rewritten, theme_layers.decoded(content, name)).encode()


def _layer_loader(layer: theme_layers.Layer) -> BaseLoader:
    from jinja2 import FunctionLoader

    def load(name: str) -> tuple[str, str, Callable[[], bool]] | None:
        path = f"templates/{name}"
        if path not in layer.files:
            return None
        source = layer.folder / path
        text = theme_layers.decoded(layer.files[path], source)
        return text, str(source), lambda: True

    return FunctionLoader(load)
