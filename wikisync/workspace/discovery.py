"""Which wikis of a service a person means, and which of them are there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Container, Iterator
from functools import partial

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

SKIPPED = "wiki-skipped"
"""Code of the notes about wikis that were found but cannot or need not be had."""


class Selection(Struct, frozen=True):
    """Which wikis a command line asks for."""

    projects: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    is_all: bool = False
    """With groups: everything below them; alone: everything there is."""
    excluded: tuple[str, ...] = ()
    """Paths of projects and groups whose wikis, and those below, are left out."""

    def named(self, address: ServiceAddress) -> Selection:
        """The same with plain paths where the command line had addresses.

        Raises:
            UsageError: one is the address of another service.
        """

        def plain(paths: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(address.path_of(path) for path in paths)

        return replace(
            self,
            projects=plain(self.projects),
            groups=plain(self.groups),
            excluded=plain(self.excluded),
        )

    def excludes(self, owner: WikiOwner) -> bool:
        """Whether a wiki is left out."""
        return any(_is_at_or_below(owner.full_path, path) for path in self.excluded)

    def options(self) -> Iterator[str]:
        """The options that lead to wikis, as ``WikiOrigin.asked_by`` has them."""
        yield from (f"--project {path}" for path in self.projects)
        yield from (self.group_option(path) for path in self.groups)
        if self.is_all and not self.groups:
            yield "--all"

    def group_option(self, path: str) -> str:
        """The option that leads to the wikis of a group."""
        return f"--group {path}" + (" --all" if self.is_all else "")

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

    def check(self) -> None:
        """Refuse a selection of nothing.

        Raises:
            UsageError: neither a project, a group nor everything is named.
        """
        if not (self.projects or self.groups or self.is_all):
            raise UsageError(
                "no wiki is selected",
                hint="give the address of a wiki, or add --project PATH, --group PATH,"
                " --group PATH --all for all wikis below a group, or --all for every"
                " wiki you can see",
            )


def _is_at_or_below(path: str, top: str) -> bool:
    """Whether a path is another one, or below it; the service folds case."""
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
    """Wikis that were there before and were not found now."""
    failed: dict[str, RemoteError] = field(default_factory=dict)
    """Options that led nowhere this time, each with why."""
    _owners: set[WikiOwner] = field(default_factory=set)

    def add(self, wiki: FoundWiki) -> None:
        """Add a wiki unless it is there already; being named counts more."""
        if self._is_new(wiki):
            self._owners.add(wiki.owner)
            self.wikis.append(wiki)

    def leave_out(self, wiki: FoundWiki) -> None:
        """Note a wiki that is switched off."""
        if self._is_new(wiki):
            self.skipped.append(skipped(wiki.owner, "its wiki is disabled"))

    def _is_new(self, wiki: FoundWiki) -> bool:
        owner = wiki.owner
        return owner not in self._owners and not self.selection.excludes(owner)


def service_of(client: Client) -> str:
    """The service as a site names it."""
    return str(client.address).rstrip("/")


async def find_wikis(
    client: Client, selection: Selection, *, spared: Container[str] = ()
) -> Found:
    """The wikis that a selection means, each once, named ones first.

    Args:
        client: The open session.
        selection: What is meant.
        spared: Options that may lead nowhere, as ``Selection.options`` has them:
            the others are followed all the same, as long as one leads to a wiki.

    Raises:
        NotFound: a named project or group does not exist or is hidden.
        RemoteError: in its other kinds.
    """
    selection.check()
    selection = selection.named(client.address)
    found = Found(selection)
    for option, search in _searches(client, found):
        try:
            await search()
        except RemoteError as error:
            if option not in spared or await is_of_all(client, error):
                raise
            found.failed[option] = error
    if found.failed and not found.wikis:
        raise next(iter(found.failed.values()))
    return found


def _searches(
    client: Client, found: Found
) -> Iterator[tuple[str, Callable[[], Awaitable[None]]]]:
    """Every option of a selection with what finds its wikis."""
    selection = found.selection
    for path in selection.projects:
        option = f"--project {path}"
        yield option, partial(_find_project, client, path, option, found)
    for path in selection.groups:
        option = selection.group_option(path)
        yield option, partial(_find_group, client, path, option, found)
    if selection.is_all and not selection.groups:
        yield "--all", partial(_find_everything, client, "--all", found)


async def _find_project(client: Client, path: str, option: str, found: Found) -> None:
    project = await client.project(path)
    found.add(of_project(client, project, asked_by=option, is_named=True))


async def _find_group(client: Client, path: str, option: str, found: Found) -> None:
    is_all = found.selection.is_all
    group = await client.group(path)
    # asked for with everything below it, a group may well have no wiki itself
    _scan_group(client, group, option, found, is_named=not is_all)
    if is_all:
        async for below in client.group_descendants(group.id):
            _scan_group(client, below, option, found)
        await _scan_projects(client, client.group_projects(group.id), option, found)


async def _find_everything(client: Client, option: str, found: Found) -> None:
    async for group in client.groups():
        _scan_group(client, group, option, found)
    await _scan_projects(client, client.projects(), option, found)


def _scan_group(
    client: Client,
    group: GroupRecord,
    option: str,
    found: Found,
    *,
    is_named: bool = False,
) -> None:
    wiki = of_group(client, group, asked_by=option, is_named=is_named)
    if is_switched_off(group) and not is_named:
        found.leave_out(wiki)
    else:
        found.add(wiki)


async def _scan_projects(
    client: Client, projects: AsyncIterator[ProjectRecord], option: str, found: Found
) -> None:
    async for project in projects:
        wiki = of_project(client, project, asked_by=option)
        if is_switched_off(project):
            found.leave_out(wiki)
        else:
            found.add(wiki)


def is_switched_off(record: ProjectRecord | GroupRecord) -> bool:
    """Whether the service says that a project or group has no wiki switched on."""
    if record.wiki_access_level is not None:
        return record.wiki_access_level == "disabled"
    return getattr(record, "wiki_enabled", None) is False


def skipped(owner: WikiOwner, reason: str) -> Problem:
    """A note that a wiki which nobody named is left out."""
    return Problem(SKIPPED, str(owner), f"left out: {reason}")


def of_project(
    client: Client, project: ProjectRecord, *, asked_by: str, is_named: bool = False
) -> FoundWiki:
    """The wiki of a project."""
    namespace = project.namespace
    is_in_group = namespace is not None and namespace.kind == "group"
    return FoundWiki(
        owner=WikiOwner("project", project.path_with_namespace),
        title=project.name or project.path_with_namespace,
        web_url=project.web_url,
        visibility=project.visibility or "private",
        description=project.description or "",
        is_named=is_named,
        origin=WikiOrigin(
            service=service_of(client),
            id=project.id,
            asked_by=asked_by,
            has_token=client.has_token,
            deletion_date=project.deletion_date or "",
        ),
        activity=project.last_activity_at or "",
        placeholders={
            "project_id": str(project.id),
            "default_branch": project.default_branch or "",
            "group_name": namespace.name if namespace and is_in_group else "",
        },
    )


def of_group(
    client: Client, group: GroupRecord, *, asked_by: str, is_named: bool = False
) -> FoundWiki:
    """The wiki of a group."""
    return FoundWiki(
        owner=WikiOwner("group", group.full_path),
        title=group.name or group.full_path,
        web_url=group.web_url,
        visibility=group.visibility or "private",
        description=group.description or "",
        is_named=is_named,
        origin=WikiOrigin(
            service=service_of(client),
            id=group.id,
            asked_by=asked_by,
            has_token=client.has_token,
        ),
    )
