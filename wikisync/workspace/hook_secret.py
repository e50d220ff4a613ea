"""The secret of webhooks: from a variable or a file, never from the command line.

Everybody on a machine can see the words of a command.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from wikisync.decoding import decode_text
from wikisync.errors import UsageError

SECRET_VARIABLE = "WIKISYNC_HOOK_SECRET"  # noqa: S105 - the variable's name
SECRET_BYTES_MAX = 4096


def hook_secret(file: str, environment: Mapping[str, str], named: str) -> str:
    """What webhooks bring: of the variable, or of the file; else nothing.

    Args:
        file: path, ``~`` for the home folder; empty for none.
        environment: holds the variable.
        named: the setting or option that named the file, for messages.

    Raises:
        UsageError: the file cannot be read, is empty or holds several lines.
    """
    secret, source = environment.get(SECRET_VARIABLE, "").strip(), SECRET_VARIABLE
    if not secret and file:
        path = Path(file).expanduser()
        secret, source = _of_file(path, named), f"the file {path} of {named}"
    if not secret.isprintable() or not secret.isascii():
        raise UsageError(
            f"the secret in {source} must be plain text on one line",
            hint="use letters, digits and punctuation",
        )
    return secret


def _of_file(path: Path, named: str) -> str:
    try:
        with path.open("rb") as opened:
            secret = decode_text(opened.read(SECRET_BYTES_MAX)).strip()
    except UnicodeDecodeError as exc:
        raise UsageError(
            f"the file {path} of {named} is not UTF-8 text", hint="save it as UTF-8"
        ) from exc
    except OSError as exc:
        raise UsageError(
            f"the file {path} of {named} cannot be read: {exc.strerror}",
            hint=f"give a readable file, or set {SECRET_VARIABLE}",
        ) from exc
    if not secret:
        raise UsageError(
            f"the file {path} of {named} is empty",
            hint="put the secret from the webhook's settings into it",
        )
    return secret
