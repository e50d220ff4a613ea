"""Names that other programs and systems give to what they keep in a folder.  Pure.

One list for all of wikisync, ``foreign.toml``, which the page ``folder/other-programs``
of the guide shows; ``ignore`` asks it.
"""

from msgspec import Struct, convert

from wikisync.core.packaged import packaged_toml


class Folders(Struct, frozen=True, forbid_unknown_fields=True):
    """Folders of one kind."""

    who: str
    """Who makes them, as the subject of a sentence."""
    names: tuple[str, ...]
    """Patterns of the shell; of two names with ``/``, the first one has the second."""
    folds_case: bool = False
    """Whether who makes them takes upper and lower case for the same."""


class Names(Struct, frozen=True, forbid_unknown_fields=True):
    """Names of files that one program gives."""

    who: str
    pattern: str
    """A regular expression for the whole name; of a copy, for its stem or its end."""
    example: str
    is_sure: bool = True
    """False where people give such names as well, so that the texts must be alike."""


class Stubs(Struct, frozen=True, forbid_unknown_fields=True):
    """Files that one program leaves in the place of others."""

    who: str
    endings: tuple[str, ...]
    """What comes behind the name of the other file; a dot may come in front of it."""
    of_folders: bool = False
    """Whether the other one may be a folder, or have a name without a dot."""
    of_pages: bool = False
    """Whether people make such files of anything else, too."""
    drops_extension: bool = False
    """Whether it may come in the place of the other file's extension."""


class Foreign(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole list."""

    folders: tuple[Folders, ...]
    files: tuple[Names, ...]
    copies: tuple[Names, ...]
    weak_copies: tuple[Names, ...]
    copy_of: Names
    stubs: tuple[Stubs, ...]


FOREIGN = convert(packaged_toml(__package__, "foreign.toml"), Foreign)
