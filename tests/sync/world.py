"""Two sides, a base and two people, as plain values: the planner's own small world.

A page is a text and a number that says which page it really is; the planner never
sees that number.  Each line of a text is a token, so that a lost line has a name.
Plans are carried out perfectly, but in any order: an action whose expectation does
not hold does nothing, as a real one would.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import count

from wikisync.core.model import Digest, Format, PageState, Slug, Snapshot, digest_of
from wikisync.merging.merge import merge
from wikisync.sync.decide import plan as plans
from wikisync.sync.decide.reconcile import reconcile

NAMES = ("a", "b", "a/x", "a/y", "a/y/z", "b/x", "c", "A", "d", "e/x", "e/y")
ROUNDS_MAX = 16
"""Far more than any world may need."""

digest = lru_cache(maxsize=None)(digest_of)


@dataclass(frozen=True)
class Text:
    """A page on one side: its text, and which page it really is."""

    content: str
    page: int

    @property
    def tokens(self) -> set[str]:
        return set(self.content.split("\n")) - {""}


Side = dict[str, Text]


@dataclass
class World:
    """Both sides and what they agreed on."""

    base: dict[str, Text] = field(default_factory=dict)
    local: Side = field(default_factory=dict)
    remote: Side = field(default_factory=dict)
    has_ids: bool = False
    """Whether the wiki tells a page's identity."""
    deletions: list[tuple[str, str, int]] = field(default_factory=list)
    """Side, name and page of every removal carried out."""
    carried: set[str] = field(default_factory=set)
    """Names that pages of the wiki had, which went along when we renamed another."""
    writes: int = 0

    # -- planning ----------------------------------------------------------------

    def plan(self) -> plans.Plan:
        base = {
            Slug(slug): plans.BasePage(
                Slug(slug),
                Format.MARKDOWN,
                digest(text.content),
                digest(text.content),
                remote_identity=self.identity(text),
            )
            for slug, text in self.base.items()
        }
        local, remote = self.seen(self.local, False), self.seen(self.remote, True)
        return reconcile(base, local, remote)

    def seen(self, side: Side, is_remote: bool) -> Snapshot:
        return Snapshot(
            {
                Slug(slug): PageState(
                    Slug(slug),
                    Format.MARKDOWN,
                    digest(text.content),
                    identity=self.identity(text) if is_remote else "",
                )
                for slug, text in side.items()
            }
        )

    def identity(self, text: Text) -> str:
        return str(text.page) if self.has_ids else ""

    # -- carrying out ------------------------------------------------------------

    def rest(self, rng: random.Random | None = None) -> tuple[int, set[int]]:
        """Plan and carry out until only what is held is left.

        Returns:
            Rounds that did something, and the pages that are held.
        """
        for rounds in range(ROUNDS_MAX):
            actions = self.plan().actions if rng is None else self.shuffled(rng)
            held: set[int] = set()
            did = [self.carry_out(action, held) for action in actions]
            if not any(did):
                return rounds, held
        raise AssertionError(f"no rest after {ROUNDS_MAX} rounds: {self.plan()}")

    def shuffled(self, rng: random.Random) -> tuple[plans.Action, ...]:
        """The plan in any order, but for renames, of which one may need another."""
        actions = self.plan().actions
        moves = [action for action in actions if isinstance(action, plans.Move)]
        others = [action for action in actions if not isinstance(action, plans.Move)]
        rng.shuffle(others)
        return (*moves, *others)

    def carry_out(self, action: plans.Action, held: set[int]) -> bool:
        """Carry an action out; whether anything changed."""
        match action:
            case plans.CreateLocal(slug, _, theirs):
                return self.take(slug, None, theirs)
            case plans.Pull(slug, _, mine, theirs):
                return self.take(slug, mine, theirs)
            case plans.CreateRemote(slug, _, mine):
                return not self.is_taken(slug) and self.give(slug, mine, None)
            case plans.Push(slug, _, mine, theirs):
                return self.give(slug, mine, theirs)
            case plans.Adopt(slug):
                self.base[slug] = self.local[slug]
                return True
            case plans.Rebase(slug, theirs):
                self.base[slug] = self.remote[theirs]
                return True
            case plans.DropRecord(slug):
                return self.base.pop(slug, None) is not None
            case plans.MoveLocal(slug, target, record, mine):
                return self.move_local(slug, target, record, mine)
            case plans.MoveRemote(slug, target, record, _, theirs):
                return self.move_remote(slug, target, record, theirs)
            case plans.Rebind(record, target):
                return self.rebind(record, target)
            case plans.Merge(slug):
                return self.merge(slug, held)
            case plans.DeleteLocal(slug, mine):
                return self.delete("local", self.local, slug, mine)
            case plans.DeleteRemote(slug, theirs):
                return self.delete("remote", self.remote, slug, theirs)
            case plans.Hold(slug, _, target, file):
                for name in (slug, target, file):
                    held |= self.pages_at(name or slug)
                held |= self.pages_like(slug)
                return False
            case plans.Skip(slug):
                held |= self.pages_at(slug)
                return False

    def take(self, slug: str, mine: Digest | None, theirs: Digest) -> bool:
        if not holds(self.local, slug, mine) or not holds(self.remote, slug, theirs):
            return False
        self.local[slug] = self.base[slug] = self.remote[slug]
        self.writes += 1
        return True

    def give(self, slug: str, mine: Digest, theirs: Digest | None) -> bool:
        if not holds(self.local, slug, mine) or not holds(self.remote, slug, theirs):
            return False
        known = self.remote.get(slug, self.local[slug])
        self.remote[slug] = replace(self.local[slug], page=known.page)
        self.base[slug] = self.remote[slug]
        self.writes += 1
        return True

    def move_local(self, slug: str, target: str, record: str, mine: Digest) -> bool:
        if not holds(self.local, slug, mine) or target in self.local:
            return False
        self.local[target] = self.local.pop(slug)
        self.writes += 1
        return self.rebind(record, target)

    def move_remote(self, slug: str, target: str, record: str, theirs: Digest) -> bool:
        if not holds(self.remote, slug, theirs):
            return False
        before = self.remote.keys() - {slug}
        if not rename_remote(self.remote, slug, target):
            return False
        self.carried |= before - self.remote.keys()
        self.writes += 1
        return self.rebind(record, target)

    def rebind(self, record: str, target: str) -> bool:
        if record not in self.base:
            return False
        self.base[target] = self.base.pop(record)
        return True

    def merge(self, slug: str, held: set[int]) -> bool:
        sides = self.base.get(slug), self.local.get(slug), self.remote.get(slug)
        base, local, remote = sides
        if base is None or local is None or remote is None:
            return False
        merged = merge(base.content, local.content, remote.content).text
        if merged is None:
            held |= self.pages_at(slug)
            return False
        self.local[slug] = replace(local, content=merged)
        self.base[slug] = remote
        self.writes += 1
        return True

    def delete(self, name: str, side: Side, slug: str, expected: Digest) -> bool:
        if not holds(side, slug, expected):
            return False
        self.deletions.append((name, slug, side.pop(slug).page))
        self.base.pop(slug, None)
        self.writes += 1
        return True

    def is_taken(self, slug: str) -> bool:
        return any(self.key(slug) == self.key(other) for other in self.remote)

    def key(self, slug: str) -> str:
        return slug.casefold()

    def pages_at(self, slug: str) -> set[int]:
        sides = (self.base, self.local, self.remote)
        return {side[slug].page for side in sides if slug in side}

    def pages_like(self, slug: str) -> set[int]:
        """Pages that may be the one held under another name: they have its text."""
        text = self.base[slug].content if slug in self.base else None
        pages = (*self.local.values(), *self.remote.values())
        return {page.page for page in pages if page.content == text}


