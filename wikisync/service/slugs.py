"""How a title becomes a path, and what a path says of slug and title.

Pure.  The rules are the service's (``docs/service.md`` "Slugs and titles"): whitespace
is collapsed, the path is made absolute and normal, spaces become hyphens, and nothing
else is touched - no case folding, no Unicode normalisation.
"""

from __future__ import annotations

from wikisync.model import EXTENSIONS, Format, path_of_title, split_extension


def path_of_new_title(title: str, current: str) -> str:
    """The path that an edit's title asks for, given the page's present one.

    A bare leaf stays in its directory, a title with a slash counts from the root.
    """
    wanted = path_of_title(title)
    directory, slash, _leaf = current.rpartition("/")
    if not wanted or "/" in title or not slash:
        return wanted
    return f"{directory}/{wanted}"


def title_of(slug: str) -> str:
    """The title the service shows for a slug: its leaf, hyphens as spaces."""
    return slug.rpartition("/")[2].replace("-", " ")


def lookup_keys(slug: str) -> tuple[str, ...]:
    """The paths under which a slug is searched, in order."""
    return tuple(dict.fromkeys((slug, path_of_title(slug))))


def fold(path: str) -> str:
    """A path with case taken out, as lookup and duplicate checks see it."""
    return path.casefold()


def file_path(path: str, format: Format, present: str = "") -> str:  # noqa: A002
    """The file of a page in the repository.

    Args:
        path: path without extension.
        format: the format it shall have.
        present: the file's present path, if it has one; its extension is kept
            in lower case when it already means ``format``.
    """
    split = split_extension(present) if present else None
    if split is not None and split[1] is format:
        return path + present[len(split[0]) :].lower()
    return path + EXTENSIONS[format][0]


def title_problem(
    path: str, *, title_bytes_max: int, directory_bytes_max: int, directories_max: int
) -> str | None:
    """Why a path cannot be a title, in the service's words, or None."""
    if not path:
        return "can't be blank"
    if path.count("/") > directories_max:
        return f"exceeds the limit of {directories_max} directories"
    *directories, leaf = path.split("/")
    if len(leaf.encode()) > title_bytes_max:
        return f"exceeds the limit of {title_bytes_max} bytes"
    for directory in directories:
        if len(directory.encode()) > directory_bytes_max:
            limit = f"exceeds the limit of {directory_bytes_max} bytes"
            return f'{limit} for directory name "{directory}"'
    return None
