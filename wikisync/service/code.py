"""A project's own repository: languages, license, README, sizes.

It is read once after every change, so that no list opens a repository.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pygit2
from msgspec import Struct

from wikisync.core.decoding import convert
from wikisync.core.packaged import packaged_toml
from wikisync.service.repository import WikiRepository
from wikisync.service.settings import KIB
from wikisync.service.tree import is_regular

LICENSE_BYTES_MAX = 128 * KIB

_LICENSE_FILE = re.compile(
    r"(?:un)?licen[sc]e(?:\.(?:md|txt|rst))?|copying(?:\.(?:md|txt))?", re.IGNORECASE
)
_README_FILE = re.compile(r"readme(?:\.[a-z]+)?", re.IGNORECASE)


class License(Struct, frozen=True):
    """A license that is known by its words."""

    key: str
    name: str
    source_url: str
    phrases: tuple[str, ...]
    """All of them are in the text, cases and spaces aside."""
    nickname: str | None = None

    @property
    def html_url(self) -> str:
        """Where people read about it."""
        return f"https://choosealicense.com/licenses/{self.key}/"


_TABLE = packaged_toml(__package__, "code.toml")
_BY_EXTENSION: Mapping[str, str] = {
    extension: name
    for name, extensions in _TABLE["languages"].items()
    for extension in extensions
}
_BY_NAME: Mapping[str, str] = _TABLE["files"]
LICENSES = convert(_TABLE["licenses"], tuple[License, ...])
OTHER_LICENSE = License("other", "Other", "", ())


class CodeFacts(Struct, frozen=True):
    """What is shown of a repository."""

    default_branch: str | None
    readme: str | None
    license: str | None
    license_key: str | None
    commit_count: int
    languages: Mapping[str, float]


def read_facts(repository: WikiRepository) -> CodeFacts:
    """Look through the default branch of a repository."""
    tree = repository.tree()
    if tree.commit is None:
        return CodeFacts(None, None, None, None, 0, {})
    files = [file for file in tree.files if is_regular(file.mode)]
    top = [file for file in files if "/" not in file.path]
    readme = next((f for f in top if _README_FILE.fullmatch(f.path)), None)
    license_file = next((f for f in top if _LICENSE_FILE.fullmatch(f.path)), None)
    license_key = None
    if license_file is not None:
        # a file of any size may be called so
        (size,) = repository.sizes([license_file.blob])
        license_key = OTHER_LICENSE.key
        if size <= LICENSE_BYTES_MAX:
            text = repository.read(license_file.blob).decode("utf-8", "replace")
            license_key = license_of(text).key
    code = [file for file in files if language_of(file.path)]
    sizes = repository.sizes([file.blob for file in code])
    return CodeFacts(
        default_branch=repository.branch(),
        readme=readme.path if readme else None,
        license=license_file.path if license_file else None,
        license_key=license_key,
        commit_count=repository.count_commits(),
        languages=shares_of(zip((file.path for file in code), sizes, strict=True)),
    )


def language_of(path: str) -> str | None:
    """The programming language of a file, by its name."""
    name = path.rpartition("/")[2].lower()
    if name in _BY_NAME:
        return _BY_NAME[name]
    stem, dot, extension = name.rpartition(".")
    return _BY_EXTENSION.get(extension) if dot and stem else None


def shares_of(sizes: Iterable[tuple[str, int]]) -> dict[str, float]:
    """Percentages by language, the largest first, of paths with the bytes of each."""
    totals: dict[str, int] = {}
    for path, size in sizes:
        language = language_of(path)
        if language is not None and size:
            totals[language] = totals.get(language, 0) + size
    whole = sum(totals.values())
    ordered = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    return {name: round(size * 100 / whole, 2) for name, size in ordered}


def license_of(text: str) -> License:
    """Which license a text is; ``other`` where it is none of the known ones."""
    plain = " ".join(text.lower().split())
    for known in LICENSES:
        if all(phrase in plain for phrase in known.phrases):
            return known
    return OTHER_LICENSE


def license_by_key(key: str) -> License:
    """A license that ``license_of`` gave."""
    return next((known for known in LICENSES if known.key == key), OTHER_LICENSE)


def folder_size(folder: Path) -> int:
    """Bytes of all files in a folder and below; 0 for one that is not there."""
    total = 0
    for parent, _folders, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118
            except FileNotFoundError:
                continue
    return total


def is_sound(folder: Path) -> bool:
    """Whether git can read a repository, or there is none yet."""
    if not folder.exists():
        return True
    try:
        repository = pygit2.Repository(
            str(folder), pygit2.enums.RepositoryOpenFlag.BARE
        )
        for reference in repository.references.iterator():
            reference.peel(pygit2.Commit).peel(pygit2.Tree)
    except (pygit2.GitError, KeyError, ValueError):
        return False
    return True