def holds(side: Mapping[str, Text], slug: str, expected: Digest | None) -> bool:
    """Whether a side holds what an action expects; None is nothing."""
    found = side.get(slug)
    if found is None or expected is None:
        return found is None and expected is None
    return digest(found.content) == expected


def rename_remote(side: Side, slug: str, target: str) -> bool:
    """Rename as the service does, pages below included, or not at all."""
    below = [one for one in side if one.startswith(f"{slug}/")]
    if below and target.startswith(f"{slug}/"):
        return False
    moves = {slug: target} | {one: target + one[len(slug) :] for one in below}
    kept = {one.casefold() for one in side if one not in moves}
    if kept & {one.casefold() for one in moves.values()}:
        return False
    moved = {new: side.pop(old) for old, new in moves.items()}
    side |= moved
    return True


# -- people ------------------------------------------------------------------------


@dataclass
class Person:
    """Someone at one side; does things by chance and remembers what went away."""

    side: Side
    rng: random.Random
    tokens: Iterator[str]
    is_remote: bool
    away: set[int | str] = field(default_factory=set)
    """Pages deleted or renamed here, and the names they had."""

    def act(self) -> None:
        acts = (self.create, self.edit, self.edit, self.delete, self.rename, self.copy)
        self.rng.choice(acts)()

    def free_name(self) -> str | None:
        name = self.rng.choice(NAMES)
        taken = {one.casefold() if self.is_remote else one for one in self.side}
        return None if (name.casefold() if self.is_remote else name) in taken else name

    def some_page(self) -> str | None:
        return self.rng.choice(sorted(self.side)) if self.side else None

    def create(self) -> None:
        if name := self.free_name():
            self.side[name] = Text(f"{next(self.tokens)}\n", self.new_page())

    def copy(self) -> None:
        """Make a page with the text of another."""
        name, source = self.free_name(), self.some_page()
        if name and source:
            text = self.side[source]
            self.side[name] = replace(text, page=self.new_page())

    def edit(self) -> None:
        if slug := self.some_page():
            lines = self.side[slug].content.splitlines()
            place = self.rng.randint(0, len(lines))
            lines[place : place + self.rng.choice((0, 1))] = [next(self.tokens)]
            content = "".join(f"{line}\n" for line in lines)
            self.side[slug] = replace(self.side[slug], content=content)

    def delete(self) -> None:
        if slug := self.some_page():
            self.away |= {slug, self.side.pop(slug).page}

    def rename(self) -> None:
        slug, name = self.some_page(), self.free_name()
        if not slug or not name:
            return
        if self.is_remote:
            before = dict(self.side)
            rename_remote(self.side, slug, name)
            gone = before.keys() - self.side.keys()
            self.away |= gone | {before[one].page for one in gone}
            return
        self.away |= {slug, self.side[slug].page}
        self.side[name] = self.side.pop(slug)
        if self.rng.random() < 0.7:
            self.rename_below(slug, name)

    def rename_below(self, slug: str, name: str) -> None:
        """The folder goes along with its page, as a person at a desk would do."""
        for one in sorted(self.side):
            target = name + one[len(slug) :]
            if is_below(one, slug) and target not in self.side:
                self.away |= {one, self.side[one].page}
                self.side[target] = self.side.pop(one)

    def new_page(self) -> int:
        return self.rng.randrange(1000, 10**9)


