"""Templates of wikisync as Jinja compiled them, kept beside the code of this package.

To load code is to trust whoever could write it.  So code is kept only where Python
keeps that of this package, never in the cache of a build, which may come from
another machine; and only that of templates that came with wikisync.
"""

import contextlib
import importlib.util
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType

from jinja2 import Environment
from jinja2.bccache import Bucket, FileSystemBytecodeCache

from wikisync.site.fingerprint import program_fingerprint
from wikisync.site.theme_layers import builtin_folder

OURS = "ours-"
"""The keys of templates that came with wikisync begin so."""


class CompiledTemplates(FileSystemBytecodeCache):
    """Code by the name and file of its template, with the hash of its source."""

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """The key of a template, which shows whether it came with wikisync."""
        key = super().get_cache_key(name, filename)
        is_ours = filename and Path(filename).is_relative_to(builtin_folder())
        return OURS + key if is_ours else key

    def get_source_checksum(self, source: str) -> str:
        """Another one with another source or program, which sets Jinja's options."""
        return super().get_source_checksum(program_fingerprint().hex() + source)

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill in what was compiled from the same source of ours."""
        if bucket.key.startswith(OURS):
            # the last two are of a file that was cut
            with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
                super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what was compiled of ours."""
        if bucket.key.startswith(OURS) and not sys.dont_write_bytecode:
            with contextlib.suppress(OSError):  # as Python does: it is not needed
                super().dump_bytecode(bucket)


def kept_code(
    env: Environment, name: str, file: Path, source: str, make: Callable[[], CodeType]
) -> CodeType:
    """Code that was made of a source, or is made now and kept as that of a template."""
    kept = env.bytecode_cache
    assert kept is not None
    bucket = kept.get_bucket(env, name, str(file), source)
    if bucket.code is None:
        bucket.code = make()
        kept.set_bucket(bucket)
    return bucket.code


def compiled_templates(kind: type[Environment]) -> CompiledTemplates:
    """Those of one kind of environment: another one makes other code."""
    folder = Path(importlib.util.cache_from_source(__file__)).parent
    tag = sys.implementation.cache_tag
    return CompiledTemplates(str(folder), f"template-{kind.__name__}-%s.{tag}.pyc")
