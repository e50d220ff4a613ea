"""Copies of repositories in a folder, by pygit2."""

from __future__ import annotations

from pathlib import Path

import pygit2

from wikisync.private import make_private_folder
from wikisync.service.committing import GitRefused

DEFAULT_BRANCH = "main"


def copy_repository(
    address: str,
    fresh: Path,
    branch: str | None = None,
) -> None:
    """Copy a repository to a folder that is not there: one branch, or all and tags.

    Args:
        address: a folder.
        fresh: the folder; after a failure part of it may be there.
        branch: the only one wanted; it becomes the default branch.

    Raises:
        GitRefused: it cannot be read.
    """
    try:
        _copy(address, fresh, branch)
    except (pygit2.GitError, ValueError, KeyError, OSError) as error:
        raise GitRefused(str(error)) from error


def _copy(
    address: str,
    fresh: Path,
    branch: str | None,
) -> None:
    make_private_folder(fresh)
    repository = pygit2.init_repository(str(fresh), bare=True)
    remote = repository.remotes.create_anonymous(address)
    wanted = f"refs/heads/{branch}" if branch else "refs/heads/*"
    tags = [] if branch else ["+refs/tags/*:refs/tags/*"]
    # an empty repository has nothing to ask for
    found = remote.list_heads()
    heads = {head.name: head.symref_target for head in found}
    if heads:
        names = [f"+{wanted}:{wanted}", *tags]
        remote.fetch(names)
    shown = wanted if branch else heads.get("HEAD") or f"refs/heads/{DEFAULT_BRANCH}"
    repository.set_head(shown)
    repository.free()
