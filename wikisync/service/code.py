"""A project's own repository: languages, license, README, sizes.

What lists and records show of it is read once after every change and kept in
the records, so that no list opens a repository.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pygit2
from msgspec import Struct

from wikisync.service.repository import WikiRepository
from wikisync.service.settings import KIB
from wikisync.service.tree import RepositoryFile, is_regular

LICENSE_BYTES_MAX = 128 * KIB

_LANGUAGES: Mapping[str, tuple[str, ...]] = {
    "Ada": ("adb", "ads"),
    "Assembly": ("asm", "s"),
    "Awk": ("awk",),
    "Batchfile": ("bat", "cmd"),
    "C": ("c", "h"),
    "C#": ("cs",),
    "C++": ("cc", "cpp", "cxx", "hpp", "hh"),
    "CMake": ("cmake",),
    "CSS": ("css",),
    "Clojure": ("clj", "cljs"),
    "Cython": ("pyx", "pxd"),
    "Dart": ("dart",),
    "Dockerfile": ("dockerfile",),
    "Elixir": ("ex", "exs"),
    "Elm": ("elm",),
    "Emacs Lisp": ("el",),
    "Erlang": ("erl", "hrl"),
    "F#": ("fs", "fsx"),
    "Fortran": ("f", "f90", "f95"),
    "Go": ("go",),
    "Groovy": ("groovy", "gradle"),
    "HCL": ("hcl", "tf"),
    "HTML": ("html", "htm"),
    "Haml": ("haml",),
    "Haskell": ("hs",),
    "Java": ("java",),
    "JavaScript": ("js", "mjs", "cjs", "jsx"),
    "Julia": ("jl",),
    "Jupyter Notebook": ("ipynb",),
    "Kotlin": ("kt", "kts"),
    "Less": ("less",),
    "Lua": ("lua",),
    "Makefile": ("mk",),
    "Nix": ("nix",),
    "OCaml": ("ml", "mli"),
    "Objective-C": ("m",),
    "PHP": ("php",),
    "Pascal": ("pas",),
    "Perl": ("pl", "pm"),
    "PowerShell": ("ps1", "psm1"),
    "Python": ("py", "pyi"),
    "R": ("r",),
    "Ruby": ("rb", "rake", "gemspec"),
    "Rust": ("rs",),
    "SCSS": ("scss",),
    "Scala": ("scala",),
    "Scheme": ("scm", "ss"),
    "Shell": ("sh", "bash", "zsh"),
    "Svelte": ("svelte",),
    "Swift": ("swift",),
    "TeX": ("tex", "sty"),
    "TypeScript": ("ts", "tsx"),
    "Vala": ("vala",),
    "Vim Script": ("vim",),
    "Vue": ("vue",),
    "XSLT": ("xsl", "xslt"),
    "Zig": ("zig",),
}
_BY_EXTENSION = {
    extension: name for name, every in _LANGUAGES.items() for extension in every
}
_BY_NAME = {
    "dockerfile": "Dockerfile",
    "gemfile": "Ruby",
    "makefile": "Makefile",
    "rakefile": "Ruby",
}
_LICENSE_FILE = re.compile(
    r"(?:un)?licen[sc]e(?:\.(?:md|txt|rst))?|copying(?:\.(?:md|txt))?", re.IGNORECASE
)
_README_FILE = re.compile(r"readme(?:\.[a-z]+)?", re.IGNORECASE)


class License(Struct, frozen=True):
    """A license that is known by its words."""

    key: str
    name: str
    nickname: str | None
    source_url: str
    phrases: tuple[str, ...]
    """All of them are in the text, cases and spaces aside."""

    @property
    def html_url(self) -> str:
        """Where people read about it."""
        return f"https://choosealicense.com/licenses/{self.key}/"


# the more particular ones first: each of the GNU ones is named in the next
LICENSES: tuple[License, ...] = (
    License(
        "agpl-3.0",
        "GNU Affero General Public License v3.0",
        "GNU AGPLv3",
        "https://www.gnu.org/licenses/agpl-3.0.txt",
        ("gnu affero general public license", "version 3"),
    ),
    License(
        "lgpl-3.0",
        "GNU Lesser General Public License v3.0",
        "GNU LGPLv3",
        "https://www.gnu.org/licenses/lgpl-3.0.txt",
        ("gnu lesser general public license version 3, 29 june 2007",),
    ),
    License(
        "lgpl-2.1",
        "GNU Lesser General Public License v2.1",
        "GNU LGPLv2.1",
        "https://www.gnu.org/licenses/lgpl-2.1.txt",
        ("gnu lesser general public license version 2.1, february 1999",),
    ),
    License(
        "gpl-3.0",
        "GNU General Public License v3.0",
        "GNU GPLv3",
        "https://www.gnu.org/licenses/gpl-3.0.txt",
        ("gnu general public license version 3, 29 june 2007",),
    ),
    License(
        "gpl-2.0",
        "GNU General Public License v2.0",
        "GNU GPLv2",
        "https://www.gnu.org/licenses/gpl-2.0.txt",
        ("gnu general public license version 2, june 1991",),
    ),
    License(
        "apache-2.0",
        "Apache License 2.0",
        None,
        "https://www.apache.org/licenses/LICENSE-2.0.txt",
        ("apache license version 2.0, january 2004",),
    ),
    License(
        "mpl-2.0",
        "Mozilla Public License 2.0",
        None,
        "https://www.mozilla.org/media/MPL/2.0/index.txt",
        ("mozilla public license version 2.0",),
    ),
    License(
        "epl-2.0",
        "Eclipse Public License 2.0",
        None,
        "https://www.eclipse.org/legal/epl-2.0",
        ("eclipse public license - v 2.0",),
    ),
    License(
        "cc0-1.0",
        "Creative Commons Zero v1.0 Universal",
        None,
        "https://creativecommons.org/publicdomain/zero/1.0/legalcode.txt",
        ("cc0 1.0 universal",),
    ),
    License(
        "unlicense",
        "The Unlicense",
        None,
        "https://unlicense.org/UNLICENSE",
        ("this is free and unencumbered software released into the public domain",),
    ),
    License(
        "isc",
        "ISC License",
        None,
        "https://opensource.org/licenses/isc",
        ("permission to use, copy, modify, and/or distribute this software",),
    ),
    License(
        "bsd-3-clause",
        'BSD 3-Clause "New" or "Revised" License',
        None,
        "https://opensource.org/licenses/BSD-3-Clause",
        (
            "redistribution and use in source and binary forms",
            "used to endorse or promote products derived",
        ),
    ),
    License(
        "bsd-2-clause",
        'BSD 2-Clause "Simplified" License',
        None,
        "https://opensource.org/licenses/BSD-2-Clause",
        ("redistribution and use in source and binary forms",),
    ),
    License(
        "mit",
        "MIT License",
        None,
        "https://opensource.org/licenses/MIT",
        (
            "permission is hereby granted, free of charge, to any person",
            "the software is furnished to do so",
        ),
    ),
)
OTHER_LICENSE = License("other", "Other", None, "", ())


class CodeFacts(Struct, frozen=True):
    """What is shown of a repository."""

    default_branch: str | None
    readme: str | None
    license: str | None
    license_key: str | None
    commit_count: int
    languages: Mapping[str, float]

    def columns(self) -> dict[str, object]:
        """As columns of the records, but for the languages."""
        return {
            "default_branch": self.default_branch,
            "readme": self.readme,
            "license": self.license,
            "license_key": self.license_key,
            "commit_count": self.commit_count,
        }


def read_facts(repository: WikiRepository) -> CodeFacts:
    """Look through the default branch of a repository."""
    tree = repository.tree()
    if tree.commit is None:
        return CodeFacts(None, None, None, None, 0, {})
    top = [f for f in tree.files if "/" not in f.path and is_regular(f.mode)]
    license_file = _first(top, _LICENSE_FILE)
    readme = _first(top, _README_FILE)
    key = None
    if license_file is not None:
        key = _license_key(repository, license_file)
    return CodeFacts(
        default_branch=repository.branch(),
        readme=None if readme is None else readme.path,
        license=None if license_file is None else license_file.path,
        license_key=key,
        commit_count=repository.count_commits(),
        languages=shares_of(_sizes(repository, tree.files)),
    )


def _license_key(repository: WikiRepository, file: RepositoryFile) -> str:
    """Which license a file holds; one of any size may be called so."""
    (size,) = repository.sizes([file.blob])
    if size > LICENSE_BYTES_MAX:
        return OTHER_LICENSE.key
    return license_of(repository.read(file.blob).decode("utf-8", "replace")).key


def language_of(path: str) -> str | None:
    """The programming language of a file, by its name."""
    name = path.rpartition("/")[2].lower()
    if name in _BY_NAME:
        return _BY_NAME[name]
    stem, dot, extension = name.rpartition(".")
    return _BY_EXTENSION.get(extension) if dot and stem else None


def shares_of(sizes: Iterable[tuple[str, int]]) -> dict[str, float]:
    """Percentages by language, the largest first.

    Args:
        sizes: path and bytes of each file.
    """
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


def _first(
    files: Sequence[RepositoryFile], pattern: re.Pattern[str]
) -> RepositoryFile | None:
    return next((file for file in files if pattern.fullmatch(file.path)), None)


def _sizes(
    repository: WikiRepository, files: Sequence[RepositoryFile]
) -> Iterable[tuple[str, int]]:
    wanted = [
        file for file in files if is_regular(file.mode) and language_of(file.path)
    ]
    sizes = repository.sizes([file.blob for file in wanted])
    return zip((file.path for file in wanted), sizes, strict=True)
