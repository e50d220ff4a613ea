"""Where ``wikisync init`` keeps a token: one file for each service, for its user alone.

The configuration names the file as ``token_file``, so every workspace of a service
can share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from wikisync.config.trust import config_folder
from wikisync.errors import FolderError
from wikisync.folder.swap import PRIVATE, write_atomically
from wikisync.private import make_private_folder


class KeptToken(Struct, frozen=True):
    """A token that is to be written to its file."""

    path: Path
    token: str

    def __repr__(self) -> str:
        return f"KeptToken({str(self.path)!r})"


def token_path(url: str, environment: Mapping[str, str]) -> Path:
    """The file that the token for a service is kept in.

    Args:
        url: base URL of the service.
        environment: may name the folder of configurations (``XDG_CONFIG_HOME``).
    """
    parts = urlsplit(url)
    service = f"{parts.netloc}{parts.path.rstrip('/')}"
    name = "".join(one if one.isalnum() or one in ".-" else "-" for one in service)
    return config_folder(environment) / f"token-{name}"


def from_home(path: Path) -> Path:
    """The path with ``~`` for the home folder, as a configuration names it."""
    try:
        return Path("~") / path.relative_to(Path.home())
    except ValueError:
        return path


@contextmanager
def keeping(kept: KeptToken | None) -> Iterator[None]:
    """Write the token; if the block fails, what was there before is there again.

    Raises:
        FolderError: it cannot be written.
    """
    if kept is None:
        yield
        return
    try:
        before = kept.path.read_bytes() if kept.path.exists() else None
        _write(kept.path, f"{kept.token}\n".encode())
    except OSError as exc:
        raise FolderError(
            f"the token cannot be written to {kept.path}: {exc.strerror}",
            hint="make the folder writable, or answer no and name --token-file FILE",
        ) from exc
    try:
        yield
    except BaseException:
        with suppress(OSError):
            if before is None:
                kept.path.unlink()
            else:
                _write(kept.path, before)
        raise


def _write(path: Path, data: bytes) -> None:
    make_private_folder(path.parent)
    write_atomically(
        path.parent, path.name, data, temporary=path.parent / "tmp", modes=PRIVATE
    )
    with suppress(OSError):
        (path.parent / "tmp").rmdir()
