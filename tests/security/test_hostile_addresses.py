"""Addresses that a service sends: only those of the web are written anywhere."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.security.hostile_addresses import hostile_addresses
from tests.site.sites import Studio
from wikisync.contract import project_schema, schema
from wikisync.contract.project_schema import ProjectRecord, UploadRecord
from wikisync.contract.schema import AddressedRecord, GroupRecord
from wikisync.core.decoding import json_decoder
from wikisync.core.origin import web_address

ATTACKS = dict(hostile_addresses())
RECORDS = [
    kind
    for module in (schema, project_schema)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
]


@pytest.mark.parametrize("address", ATTACKS.values(), ids=ATTACKS)
def test_record_takes_an_address_of_another_kind_for_absent(address: str) -> None:
    fields = ("web_url", "avatar_url", "readme_url", "http_url_to_repo")
    sent: dict[str, Any] = {"id": 1, "path_with_namespace": "a/b"}
    sent |= dict.fromkeys((*fields, "license_url", "import_url"), address)
    nested = {"id": 1, "web_url": address, "avatar_url": address, "html_url": address}
    sent |= {"namespace": nested, "owner": nested, "license": nested}
    sent |= {"_links": {"self": address, "events": address}}
    sent |= {"forked_from_project": {**sent, "id": 2}, "ssh_url_to_repo": address}
    project = json_decoder(ProjectRecord).decode(json.dumps(sent))
    assert address not in json.dumps(msgspec.to_builtins(project))
    assert (project.web_url, project.avatar_url) == ("", None)
    upload = json_decoder(UploadRecord).decode(json.dumps({"url": address}))
    assert upload.url == ""


def test_every_record_with_an_address_checks_it() -> None:
    named = {
        kind
        for kind in RECORDS
        for name in kind.__struct_fields__
        if name == "url" or name.endswith(("_url", "_to_repo"))
    }
    assert len(named) > 8
    assert all(issubclass(kind, AddressedRecord) for kind in named)


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("web_url", "https://gitlab.example.com/groups/a"),
        ("web_url", "http://127.0.0.1:8080/gitlab/a/b"),
        ("avatar_url", "https://cdn.example.com/a.png?width=40"),
    ],
)
def test_address_of_the_web_stays_as_it_was_sent(name: str, address: str) -> None:
    sent = {"id": 1, "full_path": "a", name: address}
    group = json_decoder(GroupRecord).decode(json.dumps(sent))
    assert getattr(group, name) == address


@pytest.mark.parametrize(
    "address", ["git@gitlab.example.com:a/b.git", "ssh://git@example.com:2222/a/b.git"]
)
def test_address_of_git_over_ssh_stays_as_it_was_sent(address: str) -> None:
    project = ProjectRecord(id=1, path_with_namespace="a/b", ssh_url_to_repo=address)
    assert project.ssh_url_to_repo == address


def test_path_of_an_uploaded_file_stays_as_it_was_sent() -> None:
    assert UploadRecord(url="/uploads/0a/b c.png").url == "/uploads/0a/b c.png"


def test_site_has_no_link_to_an_address_of_another_kind(tmp_path: Path) -> None:
    studio = Studio(tmp_path)
    page = "-- home.md --\n@person [x](uploads/0a/gone.png) %{gitlab_server}\n"
    for number, address in enumerate(ATTACKS.values()):
        studio.add(page, f"docs/wiki-{number}", web_url=address)
    studio.show_all()
    studio.build()
    site = b"".join(studio.files().values()).decode()
    assert {source.web_url for source in studio.sources} == {""}
    assert "javascript:" not in site
    assert "evil.example.com" not in site
    for address in ATTACKS.values():
        shown = address.strip().partition(":")[0] or address
        assert f'href="{shown}:' not in site


def test_decision_is_made_for_the_whole_address() -> None:
    assert web_address("https://gitlab.example.com/a") == "https://gitlab.example.com/a"
    assert [web_address(address) for address in ATTACKS.values()] == [""] * len(ATTACKS)
