"""``wikisync page`` and ``project`` in a workspace, which knows service and wiki."""

from pathlib import Path

import pytest

from tests.support.commands import Run
from tests.support.workspaces import HANDBOOK, Cloned


async def test_page_knows_service_and_wiki(
    cloned: Cloned, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(cloned.root)
    assert (await run("page", "get", "guide")).out == "a guide\n"
    listed = await run("page", "list")
    assert listed.code == 0, listed.err
    edited = await run("page", "edit", "guide", "--content", "anew")
    assert edited.code == 0, edited.err
    assert (await cloned.service.files(HANDBOOK))["guide.md"] == b"anew"


async def test_wiki_is_that_of_the_folder(
    cloned: Cloned, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await cloned.add_wiki("other", {"home": "the other"})
    (other / "deep").mkdir(parents=True)
    monkeypatch.chdir(other / "deep")
    assert (await run("page", "get", "home")).out == "the other\n"
    monkeypatch.chdir(cloned.root)
    refused = await run("page", "get", "home")
    assert refused.code == 2
    assert "run it in a wiki's folder" in refused.err
    named = await run("page", "get", "home", "--project", "docs/other")
    assert named.out == "the other\n"


async def test_project_is_that_of_the_wiki_where_it_is_only_read(
    cloned: Cloned, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(cloned.folder)
    shown = await run("project", "show", "--json")
    assert shown.json["path_with_namespace"] == "docs/handbook"
    assert (await run("project", "show", "docs/handbook", "--json")).code == 0
    refused = await run("project", "delete", "--yes")
    assert refused.code == 2


async def test_token_of_the_workspace_goes_to_its_service_alone(
    cloned: Cloned, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text(cloned.service.token)
    cloned.configure("[service]\n", f'[service]\ntoken_file = "{token}"\n')
    monkeypatch.chdir(cloned.root)
    monkeypatch.delenv("WIKISYNC_TOKEN")
    assert (await run("page", "get", "guide")).out == "a guide\n"
    at = f"{cloned.service.url}/docs/handbook/-/wikis/guide"
    ran = await run("page", "edit", at, "--content", "anew")
    assert ran.code == 0, ran.err
    assert (await cloned.service.files(HANDBOOK))["guide.md"] == b"anew"
    # named on the command line, it is a service like any other: asked as anybody
    other = await run(
        "page", "get", cloned.service.url, "guide", "--project", "docs/handbook"
    )
    assert other.code == 1
