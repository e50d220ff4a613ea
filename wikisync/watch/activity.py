"""Which lists of a watch's service have several of its wikis, and what these say."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from wikisync.api.activity import GroupActivity
from wikisync.api.client import Client
from wikisync.watch.wiki import WatchedWiki

WIKIS_MIN = 4
"""Fewer wikis of a group are asked one by one."""


class ActiveProjects:
    """Those of a group, of which some have wikis of this watch."""

    def __init__(
        self, client: Client, group: str, wikis: Sequence[WatchedWiki]
    ) -> None:
        """Name the group, and the wikis that may be in it; nothing is asked."""
        self._group = group
        self._activity = GroupActivity(client, group)
        self._wikis = wikis

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"the list of active projects of {self._group}"

    @property
    def wikis(self) -> Collection[str]:
        """Those whose project is in the group now."""
        return [wiki.name for wiki in self._in_group()]

    async def active(self) -> Collection[str]:
        """Those in which something happened since this was asked before."""
        changed = await self._activity.changed()
        return [
            wiki.name
            for wiki in self._in_group()
            if changed is None or wiki.project_id in changed
        ]

    def _in_group(self) -> Sequence[WatchedWiki]:
        below = f"{self._group}/".casefold()
        return [one for one in self._wikis if one.path.casefold().startswith(below)]


def lists_of(client: Client, wikis: Sequence[WatchedWiki]) -> list[ActiveProjects]:
    """A list for the projects of each top group, from its first common subgroup on."""
    by_top: dict[str, list[WatchedWiki]] = {}
    for wiki in wikis:
        if wiki.section.kind == "project":
            by_top.setdefault(wiki.path.partition("/")[0].casefold(), []).append(wiki)
    return [
        ActiveProjects(client, _common_group(several), several)
        for several in by_top.values()
        if len(several) >= WIKIS_MIN
    ]


def _common_group(wikis: Sequence[WatchedWiki]) -> str:
    """The smallest group that has all these wikis' projects, or subgroups of it."""
    groups = [wiki.path.split("/")[:-1] for wiki in wikis]
    common: list[str] = []
    for names in zip(*groups, strict=False):
        if len({name.casefold() for name in names}) > 1:
            break
        common.append(names[0])
    return "/".join(common)
