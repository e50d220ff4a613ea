"""In which projects of a group something happened, asked with one list.

Every edit of a wiki is activity (a push by git a moment later), and so is much else: a
project on the list is only a reason to ask for its wiki's newest commit.
"""

from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from wikisync.api.client import Client
from wikisync.api.exchange import Request, decode, query_of
from wikisync.contract.routes import OtherEndpoint as Other

PARTS = (20, 100)
"""Projects asked for: first as many as are active between two requests in a busy group,
and as many as the service gives where these are all new."""


class ActiveRecord(msgspec.Struct, frozen=True):
    """Of a project no more than when something happened in it last."""

    id: int
    last_activity_at: str


class _Listed(msgspec.Struct, frozen=True):
    """Projects by their last activity, the newest first."""

    times: Mapping[int, str]
    etag: str | None
    is_cut: bool
    """Whether there may be more of them."""

    def may_lack_changes(self, before: Mapping[int, str]) -> bool:
        """Whether projects behind the last one may have changed, too."""
        return self.is_cut and not self.times.items() & before.items()


class GroupActivity:
    """The projects of one group, those of its subgroups included."""

    def __init__(self, client: Client, group: str) -> None:
        self._client = client
        self._group = group
        self._times: Mapping[int, str] | None = None
        """Of the projects that were among the first; None before the first list."""
        self._etag: str | None = None

    async def changed(self) -> frozenset[int] | None:
        """The ids of the projects with activity since this was asked before.

        None where there were too many; empty for the first list, or RemoteError.
        """
        first, before = await self._listed(PARTS[0], self._etag), self._times
        if first is None:
            return frozenset()
        last = first
        if before is not None and first.may_lack_changes(before):
            last = await self._listed(PARTS[1]) or first
        # both requests came through: else all of it is asked for again
        self._etag, self._times = first.etag, {**(before or {}), **last.times}
        if before is None:
            return frozenset()
        if last.may_lack_changes(before):
            return None
        return frozenset(number for number, _ in last.times.items() - before.items())

    async def _listed(self, records: int, etag: str | None = None) -> _Listed | None:
        """The projects that were active last; None where they are those of the ETag."""
        query = query_of(
            {
                "include_subgroups": True,
                "with_shared": False,
                "simple": True,
                "order_by": "last_activity_at",
                "sort": "desc",
                "per_page": records,
            }
        )
        purpose = self._client.purpose(
            f"list the active projects of group {self._group}", "group", self._group
        )
        path = Other.GROUP_PROJECTS.path(id=self._group)
        request = Request("GET", path, purpose, query, etag=etag, waits=False)
        answer = await self._client.send(request)
        if answer.status == HTTPStatus.NOT_MODIFIED:
            return None
        found = decode(answer, list[ActiveRecord], purpose)
        times = {one.id: one.last_activity_at for one in found}
        return _Listed(times, answer.headers.get("etag"), len(found) >= records)
