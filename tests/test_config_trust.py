"""Whose configuration is obeyed."""

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from wikisync.config.reading import load_config
from wikisync.config.trust import SAFE_VARIABLE
from wikisync.errors import ConfigError

SOMEBODY = 4242
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "my wikis"
    folder.mkdir()
    (folder / "wikisync.toml").write_text('[service]\nurl = "https://example.com"\n')
    return folder


def is_obeyed(root: Path, **environment: str) -> bool:
    try:
        with mock.patch.dict(os.environ, environment):
            load_config(root / "wikisync.toml")
    except ConfigError as error:
        refused = error.message
    else:
        return True
    assert "may name commands to run" in refused
    return False


def give(path: Path, user: int = SOMEBODY) -> None:
    os.chown(path, user, -1, follow_symlinks=False)


def private(root: Path) -> Path:
    (root / ".wikisync").mkdir(exist_ok=True)
    return root / ".wikisync"


def test_own_configuration_is_obeyed(root: Path) -> None:
    private(root)
    assert is_obeyed(root)


@pytest.mark.parametrize(
    "part",
    [lambda root: root / "wikisync.toml", lambda root: root, private],
    ids=["file", "folder", "private folder"],
)
@needs_root
def test_configuration_of_somebody_else_is_refused(
    root: Path, part: Callable[[Path], Path]
) -> None:
    give(part(root))
    assert not is_obeyed(root)


@pytest.mark.parametrize("given", ["wikisync.toml", "other.toml"])
@needs_root
def test_link_or_its_file_of_somebody_else_is_refused(root: Path, given: str) -> None:
    (root / "wikisync.toml").rename(root / "other.toml")
    (root / "wikisync.toml").symlink_to("other.toml")
    assert is_obeyed(root)
    give(root / given)
    assert not is_obeyed(root)


@needs_root
def test_link_of_somebody_else_as_private_folder_is_refused(root: Path) -> None:
    (root / "other").mkdir()
    (root / ".wikisync").symlink_to("other")
    assert is_obeyed(root)
    give(root / ".wikisync")
    assert not is_obeyed(root)


@needs_root
def test_root_obeys_the_person_who_called_sudo(root: Path) -> None:
    give(root)
    give(root / "wikisync.toml")
    assert is_obeyed(root, SUDO_UID=str(SOMEBODY))
    assert not is_obeyed(root, SUDO_UID="4243")
    assert not is_obeyed(root, SUDO_UID="")
    assert not is_obeyed(root, SUDO_UID="-1")


def test_sudo_tells_nothing_to_anybody_but_root(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_or_pretend(root, monkeypatch)
    monkeypatch.setattr(os, "geteuid", lambda: 4243)
    assert not is_obeyed(root, SUDO_UID=str((root / "wikisync.toml").stat().st_uid))


def give_or_pretend(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the file another user's, or this process another user."""
    if os.geteuid() == 0:
        give(root)
        give(root / "wikisync.toml")
    else:
        monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)


@needs_root
def test_configuration_of_root_is_obeyed_by_everybody(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an administrator sets up a service that runs as another user."""
    monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)
    assert is_obeyed(root)


@pytest.mark.parametrize(
    "form", ["{root}", "/elsewhere:{root}:", "*", "{root}/../my wikis"]
)
def test_folder_that_the_user_allows_is_obeyed(
    root: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    give_or_pretend(root, monkeypatch)
    assert not is_obeyed(root)
    assert is_obeyed(root, **{SAFE_VARIABLE: form.format(root=root)})


@pytest.mark.parametrize("form", ["{root}x", "my wikis", ".", "{root}/..", "", ":"])
def test_folder_that_the_user_does_not_allow_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    give_or_pretend(root, monkeypatch)
    monkeypatch.chdir(root)
    named = {SAFE_VARIABLE: form.format(root=root)}
    assert not is_obeyed(root, **named)


@pytest.mark.parametrize("before", ["", "/other"])
def test_hint_is_the_command_that_allows_it(
    root: Path, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    give_or_pretend(root, monkeypatch)
    monkeypatch.setenv(SAFE_VARIABLE, before)
    with pytest.raises(ConfigError) as refused:
        load_config(root / "wikisync.toml")
    name, _, value = (refused.value.hint or "").partition("export ")[2].partition("=")
    assert name == SAFE_VARIABLE
    (word,) = shlex.split(value)
    assert is_obeyed(root, **{SAFE_VARIABLE: word.replace(f"${SAFE_VARIABLE}", before)})


def test_file_that_everyone_may_write_is_refused(root: Path) -> None:
    file = root / "wikisync.toml"
    file.chmod(0o666)
    with pytest.raises(ConfigError, match="everyone on this machine") as refused:
        load_config(file)
    assert refused.value.hint == (
        f"see what it says, then run: chmod o-w {shlex.quote(str(file))}; on a disk"
        " without permissions, like exFAT, run:"
        f" export WIKISYNC_SAFE_FOLDERS={shlex.quote(str(file.parent))}"
    )
    assert is_obeyed(root, **{SAFE_VARIABLE: str(root)})


def test_file_that_a_group_may_write_is_obeyed(root: Path) -> None:
    """Where each user has a group of their own, this is how files are made."""
    (root / "wikisync.toml").chmod(0o664)
    assert is_obeyed(root)


def test_pipe_in_the_place_of_the_file_is_refused_and_not_waited_for(
    root: Path,
) -> None:
    (root / "wikisync.toml").unlink()
    os.mkfifo(root / "wikisync.toml")
    with pytest.raises(ConfigError, match="is not a file"):
        load_config(root / "wikisync.toml")
