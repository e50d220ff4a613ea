"""Two or three copies of a wiki that persons edit between any two steps of the engine.

Every text that a person saves holds a mark of its own, so that a lost one can be
named.  One seed is one schedule: who acts when, on which side, what fails and where
a process ends all come from it.  ``simulated`` is what the engine sees of this.
"""

import random
import re
from collections.abc import Callable, Iterable, Sequence, Set
from copy import deepcopy
from dataclasses import dataclass, field

from tests.sync import incidents
from tests.sync.incidents import Program, ReplacedFile
from wikisync.core.model import Format, LateSave, Slug, digest_of
from wikisync.merging.metadata import front_matter_of

MARK = re.compile(r"<\d+>")
LINK = re.compile(r"!\[\]\(/?([^)]*)\)")
MISSING = "[missing]"
PICTURES = ("red.png", "blue.png")
NAMES = ("home", "guide", "guide/first", "guide/second", "notes", "Home")
DISK_NAMES = ("guide/third", "guide/fourth", "guide/fifth", "guide/sixth", "list")
SPELT_NAMES = ("two-words", "guide/two-words")
FAULTS = ("refuse", "lose the answer", "500", "429", "empty list", "not found", "cut")


def plain_name(name: str) -> str:
    """What is the same for two names that the service takes for one."""
    return name.casefold().replace(" ", "-")


class Crash(BaseException):
    """The process ends here."""


@dataclass(frozen=True, slots=True)
class Weather:
    """How often things happen at one step."""

    person: float = 0.25
    """A person acts, on either side."""
    fault: float = 0.2
    crash: float = 0.0
    cancel: float = 0.0
    """A cycle is cancelled, as by a signal, and comes to its end in order."""
    stale: float = 0.0
    """A local edit is made in an editor that shows an older text."""
    late: float = 0.0
    """Such an editor writes into the file that was replaced."""
    odd: float = 0.0
    """A new page has front matter, or line ends as in Windows; or a case twin is
    made in a folder."""
    metadata: float = 0.0
    """A person's edit is of the page's front matter."""
    pictures: float = 0.0
    """A person's act is about a picture: a new one, another one under the same name,
    or one that came from the wiki is thrown away."""
    programs: float = 0.0
    """A program that has a page's file open appends to it."""
    conflicts: float = 0.0
    """A person works in a conflict file, moves it or removes it."""
    disks: float = 0.0
    """A disk below a folder goes away or comes back."""
    spellings: float = 0.0
    """A page gets a name that the service takes for the one it has."""
    elsewhere: float = 0.0
    """Another program takes a page's content away, or brings all of them back."""
    taken: float = 0.0
    """A page that a person renames leaves its name to a new one at once."""
    again: float = 0.0
    """A person uses a text again: of another page, of the other side, or an old one."""
    rights: float = 0.0
    """The token loses the right to write, or is refused, or is good again."""
    clock: float = 0.0
    """Between two cycles, the clock of a machine is set."""
    older: float = 0.0
    """A person saves a copy of a folder, or puts the last one over it."""
    rewind: float = 0.0
    """Somebody saves a backup of the wiki, or puts the last one back."""
    force: float = 0.0
    """Between two cycles, somebody takes the wiki's last commit back by force."""
    untold: float = 0.0
    """A question for the wiki's newest commit is not answered."""
    lost: float = 0.0
    """Between two cycles, the record of a folder is lost."""
    undo: float = 0.0
    """Between two cycles, a person takes the last sync of a folder back."""
    revert: float = 0.0
    """A person's act in a folder is to take back what the wiki brought."""
    saves: float = 0.0
    """A cycle is for saves: it is told of some files of the folder and takes the wiki
    as it was last seen, whatever happened elsewhere."""
    web: float = 0.5
    """A person's act is on the wiki."""
    length: int = 1
    """How many times as many cycles as usual a schedule has."""
    is_wired: bool = False
    """The engine's own client is between the engine and the wiki."""
    has_git: bool = False
    """That client may ask git what changed."""
    folders: int = 1
    """How many folders are in sync with the wiki, each with its own process."""


