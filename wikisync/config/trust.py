"""Which ``wikisync.toml`` is obeyed: it names commands, and who gets the token.

**Whose** it is.  The rule is git's (``safe.directory``): the file, a link that leads to
it, its folder and the ``.wikisync`` beside it belong to this user or to root, or to who
called ``sudo``.  A file that everyone may write is obeyed from nobody.

**What** it says.  A file that came with a repository or an archive belongs to this
user, too.  So what it runs, reads and contacts is done only once they agreed to it:
``init`` and ``clone`` agree to what they write, every other file is asked about once,
and again when a command or an address changes.  An agreement is a file named by a
digest, of the workspace's path and these values; to an address alone, which gets the
token of any workspace, it is a digest of the address.
"""

import hashlib
import json
import os
import shlex
import stat
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import Path

from wikisync.config.sections import FILE_NAME, Config
from wikisync.core.layout import PRIVATE_FOLDER
from wikisync.core.system.private import expanded, make_private_folder, private_opener
from wikisync.errors import ConfigError, Unagreed, command_line

SAFE_VARIABLE = "WIKISYNC_SAFE_FOLDERS"
"""Environment variable: workspaces to obey whoever wrote what, with ``:`` between;
``*`` all."""
FOLDER = "wikisync"
"""In the user's folder of configurations."""
KEYS = (
    "service.url",
    "service.token_command",
    "service.token_file",
    "sync.attention_command",
    "sync.hook_secret_file",
    "site.after",
    "site.bucket",
    "markup.kroki",
)
"""Everything that makes us run a command, read a secret or contact a server."""
ADDRESS = KEYS[0]
OWN_KEYS = tuple(key for key in KEYS if not key.startswith("service."))
"""Those that have nothing to do with the token."""


def refuse_foreign(path: Path, status: os.stat_result) -> None:
    """See that a configuration is this user's, or allowed; else ConfigError."""
    user, called_by = os.geteuid(), os.environ.get("SUDO_UID", "")
    own = {user, 0}
    if user == 0 and called_by.isascii() and called_by.isdigit():
        own = {user, int(called_by)}
    for owned, owner in _owners(path, status):
        if owner not in own and not _is_safe(path.parent):
            raise ConfigError(
                f"{owned} belongs to {_name(owner)}, and {path.name} may name commands"
                " to run",
                hint=f"if you trust them, run: {_command(path.parent)}",
            )
    if status.st_mode & stat.S_IWOTH and not _is_safe(path.parent):
        raise ConfigError(
            f"everyone on this machine may write {path}, and it may name commands to"
            " run",
            hint=f"see what it says, then run: chmod o-w {shlex.quote(str(path))}; on a"
            " disk without permissions, like exFAT, run:"
            f" {_command(path.parent)}",
        )


def config_folder() -> Path:
    """Where this user's tokens and agreements are kept."""
    named = os.environ.get("XDG_CONFIG_HOME", "")
    if Path(named).is_absolute():
        return Path(named) / FOLDER
    try:
        return Path.home() / ".config" / FOLDER
    except RuntimeError:
        # a user whom the system does not know keeps nothing
        return Path("/nonexistent") / FOLDER


def refuse_unagreed(folder: Path, config: Config, keys: Collection[str] = KEYS) -> None:
    """See that this user agreed to what a configuration does; or Unagreed."""
    if not _said(folder, config).keys() & set(keys) or is_agreed(folder, config):
        return
    raise Unagreed(
        f"this user has not agreed to {folder / FILE_NAME}, which says what to run,"
        " read or contact",
        problems=agreed_lines(folder, config),
        hint="if you trust who wrote it, run:"
        f" {command_line('init', '--trust', folder)}",
        agree=partial(agree, folder, config),
    )


def agreed_lines(folder: Path, config: Config) -> tuple[str, ...]:
    """What a configuration runs, reads and contacts, as lines for a person."""
    return tuple(
        f"{key} = {json.dumps(value, ensure_ascii=False)}"
        for key, value in _said(folder, config).items()
    )


def is_agreed(folder: Path, config: Config) -> bool:
    """Whether this user agreed to these settings of a workspace."""
    whole, address = _agreements(folder, config)
    is_address = _said(folder, config).keys() == {ADDRESS}
    return (
        os.path.lexists(whole)
        or (is_address and os.path.lexists(address))
        or _is_safe(folder)
    )


def agree(folder: Path, config: Config) -> None:
    """Keep that this user agrees to these settings of a workspace."""
    kept = config_folder() / "agreed"
    try:
        make_private_folder(kept)
        for path in _agreements(folder, config):
            with open(path, "wb", opener=private_opener) as file:
                file.write(os.fsencode(folder.resolve()))
    except OSError as exc:
        raise ConfigError(
            f"the agreement to {folder / FILE_NAME} cannot be kept in {kept}:"
            f" {exc.strerror}",
            hint=f"make that folder writable, or run: {_command(folder)}",
        ) from exc


def _agreements(folder: Path, config: Config) -> tuple[Path, Path]:
    """The files of the agreements to the whole of a configuration and its address."""
    said = _said(folder, config)
    both = ((os.fspath(folder.resolve()), said), ("", said.get(ADDRESS)))
    names = (hashlib.sha256(json.dumps(one).encode()).hexdigest() for one in both)
    first, second = (config_folder() / "agreed" / name for name in names)
    return first, second


def _said(folder: Path, config: Config) -> Mapping[str, object]:
    """The keys of ``KEYS`` that have a value, with it."""
    found: dict[str, object] = {}
    for key in KEYS:
        section, _, name = key.partition(".")
        value = getattr(getattr(config, section), name)
        if value and name.endswith("_file"):
            value = str(folder.resolve() / expanded(value))
        if value:
            found[key] = value
    return found


def _owners(path: Path, status: os.stat_result) -> Iterator[tuple[Path, int]]:
    yield path, status.st_uid
    yield path, path.lstat().st_uid
    yield path.parent, path.parent.stat().st_uid
    private = path.parent / PRIVATE_FOLDER
    try:
        yield private, private.lstat().st_uid
        yield private, private.stat().st_uid
    except FileNotFoundError:
        return


def _is_safe(folder: Path) -> bool:
    listed = os.environ.get(SAFE_VARIABLE, "").split(os.pathsep)
    named = [one for one in listed if one]
    return "*" in named or folder.resolve() in {
        Path(one).resolve() for one in named if Path(one).is_absolute()
    }


def _name(user: int) -> str:
    import pwd

    try:
        return f"the user {pwd.getpwuid(user).pw_name}"
    except KeyError:
        return f"another user (uid {user})"


def _command(folder: Path) -> str:
    before = f"${SAFE_VARIABLE}:" if os.environ.get(SAFE_VARIABLE) else ""
    quoted = shlex.quote(str(folder.resolve()))
    return f"export {SAFE_VARIABLE}={before}{quoted}"
