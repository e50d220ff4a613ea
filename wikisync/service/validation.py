"""What a project may be called and be, and what its attributes are.  Pure.

Problems are values, field to sentences, so that all are reported at once.  Attributes
that lists ask for have a column in the records, others are kept in one object.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from wikisync.contract.parameters import project_attributes
from wikisync.core.packaged import packaged_toml
from wikisync.service.access import Visibility

Problems = dict[str, list[str]]

NAME_CHARS_MAX = 255
TOPIC_CHARS_MAX = 255
BUILD_TIMEOUT_S = range(600, 31 * 24 * 3600 + 1)
RANKS: Mapping[Visibility, int] = {"private": 0, "internal": 10, "public": 20}
RESERVED_PATHS = frozenset(
    [
        *("-", "badges", "blame", "blob", "builds", "commits", "create", "create_dir"),
        *("edit", "environments/folders", "files", "find_file", "gitlab-lfs/objects"),
        *("info/lfs/objects", "new", "preview", "raw", "refs", "tree", "update"),
        "wikis",
    ]
)
"""Paths that would be taken for parts of a project's own addresses."""

_PATH = re.compile(r"[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*")
_SPECIAL = (
    "must not start or end with a special character and must not contain"
    " consecutive special characters."
)
_ENDING = (
    "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-',"
    " end in '.git' or end in '.atom'"
)
_NAME = (
    "can contain only letters, digits, emoji, '_', '.', '+', dashes, or spaces."
    " It must start with a letter, digit, emoji, or '_'."
)
# what joins the parts of one emoji
_JOINERS = frozenset("\u200d\ufe0e\ufe0f\u20e3")


def path_problems(path: str) -> Problems:
    """What is wrong with a project's path."""
    texts: list[str] = []
    if not path:
        texts.append("can't be blank")
    elif len(path) > NAME_CHARS_MAX:
        texts.append(_too_long(NAME_CHARS_MAX))
    elif path.lower() in RESERVED_PATHS:
        texts.append(f"{path} is a reserved name")
    elif path.lower().endswith((".git", ".atom")):
        texts.append(_ENDING)
    elif not _PATH.fullmatch(path):
        texts.append(_SPECIAL)
    if not texts:
        return {}
    return {"path": texts, "project_namespace.path": list(texts)}


def name_problems(name: str) -> Problems:
    """What is wrong with a project's name."""
    if not name.strip():
        return {"name": ["can't be blank"]}
    if len(name) > NAME_CHARS_MAX:
        return {"name": [_too_long(NAME_CHARS_MAX)]}
    is_right = _begins(name[0]) and all(_follows(char) for char in name)
    return {} if is_right else {"name": [_NAME]}


def path_from_name(name: str) -> str:
    """The path of a project that was given a name only."""
    decomposed = unicodedata.normalize("NFKD", name)
    plain = decomposed.encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9_]+", "-", plain).strip("-_")


def visibility_problems(
    visibility: Visibility, space: Visibility, source: Visibility | None = None
) -> Problems:
    """What is wrong with it in a namespace (a user's is public), or as a fork."""
    if RANKS[visibility] > RANKS[space]:
        text = f"{visibility} is not allowed in a {space} group."
        return {"visibility_level": [text]}
    if source is not None and RANKS[visibility] > RANKS[source]:
        text = (
            f"{visibility} is not allowed since the fork source project has lower"
            " visibility."
        )
        return {"visibility_level": [text]}
    return {}


def attribute_problems(
    values: Mapping[str, object], description_chars_max: int
) -> Problems:
    """What is wrong with other attributes."""
    problems: Problems = {}
    description = values.get("description")
    if isinstance(description, str) and len(description) > description_chars_max:
        problems["description"] = [_too_long(description_chars_max)]
    path = values.get("ci_config_path")
    if isinstance(path, str) and (path.startswith("/") or ".." in path.split("/")):
        problems["ci_config_path"] = [
            "cannot include leading slash or directory traversal."
        ]
    timeout = values.get("build_timeout")
    if isinstance(timeout, int) and timeout not in BUILD_TIMEOUT_S:
        problems["build_timeout"] = ["needs to be between 10 minutes and 1 month"]
    topics = values.get("topics")
    if isinstance(topics, Sequence) and any(
        len(str(topic)) > TOPIC_CHARS_MAX for topic in topics
    ):
        problems["topics"] = [_too_long(TOPIC_CHARS_MAX)]
    return problems


def taken_problems(fields: Sequence[str]) -> Problems:
    """A name or a path that is in use."""
    problems: Problems = {name: ["has already been taken"] for name in fields}
    if "name" in fields:
        problems["project_namespace.name"] = ["has already been taken"]
    return problems


def sentences(problems: Problems) -> list[str]:
    """The problems with the names of their fields in front, as sentences."""
    return [
        f"{field.replace('.', '_').replace('_', ' ').capitalize()} {text}"
        for field, texts in problems.items()
        for text in texts
    ]


def _too_long(chars_max: int) -> str:
    return f"is too long (maximum is {chars_max} characters)"


def _begins(char: str) -> bool:
    return char == "_" or unicodedata.category(char) in {
        "Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "No", "So",
    }  # fmt: skip


def _follows(char: str) -> bool:
    if _begins(char) or char in " .+" or char in _JOINERS:
        return True
    return unicodedata.category(char) in {"Pd", "Mn", "Mc", "Sk"}


_TABLE = packaged_toml(__package__, "attributes.toml")
COLUMNS = frozenset(_TABLE["columns"])
"""Attributes with a column of the same name."""
SHOWN: Mapping[str, tuple[str, ...]] = {
    view: tuple(names) for view, names in _TABLE["shown"].items()
}
"""Attributes in the views: ``levels`` and ``plain`` for everyone who sees the full
one, the others for who has the role."""
SWITCHES: Mapping[str, str] = _TABLE["switches"]
"""Old attributes that say whether a feature is on, and the level behind each."""

KEPT: frozenset[str] = frozenset(
    row.name
    for row in project_attributes()
    if row.name not in COLUMNS.union(_TABLE["acts"]) and not row.replaced_by
)
"""Attributes in the one object."""


def _default(name: str, type_: str) -> object:
    if name in _TABLE["defaults"]:
        return _TABLE["defaults"][name]
    if name.endswith("_access_level"):
        return "enabled"
    if type_ == "boolean":
        return name in _TABLE["on"]
    return None


DEFAULTS: Mapping[str, object] = MappingProxyType(
    {
        row.name: _default(row.name, row.type)
        for row in project_attributes()
        if row.name in KEPT
    }
)
"""What a kept attribute is until it is set."""


def expiration_policy(
    stored: Mapping[str, object], created_at: str
) -> dict[str, object]:
    """The record's ``container_expiration_policy``."""
    given = stored.get("container_expiration_policy_attributes")
    policy = {"name_regex_keep": None, **_TABLE["expiration_policy"]} | dict(
        given if isinstance(given, Mapping) else {}
    )
    # the old name of the pattern still shows what it means
    policy["name_regex"] = policy["name_regex_delete"]
    return policy | {"next_run_at": created_at}
