"""A workspace as commands find it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.workspaces import Cloned
from wikisync.api.client import Client
from wikisync.api.upload import SPOOL_BYTES_MAX
from wikisync.config.trust import agreed_lines
from wikisync.core.model import AttachmentPath
from wikisync.watch.process import WatchRequest
from wikisync.workspace.configured import find_workspace, named_pages, read_config
from wikisync.workspace.opening import open_workspace

CONFIG = """\
[service]
url = "https://gitlab.example.com"
token_file = "{file}"
[sync]
hook_secret_file = "{file}"
[[wiki]]
project = "docs/handbook"
"""


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ("secret/token", "{root}/secret/token"),
        ("/etc/wikisync/token", "/etc/wikisync/token"),
        ("~/.wikisync-token", "{home}/.wikisync-token"),
        ("~nobody-here/token", "{root}/~nobody-here/token"),
    ],
)
def test_files_of_secrets_are_named_as_seen_from_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, found: str
) -> None:
    """A daemon is started from anywhere."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "wikisync.toml").write_text(CONFIG.format(file=named))
    config = find_workspace(tmp_path).config
    files = {config.service.token_file, config.sync.hook_secret_file}
    assert files == {found.format(root=tmp_path, home=tmp_path / "home")}
    # who agrees to the file as it is written, agrees to the same
    written = read_config(tmp_path / "wikisync.toml")
    assert agreed_lines(tmp_path, written) == agreed_lines(tmp_path, config)


@pytest.mark.parametrize(
    ("start", "named", "slug"),
    [
        ("", "handbook/c1", "c1"),
        ("handbook", "handbook/c1", "c1"),
        ("handbook/team", "handbook/c1", "c1"),
        ("handbook", "handbook/c1.conflict.md", "c1"),
        ("handbook", "handbook/gone", "gone"),
        ("handbook", "c1", "c1"),
        ("handbook", "gone.md", "gone"),
        ("handbook", "handbook/own", "handbook/own"),
        ("handbook/team", "people.md", "team/people"),
        ("", "handbook/handbook/own", "handbook/own"),
        ("", "handbook/team/", "team/"),
        ("handbook", "team", "team/"),
        ("handbook/team", ".", "team/"),
        ("", "c1/", "c1/"),
        ("", "handbook/gone.md/", "gone.md/"),
    ],
)
def test_hint_names_its_page_from_anywhere_in_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str, named: str, slug: str
) -> None:
    (tmp_path / "wikisync.toml").write_text(CONFIG.format(file="token"))
    for page in ("c1", "team/people", "handbook/own"):
        path = tmp_path / f"handbook/{page}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.chdir(tmp_path / start)
    assert named_pages(find_workspace(Path()), named)[1] == slug


async def test_upload_waits_where_no_other_wiki_removes_the_folder(
    cloned: Cloned,
) -> None:
    """Whoever writes files makes and removes ``tmp``, also between two steps here."""
    workspace = find_workspace(cloned.root)
    # in a file nothing can wait
    (workspace.private / "tmp").touch()
    size = SPOOL_BYTES_MAX + 1

    async def film() -> AsyncIterator[bytes]:
        yield bytes(size)

    async with Client(cloned.service.url, cloned.service.token) as client:
        with open_workspace(workspace) as opened:
            wiki = await opened.synced(client, workspace.config.wikis[0])
            path = AttachmentPath("film.mp4")
            stored = await wiki.replica.write_attachment(path, film())
    assert stored.size == size


def test_a_watch_waits_for_saved_files_as_long_as_it_was_asked(cloned: Cloned) -> None:
    workspace = find_workspace(cloned.root)
    configured = workspace.config.sync.settle_ms
    for asked, waited in ((None, configured), (configured + 50, configured + 50)):
        applied = WatchRequest(settle_ms=asked).applied(workspace)
        assert applied.config.sync.settle_ms == waited
