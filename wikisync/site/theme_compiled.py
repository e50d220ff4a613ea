"""Templates as Jinja compiled them: kept in memory, and those of wikisync on the disk.

Each save of a theme's file makes a new ``Theme``.  Compiling the templates that did
not change would take longer than all else that a preview does then.

To load code is to trust whoever could write it.  So code is kept only where Python
keeps that of this package, never in the cache of a build, which may come from
another machine; and only that of templates that came with wikisync.
"""

import contextlib
import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import CodeType

from jinja2 import Environment
from jinja2.bccache import Bucket, BytecodeCache, FileSystemBytecodeCache

from wikisync.site.fingerprint import program_fingerprint
from wikisync.site.theme_layers import builtin_folder

TEMPLATES_MAX = 256
"""Templates kept for each kind of environment; a theme has a few dozen."""
OURS = "ours-"
"""The keys of templates that came with wikisync begin so."""


class CompiledTemplates(BytecodeCache):
    """Code by the name and file of its template, with the hash of its source."""

    def __init__(self, folder: Path, kind: str = "") -> None:
        """Keep code of one kind of environment, ours in a folder as well."""
        self._kept: dict[str, tuple[str, CodeType]] = {}
        pattern = f"template-{kind}-%s.{sys.implementation.cache_tag}.pyc"
        self._files = FileSystemBytecodeCache(str(folder), pattern)

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """The key of a template, which shows whether it came with wikisync."""
        key = super().get_cache_key(name, filename)
        is_ours = filename and Path(filename).is_relative_to(builtin_folder())
        return OURS + key if is_ours else key

    def get_source_checksum(self, source: str) -> str:
        """Another one with another source or program, which sets Jinja's options."""
        return super().get_source_checksum(program_fingerprint().hex() + source)

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill in what was compiled from the same source."""
        checksum, code = self._kept.get(bucket.key, ("", None))
        if checksum == bucket.checksum:
            bucket.code = code
        elif bucket.key.startswith(OURS):
            with contextlib.suppress(OSError):
                self._files.load_bytecode(bucket)
            if bucket.code is not None:
                self._keep(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what was compiled; the oldest goes where there are too many."""
        self._keep(bucket)
        if bucket.key.startswith(OURS) and not sys.dont_write_bytecode:
            with contextlib.suppress(OSError):  # as Python does: it is not needed
                self._files.dump_bytecode(bucket)

    def _keep(self, bucket: Bucket) -> None:
        assert bucket.code is not None
        self._kept.pop(bucket.key, None)
        while len(self._kept) >= TEMPLATES_MAX:
            del self._kept[next(iter(self._kept))]
        self._kept[bucket.key] = bucket.checksum, bucket.code


@cache
def compiled_templates(kind: type[Environment]) -> CompiledTemplates:
    """Those of one kind of environment, on the disk beside the code of this module."""
    folder = Path(importlib.util.cache_from_source(__file__)).parent
    return CompiledTemplates(folder, kind.__name__)