def _marks(texts: Iterable[str]) -> set[str]:
    return {mark for text in texts for mark in MARK.findall(text)}


CALM = Weather(person=0.0, fault=0.0)


@dataclass(slots=True, eq=False)
class Copy:
    """One side's pages, and what was there."""

    name: str
    pages: dict[str, tuple[str, Format, int]] = field(default_factory=dict)
    """Text, format, identity by slug."""
    files: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Pictures by path: what one shows, and how often anything was saved by then."""
    history: list[str] = field(default_factory=list)
    """Every text that was replaced or removed."""
    past: dict[str, list[str]] = field(default_factory=dict)
    """Every text that a page had here, by its name then."""
    trash: list[str] = field(default_factory=list)
    conflict_files: dict[str, str] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    """Names that a person gave a page here."""
    conflicts: dict[str, str] = field(default_factory=dict)
    """What the engine wrote last into the conflict file of each page."""
    thrown: list[tuple[str, str]] = field(default_factory=list)
    """Conflict files that the engine removed, and what programs wrote that clashes:
    page and text."""
    late: list[LateSave] = field(default_factory=list)
    windows: dict[str, str] = field(default_factory=dict)
    """What editor windows still show of files that the engine replaced."""
    programs: list[Program] = field(default_factory=list)
    limbo: list[ReplacedFile] = field(default_factory=list)
    replaced_files: int = 0
    """How many files ever were in limbo."""
    away: dict[str, tuple[str, Format, int]] | None = None
    """What is on the disk that is away; None while it is there."""
    is_disk_touched: bool = False
    stubs: dict[str, tuple[str, Format, int]] = field(default_factory=dict)
    """Pages whose contents a cloud drive keeps, by the paths of its stubs."""
    stubs_beside: dict[str, Set[str]] = field(default_factory=dict)
    """By page, those that stubs told of at the last scan that saw its file."""
    pointers: dict[str, str] = field(default_factory=dict)
    """Texts of pages by the pointers that are in their place."""
    bin: dict[str, tuple[str, Format, int]] = field(default_factory=dict)
    """Pages in the bin of a network disk."""
    older: dict[str, str] = field(default_factory=dict)
    """A copy of all pages, which may be put over them."""
    seen: set[str] = field(default_factory=set)
    """Texts that the engine read or wrote here."""
    known_pages: Callable[[], Set[str]] = frozenset
    """Pages that the engine's record has."""

    @property
    def is_wiki(self) -> bool:
        return self.name == "wiki"

    def texts(self) -> dict[str, str]:
        return {slug: text for slug, (text, _, _) in self.pages.items()}

    def marks(self) -> set[str]:
        return {
            mark for text, _, _ in self.pages.values() for mark in MARK.findall(text)
        }

    def shown(self) -> dict[str, str]:
        """The pages as a reader sees them: each picture by what it shows."""
        return {
            slug: LINK.sub(lambda link: self._picture(link[1]), text)
            for slug, text in self.texts().items()
        }

    def _picture(self, path: str) -> str:
        return f"[{self.files[path][0]}]" if path in self.files else MISSING

    def is_taken(self, name: str) -> bool:
        """Whether a page has this name, or one that the service takes for it."""
        taken = (*self.pages, *incidents.stubbed(self))
        return any(plain_name(slug) == plain_name(name) for slug in taken)


