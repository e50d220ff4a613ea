"""What is sent to the service and what it answers: the archives in ``exchanges``.

An archive holds cases by name; what stands before the first one begins each of them.
A line sets something up (a method of ``Stage``, with words and at last JSON) or is a
request and its answer; a line that is indented goes on with the one before::

    book = /projects/docs%2Fbook

    == share ends on its last day
    project docs/book
    crew = group crew
    user dana
    POST $book/share {"group_id": $crew, "group_access": 30, "expires_at": "2001-01-01"}
      -> 201 {"expires_at": "2001-01-01", ...}
    dana: GET $book -> 404 {"message": "404 Project Not Found"}

``nobody`` has no token, and who is not named is the administrator.  A path is below
``/api/v4``, or begins with ``$url``.  A body is JSON, ``form a=1&b=2``, or, with a byte
for each sign, ``raw "text"`` or ``file FIELD NAME "text"``; ``[Name: value]`` is a
header, sent or answered, and one that is ``none`` is not there.  An answer is JSON (a
string, if it is of another type), ``empty``, or ``~`` and a text that is in it;
``.name`` before the JSON takes a key, of each record of a list.

In the JSON of an answer ``...`` stands for more: other keys of an object, the rest of
a string, any value.  ``"/x/"`` is an expression, and a key ``"-name"`` is not there.
The first ``"$name"`` keeps a value: the next ones, and ``$name`` elsewhere, are it.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote

import aiohttp
import pytest
from msgspec.structs import replace

from tests.service.conftest import Answer, Api, Receiver
from tests.support.git import needs_git
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService
from wikisync.core.model import WikiOwner
from wikisync.errors import ServiceError
from wikisync.service import jobs
from wikisync.service.settings import Hook, Imports
from wikisync.service.tables import Tables

FOLDER = Path(__file__).parent / "exchanges"
CASE = re.compile(r"^== (.+)\n", re.MULTILINE)
NAME = re.compile(r"\$(\w+)")
KEPT = re.compile(r"(\w+) = (.+)")
REQUEST = re.compile(r"(?:(\w+): )?([A-Z]+) (\S+) ?(.*?) ?-> (\d+) ?(.*)")
HEADER = re.compile(r"\[([\w-]+): ?(.*?)\] ?")
EXPECTED = re.compile(r"((?:\.\w+)*) ?(.+)")


def cases_of(file: Path) -> Iterator[Any]:
    first, *rest = CASE.split(file.read_text(encoding="utf-8"))
    marks = [needs_git] if file.stem == "git" else []
    for name, text in zip(rest[::2], rest[1::2], strict=True):
        yield pytest.param(first + text, id=f"{file.stem}: {name}", marks=marks)


CASES = [case for file in sorted(FOLDER.glob("*.txt")) for case in cases_of(file)]


@pytest.mark.parametrize("text", CASES)
async def test_service_answers_as_the_archive_says(
    text: str,
    service: EmbeddedService,
    api: Api,
    receiver: Receiver,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = Stage(service, api, receiver, tmp_path)

    for line in re.sub(r"\n +", " ", text).splitlines():
        await stage.play(line)

    stage.problems += [f"${name} is kept and not used" for name in stage.unused]
    stage.problems += [
        one.message for one in caplog.records if one.levelname == "ERROR"
    ]
    assert not stage.problems, "\n".join(stage.problems)


class Stage:
    """A service, those who speak to it, and what was not answered as it should be."""

    def __init__(
        self, service: EmbeddedService, api: Api, receiver: Receiver, place: Path
    ) -> None:
        self.service = service
        self.receiver = receiver
        self.place = place
        self.api = api
        self.people = {None: api, "nobody": api.as_user(None)}
        self.names: dict[str, Any] = {"url": service.url, "token": service.token}
        self.unused: set[str] = set()
        """Names that an answer was kept under, and that may be misspelt."""
        self.problems: list[str] = []

    async def play(self, line: str) -> None:
        if request := REQUEST.fullmatch(line):
            who, method, path, sent, status, expected = request.groups()
            path, sent = self.named(path), self.named(sent)
            place = path.removeprefix(self.service.url)
            answer = await self.people[who](
                method,
                place if place != path else f"/api/v4{path}",
                headers=dict(HEADER.findall(sent)),
                **body_of(HEADER.sub("", sent)),
            )
            self.check(line, answer, int(status), expected)
        elif line.startswith("told"):
            await self.check_told(*line.split(" ", 1))
        elif kept := KEPT.fullmatch(line):
            value = self.named(kept[2])
            is_text = value[0] in '"/'
            self.names[kept[1]] = (
                value.strip('"') if is_text else await self.set_up(value)
            )
        elif line:
            await self.set_up(self.named(line))

    def named(self, text: str) -> str:
        """A text with the values of the names in it."""
        self.unused -= {*NAME.findall(text)}
        return NAME.sub(lambda name: str(self.names.get(name[1], name[0])), text)

    # answers

    def check(self, line: str, answer: Answer, status: int, expected: str) -> None:
        headers = HEADER.findall(expected)
        told = {name: answer.headers.get(name, "none") for name, _ in headers}
        is_right = (
            answer.status == status
            and all(self.fits(value, told[name]) for name, value in headers)
            and self.is_body(HEADER.sub("", expected), answer)
        )
        if not is_right:
            said = f"{answer.status} {told} {answer.body[:4000]!r}"
            self.problems.append(f"{line}\n  was answered {said}")

    def is_body(self, expected: str, answer: Answer) -> bool:
        if expected in {"", "empty"}:
            return not expected or not answer.body
        if expected.startswith("~ "):
            return self.named(expected.removeprefix("~ ")) in answer.body.decode()
        is_json = answer.headers["Content-Type"] == "application/json"
        text_of = answer.body.decode(errors="replace")
        return self.is_value(expected, answer.json if is_json else text_of)

    def is_value(self, expected: str, found: Any) -> bool:
        keys, text = EXPECTED.fullmatch(expected).groups()  # type: ignore[union-attr]
        for key in keys.split(".")[1:]:
            is_list = isinstance(found, list)
            found = [one[key] for one in found] if is_list else found[key]
        numbers = re.sub(r"(?<=[ \[])\$\w+", lambda name: self.named(name[0]), text)
        return self.fits(json.loads(numbers.replace("...}", '"...": 0}')), found)

    def fits(self, pattern: Any, value: Any) -> bool:
        match pattern, value:
            case "...", _:
                return True
            case str(), _ if name := NAME.fullmatch(pattern):
                is_new = name[1] not in self.names
                self.unused ^= {name[1]} if is_new else self.unused & {name[1]}
                return bool(self.names.setdefault(name[1], value) == value)
            case str(), str():
                return self.is_text(self.named(pattern), value)
            case dict(), dict():
                absent = {key[1:] for key in pattern if key.startswith("-")}
                named = [key for key in pattern if key[0] not in "-."]
                return (
                    ("..." in pattern or value.keys() <= {*named})
                    and not absent & value.keys()
                    and all(key in value for key in named)
                    and all(self.fits(pattern[key], value[key]) for key in named)
                )
            case list(), list():
                pairs = zip(pattern, value, strict=False)
                are_right = [self.fits(*pair) for pair in pairs]
                return len(pattern) == len(value) and all(are_right)
        return type(pattern) is type(value) and bool(pattern == value)

    def is_text(self, pattern: str, value: str) -> bool:
        if len(pattern) > 1 and pattern[0] == pattern[-1] == "/":
            return bool(re.fullmatch(pattern[1:-1], value, re.DOTALL))
        if pattern.startswith("..."):
            return value.endswith(pattern.removeprefix("..."))
        if pattern.endswith("..."):
            return value.startswith(pattern.removesuffix("..."))
        return value == pattern

    async def check_told(self, what: str, expected: str) -> None:
        """What a webhook told, or its headers."""
        await self.service.wait_for_hooks()
        headers = [{**one} for one in self.receiver.headers]
        found = headers if what == "told_headers" else self.receiver.told
        if not self.is_value(expected, found):
            self.problems.append(f"{what} {expected}\n  was {found}")

    # what is set up

    async def set_up(self, line: str) -> Any:
        words, brace, rest = line.partition("{")
        verb, *given = words.split()
        return await getattr(self, verb)(*given, **json.loads(brace + rest or "{}"))

    async def repeat(self, sign: str, count: str) -> str:
        return sign * int(count)

    async def project(self, path: str, **settings: Any) -> int:
        return await self.service.add_project(path, **settings)

    async def group(self, path: str, **settings: Any) -> int:
        return await self.service.add_group(path, **settings)

    async def user(self, name: str, **settings: Any) -> str:
        token = await self.service.add_user(name, **settings)
        self.people[name] = self.api.as_user(token)
        return token

    async def member(self, path: str, name: str, level: str) -> None:
        await self.service.add_member(path, name, int(level))

    async def block(self, name: str) -> None:
        await self.service.block(name)

    async def code(self, path: str, **files: str) -> None:
        contents = {name: text.encode() for name, text in files.items()}
        await self.service.add_code(path, contents)

    async def file(self, path: str, **files: str) -> None:
        """Files of a project's wiki; each sign of a text is a byte."""
        contents = {name: text.encode("latin-1") for name, text in files.items()}
        await self.service.put_files(WikiOwner("project", path), contents)

    async def files(self, path: str, **expected: str) -> None:
        found = await self.service.files(WikiOwner("project", path))
        if {name: content.decode() for name, content in found.items()} != expected:
            self.problems.append(f"the wiki of {path} has {found}")

    async def holds(self, path: str, *expected: str) -> None:
        """The names of the files of a project's wiki, quoted."""
        files = await self.service.files(WikiOwner("project", path))
        if sorted(map(quote, files)) != [*expected]:
            self.problems.append(f"the wiki of {path} has {[*files]}")

    async def head(self, path: str, expected: str = "") -> str:
        """The newest commit of a project's wiki."""
        wiki = await self.service.wiki(WikiOwner("project", path))
        found = str(wiki.repository.tree().commit)
        if expected not in {"", found}:
            self.problems.append(f"the wiki of {path} has the commit {found}")
        return found

    async def basic(self, user: str, password: str = "") -> str:
        """What a header says of both."""
        return b64encode(f"{user}:{password}".encode()).decode()

    async def gone(self, number: str) -> None:
        """Nothing of a project is left on the disk."""
        folders = self.service.running.folders_of(int(number))
        self.problems += [f"{folder} is there" for folder in folders if folder.exists()]

    async def hook(self, secret: str = "") -> None:
        self.service.hooks = (Hook(self.receiver.url, secret),)

    async def folder(self, name: str, **files: str | None) -> None:
        """Files to load; ``-> PATH`` is a link, and null takes a file away."""
        (self.place / name).mkdir(exist_ok=True)
        for path, text in files.items():
            file = self.place / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True)
            if text is not None and text.startswith("-> "):
                file.symlink_to(text.removeprefix("-> "))
            elif text is not None:
                file.write_text(text, encoding="utf-8")

    async def load(self, name: str, **expected: list[str]) -> None:
        loaded = await self.service.load_folder(self.place / name)
        found = {
            "owners": [str(owner) for owner in loaded.owners],
            "ignored": [Path(path).name for path in loaded.ignored],
            "kept": [*loaded.kept],
        }
        if expected not in ({}, found):
            self.problems.append(f"of {name} was loaded {found}")

    async def refuse_load(self, name: str, *words: str) -> None:
        with pytest.raises(ServiceError, match=" ".join(words)):
            await self.service.load_folder(self.place / name)

    async def row(self, table: str, number: str, **columns: Any) -> None:
        await self.service.ask(Tables.update, table, int(number), columns)

    async def quirks(self, *names: str) -> None:
        self.service.quirks = {Quirk[name] for name in names}

    async def limits(self, **limits: int) -> None:
        self.service.set_limits(**limits)

    async def deletion(self, **values: Any) -> None:
        self.service.set_deletion(**values)

    async def free(self) -> None:
        """Of the free edition from now on."""
        settings = self.service.running.settings
        profile = replace(settings.profile, is_enterprise=False)
        self.service.running.settings = replace(settings, profile=profile)

    async def allow_imports(self) -> None:
        imports = Imports(frozenset({"127.0.0.1"}), frozenset({"http"}))
        settings = replace(self.service.running.settings, imports=imports)
        self.service.running.settings = settings

    async def purge(self) -> None:
        await jobs.purge(self.service.running)

    async def imports(self) -> None:
        """Wait for those that are under way."""
        await self.service.wait_for_imports()


def body_of(sent: str) -> dict[str, Any]:
    """What aiohttp is given to send it."""
    kind, _, rest = sent.partition(" ")
    if kind == "form":
        return {"data": aiohttp.FormData(parse_qsl(rest, keep_blank_values=True))}
    if kind == "raw":
        return {"data": json.loads(rest).encode("latin-1")}
    if kind == "file":
        field, name, text = rest.split(" ", 2)
        form = aiohttp.FormData(quote_fields=False)
        form.add_field(field, json.loads(text).encode("latin-1"), filename=name)
        return {"data": form}
    return {"json": json.loads(sent)} if sent else {}
