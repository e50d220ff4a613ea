"""Attacks by pushes: few bytes that stand for more than there is memory.

Each makes a commit in a bare repository that is pushed by the real git.
"""

from pathlib import Path

import pygit2

from tests.support.git import GitRan, run_git

AUTHOR = pygit2.Signature("Mallory", "mallory@example.com", 1_700_000_000, 0)
BRANCH = "refs/heads/main"
DIRECTORY, FILE = pygit2.GIT_FILEMODE_TREE, pygit2.GIT_FILEMODE_BLOB


def repository_in(folder: Path) -> pygit2.Repository:
    """An empty bare repository."""
    return pygit2.init_repository(str(folder), bare=True, initial_head="main")


def tree_of_trees(repository: pygit2.Repository, levels: int) -> pygit2.Oid:
    """A tree whose every level names the one below twice: 2 to the power of levels."""
    builder = repository.TreeBuilder()
    builder.insert("a.md", repository.create_blob(b"x"), FILE)
    tree = builder.write()
    for _ in range(levels):
        builder = repository.TreeBuilder()
        builder.insert("a", tree, DIRECTORY)
        builder.insert("b", tree, DIRECTORY)
        tree = builder.write()
    return tree


def deep_tree(repository: pygit2.Repository, depth: int) -> pygit2.Oid:
    """One file below so many folders."""
    builder = repository.TreeBuilder()
    builder.insert("a.md", repository.create_blob(b"x"), FILE)
    tree = builder.write()
    for _ in range(depth):
        builder = repository.TreeBuilder()
        builder.insert("d", tree, DIRECTORY)
        tree = builder.write()
    return tree


def swollen_file(repository: pygit2.Repository, size: int) -> pygit2.Oid:
    """One file that a thousandth of its bytes unpacks to."""
    builder = repository.TreeBuilder()
    builder.insert("a.md", repository.create_blob(bytes(size)), FILE)
    return builder.write()


def many_files(repository: pygit2.Repository, count: int) -> pygit2.Oid:
    """So many files, each an object of its own."""
    builder = repository.TreeBuilder()
    for number in range(count):
        blob = repository.create_blob(str(number).encode())
        builder.insert(f"{number}.md", blob, FILE)
    return builder.write()


def commit(
    repository: pygit2.Repository, tree: pygit2.Oid, reference: str = BRANCH
) -> pygit2.Oid:
    """A commit of a tree, on top of what the branch has."""
    found = repository.references.get(reference)
    parents = [] if found is None else [found.target]
    return repository.create_commit(reference, AUTHOR, AUTHOR, "m", tree, parents)


def name_many(repository: pygit2.Repository, count: int) -> None:
    """So many branches at the tip of the first."""
    tip = repository.references[BRANCH].target
    for number in range(count):
        repository.references.create(f"refs/heads/b{number}", tip)


async def push(folder: Path, address: str, *what: str) -> GitRan:
    """Push by git, over whatever is there."""
    return await run_git(
        "push", "--force", address, *(what or (BRANCH,)), folder=folder
    )
