"""Loading folders: the manifest, pages by name, attachments, again and again."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.service import EmbeddedService
from wikisync.errors import ServiceError
from wikisync.service.loading import parse_manifest


def as_other_bytes(path: Path) -> None:
    path.write_bytes(b"\xff")


def as_endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def as_huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


@pytest.mark.parametrize("make", [as_other_bytes, as_endless, as_huge, os.mkfifo])
async def test_manifest_that_is_no_text_is_named_with_what_to_do(
    service: EmbeddedService, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "service.toml")
    with pytest.raises(ServiceError, match=r"cannot read .*/service.toml: ") as caught:
        await service.load_folder(tmp_path)
    assert (
        caught.value.hint == "make it a file with text in UTF-8 that this user can read"
    )


GOOD = """
[[user]]
username = "dana"
admin = true

[[group]]
path = "docs"
wiki = "docs"
members = { dana = "planner" }

[[project]]
path = "docs/handbook"
description = "A book"
visibility = "internal"
wiki = "handbook"
archived = true
"""


def test_manifest_is_read() -> None:
    manifest = parse_manifest(GOOD, "service.toml")

    assert manifest.user[0].admin
    assert manifest.group[0].members == {"dana": "planner"}
    assert manifest.project[0].visibility == "internal"
    assert (manifest.group[0].visibility, manifest.project[0].wiki) == (
        "private",
        "handbook",
    )


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[[projcet]]\npath = 'a/b'", "unknown field `projcet`", None),
        (
            "[[project]]\npath = 'a/b'\nvisibility = 'secret'",
            "Invalid enum value 'secret' - at `$.project[0].visibility`",
            None,
        ),
        ("[[group]]\nname = 'x'", "missing required field `path`", None),
        (
            "[[group]]\npath = '../x'",
            "group[0].path: '../x' is not a path",
            "use letters",
        ),
        (
            "[[group]]\npath = 'a'\n[[project]]\npath = 'A'",
            "project[0].path: A comes twice",
            None,
        ),
        (
            "[[group]]\npath = 'a'\nmembers = { eve = 'guest' }",
            "group[0].members.eve: no such user",
            "add [[user]]",
        ),
        ("[[group", "service.toml is not TOML", None),
    ],
)
def test_wrong_manifest_names_the_place(
    text: str, message: str, hint: str | None
) -> None:
    with pytest.raises(ServiceError) as error:
        parse_manifest(text, "service.toml")
    assert error.value.message.startswith("service.toml")
    assert message in error.value.message
    assert (error.value.hint or "").startswith(hint or "")
