"""Wikis that the site holds already: which an export asks for again, and which stay.

A list that came short, a right that was lost and a storage that is down look like
wikis that are gone.  So a wiki of the site leaves it only where

- a person says so: ``--allow-emptying``, or ``--replace`` where the command line does
  not mean the wiki at all;
- the service says for the wiki's id that it has no wiki: it is switched off; or
- the service does not know the id any more (404), and the last export saw that the
  project was marked for deletion, and the same token got other wikis in this run.
  A 404 alone says as well that the token lost a right.

Every other wiki that cannot be read is published from its last good copy in the mirror,
or, where that is lost, its published pages stay as they are.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, field

from wikisync.api.client import Client
from wikisync.core.model import Problem, WikiOwner, removals_max
from wikisync.errors import NotFound, RemoteError, UsageError
from wikisync.site.manifest import PublishedWiki, WikiIndex, refuse_leaving
from wikisync.site.mirror import Mirror, name_of
from wikisync.site.model import WikiInfo, WikiSource
from wikisync.workspace.discovery import Found, FoundWiki, is_switched_off, wiki_of
from wikisync.workspace.failures import is_of_all
from wikisync.workspace.pulled import Pulled
from wikisync.workspace.sentences import ago

T = TypeVar("T")

TO_REMOVE = "fix the cause and export again, or remove it with --allow-emptying"


class KeptWiki(Struct, frozen=True):
    """A wiki of the site that could not be read this time."""

    wiki: PublishedWiki
    reason: str
    copy: int
    """Number of its copy in the mirror; 0 where only its published pages are left."""
    read_at: float | None

    def source(self, mirror: Path) -> WikiSource:
        """The copy as the build takes it, in the mirror in this folder."""
        return WikiSource(**self.wiki.info, folder=mirror, copy=self.copy)

    def problem(self, now: float) -> Problem:
        """What is reported of it."""
        what = "copy" if self.copy else "published pages"
        age = "of unknown age"
        if self.read_at is not None:
            age = f"from {ago(max(0.0, now - self.read_at))}"
        message = f"{self.reason}; the site keeps its {what} {age}"
        return Problem("wiki-kept", str(self.wiki.owner), message, TO_REMOVE)


class Keeping(Struct):
    """What an export knows of the wikis that the site holds."""

    published: Sequence[PublishedWiki]
    """Those with pages."""
    service: str
    replaces: bool = False
    allow_emptying: bool = False
    problems: list[Problem] = field(default_factory=list)
    """What a person should know of wikis that were read all the same."""
    notes: list[Problem] = field(default_factory=list)
    """Wikis that leave the site because the service says that they are no more."""
    leaving: set[WikiOwner] = field(default_factory=set)
    reasons: dict[WikiOwner, str] = field(default_factory=dict)

    @property
    def options(self) -> frozenset[str]:
        """The options that led to the wikis of the site."""
        return frozenset(wiki.origin.asked_by for wiki in self.published)

    def holds(self, wiki: FoundWiki) -> bool:
        """Whether the site has this wiki already."""
        index = self._index((one, True) for one in self.published)
        return index.find(wiki.owner, wiki.origin) is not None

    def may_leave(self, wiki: PublishedWiki) -> bool:
        """Whether the site may be made without a wiki."""
        return self.allow_emptying or wiki.owner in self.leaving

    def refuse_without_token(self, client: Client, *, is_anonymous: bool) -> None:
        """Refuse to export without a token what was exported with one."""
        if client.has_token or is_anonymous:
            return
        if any(wiki.origin.has_token for wiki in self.published):
            raise UsageError(
                "no token is given, and the site was exported with one:"
                " wikis that are not public would be missing",
                hint="set WIKISYNC_TOKEN or name a file with --token-file;"
                " --anonymous exports what can be read without a token",
            )

    # -- before the wikis are read -------------------------------------------------

    async def complete(self, client: Client, found: Found) -> None:
        """Ask by their ids for the wikis of the site that were not found.

        Another project that has the path of a wiki that stays is taken out, unless a
        list names both.  UsageError where the command line means other wikis, without
        ``--replace``.
        """
        index = self._index((wiki, True) for wiki in found.wikis)
        missing = [
            wiki for wiki in self.published if not index.find(wiki.owner, wiki.origin)
        ]
        others = [
            wiki
            for wiki in missing
            if wiki.origin.service not in {"", self.service}
            or not found.selection.means(wiki.owner, wiki.origin.asked_by)
        ]
        if not self.replaces and not self.allow_emptying:
            services = {wiki.origin.service for wiki in others} - {"", self.service}
            if services:
                raise UsageError(
                    f"the site holds wikis of {' and '.join(sorted(services))}, and"
                    f" this export is of {self.service}; nothing was changed",
                    hint="add --replace if that is the new address of the same service"
                    " or if the site should be replaced, or choose another folder with"
                    " -o",
                )
            refuse_leaving(others)
        self.leaving.update(wiki.owner for wiki in others)
        for wiki in missing:
            if wiki.owner not in self.leaving:
                await self._ask(client, wiki, found)
        self._keep_apart(missing, found)

    async def _ask(self, client: Client, wiki: PublishedWiki, found: Found) -> None:
        option = wiki.origin.asked_by
        key = wiki.origin.id or wiki.owner.full_path
        is_group = wiki.owner.kind == "group"
        try:
            record = await (client.group(key) if is_group else client.project(key))
        except NotFound as error:
            # the date says that somebody deleted it, the others that the token is good
            if wiki.origin.deletion_date and found.wikis:
                day = wiki.origin.deletion_date
                self._leave(
                    wiki,
                    f"it was marked for deletion on {day} and the service no longer"
                    f" has it",
                )
            else:
                self.reasons[wiki.owner] = found.failed.get(option, error).message
            return
        except RemoteError as error:
            if await is_of_all(client, error):
                raise
            self.reasons[wiki.owner] = error.message
            return
        there = wiki_of(client, record, asked_by=option)
        if is_switched_off(record):
            self._leave(wiki, "its wiki is disabled")
        elif found.selection.excludes(there.owner) or (
            option.endswith("--all") and not found.selection.means(there.owner, "")
        ):
            self.reasons[wiki.owner] = (
                f"it is now {there.owner}, which this command does not include"
            )
        else:
            other = next((one for one in found.wikis if _has_path_of(one, wiki)), None)
            found.add(there)
            if other is not None and other.is_named and not self.replaces:
                self.problems.append(_of_another(other, there, option))
            elif other is None and option not in found.failed:
                self.problems.append(_unlisted(there))

    def _leave(self, wiki: PublishedWiki, reason: str) -> None:
        self.leaving.add(wiki.owner)
        message = f"removed from the site: {reason}"
        self.notes.append(Problem("wiki-removed", str(wiki.owner), message))

    def _keep_apart(self, missing: Iterable[PublishedWiki], found: Found) -> None:
        for wiki in missing:
            other = next((one for one in found.wikis if _has_path_of(one, wiki)), None)
            if other is None or self.may_leave(wiki):
                continue
            moved = next((one for one in found.wikis if _is_same(one, wiki)), None)
            if moved is not None and not other.is_named:
                # a list names both
                continue
            if self.replaces:
                self.leaving.add(wiki.owner)
                if moved is not None:
                    found.wikis.remove(moved)
                continue
            found.wikis.remove(other)
            self.reasons[wiki.owner] = (
                f"another {wiki.owner.kind} has its path now (id {other.id}, the site"
                f" has id {wiki.origin.id}); --replace publishes that one instead"
            )

    # -- after they were read ------------------------------------------------------

    def kept(self, pulled: Pulled, mirror: Mirror, output: Path) -> list[KeptWiki]:
        """The wikis that stay in the site as they were read last."""
        # a wiki that came without most of the pages that the site has is taken out of
        # what was pulled: with a new cache no safety stop compared them
        index = self._index((failed.wiki, failed.error) for failed in pulled.failed)
        read = self._index((one.wiki, one) for one in pulled.wikis)
        staying = []
        for wiki in self.published:
            one = read.find(wiki.owner, wiki.origin)
            if self.may_leave(wiki) or (one and not _is_shrunk(wiki, one.pages)):
                continue
            if one:
                pulled.wikis.remove(one)
                self.reasons[wiki.owner] = (
                    f"the service lists {one.pages} of its {wiki.pages} pages"
                )
            elif error := index.find(wiki.owner, wiki.origin):
                self.reasons[wiki.owner] = error.message
            reason = self.reasons.get(wiki.owner, "the service no longer lists it")
            noted = mirror.noted(name_of(self.service, wiki.owner.kind, wiki.origin.id))
            if noted.number and not _is_shrunk(wiki, noted.count):
                staying.append(KeptWiki(wiki, reason, noted.number, noted.read_at))
                continue
            pages = (output / wiki.prefix).rglob("*.html")
            times = (page.stat().st_mtime for page in pages)
            staying.append(KeptWiki(wiki, reason, 0, max(times, default=None)))
        return staying

    def _index(self, wikis: Iterable[tuple[WikiInfo, T]]) -> WikiIndex[T]:
        return WikiIndex((wiki.owner, wiki.origin, value) for wiki, value in wikis)


def _is_same(found: FoundWiki, wiki: PublishedWiki) -> bool:
    return found.owner.kind == wiki.owner.kind and found.id == wiki.origin.id


def _has_path_of(found: FoundWiki, wiki: PublishedWiki) -> bool:
    """Whether another wiki is at the path of this one, or was named by it."""
    if found.owner.kind != wiki.owner.kind or _is_same(found, wiki):
        return False
    is_named_so = found.is_named and found.origin.asked_by == wiki.origin.asked_by
    return found.owner == wiki.owner or is_named_so


def _is_shrunk(wiki: PublishedWiki, pages: int) -> bool:
    """Whether so many pages are missing that a person must say yes."""
    return wiki.pages - pages > removals_max(wiki.pages)


def _of_another(other: FoundWiki, moved: FoundWiki, option: str) -> Problem:
    """What is reported where the path that a person names leads to another wiki."""
    kind, path = moved.owner.kind, moved.owner.full_path
    return Problem(
        "wiki-of-another",
        str(other.owner),
        f"is another {kind} now (id {other.id}); yours (id {moved.id}) is {path},"
        f" which is published",
        f"write --{kind} {path} instead of {option}; --replace publishes the other one",
    )


def _unlisted(wiki: FoundWiki) -> Problem:
    return Problem(
        "wiki-unlisted",
        str(wiki.owner),
        f"the service does not list it but returns it by its id {wiki.id}; new wikis"
        f" may be missing",
        "check whether a proxy truncates the service's lists",
    )
