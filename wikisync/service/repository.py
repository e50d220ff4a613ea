"""One wiki's bare git repository, by pygit2.

Synchronous, called from worker threads.  A lock of its own makes each method whole even
if a caller stopped waiting for it.  One ``CommitPlan`` is one commit.
"""

import asyncio
import os
import re
import shutil
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pygit2

from wikisync.contract.project_schema import CommitRecord
from wikisync.core.system.private import make_private_folder
from wikisync.service import committing
from wikisync.service.answers import invalid, not_found, unreadable
from wikisync.service.committing import DEFAULT_BRANCH, Author, GitRefused, tip_of
from wikisync.service.editing import CommitPlan
from wikisync.service.settings import Limits
from wikisync.service.tree import (
    USUAL_LIMITS,
    RepositoryFile,
    TreeTooLarge,
    WikiTree,
    walk,
)

LOADED_REFERENCE = "refs/wikisync/loaded"
COMMIT_ID = re.compile("[0-9a-fA-F]{4,40}")
"""A commit's id, or how it begins."""
COMMITS_WALKED_MAX = 10_000
BRANCH_BYTES_MAX = 244
"""As the real service has it; one component of a path holds 255, with a suffix."""
TAGS_MAX = 10
"""Tags of tags that are followed to their commit."""
HEADER_BYTES = 100
"""The first line of a commit or tag is shorter."""


