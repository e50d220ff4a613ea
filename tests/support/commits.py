"""Commits of named persons at named times, as git's library makes them."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import pygit2


def committed(
    folder: Path,
    files: Mapping[str, str | None],
    at: str,
    author: str = "Ada Lovelace",
    email: str = "ada@example.com",
) -> str:
    """Write files into a work tree, None to remove one, and commit all; its id."""
    if not (folder / ".git").exists():
        pygit2.init_repository(str(folder), initial_head="main").free()
    for name, text in files.items():
        if text is None:
            (folder / name).unlink()
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(text.encode())
    repository = pygit2.Repository(str(folder))
    repository.index.add_all()
    repository.index.write()
    tree = repository.index.write_tree()
    time = int(datetime.fromisoformat(f"{at}+00:00").timestamp())
    person = pygit2.Signature(author, email, time, 0)
    parents = [] if repository.head_is_unborn else [repository.head.target]
    commit = repository.create_commit("HEAD", person, person, "edit", tree, parents)
    repository.free()
    return str(commit)


def committed_as_it_is(git: Path, person: str, text: str) -> None:
    """Commit a home page, whatever git's library says of who and when."""
    repository = pygit2.Repository(str(git))
    head = repository.references["refs/heads/main"].target
    builder = repository.TreeBuilder()
    blob = repository.create_blob(text.encode())
    builder.insert("home.md", blob, pygit2.enums.FileMode.BLOB)
    lines = f"tree {builder.write()}\nparent {head}\nauthor {person}"
    content = f"{lines}\ncommitter {person}\n\nedit\n".encode()
    made = repository.odb.write(pygit2.enums.ObjectType.COMMIT, content)
    (git / "refs/heads/main").write_text(f"{made}\n")
