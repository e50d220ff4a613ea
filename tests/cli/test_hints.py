"""Commands in hints are run as they stand, from inside the wiki's folder."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.commands import Ran, Run
from tests.support.service import EmbeddedService
from tests.support.workspaces import HANDBOOK, Cloned

FOLDER = "our wiki"
SLUG = "it's $5"
"""Quoted wrongly it is no word, two words, or another one."""


@pytest.fixture
async def inside(
    service: EmbeddedService, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The folder of a wiki, where a person types commands."""
    pages = {slug: f"text of {slug}\n" for slug in (SLUG, "home", *"0123")}
    await service.add_project("docs/handbook", pages)
    cloned = Cloned(service, tmp_path / "wikis", run)
    words = ("clone", service.url, "--project", "docs/handbook", cloned.root)
    assert (await run(*words)).code == 0
    folder = cloned.folder.rename(cloned.root / FOLDER)
    cloned.configure('"handbook"', f'"{FOLDER}"')
    await cloned.add_wiki("other", {"home": "text\n"})
    monkeypatch.chdir(folder)
    await run("sync", "--adopt", "hold")
    return folder


def commands(ran: Ran, word: str) -> Sequence[Sequence[str]]:
    """Every command with this word that was told, as a shell would read it."""
    found = re.findall(rf"wikisync {word} [^;()\n]*", ran.told)
    assert found, ran.told
    return [shlex.split(one)[1:] for one in found]


async def clash(service: EmbeddedService, run: Run, inside: Path) -> Ran:
    (inside / f"{SLUG}.md").write_text("mine\n")
    await service.add_pages(HANDBOOK, {SLUG: "theirs\n"})
    return await run("sync")


async def test_hint_of_a_conflict_names_its_file_and_settles_it(
    service: EmbeddedService, run: Run, inside: Path
) -> None:
    ran = await clash(service, run, inside)
    assert f"resolve {FOLDER}/{SLUG}.conflict.md and save it" in ran.err
    assert (inside / f"{SLUG}.conflict.md").exists()
    (command,) = commands(ran, "resolve")
    ran = await run(*command)
    assert ran.code == 0, ran.err
    assert (inside / f"{SLUG}.md").read_text() == "theirs\nmine\n"


async def test_hint_of_a_hidden_conflict_file_shows_and_settles_it(
    service: EmbeddedService, run: Run, inside: Path
) -> None:
    await clash(service, run, inside)
    (inside / f"{SLUG}.conflict.md").unlink()
    ran = await run("status")
    (diff,), (resolve,) = commands(ran, "diff"), commands(ran, "resolve")
    assert "mine" in (await run(*diff)).out
    assert (await run(*resolve)).code == 0


async def test_hint_of_what_was_written_in_vain_brings_it_back(
    service: EmbeddedService, run: Run, inside: Path
) -> None:
    await clash(service, run, inside)
    conflict = inside / f"{SLUG}.conflict.md"
    conflict.write_text(f"{conflict.read_text()}a thought\n")
    (inside / f"{SLUG}.md").write_text("theirs\n")
    (command,) = commands(await run("sync"), "restore")
    assert not conflict.exists()
    ran = await run(*command)
    assert ran.code == 0, ran.err
    assert "a thought" in ran.out


async def test_hint_of_a_conflict_of_git_sends_the_page(
    service: EmbeddedService, run: Run, inside: Path
) -> None:
    text = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main\n"
    (inside / f"{SLUG}.md").write_text(text)
    (command,) = commands(await run("sync"), "sync")
    assert (await run(*command)).code == 0
    assert text.encode() in (await service.files(HANDBOOK)).values()


async def test_hint_of_a_pause_ends_it(run: Run, inside: Path) -> None:
    (command,) = commands(await run("pause", inside.name), "resume")
    assert (await run(*command)).code == 0
    assert "paused" not in (await run("sync")).out


async def test_hint_of_a_safety_stop_lets_it_go_on(run: Run, inside: Path) -> None:
    for number in range(4):
        (inside / f"{number}.md").unlink()
    ran = await run("sync")
    (approve,), (refuse,) = commands(ran, "approve"), commands(ran, "refuse")
    assert refuse[1] == approve[1] == f"{FOLDER}:1"
    assert (await run(*approve)).code == 0
