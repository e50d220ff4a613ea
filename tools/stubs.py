"""Write the stubs of what is made from tables and signatures (``make stubs``).

``contract/arguments.pyi`` has the arguments of the operations on projects, as the table
names them; ``api/blocking.pyi`` the methods of the client for programs without a loop.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import wikisync.api
from wikisync.api.client import Client
from wikisync.api.projects import Projects
from wikisync.api.wikis import Wiki
from wikisync.contract.parameters import Parameter, parameters_of
from wikisync.contract.routes import Endpoint

PACKAGE = Path(__file__).resolve().parent.parent / "wikisync"
TYPES = {
    "boolean": "bool",
    "integer": "int",
    "string": "str",
    "datetime": "str",
    "date": "str",
    "integers": "Sequence[int]",
    "strings": "Sequence[str]",
    "hash": "Mapping[str, object]",
    "file": "Path | str",
}
ENDPOINTS = (
    *(Endpoint.LIST, Endpoint.USER_LIST, Endpoint.CONTRIBUTED_LIST),
    *(Endpoint.STARRED_LIST, Endpoint.FORK_LIST, Endpoint.USERS, Endpoint.GROUPS),
    *(Endpoint.SHARE_LOCATIONS, Endpoint.STARRERS, Endpoint.SHOW, Endpoint.CREATE),
    *(Endpoint.CREATE_FOR_USER, Endpoint.EDIT, Endpoint.FORK, Endpoint.DELETE),
    Endpoint.SHARE,
)
"""Operations with methods that take the parameters by name."""
ASKED = frozenset(
    {"version", "current_user", "current_token", "project", "group", "projects"}
    | {"groups", "group_projects", "group_descendants"}
)
"""Methods of the client that programs call; the others are for its own classes."""
HEAD = '''\
"""Written by ``make stubs``."""
'''
IMPORTS = """\
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Self, TypedDict, Unpack
from wikisync.api.client import Id
from wikisync.api.projects import Deletion, Toggle
from wikisync.api.upload import Spool
from wikisync.api.wikis import PageList
from wikisync.contract import arguments, project_schema, schema
from wikisync.contract.project_schema import ProjectRecord
from wikisync.contract.schema import AttachmentRecord, CommentRecord, CurrentUserRecord
from wikisync.contract.schema import GroupRecord, TokenRecord, UserRecord
from wikisync.contract.schema import VersionRecord, WikiPageRecord
from wikisync.core.messages import Progress
from wikisync.core.model import AttachmentPath, Format, WikiOwner
"""
RETURNS = {
    "ProjectList": "list[ProjectRecord]",
    "GroupList": "list[project_schema.ProjectGroupRecord]",
    "AsyncGenerator[bytes, None]": "bytes",
}


def arguments() -> str:
    """The stub of the arguments."""
    lines: list[str] = []
    for endpoint in ENDPOINTS:
        lines.append(f"class {class_of(endpoint)}(TypedDict, total=False):")
        lines += [f"    {row.name}: {type_of(row)}" for row in rows_of(endpoint)]
        lines += ["    also: Mapping[str, object]", ""]
    return with_imports("\n".join(lines))


def class_of(endpoint: Endpoint) -> str:
    """The name of an operation's arguments."""
    return "".join(word.capitalize() for word in endpoint.value.split("_"))


def rows_of(endpoint: Endpoint) -> Iterator[Parameter]:
    """What the operation takes, in the order of the table."""
    yield from parameters_of(endpoint).values()


def type_of(row: Parameter) -> str:
    """The type of an argument; None stands for one that is not sent."""
    is_number = row.type == "integer"
    if row.choices and row.type in {"string", "integer"}:
        choices = (one if is_number else f'"{one}"' for one in row.choices)
        return f"Literal[{', '.join(choices)}] | None"
    return f"{TYPES[row.type]} | None"


def blocking() -> str:
    """The stub of the client that waits."""
    lines = [
        *methods_of("Client", Client, ASKED),
        "    def __init__(self, base_url: str, token: str | None = None) -> None: ...",
        "    def __enter__(self) -> Self: ...",
        "    def __exit__(self, *error: object) -> None: ...",
        *methods_of("Wiki", Wiki, None),
        "    def __init__(self, client: Client, owner: WikiOwner) -> None: ...",
        "    owner: WikiOwner",
        "    @property",
        "    def web_url(self) -> str: ...",
        *methods_of("Projects", Projects, None),
        "    def __init__(self, client: Client) -> None: ...",
    ]
    return with_imports("\n".join(lines))


def public() -> str:
    """The stub of the client's public names."""
    lines = ["from wikisync.api import blocking as blocking"]
    lines += [
        f"from {module} import {name} as {name}"
        # what the stub itself leaves out
        for module, names in wikisync.api.PUBLIC.items()  # type: ignore[attr-defined]
        for name in names
    ]
    return HEAD + "\n".join(lines) + f"\n\n__all__ = {wikisync.api.__all__}\n"


def methods_of(name: str, kind: type, asked: frozenset[str] | None) -> Iterator[str]:
    """A class with its methods, as they are called without a loop."""
    yield f"class {name}:"
    (body,) = ast.parse(inspect.getsource(kind)).body
    for one in ast.iter_child_nodes(body):
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        is_asked = not one.name.startswith("_") if asked is None else one.name in asked
        if not is_asked or one.decorator_list or one.returns is None:
            continue
        returned = ast.unparse(one.returns)
        returned = RETURNS.get(
            returned, re.sub(r"\b(listing\.)?Listing\[", "list[", returned)
        )
        yield f"    def {one.name}({ast.unparse(one.args)}) -> {returned}: ..."


def with_imports(body: str) -> str:
    """The stub with what it names of the imports."""
    lines: list[str] = []
    for line in IMPORTS.splitlines():
        start, _, names = line.partition(" import ")
        used = [one for one in names.split(", ") if re.search(rf"\b{one}\b", body)]
        lines += [f"{start} import {', '.join(used)}"] if used else []
    return HEAD + "\n".join(lines) + "\n\n" + body + "\n"


FILES = {
    PACKAGE / "api" / "__init__.pyi": public,
    PACKAGE / "contract" / "arguments.pyi": arguments,
    PACKAGE / "api" / "blocking.pyi": blocking,
}


def main() -> None:
    """Write them."""
    for path, text in FILES.items():
        path.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
