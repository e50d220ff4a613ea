"""Templates as Jinja compiled them, kept while a theme is worked on.

Each save of a theme's file makes a new ``Theme``.  Compiling the templates that did
not change would take longer than all else that a preview does then.
"""

from __future__ import annotations

from functools import cache
from types import CodeType

from jinja2 import Environment
from jinja2.bccache import Bucket, BytecodeCache

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
