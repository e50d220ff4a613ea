"""Which wikis of a service a person means, and which of them are there."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from wikisync.api.address import ServiceAddress
from wikisync.api.client import Client
from wikisync.contract.project_schema import ProjectRecord
from wikisync.contract.schema import GroupRecord
from wikisync.core.model import Problem, WikiOwner
from wikisync.errors import RemoteError, UsageError
from wikisync.site.model import WikiInfo, WikiOrigin
from wikisync.workspace.failures import is_of_all


class Selection(Struct, frozen=True):
    """Which wikis a person asks for."""

    projects: tuple[str, ...] = ()
    """Full paths, or addresses."""
    groups: tuple[str, ...] = ()
    is_all: bool = False
    """With groups: everything below them; alone: everything there is."""
    excluded: tuple[str, ...] = ()
    """Paths of projects and groups whose wikis, and those below, are left out."""

    def named(self, address: ServiceAddress) -> Selection:
        """The same with plain paths where the command line had addresses."""
        return replace(
            self,
            projects=tuple(map(address.path_of, self.projects)),
            groups=tuple(map(address.path_of, self.groups)),
            excluded=tuple(map(address.path_of, self.excluded)),
        )

    def excludes(self, owner: WikiOwner) -> bool:
        """Whether a wiki is left out."""
        return any(_is_at_or_below(owner.full_path, path) for path in self.excluded)

    def searches(self) -> Iterator[tuple[str, str, str]]:
        """What leads to wikis: the option, and the kind and path that it names."""
        yield from ((f"--project {path}", "project", path) for path in self.projects)
        below = " --all" if self.is_all else ""
        yield from ((f"--group {path}{below}", "group", path) for path in self.groups)
        if self.is_all and not self.groups:
            yield "--all", "", ""

    def options(self) -> Sequence[str]:
        """The options that lead to wikis, as ``WikiOrigin.asked_by`` has them."""
        return [option for option, _, _ in self.searches()]

    def means(self, owner: WikiOwner, asked_by: str) -> bool:
        """Whether a wiki belongs to what is selected, though it was not found."""
        if self.excludes(owner):
            return False
        if self.is_all and not self.groups:
            return True
        named = self.projects if owner.kind == "project" else self.groups
        path = owner.full_path
        return (
            asked_by in self.options()
            or any(path.casefold() == name.casefold() for name in named)
            or (self.is_all and any(_is_at_or_below(path, one) for one in self.groups))
        )

    def only(self) -> WikiOwner | None:
        """The wiki that is meant, where it is a single one."""
        named = [WikiOwner("project", path) for path in self.projects]
        named += [WikiOwner("group", path) for path in self.groups]
        return named[0] if len(named) == 1 and not self.is_all else None

    def check(self) -> None:
        """Refuse a selection of nothing."""
        if not (self.projects or self.groups or self.is_all):
            raise UsageError(
                "no wiki is selected",
                hint="give the address of a wiki, or add --project PATH, --group PATH,"
                " --group PATH --all for all wikis below a group, or --all for every"
                " wiki you can see",
            )


def _is_at_or_below(path: str, top: str) -> bool:
    return f"{path}/".casefold().startswith(f"{top}/".casefold())


class FoundWiki(WikiInfo, frozen=True, kw_only=True):
    """One wiki to work on."""

    is_named: bool
    """Asked for by name, so that its absence is an error."""
    activity: str = ""
    """When something last happened in the project; empty for a group."""

    @property
    def id(self) -> int:
        """Of the project or group."""
        return self.origin.id


class Found(Struct):
    """What a selection led to."""

    selection: Selection = Selection()
    wikis: list[FoundWiki] = field(default_factory=list)
    skipped: list[Problem] = field(default_factory=list)
    missing: list[Problem] = field(default_factory=list)
    failed: dict[str, RemoteError] = field(default_factory=dict)
    _owners: set[WikiOwner] = field(default_factory=set)

    def add(self, wiki: FoundWiki, *, is_off: bool = False) -> None:
        """Add a wiki, or note that it is switched off, unless it is there already."""
        owner = wiki.owner
        if owner in self._owners or self.selection.excludes(owner):
            return
        if is_off:
            self.skipped.append(skipped(owner, "its wiki is disabled"))
        else:
            self._owners.add(owner)
            self.wikis.append(wiki)


async def find_wikis(
    client: Client, selection: Selection, *, spared: Container[str] = ()
) -> Found:
    """The wikis that a selection means, each once, named ones first.

    ``spared`` are options that may lead nowhere, as long as one leads to a wiki.
    NotFound where a named project or group does not exist or is hidden.
    """
    selection.check()
    selection = selection.named(client.address)
    found = Found(selection)
    for option, kind, path in selection.searches():
        try:
            await _search(client, found, option, kind, path)
        except RemoteError as error:
            if option not in spared or await is_of_all(client, error):
                raise
            found.failed[option] = error
    if found.failed and not found.wikis:
        raise next(iter(found.failed.values()))
    return found


async def _search(
    client: Client, found: Found, option: str, kind: str, path: str
) -> None:
    def see(record: ProjectRecord | GroupRecord, *, is_named: bool = False) -> None:
        wiki = wiki_of(client, record, asked_by=option, is_named=is_named)
        found.add(wiki, is_off=is_switched_off(record) and not is_named)

    if kind == "project":
        see(await client.project(path), is_named=True)
        return
    groups, projects = client.groups(), client.projects()
    if kind == "group":
        group = await client.group(path)
        # asked for with everything below it, a group may well have no wiki itself
        see(group, is_named=not found.selection.is_all)
        if not found.selection.is_all:
            return
        groups = client.group_descendants(group.id)
        projects = client.group_projects(group.id)
    async for below in groups:
        see(below)
    async for project in projects:
        see(project)


def is_switched_off(record: ProjectRecord | GroupRecord) -> bool:
    """Whether the service says that a project or group has no wiki switched on."""
    if record.wiki_access_level is not None:
        return record.wiki_access_level == "disabled"
    return getattr(record, "wiki_enabled", None) is False


def skipped(owner: WikiOwner, reason: str) -> Problem:
    """A note that a wiki which nobody named is left out."""
    return Problem("wiki-skipped", str(owner), f"left out: {reason}")


def owner_of(record: ProjectRecord | GroupRecord) -> WikiOwner:
    """The project or group that a record is about."""
    if isinstance(record, GroupRecord):
        return WikiOwner("group", record.full_path)
    return WikiOwner("project", record.path_with_namespace)


def wiki_of(
    client: Client,
    record: ProjectRecord | GroupRecord,
    *,
    asked_by: str,
    is_named: bool = False,
) -> FoundWiki:
    """The wiki of a project or group."""
    deletion_date = activity = ""
    placeholders: dict[str, str] = {}
    # of a project that everybody sees, the wiki may be for members alone
    is_closed = record.wiki_access_level == "private"
    owner = owner_of(record)
    if not isinstance(record, GroupRecord):
        deletion_date = record.deletion_date or ""
        activity = record.last_activity_at or ""
        above = record.namespace
        placeholders = {
            "project_id": str(record.id),
            "default_branch": record.default_branch or "",
            "group_name": above.name if above and above.kind == "group" else "",
        }
    return FoundWiki(
        owner=owner,
        title=record.name or owner.full_path,
        web_url=record.web_url,
        visibility="private" if is_closed else record.visibility or "private",
        description=record.description or "",
        is_named=is_named,
        origin=WikiOrigin(
            *(str(client.address), record.id, asked_by, client.has_token),
            deletion_date=deletion_date,
        ),
        activity=activity,
        placeholders=placeholders,
    )
