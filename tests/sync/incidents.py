"""What persons and their programs do beside saving pages, as rarely as they do.

Programs that keep a file open and append to it, conflict files that are edited,
removed and moved, disks below a folder that come and go, names that the service takes
for one, texts that are used again, rights of a token that go and come, and stubs, bins
and pointers of other programs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wikisync.core.model import Digest, Format, LateSave, Slug, digest_of
from wikisync.folder.ignore import folder_maker, stub_of
from wikisync.merging.conflict import Clash, read_conflict_file
from wikisync.sync.decide.safety import EMPTIED_PAGES_MIN

if TYPE_CHECKING:
    from tests.sync.persons import Copy, World

OLDER_MIN = 4
"""Pages that differ from a copy before it is put over them."""
PICTURE = re.compile(r"!\[\]\([^)]*\) ")
PROGRAMS_MAX = 2
"""Files that programs of one folder have open at the same time."""
DISK = "guide"
"""The directory below a folder on which a disk of its own is mounted."""


@dataclass(slots=True, eq=False)
class ReplacedFile:
    """A file that the engine replaced or removed while a program had it open."""

    number: int
    slug: str
    text: str
    known: Digest
    """Of the text that is in no need of being taken."""

    def late_save(self) -> LateSave:
        digest = digest_of(self.text)
        name = f"{self.number}:{digest}"
        return LateSave(Slug(self.slug), self.text, name, self.known)


@dataclass(slots=True, eq=False)
class Program:
    """A program that appends to a page's file, whatever name that has."""

    slug: str
    file: ReplacedFile | None = None
    """The file where it is the page's no more."""


def happens(world: World) -> bool:
    """Whether an incident took the place of a person's act."""
    weather = world.weather
    for often, act in (
        (weather.programs, append),
        (weather.conflicts, use_conflict_file),
        (weather.disks, touch_disk),
        (weather.spellings, respell),
        (weather.again, use_again),
        (weather.rights, change_rights),
        (weather.older, put_older_copy),
        (weather.elsewhere, take_content),
    ):
        if often and world.random.random() < often:
            act(world, world.random.choice(world.folders))
            return True
    return False


# -- older copies ------------------------------------------------------------------


def put_older_copy(world: World, copy: Copy) -> None:
    """Somebody saves a copy of the folder, or puts the last one over it."""
    if not copy.older:
        world.trace.append(f"{copy.name}: save a copy")
        copy.older = copy.texts()
        return
    mine = copy.texts()
    if sum(mine.get(slug) != text for slug, text in copy.older.items()) < OLDER_MIN:
        return
    world.trace.append(f"{copy.name}: put the copy over it")
    older, copy.older = copy.older, {}
    for slug, text in older.items():
        if slug in copy.pages or not copy.is_taken(slug):
            world.put(copy, slug, text)


# -- texts that are used again ---------------------------------------------------------


def use_again(world: World, folder: Copy) -> None:
    """A person copies a page, takes over what the other side has, or brings it back.

    The latter may be an older text of the page, or a page that was removed.
    """
    copy, other = folder, world.wiki
    if world.random.random() < world.weather.web:
        copy, other = other, copy
    kind = world.random.choice(("copy", "take over", "bring back"))
    names, past = sorted(copy.pages), copy.past
    if kind == "take over":
        names = [slug for slug in names if slug in other.pages]
    elif kind == "bring back":
        names = sorted(s for s in past if s in copy.pages or not copy.is_taken(s))
    if not names:
        return
    slug = target = world.random.choice(names)
    if kind == "copy":
        target, text = world.free_name(copy, slug) or slug, copy.pages[slug][0]
    elif kind == "take over":
        text = other.pages[slug][0]
    else:
        text = world.random.choice(past[slug])
    world.trace.append(f"{copy.name}: {kind}: {slug}")
    if copy.is_wiki:
        # nothing tells a link back to a picture that a folder has another one for
        text = PICTURE.sub("", text)
    # most people go on writing
    more = world.new_line() if world.random.random() < 0.5 else ""
    world.put(copy, target, text + more)
    world.commit()