class WikiRepository:
    """A bare repository that comes into being with its first commit."""

    def __init__(
        self,
        path: Path,
        first_branch: str = DEFAULT_BRANCH,
        limits: Limits = USUAL_LIMITS,
    ) -> None:
        self.path = path
        self._limits = limits
        self._first_branch = first_branch
        self._lock = threading.RLock()
        self._opened: pygit2.Repository | None = None
        self._tree = WikiTree()
        """The last one of the default branch."""

    def tree(self) -> WikiTree:
        """The default branch now; TreeTooLarge for more than a wiki may hold."""
        with self._held() as repository:
            commit = None if repository is None else tip_of(repository, self.branch())
            if repository is None or commit is None:
                return WikiTree()
            if self._tree.commit != commit:
                self._tree = self._read(repository, commit)
            return self._tree

    def tree_at(self, commit_id: str) -> WikiTree | None:
        """The files at a commit, by its id or how that begins; else None.

        No other name is resolved: git's language of names searches whole histories.
        """
        if COMMIT_ID.fullmatch(commit_id) is None:
            return None
        with self._held() as repository:
            if repository is None:
                return None
            try:
                commit = repository[commit_id].peel(pygit2.Commit)
            except (KeyError, ValueError, pygit2.GitError):
                return None
            return self._read(repository, str(commit.id))

    def read(self, blob: bytes) -> bytes:
        """A file's content by its object id."""
        return self.read_many((blob,))[0]

    def read_many(self, blobs: list[bytes] | tuple[bytes, ...]) -> list[bytes]:
        """The contents of many files, in the same order."""
        if not blobs:
            return []
        with self._held() as repository:
            assert repository is not None, "an object id without a repository"
            read = repository.read
            return [read(pygit2.Oid(raw=blob))[1] for blob in blobs]

    def view(self, blob: bytes) -> memoryview:
        """A file's content where git's library has it: not copied, however large."""
        with self._held() as repository:
            assert repository is not None, "an object id without a repository"
            found = repository[pygit2.Oid(raw=blob)]
            assert isinstance(found, pygit2.Blob)
            return memoryview(found)

    def branch(self) -> str:
        """Name of the branch whose pages are shown."""
        with self._held() as repository:
            if repository is None:
                return self._first_branch
            target = str(repository.lookup_reference("HEAD").target)
            return target.removeprefix("refs/heads/")

    def has_branch(self, branch: str) -> bool:
        """Whether there is a branch of that name."""
        with self._held() as repository:
            name = f"refs/heads/{branch}"
            return repository is not None and name in repository.references

    def branches(self) -> list[tuple[str, CommitRecord]]:
        """Every branch by name, with its last commit."""
        with self._held() as repository:
            if repository is None:
                return []
            found = repository.branches.local
            commits = {name: found[name].peel(pygit2.Commit) for name in sorted(found)}
            return [(name, committing.record_of(one)) for name, one in commits.items()]

    def show_branch(self, branch: str) -> None:
        """Make a branch that is there the one whose files are shown."""
        with self._held() as repository:
            assert repository is not None, "a branch without a repository"
            repository.set_head(f"refs/heads/{branch}")

    def last_commit_of(self, path: str) -> str | None:
        """The commit that gave a file its present content, or None."""
        with self._held() as repository:
            tip = None if repository is None else tip_of(repository, self.branch())
            if repository is None or tip is None:
                return None
            commit = repository[tip].peel(pygit2.Commit)
            wanted = _blob_at(commit, path)
            for _ in range(COMMITS_WALKED_MAX):
                if not commit.parents or _blob_at(commit.parents[0], path) != wanted:
                    break
                commit = commit.parents[0]
            return str(commit.id) if wanted is not None else None

    def count_commits(self) -> int:
        """Commits on the default branch."""
        with self._held() as repository:
            tip = None if repository is None else tip_of(repository, self.branch())
            if repository is None or tip is None:
                return 0
            return sum(1 for _commit in repository.walk(pygit2.Oid(hex=tip)))

    def sizes(self, blobs: list[bytes]) -> list[int]:
        """The number of bytes of many files, in the same order; none is read."""
        if not blobs:
            return []
        with self._held() as repository:
            assert repository is not None, "an object id without a repository"
            header_of = repository.odb.read_header
            return [header_of(pygit2.Oid(raw=blob))[1] for blob in blobs]

    def fill_from(self, address: str, branch: str | None = None) -> None:
        """Become a copy of another repository: one branch, or all; or GitRefused."""
        with self.copied_beside() as fresh:
            committing.copy_repository(address, fresh, branch)

    @contextmanager
    def copied_beside(self) -> Iterator[Path]:
        """Become what the block makes at the path it is given, by a rename."""
        for left in self.path.parent.glob(f"{self.path.name}.*.copy"):
            shutil.rmtree(left, ignore_errors=True)
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}.copy")
        make_private_folder(fresh.parent)
        try:
            yield fresh
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        with self._lock:
            self._opened, self._tree = None, WikiTree()
            shutil.rmtree(self.path, ignore_errors=True)
            fresh.rename(self.path)

    def store_file(self, source: Path) -> bytes:
        """Put a file into the object store, not read whole; its raw object id."""
        with self._lock:
            return bytes(self.ensure().create_blob_fromdisk(str(source)).raw)

    def loaded(self) -> WikiTree:
        """The files that the last load of a folder brought."""
        with self._held() as repository:
            if repository is None or LOADED_REFERENCE not in repository.references:
                return WikiTree()
            commit = repository.references[LOADED_REFERENCE].peel(pygit2.Commit)
            return self._read(repository, str(commit.id))

    def remember_loaded(
        self, files: tuple[RepositoryFile, ...], author: Author
    ) -> None:
        """Keep the files of a load, for the next one to compare with."""
        with self._lock:
            if {(file.path, file.blob) for file in self.loaded().files} == {
                (file.path, file.blob) for file in files
            }:
                return
            repository = self.ensure()
            edits = {file.path: file for file in files}
            tree = committing.edit_tree(repository, None, edits)
            tree = tree or repository.TreeBuilder().write().raw
            signature = committing.signature_of(author)
            commit = repository.create_commit(
                None, signature, signature, "Loaded", pygit2.Oid(raw=tree), []
            )
            repository.references.create(LOADED_REFERENCE, commit, force=True)

    def change(
        self,
        decide: Callable[[WikiTree], CommitPlan],
        author: Author,
        *,
        branch: str | None = None,
    ) -> tuple[WikiTree, CommitPlan, WikiTree]:
        """Commit what ``decide`` makes of the tree; gives the trees before and after.

        They are of the default branch.  A change that alters nothing makes no commit.
        Else GitRefused.
        """
        with self._lock:
            before = self.tree()
            change = decide(before)
            repository = self.ensure()
            committing.commit_change(
                repository, change, author, branch or self.branch()
            )
            return before, change, self.tree()

    def _read(self, repository: pygit2.Repository, commit: str) -> WikiTree:
        read = committing.tree_reader(repository)
        root = committing.tree_of(repository, commit)
        return WikiTree(commit, walk(read, root, self._tree.root, self._limits))

    @contextmanager
    def _held(self) -> Iterator[pygit2.Repository | None]:
        """The repository, if there is one, for this thread alone."""
        with self._lock:
            yield self._open()

    def _open(self) -> pygit2.Repository | None:
        if self._opened is None and self.path.exists():
            self._opened = pygit2.Repository(
                str(self.path), pygit2.enums.RepositoryOpenFlag.BARE
            )
        return self._opened

    def close_packs(self) -> None:
        """Close the files of packs; the next call opens those that there are then."""
        with self._lock:
            if self._opened is not None:
                self._opened.free()

    def ensure(self) -> pygit2.Repository:
        """The repository, made with nothing in it unless it is there."""
        with self._lock:
            if (opened := self._open()) is not None:
                return opened
            # made beside and renamed, so that a crash leaves no half repository
            fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}.new")
            make_private_folder(fresh)
            pygit2.init_repository(
                str(fresh), bare=True, initial_head=self._first_branch
            )
            fresh.rename(self.path)
            opened = self._open()
            assert opened is not None
            return opened

    def check_pushed(self, objects: Path, tips: Iterable[bytes]) -> None:
        """Refuse commits with too many files (TreeTooLarge), or none (GitRefused)."""
        with self._held() as repository:
            known = self._tree.root
        assert repository is not None, "a push to no repository"
        # not the repository's own database: it would keep the folder in mind
        database = pygit2.Odb(str(objects))
        database.add_disk_alternate(str(self.path.resolve() / "objects"))

        def read(tree: bytes) -> bytes:
            return bytes(database.read(pygit2.Oid(raw=tree))[1])

        try:
            for tip in tips:
                root = root_of(tip, database)
                if root is not None:
                    walk(read, root, known, self._limits)
        except (LookupError, ValueError, pygit2.GitError) as error:
            raise GitRefused(f"what was sent cannot be read: {error}") from error

    def adopt_branch(self) -> None:
        """Where the default branch was never made, show the first there is."""
        with self._held() as repository:
            if repository is None or tip_of(repository, self.branch()) is not None:
                return
            names = (str(name) for name in repository.references)
            heads = sorted(name for name in names if name.startswith("refs/heads/"))
            if heads:
                repository.set_head(heads[0])


