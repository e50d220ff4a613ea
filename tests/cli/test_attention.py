"""What a person is told to do, as commands that can be copied."""

from __future__ import annotations

import shlex

import pytest

from wikisync.cli.attention import batch_sentence, held_sentence
from wikisync.model import Slug
from wikisync.sync.exchange import Held
from wikisync.sync.plan import HoldReason
from wikisync.sync.safety import Batch, BatchKind

FOLDER = "our wiki"


@pytest.mark.parametrize("has_bundle", [False, True])
def test_odd_name_of_a_page_is_one_word_of_the_command(*, has_bundle: bool) -> None:
    held = Held(Slug("it's"), HoldReason.EDITED_BOTH, has_bundle)
    command = held_sentence(FOLDER, held).partition("run: ")[2]
    assert shlex.split(command)[:3] == ["wikisync", "resolve", f"{FOLDER}/it's"]


def test_odd_name_of_a_wiki_is_one_word_of_the_command() -> None:
    batch = Batch(1, BatchKind.DELETES_HERE, (), 4)
    commands = batch_sentence(FOLDER, batch).partition("run: ")[2].split(", or: ")
    assert [shlex.split(command)[2] for command in commands] == ["our wiki:1"] * 2