# -- the rights of a token -------------------------------------------------------------


def change_rights(world: World, _copy: Copy) -> None:
    """Somebody takes rights from the token, or gives them back."""
    world.rights = world.random.choice(("write", "read", "read", "none"))
    world.trace.append(f"the token's right: {world.rights}")


# -- programs ------------------------------------------------------------------------


def append(world: World, copy: Copy) -> None:
    """A program opens a page's file, appends a line to what it has open, or ends."""
    chance = world.random.random()
    if not copy.programs or (len(copy.programs) < PROGRAMS_MAX and chance < 0.2):
        there = world.wiki.texts()
        mine = copy.texts()
        # most that the engine is about to replace
        differ = [slug for slug in mine if there.get(slug, mine[slug]) != mine[slug]]
        if copy.pages:
            slug = world.random.choice(sorted(differ or copy.pages))
            world.trace.append(f"{copy.name}: a program opens {slug}")
            copy.programs.append(Program(slug))
        return
    late = [one for one in copy.programs if one.file]
    program = world.random.choice(late or copy.programs)
    if chance > 0.95:
        world.trace.append(f"{copy.name}: a program closes {program.slug}")
        copy.programs.remove(program)
        return
    if not program.file and chance > 0.4:
        return  # it has nothing to say
    line = world.new_line()
    where = "the replaced " if program.file else ""
    world.trace.append(f"{copy.name}: append to {where}{program.slug} {line!r}")
    if program.file is not None:
        program.file.text += line
    else:
        text = copy.pages[program.slug][0]
        end = "" if not text or text.endswith("\n") else "\n"
        world.store(copy, program.slug, f"{text}{end}{line}")


def replace_file(copy: Copy, slug: str) -> None:
    """The engine takes a page's file away; programs go on with it."""
    programs = [one for one in copy.programs if one.slug == slug and not one.file]
    if not programs:
        return
    text = copy.pages[slug][0]
    copy.replaced_files += 1
    file = ReplacedFile(copy.replaced_files, slug, text, digest_of(text))
    copy.limbo.append(file)
    for program in programs:
        program.file = file


def rename_file(copy: Copy, slug: str, target: str) -> None:
    for program in copy.programs:
        if program.slug == slug and not program.file:
            program.slug = target


def remove_file(copy: Copy, slug: str) -> None:
    """A person's own doing: what programs still write there is nobody's."""
    copy.programs = [one for one in copy.programs if one.slug != slug or one.file]


def late_saves(copy: Copy) -> list[LateSave]:
    """What stands in files that were replaced; those that are over go."""
    held = [one.file for one in copy.programs]
    copy.limbo = [
        file
        for file in copy.limbo
        if file in held or digest_of(file.text) != file.known
    ]
    return [one.late_save() for one in copy.limbo if digest_of(one.text) != one.known]


def clashing(copy: Copy, slug: str, text: str) -> str:
    """What a program appended after a line that is in its page no more.

    Somebody removed that line, or another page has the name.
    """
    lines = text.splitlines(keepends=True)
    known = {file.known for file in copy.limbo if file.slug == slug}
    for at in range(len(lines), 0, -1):
        if digest_of("".join(lines[:at])) in known:
            is_there = lines[at - 1] in copy.pages[slug][0]
            return "" if is_there else "".join(lines[at:])
    return ""


def acknowledge(copy: Copy, late: LateSave) -> None:
    number, _, digest = late.id.partition(":")
    for file in copy.limbo:
        if digest and file.number == int(number):
            file.known = Digest(digest)


# -- conflict files ------------------------------------------------------------------


