"""Templates as Jinja compiled them, kept while a theme is worked on.

Each save of a theme's file makes a new ``Theme``.  Compiling the templates that did
not change would take longer than all else that a preview does then.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from functools import cache
from types import CodeType
from typing import Any

from jinja2 import Environment, Template
from jinja2.bccache import Bucket, BytecodeCache
from jinja2.sandbox import ImmutableSandboxedEnvironment

TEMPLATES_MAX = 256
"""Templates kept for each kind of environment; a theme has a few dozen."""


class CompiledTemplates(BytecodeCache):
    """Code by the name and file of its template, with the hash of its source."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[str, CodeType]] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill in what was compiled from the same source."""
        checksum, code = self._kept.get(bucket.key, ("", None))
        if checksum == bucket.checksum:
            bucket.code = code

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what was compiled; the oldest goes where there are too many."""
        assert bucket.code is not None
        self._kept.pop(bucket.key, None)
        while len(self._kept) >= TEMPLATES_MAX:
            del self._kept[next(iter(self._kept))]
        self._kept[bucket.key] = bucket.checksum, bucket.code


@cache
def compiled_templates(kind: type[Environment]) -> CompiledTemplates:  # noqa: ARG001 - the key
    """Those of one kind of environment: another kind makes other code."""
    return CompiledTemplates()


class ThemeEnvironment(Environment):
    """Jinja for thousands of pages, each made of a dozen templates.

    The templates of an environment never change, nor do its globals after the
    first of them is loaded.  Each ``include`` would look at both again.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._loaded: dict[str, Template] = {}

    def get_template(
        self,
        name: str | Template,
        parent: str | None = None,
        globals: MutableMapping[str, Any] | None = None,  # noqa: A002 - as in Jinja
    ) -> Template:
        """The template of that name, loaded once."""
        if globals or isinstance(name, Template):
            return super().get_template(name, parent, globals)
        known = self._loaded.get(name)
        if known is None:
            known = self._loaded[name] = super().get_template(name, parent)
        return known

    def make_globals(
        self, d: MutableMapping[str, Any] | None
    ) -> MutableMapping[str, Any]:
        """What a template sees everywhere; a plain dict is quick to go through."""
        return {**self.globals, **(d or {})}


class SandboxedThemeEnvironment(ThemeEnvironment, ImmutableSandboxedEnvironment):
    """The same for templates that are not our own."""
