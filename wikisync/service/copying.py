"""Copies of repositories, from a folder or from another server, by pygit2."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pygit2

from wikisync.private import make_private_folder
from wikisync.service.committing import GitRefused

DEFAULT_BRANCH = "main"


def copy_repository(
    address: str,
    fresh: Path,
    branch: str | None = None,
    *,
    callbacks: Callable[[], pygit2.RemoteCallbacks] = pygit2.RemoteCallbacks,
    proxy: str | None = None,
) -> None:
    """Copy a repository to a folder that is not there: one branch, or all and tags.

    Args:
        address: a folder, or an address that git can fetch from.
        fresh: the folder; after a failure part of it may be there.
        branch: the only one wanted; it becomes the default branch.
        callbacks: makes what is asked during one connection.
        proxy: the way to http and https addresses; None for a direct one.

    Raises:
        GitRefused: it cannot be read.
    """
    try:
        _copy(address, fresh, branch, callbacks, proxy)
    except (pygit2.GitError, ValueError, KeyError, OSError) as error:
        raise GitRefused(str(error)) from error


def _copy(
    address: str,
    fresh: Path,
    branch: str | None,
    callbacks: Callable[[], pygit2.RemoteCallbacks],
    proxy: str | None,
) -> None:
    make_private_folder(fresh)
    repository = pygit2.init_repository(str(fresh), bare=True)
    remote = repository.remotes.create_anonymous(address)
    wanted = f"refs/heads/{branch}" if branch else "refs/heads/*"
    tags = [] if branch else ["+refs/tags/*:refs/tags/*"]
    # an empty repository has nothing to ask for
    found = remote.list_heads(callbacks=callbacks(), proxy=proxy)
    heads = {head.name: head.symref_target for head in found}
    if heads:
        names = [f"+{wanted}:{wanted}", *tags]
        remote.fetch(names, callbacks=callbacks(), proxy=proxy)
    shown = wanted if branch else heads.get("HEAD") or f"refs/heads/{DEFAULT_BRANCH}"
    repository.set_head(shown)
    repository.free()