def use_conflict_file(world: World, copy: Copy) -> None:
    """A person works in a conflict file, or moves or removes it."""
    if not copy.conflict_files:
        if copy.pages:
            world.edit(copy, "edit")
        return
    slug = world.random.choice(sorted(copy.conflict_files))
    kind = world.random.choices(
        (
            "settle",
            "begin",
            "remove",
            "move both",
            "move",
            "settle and remove the page",
        ),
        (3, 2, 1, 2, 1, 2),
    )[0]
    world.trace.append(f"{copy.name}: {kind}: the conflict file of {slug}")
    match kind:
        case "begin":
            copy.conflict_files[slug] += world.new_line()
            world.trace.append(f"now {copy.conflict_files[slug]!r}")
        case "remove":
            text = copy.conflict_files.pop(slug)
            # a page that got another's name here takes the place of that one there
            there = [t for s, t in world.wiki.texts().items() if s not in copy.given]
            world.remove_marks(text, but="".join([*there, *copy.texts().values()]))
        case "move both" | "move":
            _move(world, copy, slug, with_page=kind == "move both")
        case _:
            before = copy.conflict_files[slug]
            copy.conflict_files[slug] = settled(before)
            world.trace.append(f"now {copy.conflict_files[slug]!r}")
            # one that was settled before may be the page by now
            is_new = copy.conflict_files[slug] != before
            if kind != "settle" and is_new and slug in copy.pages:
                text = copy.pages.pop(slug)[0]
                remove_file(copy, slug)
                copy.history.append(text)
                world.remove_marks(text, but=copy.conflict_files[slug])


def settled(text: str) -> str:
    """A conflict file with both texts in the place of each clash."""
    return "".join(
        piece.remote + piece.local if isinstance(piece, Clash) else piece
        for piece in read_conflict_file(text).pieces
    )


def _move(world: World, copy: Copy, slug: str, *, with_page: bool) -> None:
    target = world.free_name(copy, slug)
    if target is None or target in copy.conflict_files:
        return
    copy.conflict_files[target] = copy.conflict_files.pop(slug)
    # it is what that page becomes, whatever was in conflict there before
    world.remove_marks(copy.conflicts.get(target, ""), but=copy.conflict_files[target])
    if with_page and slug in copy.pages:
        world.trace.append(f"{copy.name}: with {slug} to {target}")
        copy.given.add(target)
        world.move(copy, slug, target)


# -- disks ---------------------------------------------------------------------------


def touch_disk(_world: World, copy: Copy) -> None:
    """A disk goes or comes before the next look.

    One that goes between a look and a write takes what is written in its place with it,
    whoever writes.
    """
    copy.is_disk_touched = True


def take_or_bring_disk(world: World, copy: Copy) -> None:
    """A disk below the folder goes and leaves an empty directory, or is back.

    It comes as another device, whose files have other identities, and hides what
    was written into the empty directory meanwhile.
    """
    if not copy.is_disk_touched:
        return
    copy.is_disk_touched = False
    if copy.away is not None:
        world.trace.append(f"{copy.name}: the disk is back")
        bring_disk(world, copy)
        return
    below = on_disk(copy)
    there = world.wiki.texts()
    in_sync = [slug for slug in below if copy.pages[slug][0] == there.get(slug)]
    # fewer may be a person's doing, and of these one may be renamed at the same time;
    # what a process wrote that ended before it could note it, no engine knows of
    if len(copy.known_pages() & set(in_sync)) > EMPTIED_PAGES_MIN:
        world.trace.append(f"{copy.name}: the disk goes with {below}")
        copy.away = {slug: copy.pages.pop(slug) for slug in below}
        for slug in below:
            remove_file(copy, slug)


def bring_disk(world: World, copy: Copy) -> None:
    """Every file of the disk is there again, if they were gone."""
    copy.is_disk_touched = False
    if copy.away is None:
        return
    away, copy.away = copy.away, None
    for slug in on_disk(copy):
        # hidden, and not lost; what the engine has read is on its way to the wiki
        world.remove_marks(copy.pages.pop(slug)[0], but="".join(copy.seen))
        remove_file(copy, slug)
    for slug, (text, page_format, _) in away.items():
        copy.pages[slug] = (text, page_format, world.new_identity())