def root_of(tip: bytes, database: pygit2.Odb) -> bytes | None:
    """The raw id of the tree of a commit or tag, if it is one; KeyError, ValueError."""
    for _ in range(TAGS_MAX):
        kind, content = database.read(pygit2.Oid(raw=tip))
        first, _, _rest = bytes(content[:HEADER_BYTES]).partition(b"\n")
        tip = bytes.fromhex(first.rpartition(b" ")[2].decode())
        if kind == pygit2.GIT_OBJECT_COMMIT:
            return tip
        if kind != pygit2.GIT_OBJECT_TAG:
            return None
    raise ValueError("there are too many tags of tags")


def is_branch_name(name: str) -> bool:
    """Whether git can hold a branch of that name."""
    return (
        not name.startswith("-")
        and len(name.encode()) <= BRANCH_BYTES_MAX
        and pygit2.reference_is_valid_name(f"refs/heads/{name}")
    )


def _blob_at(commit: pygit2.Commit, path: str) -> pygit2.Oid | None:
    try:
        return commit.tree[path].id
    except KeyError:
        return None


class WikiStorage:
    """One repository: a wiki's, or a project's own."""

    def __init__(
        self,
        repository: WikiRepository,
        note_write: Callable[[int], None] | None,
        note_change: Callable[[WikiRepository], None],
    ) -> None:
        self.repository = repository
        self._note_write = note_write
        self._note_change = note_change
        self._writing = asyncio.Lock()

    def note_write(self, user_id: int) -> None:
        """Record that this user wrote, which is activity in a project."""
        if self._note_write is not None:
            self._note_write(user_id)

    async def tree(self, version: str | None = None) -> WikiTree:
        """The files now, or at a commit, or 404; 503 for too many of them."""
        try:
            if version is None:
                return await asyncio.to_thread(self.repository.tree)
            tree = await asyncio.to_thread(self.repository.tree_at, version)
        except TreeTooLarge as error:
            raise unreadable(str(error)) from error
        if tree is None:
            raise not_found("Wiki Page")
        return tree

    async def read(self, blob: bytes) -> bytes:
        """A file's content by its object id."""
        return await asyncio.to_thread(self.repository.read, blob)

    async def change(
        self,
        decide: Callable[[WikiTree], CommitPlan],
        author: Author,
        *,
        branch: str | None = None,
    ) -> tuple[WikiTree, CommitPlan, WikiTree]:
        """Decide on the present tree and commit, while nobody else writes.

        Gives the trees before and after.  When cancelled, the commit is made whole or
        not at all.
        """
        # waiting here and not in the threads keeps one busy wiki from taking
        # every thread there is
        async with self._writing:
            try:
                changed = await asyncio.to_thread(
                    self.repository.change, decide, author, branch=branch
                )
            except GitRefused as error:
                raise invalid("base", str(error)) from error
            except TreeTooLarge as error:
                raise unreadable(str(error)) from error
        self._note_change(self.repository)
        return changed

    async def make(self) -> None:
        """Let there be a repository, though nothing is in it."""
        if not self.repository.path.exists():
            async with self._writing:
                await asyncio.to_thread(self.repository.ensure)

    async def receive(
        self, push: Callable[[], Awaitable[bytes]]
    ) -> tuple[bytes, WikiTree | None, WikiTree | None]:
        """What ``push`` gave, while nobody else writes, and the files before and after.

        These are None where they cannot be read, which a push may mend.
        """
        async with self._writing:
            before = await asyncio.to_thread(self._readable_tree)
            report = await push()
            await asyncio.to_thread(self.repository.adopt_branch)
            after = await asyncio.to_thread(self._readable_tree)
        self._note_change(self.repository)
        return report, before, after

    def _readable_tree(self) -> WikiTree | None:
        try:
            return self.repository.tree()
        except TreeTooLarge:
            return None
