"""Git's tree objects, which client and service read.  Pure."""

from collections.abc import Iterator

SHA1_BYTES = 20
"""Of an id in a repository of git's usual kind."""
DIRECTORY = 0o40000


class Unexplained(LookupError):
    """What git says does not lead to the pages of a wiki; its list of pages does."""


class TreeMissing(Unexplained):
    """A tree that is needed was not sent."""


def tree_entries(
    tree: bytes, id_bytes: int = SHA1_BYTES
) -> Iterator[tuple[int, bytes, bytes]]:
    """Mode, name and id of everything in a tree; TreeMissing if it is damaged.

    Git's format is ``mode SP name NUL id`` repeated; read directly because a thousand
    entry objects of a library cost thirty times as much.
    """
    at = 0
    while at < len(tree):
        mode_end = tree.find(b" ", at)
        name_end = tree.find(b"\0", mode_end)
        if not at < mode_end < name_end or name_end + id_bytes >= len(tree):
            raise TreeMissing("it is cut")
        try:
            mode = int(tree[at:mode_end], 8)
        except ValueError:
            raise TreeMissing("it is damaged") from None
        end = name_end + 1 + id_bytes
        yield mode, tree[mode_end + 1 : name_end], tree[name_end + 1 : end]
        at = end
