"""Persons who write: in files, on the website, by git; each text has its own marker."""

import json
import os
import random
import re
import subprocess
import time
import unicodedata
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MARKER = re.compile(r"mk\d+x")
PROSE = """The pump runs at night and rests by day. Check the valve before you open it.
A green lamp says that all is well. Call the office when it turns red. Nobody works
alone in this room. Keep the door shut."""
WORDS = PROSE.split()
FOLDERS = ("", "", "", "team/", "team/notes/", "Archive/", "Über uns/")
NAMES = ("plan", "café", "To do", "notes", "read-me", "Überblick")
OPEN_S = 0.25
"""How long a slow program keeps a file open between two writes."""
ANSWER_TIMEOUT_S = 30.0


def markers(text: str) -> set[str]:
    return set(MARKER.findall(text))


@dataclass(slots=True)
class Ledger:
    """Every marker, and what persons did to it by themselves."""

    count: int = 0
    written: dict[str, str] = field(default_factory=dict)
    """Marker to the act and place where it was written."""
    removed: set[str] = field(default_factory=set)
    """Seen by a person who took them away."""
    overwritten: set[str] = field(default_factory=set)
    """In a file when a person saved an older window over it."""
    unsure: set[str] = field(default_factory=set)
    """Their save was refused or not answered."""
    names: set[str] = field(default_factory=set)
    """Every page there ever was, as a path with a suffix."""

    def saved(self, before: str, after: str) -> None:
        """A person who saw one text has saved another."""
        self.removed |= markers(before) - markers(after)


Acts = tuple[tuple[str, int], ...]


class Person:
    """One who does random acts, and enters them in the ledger."""

    place = ""
    acts: Acts = ()
    """Names of methods and how often each is drawn."""

    def __init__(self, seed: int, ledger: Ledger) -> None:
        self.random = random.Random(seed)
        self.ledger = ledger
        self.done = 0
        self._new: list[str] = []

    def act(self) -> None:
        """Do one act; where it fails nothing that it wrote counts as saved."""
        names, weights = zip(*self.acts, strict=True)
        name = self.random.choices(names, weights)[0]
        self._new = []
        try:
            done = self._do(getattr(self, name))
        except (OSError, subprocess.SubprocessError):
            done = False
        if done:
            self.done += 1
        else:
            self.ledger.unsure.update(self._new)
        for marker in self._new:
            self.ledger.written[marker] = f"{self.place}: {name}"

    def _do(self, act: Callable[[], bool]) -> bool:
        return act()

    def marker(self) -> str:
        self.ledger.count += 1
        self._new.append(f"mk{self.ledger.count}x")
        return self._new[-1]

    def sentence(self) -> str:
        start = self.random.randrange(len(WORDS) - 6)
        return f"{' '.join(WORDS[start : start + 5])} {self.marker()}.\n"

    def path(self) -> str:
        """A name for a page that was never there."""
        self.ledger.count += 1
        name = f"{self.random.choice(NAMES)}-k{self.ledger.count}.md"
        path = self.random.choice(FOLDERS) + name
        self.ledger.names.add(path)
        return path

    def edited(self, text: str) -> str:
        """The text after a small edit, which now and then takes a line away."""
        lines = text.splitlines(keepends=True) or [""]
        at = self.random.randrange(len(lines))
        kind = self.random.random()
        if kind < 0.4:
            return f"{text.rstrip()}\n\n{self.sentence()}"
        if kind < 0.8 and "---" not in lines[at] and ":" not in lines[at]:
            words = lines[at].split(" ")
            words.insert(self.random.randrange(len(words)), self.marker())
            lines[at] = " ".join(words)
        elif kind < 0.9 and len(lines) > 4:
            del lines[at]
            lines.append(self.sentence())
        else:
            lines.append("\n" + self.sentence())
        return "".join(lines)

    def with_front_matter(self, text: str) -> str:
        """The text with a key of front matter added or changed, or without any."""
        head, mark, rest = text.removeprefix("---\n").partition("\n---\n")
        if not text.startswith("---\n") or not mark:
            return f"---\nnote: {self.marker()}\n---\n{text}"
        if self.random.random() < 0.3:
            return f"{rest.rstrip()}\n{self.sentence()}"
        keys = [line for line in head.splitlines() if not line.startswith("note:")]
        if self.random.random() < 0.4:
            keys.append(f"key{self.ledger.count}: {self.marker()}")
        return "\n".join(["---", f"note: {self.marker()}", *keys, "---", rest])


