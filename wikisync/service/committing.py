"""Commits in a bare repository, by pygit2: made, read, and copied with it.

Called by ``repository``, and where something is written under its lock.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pygit2
from msgspec import Struct

from wikisync.contract.project_schema import CommitRecord
from wikisync.core.git_trees import DIRECTORY, TreeMissing, tree_entries
from wikisync.core.system.private import make_private_folder
from wikisync.service.answers import disk_error, disk_refusal
from wikisync.service.editing import CommitPlan
from wikisync.service.tree import Read, RepositoryFile

FILE_MODE = 0o100644
SHORT_ID_CHARS = 8
_MOVED = "not the first parent"
"""Git says so where a branch points elsewhere than a moment ago."""

_TreeEdits = Mapping[str, RepositoryFile | None]


class Author(Struct, frozen=True):
    """Whose name a commit bears."""

    name: str
    email: str


class GitRefused(Exception):
    """Git would not make a commit of the change; the text says why."""


def commit_change(
    repository: pygit2.Repository, change: CommitPlan, author: Author, branch: str
) -> None:
    """Commit a change to a branch, maybe a new one; GitRefused, OSError of the disk."""
    known, reference = tip_of(repository, branch), f"refs/heads/{branch}"
    head = str(repository.lookup_reference("HEAD").target)
    tip = known or tip_of(repository, head.removeprefix("refs/heads/"))
    try:
        edits = _edits(repository, change)
        before = tree_of(repository, tip) if tip else None
        tree = edit_tree(repository, before, edits)
        if tree is None:
            with _writing(repository):
                tree = repository.TreeBuilder().write().raw
        if tree == before and known:
            return
        signature = signature_of(author)
        # git refuses when the branch no longer points at the parent
        with _writing(repository, refusal=_MOVED):
            commit = repository.create_commit(
                reference if known else None,
                signature,
                signature,
                change.message,
                pygit2.Oid(raw=tree),
                [tip] if tip else [],
            )
        if not known and commit in repository:
            repository.references.create(reference, commit)
        if tip_of(repository, branch) != str(commit):
            # the library says nothing where a full disk keeps out commit or branch
            raise disk_error(ValueError("branch not written"), repository.path, 0)
    except (pygit2.GitError, ValueError, TreeMissing, OSError) as error:
        if disk_refusal(error):
            raise
        # where the service keeps its data is nothing that callers should learn
        raise GitRefused(str(error).replace(repository.path, "")) from error


@contextmanager
def _writing(
    repository: pygit2.Repository, size: int = 0, *, refusal: str | None = None
) -> Iterator[None]:
    """Write what only the disk can refuse (OSError), or a change for this reason."""
    try:
        yield
    except (pygit2.GitError, LookupError, ValueError, OSError) as error:
        if refusal is not None and refusal in str(error):
            raise
        raise disk_error(error, repository.path, size) from error


def signature_of(author: Author) -> pygit2.Signature:
    """Who made a commit, and that it was now."""
    return pygit2.Signature(author.name or "unknown", author.email or "-")


def _edits(repository: pygit2.Repository, change: CommitPlan) -> _TreeEdits:
    edits: dict[str, RepositoryFile | None] = dict.fromkeys(change.removes)
    edits |= change.links
    for path, content in change.writes.items():
        with _writing(repository, len(content)):
            blob = repository.create_blob(content).raw
        edits[path] = RepositoryFile(path, blob, FILE_MODE)
    return edits


def edit_tree(
    repository: pygit2.Repository, tree: bytes | None, edits: _TreeEdits
) -> bytes | None:
    """Write the tree with the edits, touching only directories on their way; its id."""
    here: dict[str, RepositoryFile | None] = {}
    below: dict[str, dict[str, RepositoryFile | None]] = {}
    for path, file in edits.items():
        name, slash, rest = path.partition("/")
        if slash:
            below.setdefault(name, {})[rest] = file
        else:
            here[name] = file
    present = _present(repository, tree)
    before = [pygit2.Oid(raw=tree)] if tree else []
    builder = repository.TreeBuilder(*before)
    # files go first and come last, so that a directory may replace a file
    # or give it up, but nothing is ever replaced that was not removed
    for name, file in here.items():
        if file is None and name in present and not _is_directory(present[name]):
            builder.remove(name)
            del present[name]
    for name, inner in below.items():
        entry = present.get(name)
        if entry is not None and not _is_directory(entry):
            if any(file is not None for file in inner.values()):
                raise ValueError(f"{name} is a file and cannot be a directory")
            continue
        subtree = edit_tree(repository, entry[1] if entry else None, inner)
        if subtree is not None:
            present[name] = DIRECTORY, subtree
            builder.insert(name, pygit2.Oid(raw=subtree), DIRECTORY)
        elif entry is not None:
            builder.remove(name)
            del present[name]
    for name, file in here.items():
        if file is None:
            continue
        if name in present and _is_directory(present[name]):
            raise ValueError(f"{name} is a directory and cannot be a file")
        builder.insert(name, pygit2.Oid(raw=file.blob), file.mode)
    with _writing(repository):
        return bytes(builder.write().raw) if len(builder) else None


def _is_directory(entry: tuple[int, bytes]) -> bool:
    return entry[0] == DIRECTORY


def _present(
    repository: pygit2.Repository, tree: bytes | None
) -> dict[str, tuple[int, bytes]]:
    """A tree's entries: name to mode and raw object id."""
    if tree is None:
        return {}
    return {
        name.decode("utf-8", "surrogateescape"): (mode, raw)
        for mode, name, raw in tree_entries(tree_reader(repository)(tree))
    }


