"""The groups that the wikis of a site lie in: names, tree and order.  Pure.

The path of a wiki names its groups. What they are called is known of those whose own
wiki is in the site, and of those that a project of the site lies in directly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from wikisync.site.context import GroupContext, WikiContext, WikiRef
from wikisync.site.navigation import natural_key

if TYPE_CHECKING:
    from wikisync.site.model import WikiInfo


def group_titles(wikis: Iterable[WikiInfo]) -> dict[str, str]:
    """Path of a group to its name, as far as the service told it."""
    titles: dict[str, str] = {}
    for wiki in wikis:
        path = wiki.owner.full_path
        if wiki.owner.kind == "group":
            titles[path] = wiki.title
        elif name := wiki.placeholders.get("group_name"):
            titles.setdefault(path.rpartition("/")[0], name)
    return titles


def common_group(wikis: Iterable[WikiInfo]) -> str:
    """Path of the innermost group that all wikis lie in; empty where there is none."""
    paths = [_group_of(wiki.owner.kind, wiki.owner.full_path) for wiki in wikis]
    shared = []
    for parts in zip(*(path.split("/") for path in paths), strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "/".join(shared)


def natural_path(path: str) -> tuple[object, ...]:
    """Sort key of a path, by which ``docs/v9`` comes before ``docs/v10``."""
    return tuple(natural_key(part) for part in path.split("/"))


def group_tree(
    wikis: Sequence[WikiContext | WikiRef], titles: Mapping[str, str]
) -> tuple[GroupContext, ...]:
    """Wikis below the groups of their paths, both sorted by title.

    The groups that all lie in are left out; what lies directly in the innermost of
    these comes first, as a group without a title.
    """
    root = _Group("", "")
    for wiki in wikis:
        root.below(_group_of(wiki.kind, wiki.full_path)).wikis.append(wiki)
    while not root.wikis and len(root.groups) == 1:
        (root,) = root.groups.values()
    tree = root.context(titles)
    direct = GroupContext(title="", full_path=tree.full_path, wikis=tree.wikis)
    return (direct, *tree.groups) if tree.wikis else tree.groups


def _group_of(kind: str, path: str) -> str:
    return path if kind == "group" else path.rpartition("/")[0]


class _Group:
    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.path = path
        self.wikis: list[WikiContext | WikiRef] = []
        self.groups: dict[str, _Group] = {}

    def below(self, path: str) -> _Group:
        """The group at a path below this one."""
        group = self
        for name in path.split("/") if path else ():
            full = f"{group.path}/{name}".lstrip("/")
            group = group.groups.setdefault(name, _Group(name, full))
        return group

    def context(self, titles: Mapping[str, str]) -> GroupContext:
        """The finished group; groups nest at most twenty deep on the service."""
        groups = [group.context(titles) for group in self.groups.values()]
        return GroupContext(
            title=titles.get(self.path, self.name),
            full_path=self.path,
            wikis=tuple(sorted(self.wikis, key=lambda wiki: natural_key(wiki.title))),
            groups=tuple(sorted(groups, key=lambda group: natural_key(group.title))),
        )
