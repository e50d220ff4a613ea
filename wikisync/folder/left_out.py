"""What is said of files that would be pages but for their names or places.  Pure.

Somebody wrote a text and may take it for published, so none is left out silently: it
is reported until it has another name, is gone, or stands in ``.wikisyncignore``.
"""

from collections.abc import Sequence

from wikisync.core.model import STRAY_CONFLICT, Problem, split_extension
from wikisync.folder.ignore import (
    ATTENTION,
    CONFLICT_MARK,
    IGNORE_FILE,
    is_hidden_page,
    pattern_of,
)
from wikisync.folder.naming import is_fetched, page_of_conflict, parse_path


def ignored_page(path: str) -> Problem | None:
    """What is said of a file that is ignored by its name; None for nothing."""
    name = path.rpartition("/")[2]
    split = split_extension(name)
    if split is None:
        return None
    if is_hidden_page(name):
        return _problem(
            "name-hidden",
            path,
            "a name that begins with a dot hides a file; it is not published",
            "give it another name to publish it",
        )
    if name.startswith(".") or split[0].lower() == ATTENTION:
        return None
    page = page_of_conflict(path)
    parsed = None if page is None else parse_path(page)
    # reported by page: whether its conflict is open, the reader of the scan knows
    return _problem(
        STRAY_CONFLICT,
        path,
        f"{path} has the name of a conflict file, but no conflict is open here;"
        " it is not published",
        f"give it a name without {CONFLICT_MARK} to publish it, or remove it, unless"
        " it belongs to another machine that has the conflict",
        subject=parsed[0] if parsed else path,
    )


def page_in_uploads(path: str) -> Problem | None:
    """What is said of a page's file in the folder of the attachments."""
    if is_fetched(path) or split_extension(path) is None:
        return None
    return _problem(
        "page-in-uploads",
        path,
        "uploads is the folder of attachments; no page in it is published",
        "move it to another folder to publish it",
    )


def copy_of_page(path: str, who: str) -> Problem:
    """What is said of a page by a name that a program gives to copies."""
    pattern = pattern_of(path)
    return Problem(
        "page-copy",
        path,
        f"{who} gives this name to a copy of another file; it is not published",
        "put what you need from it into the page and remove it; or add a line to"
        f" {IGNORE_FILE}: {pattern} leaves it out silently, !{pattern} publishes it",
    )


def folder_of_program(paths: Sequence[str], who: str) -> Problem:
    """What is said of folders of one name that a program made for its own purposes."""
    path, *more = paths
    pattern = pattern_of(path)
    if more:
        pattern = f"**/{pattern.rpartition('/')[2]}"
    others = f", as in {len(more)} more of this name" if more else ""
    return Problem(
        "folder-left-out",
        path,
        f"{who} makes this folder; no page in it is published{others}",
        f"add a line to {IGNORE_FILE}: {pattern}/ leaves it out silently, !{pattern}/"
        " publishes its pages",
        is_note=True,
    )


def kept_elsewhere(path: str, stub: str, who: str) -> Problem:
    """What is said of a file that is missing, and for which a stub stands."""
    return Problem(
        "file-elsewhere",
        path,
        f"its content is not here: {who} left {stub} in its place; the page or file"
        " is neither changed nor removed",
        f"download it with that program; to delete it, remove {stub}, too",
    )


def _problem(
    code: str, path: str, message: str, hint: str, *, subject: str = ""
) -> Problem:
    silent = f"to leave it out silently, add this line to {IGNORE_FILE}:"
    step = f"{hint}; {silent} {pattern_of(path)}"
    return Problem(code, subject or path, message, step)
