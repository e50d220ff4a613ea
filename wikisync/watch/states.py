"""How far pages are, for a preview in the same process: pushed, waiting, held."""

from __future__ import annotations

from collections.abc import Mapping

from wikisync.folder.naming import parse_path
from wikisync.model import Slug, WikiOwner
from wikisync.site.preview.states import PageStates, PageStatus
from wikisync.sync.decide.plan import CreateRemote, Merge, MoveRemote, Push
from wikisync.watch.wiki import WatchedWiki
from wikisync.workspace.attention import held_sentence
from wikisync.workspace.failures import Condition
from wikisync.workspace.runner import Runner

PAGES_MAX = 5_000
"""Pages of one wiki whose state is kept; of more, only what is held is reported."""

_WAITS = {
    Condition.OFFLINE: "the service is offline",
    Condition.LIMITED: "the service limits requests",
    Condition.REFUSED: "the service rejects the token",
}


class WatchedStates(PageStates):
    """The states of all pages that something is known of."""

    def __init__(self, wikis: Mapping[str, WatchedWiki], runner: Runner) -> None:
        """Take the service's troubles from this runner."""
        super().__init__()
        self._wikis = {wiki.section.owner: wiki for wiki in wikis.values()}
        self._waiting: dict[WikiOwner, set[Slug]] = {one: set() for one in self._wikis}
        self._pushed: dict[WikiOwner, set[Slug]] = {one: set() for one in self._wikis}
        self._runner = runner

    def current(self, owner: WikiOwner) -> Mapping[Slug, PageStatus]:
        """The pages of a wiki that something is known of."""
        wiki = self._wikis.get(owner)
        if wiki is None:
            return {}
        outage = self._runner.outage
        why = _WAITS[outage.condition] if outage else ""
        found = {slug: PageStatus("pushed") for slug in self._pushed[owner]}
        found |= {slug: PageStatus("waiting", why) for slug in self._waiting[owner]}
        folder = wiki.section.folder
        for held in wiki.synced.held:
            note = held_sentence(folder, held).partition(": ")[2]
            found[held.slug] = PageStatus("held", note)
        return found

    def saved(self, owner: WikiOwner, path: str) -> None:
        """A file of a wiki, relative to its folder, was saved: it waits."""
        page = parse_path(path)
        if page is None or len(self._waiting[owner]) >= PAGES_MAX:
            return
        self._waiting[owner].add(page[0])
        self._pushed[owner].discard(page[0])

    def carried(self, wiki: WatchedWiki) -> None:
        """A cycle of a wiki ended well."""
        owner, result = wiki.section.owner, wiki.synced.last
        sent = {
            action.target if isinstance(action, MoveRemote) else action.slug
            for action in result.plan.actions
            if isinstance(action, CreateRemote | MoveRemote | Push)
        }
        broken = {Slug(problem.subject) for problem in result.problems}
        later = {one.slug for one in result.plan.actions if isinstance(one, Merge)}
        later.update(result.plan.open_here)
        if len(self._pushed[owner]) + len(sent) <= PAGES_MAX:
            self._pushed[owner] |= sent - broken
        self._waiting[owner] = (later | broken) & self._waiting[owner]