def is_below(slug: str, parent: str) -> bool:
    return slug.startswith(f"{parent}/")


# -- one schedule ------------------------------------------------------------------


@dataclass(frozen=True)
class Rest:
    """How one schedule came to rest."""

    rounds: int
    held: int
    edits: int
    deletions: int


def run_schedule(rng: random.Random) -> Rest:
    """Perturb one wiki twice, bring it to rest, and check what must hold.

    Raises:
        AssertionError: a token is gone, a page differs unexplained, something was
            deleted that nobody deleted, or it does not rest.
    """
    world = some_world(rng)
    names = (f"t{number}" for number in count())
    here = Person(world.local, rng, names, False)
    there = Person(world.remote, rng, names, True)
    edits = rng.randint(1, 8)
    for _ in range(edits):
        rng.choice((here, there)).act()
    before = replace(
        world, base={**world.base}, local={**world.local}, remote={**world.remote}
    )
    order = rng if rng.random() < 0.5 else None
    rounds, held = world.rest(order)
    check_rest(before, world, held)
    away = {"local": there.away | world.carried, "remote": here.away}
    for side, slug, page in world.deletions:
        assert away[side] & {slug, page}, f"nobody deleted {slug} on the other side"
    return Rest(rounds, len(held), edits, len(world.deletions))


def some_world(rng: random.Random) -> World:
    """A wiki that both sides agree on."""
    names = rng.sample(NAMES, rng.randint(0, 6))
    base: Side = {}
    for page, name in enumerate(names):
        if name.casefold() in {one.casefold() for one in base}:
            continue
        content = "".join(f"{name} {line}\n" for line in range(rng.randint(1, 4)))
        if base and rng.random() < 0.2:
            content = next(iter(base.values())).content
        base[name] = Text(content, page)
    has_ids = rng.random() < 0.5
    return World(base, {**base}, {**base}, has_ids)


def check_rest(before: World, world: World, held: set[int]) -> None:
    """What must hold when nothing is left to do."""
    left = tokens_of(world.local) | tokens_of(world.remote)
    sides = (before.local, before.remote), (before.remote, before.local)
    known = {text.page for text in before.base.values()}
    for here, there in sides:
        lost = {(page, token) for page, token in owned(here) if token not in left}
        removed = owned(before.base) - owned(there)
        # a copy may be taken for the page itself, and a page for its copy
        words = {token for _, token in removed}
        twice = {token for _, token in owned(before.base) if is_twice(before, token)}
        gone = {
            (page, token)
            for page, token in lost - removed
            if token not in words or (page in known and token not in twice)
        }
        assert not gone, f"lost: {sorted(gone)}"
    for slug in world.local.keys() | world.remote.keys():
        mine, theirs = world.local.get(slug), world.remote.get(slug)
        if mine and theirs and mine.content == theirs.content:
            continue
        pages = {text.page for text in (mine, theirs) if text}
        assert pages & held, f"{slug} differs, and nothing holds it"


def is_twice(world: World, token: str) -> bool:
    return sum(token in text.tokens for text in world.base.values()) > 1


def owned(side: Mapping[str, Text]) -> set[tuple[int, str]]:
    """Every token with the page it is in."""
    return {(text.page, token) for text in side.values() for token in text.tokens}


def tokens_of(side: Mapping[str, Text]) -> set[str]:
    return {token for text in side.values() for token in text.tokens}
