"""What commits say of themselves, and what they did to files, by pygit2."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pygit2
from msgspec import Struct

COMPARED_MAX = 200
"""Of a commit that changes more files renames are not searched for."""


class Signed(Struct, frozen=True):
    """Who made a commit, and when by their own clock."""

    name: str
    email: str
    moment: datetime


class CommitNote(Struct, frozen=True):
    """What a commit says of itself; of texts that are no UTF-8 what can be read."""

    id: str
    parents: tuple[str, ...]
    message: str
    author: Signed
    committer: Signed

    @property
    def title(self) -> str:
        """The first line of the message."""
        return self.message.partition("\n")[0]


def changed_files(commit: pygit2.Commit) -> list[tuple[str, str]]:
    """Git's letter and the path of each file that a commit changed."""
    if commit.parents:
        diff = commit.parents[0].tree.diff_to_tree(commit.tree)
    else:
        diff = commit.tree.diff_to_tree(swap=True)
    if len(diff) <= COMPARED_MAX:
        diff.find_similar()
    deleted = pygit2.enums.DeltaStatus.DELETED
    return [
        (
            delta.status_char(),
            _readable(
                (delta.old_file if delta.status == deleted else delta.new_file).raw_path
            ),
        )
        for delta in diff.deltas
    ]


def note_of(commit: pygit2.Commit) -> CommitNote:
    """What a commit says of itself."""
    return CommitNote(
        id=str(commit.id),
        parents=tuple(str(parent) for parent in commit.parent_ids),
        message=_readable(commit.raw_message),
        author=_signed(commit.author),
        committer=_signed(commit.committer),
    )


def _signed(signature: pygit2.Signature) -> Signed:
    try:
        zone = timezone(timedelta(minutes=signature.offset))
        moment = datetime.fromtimestamp(signature.time, zone)
    except (ValueError, OverflowError, OSError):
        # anybody may write any number into a commit
        moment = datetime.fromtimestamp(0, UTC)
    name, email = _readable(signature.raw_name), _readable(signature.raw_email)
    return Signed(name, email, moment)


def _readable(text: bytes) -> str:
    return text.decode("utf-8", "replace")