def tip_of(repository: pygit2.Repository, branch: str) -> str | None:
    """The last commit of a branch; None where there is no such branch."""
    reference = repository.references.get(f"refs/heads/{branch}")
    return None if reference is None else str(reference.peel(pygit2.Commit).id)


def tree_of(repository: pygit2.Repository, commit: str) -> bytes:
    """The raw id of a commit's root."""
    return bytes(repository[commit].peel(pygit2.Tree).id.raw)


def tree_reader(repository: pygit2.Repository) -> Read:
    """What gives the content of a tree by its raw id."""

    def read(tree: bytes) -> bytes:
        return bytes(repository.read(pygit2.Oid(raw=tree))[1])

    return read


def record_of(commit: pygit2.Commit) -> CommitRecord:
    """What a commit says of itself; of texts that are no UTF-8 what can be read."""
    message = _readable(commit.raw_message)
    made = _moment(commit.committer)
    return CommitRecord(
        id=str(commit.id),
        short_id=str(commit.id)[:SHORT_ID_CHARS],
        created_at=made,
        parent_ids=tuple(str(parent) for parent in commit.parent_ids),
        title=message.partition("\n")[0],
        message=message,
        author_name=_readable(commit.author.raw_name),
        author_email=_readable(commit.author.raw_email),
        authored_date=_moment(commit.author),
        committer_name=_readable(commit.committer.raw_name),
        committer_email=_readable(commit.committer.raw_email),
        committed_date=made,
    )


def _moment(signature: pygit2.Signature) -> str:
    """When somebody signed, by their own clock."""
    try:
        zone = timezone(timedelta(minutes=signature.offset))
        moment = datetime.fromtimestamp(signature.time, zone)
    except (ValueError, OverflowError, OSError):
        # anybody may write any number into a commit
        moment = datetime.fromtimestamp(0, UTC)
    return moment.isoformat(timespec="milliseconds")


def _readable(text: bytes) -> str:
    return text.decode("utf-8", "replace")


DEFAULT_BRANCH = "main"


def copy_repository(address: str, fresh: Path, branch: str | None = None) -> None:
    """Copy a repository to a new folder: one branch, its default then, or all and tags.

    After a failure (GitRefused) part of the folder may be there.
    """
    wanted = f"refs/heads/{branch}" if branch else "refs/heads/*"
    tags = [] if branch else ["+refs/tags/*:refs/tags/*"]
    usual = f"refs/heads/{DEFAULT_BRANCH}"
    try:
        make_private_folder(fresh)
        repository = pygit2.init_repository(str(fresh), bare=True)
        remote = repository.remotes.create_anonymous(address)
        # an empty repository has nothing to ask for
        heads = {head.name: head.symref_target for head in remote.list_heads()}
        if heads:
            remote.fetch([f"+{wanted}:{wanted}", *tags])
        repository.set_head(wanted if branch else heads.get("HEAD") or usual)
        repository.free()
    except (pygit2.GitError, ValueError, KeyError, OSError) as error:
        raise GitRefused(str(error)) from error