def on_disk(copy: Copy) -> list[str]:
    return sorted(slug for slug in copy.pages if slug.startswith(f"{DISK}/"))


def is_emptied(copy: Copy, slug: str) -> bool:
    """Whether a missing page's directory is there and holds nothing."""
    is_below = slug.startswith(f"{DISK}/")
    return copy.away is not None and is_below and not on_disk(copy)


# -- names that the service takes for one --------------------------------------------


def respell(world: World, copy: Copy) -> None:
    """A person gives a page a name that differs by case, or by a dash, alone."""
    if not copy.pages:
        return
    slug = world.random.choice(sorted(copy.pages))
    folder, slash, leaf = slug.rpartition("/")
    spelt = leaf.swapcase() if world.random.random() < 0.3 else leaf.capitalize()
    if world.random.random() < 0.5:
        dash, space = ("-", " ") if "-" in leaf else (" ", "-")
        spelt = spelt.replace(dash, space)
    target = f"{folder}{slash}{spelt if spelt != leaf else leaf.lower()}"
    if target not in copy.pages:
        world.trace.append(f"{copy.name}: spell {slug} as {target}")
        world.move(copy, slug, target)


# -- contents that other programs keep elsewhere -------------------------------------

BIN = "#recycle"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{:064x}\nsize 9\n"


def take_content(world: World, copy: Copy) -> None:
    """A cloud drive leaves a stub, git a pointer, and a network disk has a bin."""
    kind = world.random.choice(("stub", "stub", "stub", "bring", "pointer", "bin"))
    whole = sorted(
        s for s, (text, _, _) in copy.pages.items() if text not in copy.pointers
    )
    if kind == "bring" or not whole:
        bring_contents(world, copy)
        return
    slug = world.random.choice(whole)
    world.trace.append(f"{copy.name}: {kind}: {slug}")
    page = copy.pages[slug]
    match kind:
        case "pointer":
            pointer = POINTER.format(len(world.trace))
            copy.pointers[pointer] = page[0]
            world.store(copy, slug, pointer, page[1])
            return
        case "bin":
            copy.bin[f"{BIN}/{slug}"] = page
            copy.history.append(page[0])
            world.removed |= world.marks_in(page[0])
        case _:
            # now and then it is renamed at once
            name = slug if world.random.random() < 0.8 else world.free_name(copy, slug)
            folder, slash, leaf = (name or slug).rpartition("/")
            copy.stubs[f"{folder}{slash}.{leaf}.md.icloud"] = page
    del copy.pages[slug]
    copy.windows.pop(slug, None)
    remove_file(copy, slug)


def bring_pointed(world: World, copy: Copy) -> None:
    """Git puts the contents into the place of its pointers."""
    for slug, (text, page_format, _) in list(copy.pages.items()):
        if text in copy.pointers:
            world.store(copy, slug, copy.pointers[text], page_format)
    copy.pointers.clear()


def bring_contents(world: World, copy: Copy) -> None:
    """Every content is there again."""
    if copy.stubs or copy.pointers:
        world.trace.append(f"{copy.name}: contents come back")
    bring_pointed(world, copy)
    for stub, page in copy.stubs.items():
        copy.pages[stood_for(stub) or stub] = page
    copy.stubs.clear()


def stood_for(path: str) -> str | None:
    """The page whose file a stub stands for, as the folder's scan tells it."""
    folder, slash, name = path.rpartition("/")
    stub = stub_of(name)
    return f"{folder}{slash}{stub.names[0].removesuffix('.md')}" if stub else None


def stubbed(copy: Copy) -> frozenset[Slug]:
    return frozenset(Slug(slug) for path in copy.stubs if (slug := stood_for(path)))


def binned(copy: Copy) -> dict[str, tuple[str, Format, int]]:
    """What of the bin the folder's scan would take for pages."""
    return {} if folder_maker(BIN) else copy.bin
