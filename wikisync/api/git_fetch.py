"""Fetching a wiki's git repository, and reading files out of it: all in threads.

A repository is bare and holds the newest commits; whatever is wrong with it, it is made
anew.  Git follows no redirect to another host, and the token goes to one origin.
"""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pygit2

from wikisync.api.proxy import Proxy
from wikisync.api.secret import GIT_USER, Secret
from wikisync.core.git_log import COMMITS_MAX, read_log
from wikisync.core.model import AttachmentPath
from wikisync.core.origin import is_same_origin
from wikisync.core.system.private import make_private_folder
from wikisync.core.versions import UNKNOWN, Versions

SILENCE_S = 30.0
"""Longest wait for the server to say anything."""
REPOSITORY_BYTES_MAX = 2 * 1024 * 1024 * 1024
FILE_BYTES_MAX = 512 * 1024 * 1024
PACKS_MAX = 20
"""Fetches that add to a repository before it is fetched anew."""
REFERENCE = "refs/heads/wiki"

_FILES = frozenset({pygit2.enums.FileMode.BLOB, pygit2.enums.FileMode.BLOB_EXECUTABLE})
_PACK_FILES = frozenset({".pack", ".idx", ".rev", ".keep", ".bitmap"})


class FetchStopped(Exception):
    """The fetch took too long or too much; the text says which."""


class FetchRefused(FetchStopped):
    """The service wants another token, or none will do."""


class Fetching(pygit2.RemoteCallbacks):
    """What git's library asks while it fetches."""

    def __init__(self, token: Secret | None, address: str) -> None:
        super().__init__()
        self._token = token
        self._address = address
        self._is_asked = False
        self.stop = threading.Event()

    def credentials(
        self,
        url: str,
        username_from_url: str | None,
        allowed_types: pygit2.enums.CredentialType,
    ) -> pygit2.UserPass:
        """The token as a password, once."""
        del username_from_url
        if not is_same_origin(self._address, url):
            raise FetchStopped(
                "it redirects git to another server, to which the token is not sent"
            )
        is_wanted = allowed_types & pygit2.enums.CredentialType.USERPASS_PLAINTEXT
        if self._token is None or not is_wanted:
            raise FetchRefused("the service requires a token")
        if self._is_asked:
            raise FetchRefused("the token may not read the wiki's git repository")
        self._is_asked = True
        return pygit2.UserPass(GIT_USER, self._token.reveal())

    def transfer_progress(self, stats: pygit2.remotes.TransferProgress) -> None:
        """Stop at the most that is taken."""
        if stats.received_bytes > REPOSITORY_BYTES_MAX:
            raise FetchStopped(f"it is larger than {REPOSITORY_BYTES_MAX} bytes")
        self._check()

    def sideband_progress(self, text: str) -> None:
        """What the server says meanwhile is for nobody."""
        del text
        self._check()

    def _check(self) -> None:
        if self.stop.is_set():
            raise FetchStopped("it took too long")


def fetch(
    address: str, folder: Path, fetching: Fetching, proxy: Proxy | None = None
) -> None:
    """Fetch the newest commits of a repository into the folder.

    FetchStopped has a text for people, OSError is the folder's.
    """
    pygit2.settings.server_connect_timeout = int(SILENCE_S * 1000)
    pygit2.settings.server_timeout = int(SILENCE_S * 1000)
    try:
        if not _may_grow(folder):
            if folder.exists():
                shutil.rmtree(folder)
            make_private_folder(folder)
            pygit2.init_repository(str(folder), bare=True, initial_head="wiki").free()
        with _opened(folder) as repository:
            # libgit2 follows the first one to any host by default; this keeps it
            # on the host, and ``credentials`` keeps the token from its other ports
            repository.config["http.followRedirects"] = False
            remote = repository.remotes.create_anonymous(address)
            remote.fetch(
                [f"+HEAD:{REFERENCE}"],
                callbacks=fetching,
                depth=COMMITS_MAX,
                proxy=proxy.address if proxy else None,
            )
    except (pygit2.GitError, KeyError, ValueError) as exc:
        raise FetchStopped(" ".join(str(exc).split()) or "git failed") from exc


def held_commit(folder: Path) -> str | None:
    """The commit that is here with its files, or None."""
    try:
        with _opened(folder) as repository:
            commit = repository.references[REFERENCE].peel(pygit2.Commit)
            commit.peel(pygit2.Tree)
            return str(commit.id)
    except (pygit2.GitError, KeyError, ValueError):
        return None


def read_file(
    folder: Path, path: AttachmentPath, version: str = "", *, removes_damaged: bool
) -> bytes | None:
    """A file of the commit that is here; None where it has no such file.

    A damaged repository, or one that is being made, may be removed to be fetched anew.
    """
    try:
        with _opened(folder) as repository:
            entry = repository.references[REFERENCE].peel(pygit2.Tree)[path]
            if version not in {"", str(entry.id)}:
                return None
            if isinstance(entry, pygit2.Blob) and entry.filemode in _FILES:
                return bytes(entry.data) if entry.size <= FILE_BYTES_MAX else None
    except (KeyError, ValueError):
        pass
    except pygit2.GitError:
        if removes_damaged:
            shutil.rmtree(folder, ignore_errors=True)
    return None


def write_files(folder: Path, target: Path) -> None:
    """Write the files of the commit that is here into an empty folder; no links."""
    try:
        with _opened(folder) as repository:
            trees = [(target, repository.references[REFERENCE].peel(pygit2.Tree))]
            while trees:
                path, tree = trees.pop()
                make_private_folder(path)
                for entry in tree:
                    name = entry.name or ""
                    # libgit2 reads any name, though git itself refuses these
                    if name in {"", ".", ".."} or "/" in name:
                        continue
                    if isinstance(entry, pygit2.Tree):
                        trees.append((path / name, entry))
                    elif isinstance(entry, pygit2.Blob) and entry.filemode in _FILES:
                        (path / name).write_bytes(entry.data)
    except (pygit2.GitError, KeyError, ValueError) as exc:
        raise FetchStopped(" ".join(str(exc).split()) or "git failed") from exc


def read_versions(folder: Path, known: Versions) -> Versions:
    """The versions of the pages in the commits that are here."""
    try:
        return read_log(folder, REFERENCE, known)
    except (pygit2.GitError, KeyError, ValueError):
        return UNKNOWN


def _may_grow(folder: Path) -> bool:
    packs = folder / "objects" / "pack"
    for one in packs.iterdir() if packs.is_dir() else ():
        if one.suffix not in _PACK_FILES:
            one.unlink(missing_ok=True)
    head = held_commit(folder)
    if head is None or len(list(packs.glob("*.pack"))) >= PACKS_MAX:
        return False
    with suppress(pygit2.GitError), _opened(folder) as repository:
        # nothing can be added to a history with a date that nobody can read
        return any(repository.walk(head, pygit2.enums.SortMode.TOPOLOGICAL))
    return False


@contextmanager
def _opened(folder: Path) -> Iterator[pygit2.Repository]:
    repository = pygit2.Repository(str(folder), pygit2.enums.RepositoryOpenFlag.BARE)
    try:
        yield repository
    finally:
        # or the library keeps what was read, though the files are others by then
        repository.free()