class World:
    """All copies, the persons, and the steps of the engines."""

    def __init__(self, seed: int, weather: Weather) -> None:
        self.random = random.Random(seed)
        self.leaving = random.Random(-1 - seed)
        """Whether a cycle leaves the pages that it has not sent."""
        self.weather = weather
        self.wiki = Copy("wiki")
        self.folders = [
            Copy("folder" if not number else f"folder {number + 1}")
            for number in range(weather.folders)
        ]
        self.tells_identities = seed % 2 == 0
        """Whether the service at the end of a wire knows a page through renames ..."""
        self.strips_front_matter = weather.is_wired and seed % 5 == 0
        """... and keeps front matter to itself."""
        self.removed: set[str] = set()
        """Marks that a person had on the screen and took away."""
        self.spoilt: set[str] = set()
        """Pages that an engine removed or made pointers while their contents were
        elsewhere."""
        self.overwritten: set[str] = set()
        """Marks that stood on the wiki between our read and our write."""
        self.names: tuple[str, ...] = NAMES
        if weather.disks:
            self.names += DISK_NAMES
        if weather.spellings:
            self.names += SPELT_NAMES
        self.page_of: dict[str, int] = {}
        """The page that a person wrote each mark for; pages that a person brought
        together are one."""
        self.rights = "write"
        """What the token may do: ``write``, ``read``, or nothing."""
        self.clock_s = 0.0
        """How far the machine's clock is from the time."""
        self.backup: Copy | None = None
        self.commits: list[tuple[str, Copy]] = []
        """What the wiki was, the newest last."""
        self._tells_commits = weather.force > 0 or weather.has_git
        self._commits = 0
        self._has_told = False
        self.steps = 0
        self.crashes_at: set[int] = set()
        """Steps at which the process ends."""
        self.cancel: Callable[[], bool] = _nobody
        """Cancels the cycle under way."""
        self.trace: list[str] = []
        self.edits = 0
        self.faults = 0
        self.crashes = 0
        self.cancels = 0
        self.writes = 0
        """Writes by the engines, on any side."""
        self.marks = 0
        self._identities = 0
        self._pictures = 0
        self._saves = 0
        self._uploads = 0
        self._late = 0

    # -- steps -------------------------------------------------------------------

    def step(self, what: str) -> None:
        """One point at which an engine reads or writes: anything may happen."""
        self.steps += 1
        self.trace.append(what)
        if self.steps in self.crashes_at:
            self.crash(what)
        if self.random.random() < self.weather.crash:
            self.crash(what)
        if self.weather.cancel and self.random.random() < self.weather.cancel:
            self.cancels += 1
            self.trace.append(f"cancelled at {what}")
            self.cancel()
        while self.random.random() < self.weather.person:
            self.act()

    def crash(self, what: str) -> None:
        self.crashes += 1
        self.trace.append(f"crash at {what}")
        raise Crash(what)

    def fault(self, kinds: Sequence[str] = FAULTS) -> str | None:
        """What goes wrong with this call to the wiki, if anything."""
        if self.random.random() >= self.weather.fault:
            return None
        self.faults += 1
        kind = self.random.choice(kinds)
        self.trace.append(f"fault: {kind}")
        return kind

    # -- persons -----------------------------------------------------------------

    def act(self) -> None:
        """A person does something on one of the sides."""
        if self.weather.rewind and self.random.random() < self.weather.rewind:
            self.rewind()
            return
        if incidents.happens(self):
            self.edits += 1
            return
        is_web = self.random.random() < self.weather.web
        copy = self.wiki if is_web else self.random.choice(self.folders)
        # who works on pages has their contents
        incidents.bring_pointed(self, copy)
        kind = self.random.choices(
            ("edit", "insert", "cut", "create", "rename", "rename all", "delete"),
            (8, 8, 2, 3, 2, 1, 1),
        )[0]
        if kind == "create" or not copy.pages:
            self.create(copy)
        elif self.weather.pictures and self.random.random() < self.weather.pictures:
            self.picture(copy)
        elif self.weather.metadata and self.random.random() < self.weather.metadata:
            self.edit_metadata(copy)
        elif kind.startswith("rename"):
            self.rename(copy, is_subtree=kind == "rename all")
        elif kind == "delete":
            self.delete(copy)
        elif self.weather.revert and self.random.random() < self.weather.revert:
            self.revert(self.random.choice(self.folders))
        elif copy.windows and self.random.random() < self.weather.stale:
            self.save_old(copy)
        else:
            self.edit(copy, kind)
        self.edits += 1
        self.commit()

    def commit(self) -> None:
        """Another commit of the wiki, if anything in it changed."""
        last = self.commits[-1][1] if self.commits else None
        if self._tells_commits and (last is None or last.pages != self.wiki.pages):
            self._commits += 1
            self.commits.append((f"commit {self._commits}", deepcopy(self.wiki)))

    def is_untold(self) -> bool:
        """Whether the newest commit is not told now; the first one always is."""
        untold = self.weather.untold if self._has_told else 0.0
        self._has_told = True
        if not untold or self.random.random() >= untold:
            return False
        self.faults += 1
        self.trace.append("fault: HEAD is not told")
        return True

    def force(self) -> bool:
        """The wiki as it was before its last commit, which is in no history then."""
        if self.random.random() >= self.weather.force or len(self.commits) < 2:
            return False
        self.trace.append(f"wiki: {self.commits.pop()[0]} is pushed over by force")
        self._put_back(deepcopy(self.commits[-1][1]))
        return True

    def rewind(self) -> None:
        """The wiki as it was, with its history; or the backup that comes to that."""
        if self.backup is None:
            self.trace.append("wiki: save a backup")
            self.backup = deepcopy(self.wiki)
            return
        self.trace.append("wiki: put the backup back")
        backup, self.backup = self.backup, None
        self._put_back(backup)

    def _put_back(self, backup: Copy) -> None:
        before = self.wiki.marks() | _marks(self.wiki.history)
        # the engine's replica holds on to the wiki
        self.wiki.pages, self.wiki.files = backup.pages, backup.files
        self.wiki.history = backup.history
        known: set[str] = set()
        for folder in self.folders:
            shown = [text for _, text in folder.thrown]
            kept = [text for text in folder.trash if text not in shown]
            known |= folder.marks() | _marks([*folder.history, *kept])
        # what no page file ever had is gone with the service; a conflict file only
        # shows the wiki's text, and follows it
        self.removed |= before - self.wiki.marks() - _marks(self.wiki.history) - known

    def new_identity(self) -> int:
        self._identities += 1
        return self._identities

    def new_line(self) -> str:
        self.marks += 1
        # where names are taken again, no line is like another one
        word = f"{digest_of(str(self.marks))[:24]:.24}" if self.weather.taken else ""
        words = " ".join(word[at : at + 6] for at in range(0, len(word), 6))
        return f"- line <{self.marks}>{words and ' '}{words}\n"

    def create(self, copy: Copy) -> None:
        is_odd = self.random.random() < self.weather.odd
        may_be_twin = is_odd and not copy.is_wiki
        free = [
            name
            for name in self.names
            if not self.weather.conflicts or name not in copy.conflict_files
            if copy.away is None or not name.startswith(f"{incidents.DISK}/")
            if name not in copy.pages and name not in incidents.stubbed(copy)
            if may_be_twin or not copy.is_taken(name)
        ]
        if not free:
            return
        slug = self.random.choice(free)
        text = "".join(self.new_line() for _ in range(self.random.randint(1, 4)))
        if is_odd:
            text = self.random.choice(
                (f"---\ntitle: {slug}\n---\n\n{text}", text.replace("\n", "\r\n"))
            )
        self.put(copy, slug, text)

    def edit(self, copy: Copy, kind: str) -> None:
        slug = self.random.choice(sorted(copy.pages))
        text = copy.pages[slug][0]
        self.put(copy, slug, self._changed(text, kind))

    def _changed(self, text: str, kind: str, line: str = "") -> str:
        """One edit, in the text's own line ends, below its front matter."""
        end = "\r\n" if "\r\n" in text else "\n"
        lines = text.replace("\r\n", "\n").splitlines(keepends=True)
        first = 4 if lines[:1] == ["---\n"] and len(lines) > 4 else 0
        at = self.random.randrange(first, len(lines) + 1)
        if kind == "insert" or not lines:
            lines.insert(at, line or self.new_line())
        elif kind == "cut" and len(lines) - first > 2:
            del lines[min(at, len(lines) - 1)]
        else:
            lines[min(at, len(lines) - 1)] = self.new_line()
        return "".join(lines).replace("\n", end)

    def revert(self, copy: Copy) -> None:
        """Take back all that came from the wiki: each file as it was before."""
        for slug in sorted(copy.windows.keys() & copy.pages.keys()):
            self.put(copy, slug, copy.windows[slug])

    def edit_metadata(self, copy: Copy) -> None:
        """Begin the front matter of a page, change a key of it, or remove it."""
        slug = self.random.choice(sorted(copy.pages))
        text = copy.pages[slug][0]
        block = front_matter_of(text)
        body = text[len(block) :].lstrip("\r\n")
        keys = [line for line in block.splitlines() if ":" in line]
        key = self.random.choice(("title", "owner"))
        kept = [line for line in keys if not line.startswith(key)]
        if not block or self.random.random() < 0.6:
            kept.append(f"{key}: {self.new_line().strip()}")
        else:
            kept = []
        fenced = "\n".join(("---", *kept, "---", "", "")) if kept else ""
        self.put(copy, slug, fenced + body)

    def picture(self, copy: Copy) -> None:
        """A new picture in a page, another one in its place, or one less."""
        fetched = [path for path in copy.files if path.startswith("uploads/")]
        # a change of a fetched one is known to one folder alone
        may_change = list(copy.files) if len(self.folders) == 1 else PICTURES
        kind = "new" if copy.is_wiki else self.random.choice(("new", "other", "less"))
        changed = sorted(copy.files.keys() & set(may_change))
        if kind == "less" and fetched:
            gone = self.random.choice(sorted(fetched))
            self.trace.append(f"{copy.name}: throw {gone} away")
            del copy.files[gone]
        elif kind == "other" and changed:
            self.draw(copy, self.random.choice(changed))
        else:
            name = self.random.choice(PICTURES)
            path = self.upload_path(name) if copy.is_wiki else name
            if path not in copy.files:
                self.draw(copy, path)
            self.link(copy, path)

    def draw(self, copy: Copy, path: str) -> None:
        """Save a picture that nobody has seen before."""
        self._pictures += 1
        self.trace.append(f"{copy.name}: draw {path}")
        self.store_file(copy, path, f"picture {self._pictures}")

    def store_file(self, copy: Copy, path: str, content: str) -> None:
        self._saves += 1
        copy.files[path] = (content, self._saves)

    def upload_path(self, name: str) -> str:
        """Where the service puts a file, which is never where it put another."""
        self._uploads += 1
        return f"uploads/{self._uploads:032x}/{name}"

    def link(self, copy: Copy, path: str) -> None:
        slug = self.random.choice(sorted(copy.pages))
        way = path if path.startswith("uploads/") else f"/{path}"
        line = f"![]({way}) {self.new_line()}"
        self.put(copy, slug, self._changed(copy.pages[slug][0], "insert", line))

    def save_old(self, copy: Copy) -> None:
        """Save from an editor that does not know what came in since."""
        slug = self.random.choice(sorted(copy.windows))
        shown = copy.windows.pop(slug)
        if slug not in copy.pages:
            return
        text = self._changed(shown, "insert")
        if self.random.random() < self.weather.late:
            self._late += 1
            self.trace.append(f"{copy.name}: late save of {slug} {text!r}")
            before = digest_of(shown)
            copy.late.append(LateSave(Slug(slug), text, str(self._late), before))
        else:
            self.put(copy, slug, text, is_blind=True)

    def open_window(self, copy: Copy, slug: str) -> None:
        """An editor shows the file, which the engine is about to replace."""
        copy.windows.setdefault(slug, copy.pages[slug][0])

    def free_name(self, copy: Copy, slug: str) -> str | None:
        """A name that a page of this name may be given; None where there is none."""
        free = [
            name
            for name in self.names
            if not copy.is_taken(name) and not name.startswith(f"{slug}/")
            if not self.weather.conflicts or name not in copy.conflict_files
            if copy.away is None or not name.startswith(f"{incidents.DISK}/")
        ]
        return self.random.choice(free) if free else None

    def rename(self, copy: Copy, *, is_subtree: bool = False) -> None:
        slug = self.random.choice(sorted(copy.pages))
        target = self.free_name(copy, slug)
        if target is None:
            return
        self.trace.append(f"{copy.name}: rename {slug} to {target}")
        copy.given.add(target)
        self.move(copy, slug, target, is_subtree=is_subtree or copy.is_wiki)
        is_free = slug not in incidents.stubbed(copy) and not copy.is_taken(slug)
        if is_free and self.weather.taken and self.random.random() < self.weather.taken:
            self.put(copy, slug, self.new_line() + self.new_line())

    def move(
        self, copy: Copy, slug: str, target: str, *, is_subtree: bool = False
    ) -> None:
        copy.pages[target] = copy.pages.pop(slug)
        for name in (slug, target):
            copy.windows.pop(name, None)  # an editor notices that its file is gone
        incidents.rename_file(copy, slug, target)
        if not is_subtree:
            return
        under = [one for one in copy.pages if one.startswith(f"{slug}/")]
        for below in (one for one in under if one != target):
            new = target + below[len(slug) :]
            if new not in copy.pages and new not in incidents.stubbed(copy):
                copy.pages[new] = copy.pages.pop(below)
                incidents.rename_file(copy, below, new)

    def delete(self, copy: Copy) -> None:
        slug = self.random.choice(sorted(copy.pages))
        text = copy.pages.pop(slug)[0]
        copy.windows.pop(slug, None)
        incidents.remove_file(copy, slug)
        self.trace.append(f"{copy.name}: delete {slug}")
        copy.history.append(text)
        self.removed |= set(MARK.findall(text))

    @staticmethod
    def marks_in(text: str) -> set[str]:
        return set(MARK.findall(text))

    def remove_marks(self, text: str, *, but: str) -> None:
        """A person throws a text away, but for what they know to be elsewhere."""
        self.removed |= set(MARK.findall(text)) - set(MARK.findall(but))

    def put(self, copy: Copy, slug: str, text: str, *, is_blind: bool = False) -> None:
        """A person saves a page."""
        self.trace.append(f"{copy.name}: save {slug} {text!r}")
        before = copy.pages.get(slug)
        self.note_page(text, before[0] if before else "")
        if before is not None:
            copy.history.append(before[0])
            # what a window did not show was not taken away on purpose
            if not is_blind:
                self.removed |= set(MARK.findall(before[0])) - set(MARK.findall(text))
        copy.windows.pop(slug, None)
        is_atomic = not copy.is_wiki and self.random.random() < self.weather.odd
        self.store(copy, slug, text, is_new_file=is_atomic)

    def note_page(self, text: str, before: str) -> None:
        """Note what new lines of a text are written for: its page of before, if any."""
        known = [m for m in MARK.findall(text + before) if m in self.page_of]
        page = self.page_of[known[0]] if known else len(self.page_of)
        for mark in MARK.findall(text):
            self.page_of.setdefault(mark, page)

    def join_pages(self, text: str) -> None:
        """A person brings what a text holds together in one page."""
        pages = {self.page_of[m] for m in MARK.findall(text) if m in self.page_of}
        for mark, page in self.page_of.items():
            if page in pages:
                self.page_of[mark] = min(pages)

    def mixed(self, copy: Copy) -> set[str]:
        """Pages with lines that were written for another one."""
        pages = {
            slug: {self.page_of[m] for m in MARK.findall(text) if m in self.page_of}
            for slug, text in copy.texts().items()
        }
        return {slug for slug, of in pages.items() if len(of) > 1}

    def overwrite(self, copy: Copy, before: str, text: str, *, is_seen: bool) -> None:
        """An engine's write takes the place of a text, which it may not have seen."""
        copy.history.append(before)
        if not is_seen:
            # saved by someone between our read and our write; nothing can help
            lost = set(MARK.findall(before)) - set(MARK.findall(text))
            self.overwritten |= lost
            self.trace.append(f"overwritten unseen: {sorted(lost)}")

    def store(
        self,
        copy: Copy,
        slug: str,
        text: str,
        page_format: Format = Format.MARKDOWN,
        *,
        is_new_file: bool = False,
    ) -> None:
        """Args: ``is_new_file`` is True for an editor that saves by a rename."""
        before = copy.pages.get(slug)
        if is_new_file:
            incidents.remove_file(copy, slug)
        is_same = before is not None and not is_new_file
        identity = before[2] if before and is_same else self.new_identity()
        copy.pages[slug] = (text, before[1] if before else page_format, identity)
        copy.past.setdefault(slug, []).append(text)


def _nobody() -> bool:
    """No cycle is under way."""
    return False
