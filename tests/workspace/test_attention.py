"""What a person is told to do, as commands that can be copied."""

import shlex
from pathlib import Path

import pytest

from wikisync.core.model import Slug, WikiOwner
from wikisync.sync.base.state import State
from wikisync.sync.decide.plan import Hold, HoldReason
from wikisync.sync.decide.safety import Batch, BatchKind
from wikisync.sync.run.parts import Held
from wikisync.workspace.attention import batch_sentence, held_sentence

FOLDER = "our wiki"


@pytest.mark.parametrize("file", ["", "it's.conflict.md"])
def test_odd_name_of_a_page_is_one_word_of_the_command(file: str) -> None:
    held = Held(Slug("it's"), HoldReason.EDITED_BOTH, file)
    sentence = held_sentence(FOLDER, held)
    command = sentence.partition("text): ")[2]
    assert shlex.split(command) == ["wikisync", "resolve", f"{FOLDER}/it's", "--both"]
    assert (f"resolve {FOLDER}/{file} and save it" in sentence) is bool(file)


def test_odd_name_of_a_wiki_is_one_word_of_the_command() -> None:
    batch = Batch(1, BatchKind.DELETES_HERE, (), 4)
    commands = batch_sentence(FOLDER, batch).split("; ")[1:]
    words = [shlex.split(command.rpartition(": ")[2]) for command in commands]
    assert words == [["wikisync", act, "our wiki:1"] for act in ("approve", "refuse")]


def test_page_with_three_names_is_told_with_all_of_them(tmp_path: Path) -> None:
    """Its own, the one of its file, and the one that another file has."""
    hold = Hold(Slug("home"), HoldReason.NAME_TAKEN, Slug("notes"), Slug("start"))
    with State.open(tmp_path / "state.db") as state:
        known = state.wiki(WikiOwner("project", "docs/handbook"))
        sentence = held_sentence("docs", Held.of(hold, known))
    assert sentence == (
        f"docs/home: {HoldReason.NAME_TAKEN}: notes (its file is start); rename the"
        " file of docs/notes"
    )