class Desk(Person):
    """A person with an editor, in the folder of one wiki of a workspace."""

    acts: Acts = (
        ("edit", 10),
        ("create", 3),
        ("rename", 2),
        ("rename_case", 1),
        ("rename_form", 1),
        ("move_folder", 1),
        ("delete", 2),
        ("open_window", 2),
        ("save_old_window", 3),
        ("save_slowly", 2),
        ("append_open", 2),
        ("front_matter", 3),
    )

    def __init__(self, folder: Path, seed: int, ledger: Ledger) -> None:
        super().__init__(seed, ledger)
        self.folder = folder
        self.place = str(folder.parent.name)
        self._windows: dict[Path, str] = {}

    def pages(self) -> list[Path]:
        return sorted(
            path
            for path in self.folder.rglob("*.md")
            if ".conflict" not in path.name and not path.name.startswith(".")
        )

    def _page(self) -> Path:
        pages = self.pages()
        if not pages:
            raise FileNotFoundError(self.folder)
        return self.random.choice(pages)

    def _save(self, path: Path, seen: str, text: str) -> bool:
        """Save as editors do: in place, or by a new file with the old one's name."""
        now = path.read_text() if path.exists() else ""
        self.ledger.saved(seen, text)
        self.ledger.overwritten |= markers(now) - markers(seen) - markers(text)
        if self.random.random() < 0.5:
            path.write_text(text)
        else:
            new = path.with_name(f".{path.name}.new~")
            new.write_text(text)
            new.replace(path)
        return True

    def edit(self) -> bool:
        path = self._page()
        text = path.read_text()
        return self._save(path, text, self.edited(text))

    def front_matter(self) -> bool:
        path = self._page()
        text = path.read_text()
        return self._save(path, text, self.with_front_matter(text))

    def create(self) -> bool:
        path = self.folder / self.path()
        path.parent.mkdir(parents=True, exist_ok=True)
        return self._save(path, "", f"# New\n\n{self.sentence()}\n{self.sentence()}")

    def open_window(self) -> bool:
        path = self._page()
        self._windows[path] = path.read_text()
        return True

    def save_old_window(self) -> bool:
        if not self._windows:
            return self.open_window()
        path = self.random.choice(sorted(self._windows))
        seen = self._windows.pop(path)
        if not path.exists():
            return False
        return self._save(path, seen, self.edited(seen))

    def save_slowly(self) -> bool:
        path = self._page()
        seen = path.read_text()
        text = self.edited(seen)
        self.ledger.saved(seen, text)
        with path.open("r+") as file:
            self.ledger.overwritten |= markers(file.read()) - markers(text)
            file.seek(0)
            file.truncate()
            file.write(text[: len(text) // 2])
            file.flush()
            time.sleep(OPEN_S)
            file.write(text[len(text) // 2 :])
        return True

    def append_open(self) -> bool:
        with self._page().open("a") as file:
            file.write(f"\n\n{self.sentence()}")
            file.flush()
            time.sleep(OPEN_S)
            file.write(self.sentence())
        return True

    def rename(self) -> bool:
        return self._move(self._page(), self.folder / self.path())

    def rename_case(self) -> bool:
        path = self._page()
        return self._move(path, path.with_name(f"{path.stem.swapcase()}.md"))

    def rename_form(self) -> bool:
        path = self._page()
        form = "NFC" if unicodedata.is_normalized("NFD", path.name) else "NFD"
        name = unicodedata.normalize(form, path.name)  # type: ignore[arg-type]
        return self._move(path, path.with_name(name))

    def move_folder(self) -> bool:
        # pages below a hidden name are kept out of the sync, by whoever gives it
        found = (path for path in self.folder.iterdir() if path.name[0] != ".")
        folders = sorted(path for path in found if path.is_dir())
        if not folders:
            return self.rename()
        self.ledger.count += 1
        new = self.folder / f"{self.random.choice(folders).name}-k{self.ledger.count}"
        return self._move(self.random.choice(folders), new)

    def _move(self, path: Path, new: Path) -> bool:
        if new.exists():
            return False
        new.parent.mkdir(parents=True, exist_ok=True)
        path.rename(new)
        for file in [new] if new.is_file() else new.rglob("*.md"):
            self.ledger.names.add(file.relative_to(self.folder).as_posix())
        return True

    def delete(self) -> bool:
        path = self._page()
        self.ledger.saved(path.read_text(), "")
        path.unlink()
        return True


class Web(Person):
    """A person at the website; each act is a call of the REST API."""

    place = "web"
    acts = (
        ("save", 8),
        ("create", 3),
        ("rename", 2),
        ("delete", 1),
        ("front_matter", 2),
    )

    def __init__(self, wikis: str, token: str, seed: int, ledger: Ledger) -> None:
        super().__init__(seed, ledger)
        self._wikis = wikis
        self._token = token

    def _do(self, act: Callable[[], bool]) -> bool:
        try:
            return act()
        except urllib.error.HTTPError as refused:
            refused.close()
            return False

    def _ask(self, method: str, slug: str = "", **values: str) -> Any:
        address = f"{self._wikis}/{urllib.parse.quote(slug, safe='')}".rstrip("/")
        data = json.dumps(values).encode() if values else None
        headers = {"PRIVATE-TOKEN": self._token, "Content-Type": "application/json"}
        request = urllib.request.Request(address, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=ANSWER_TIMEOUT_S) as answer:
            return json.loads(answer.read() or b"null")

    def _seen(self) -> tuple[str, str]:
        slugs = sorted(page["slug"] for page in self._ask("GET"))
        if not slugs:
            raise FileNotFoundError(self._wikis)
        slug = self.random.choice(slugs)
        return slug, str(self._ask("GET", slug)["content"])

    def _put(self, slug: str, seen: str, text: str) -> bool:
        self.ledger.saved(seen, text)
        self._ask("PUT", slug, content=text)
        return True

    def save(self) -> bool:
        slug, text = self._seen()
        return self._put(slug, text, self.edited(text))

    def front_matter(self) -> bool:
        slug, text = self._seen()
        return self._put(slug, text, self.with_front_matter(text))

    def create(self) -> bool:
        title = self.path().removesuffix(".md")
        self._ask("POST", title=title, content=f"# On the web\n\n{self.sentence()}")
        return True

    def rename(self) -> bool:
        slug, text = self._seen()
        self._ask("PUT", slug, title=self.path().removesuffix(".md"), content=text)
        return True

    def delete(self) -> bool:
        slug, text = self._seen()
        self.ledger.saved(text, "")
        self._ask("DELETE", slug)
        return True


class Git(Person):
    """A person with a clone of the wiki's repository."""

    place = "git"
    acts = (("edit", 5), ("front_matter", 2), ("rename", 1), ("delete", 1))

    def __init__(self, folder: Path, url: str, seed: int, ledger: Ledger) -> None:
        super().__init__(seed, ledger)
        self._folder = folder
        self._url = url

    def _do(self, act: Callable[[], bool]) -> bool:
        if not self._folder.exists():
            git("clone", "-q", self._url, str(self._folder))
        self._git("fetch", "-q")
        self._git("reset", "-q", "--hard", "@{upstream}")
        if not act():
            return False
        self._git("add", "-A")
        self._git("commit", "-q", "-m", "by hand")
        self._git("push", "-q")
        return True

    def _git(self, *words: str) -> str:
        return git("-C", str(self._folder), *words)

    def _page(self) -> Path:
        pages = sorted(self._folder.rglob("*.md"))
        if not pages:
            raise FileNotFoundError(self._folder)
        return self.random.choice(pages)

    def _save(self, change: Callable[[str], str]) -> bool:
        path = self._page()
        text = path.read_text()
        path.write_text(change(text))
        self.ledger.saved(text, path.read_text())
        return True

    def edit(self) -> bool:
        return self._save(self.edited)

    def front_matter(self) -> bool:
        return self._save(self.with_front_matter)

    def rename(self) -> bool:
        new = self._folder / self.path().replace(" ", "-")
        new.parent.mkdir(parents=True, exist_ok=True)
        self._page().rename(new)
        return True

    def delete(self) -> bool:
        path = self._page()
        self.ledger.saved(path.read_text(), "")
        path.unlink()
        return True


def git(*words: str) -> str:
    """What git prints.

    Raises:
        subprocess.SubprocessError: it failed, or took too long.
    """
    person = {"NAME": "Gita", "EMAIL": "gita@example.com"}
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        **{f"GIT_AUTHOR_{name}": value for name, value in person.items()},
        **{f"GIT_COMMITTER_{name}": value for name, value in person.items()},
    }
    done = subprocess.run(
        ("git", *words),
        env=environment,
        check=True,
        capture_output=True,
        timeout=ANSWER_TIMEOUT_S * 2,
    )
    return done.stdout.decode(errors="replace")
