"""The rules of placeholders, one by one."""

import pytest

from wikisync.core.model import WikiOwner
from wikisync.markup.placeholders import FILLED_MAX, Filler, values_of

VALUES = {
    "gitlab_server": "gitlab.example.com",
    "project_path": "docs/hand book",
    "project_title": "Cool C++ <b>",
    "default_branch": "kiv/dev",
}


@pytest.mark.parametrize(
    ("url", "filled"),
    [
        ("http://%{gitlab_server}/x", "http://gitlab.example.com/x"),
        ("/%{project_path}", "/docs/hand%20book"),
        ("/tree/%{default_branch}", "/tree/kiv/dev"),
        ("?q=%{project_title}", "?q=Cool%20C%2B%2B%20%3Cb%3E"),
        ("#%{project_title}", "#Cool%20C%2B%2B%20%3Cb%3E"),
        ("/%%7bproject_path%7d", "/docs/hand%20book"),
        ("/%25%7Bproject_path%7D", "/docs/hand%20book"),
        ("https://%{project_title}.x", "https://%{project_title}.x"),
        ("https://%{project_path}/x", "https://%{project_path}/x"),
        ("mailto:a@%{project_title}", "mailto:a@%{project_title}"),
        ("mailto:a@%{gitlab_server}", "mailto:a@gitlab.example.com"),
        ("/foo%23%2fbar/%{gitlab_server}", "/foo%23%2fbar/gitlab.example.com"),
        ("%{project_title}:x", "%{project_title}:x"),
        ("/%{commit_sha}/%{nothing}", "/%{commit_sha}/%{nothing}"),
    ],
)
def test_address_is_filled_part_by_part(url: str, filled: str) -> None:
    assert Filler(VALUES).url(url) == filled


def test_value_with_a_placeholder_in_it_is_filled_in_once() -> None:
    filler = Filler({"project_title": "%{project_title}%{project_title}"})
    assert filler.text("%{project_title}") == "%{project_title}%{project_title}"


def test_page_gets_no_more_than_the_services_number_of_values() -> None:
    filler = Filler(VALUES)
    filled = filler.text("%{default_branch} " * (FILLED_MAX + 1))
    assert filled.count("kiv/dev") == FILLED_MAX
    assert filler.url("/%{default_branch}") == "/%{default_branch}"


def test_project_knows_its_path_and_its_server() -> None:
    assert values_of(
        WikiOwner("project", "docs/team/handbook"),
        "Our handbook",
        "https://gitlab.example.com:8443/docs/team/handbook",
        {"project_id": "7", "default_branch": "", "unknown": "x"},
    ) == {
        "gitlab_server": "gitlab.example.com",
        "project_id": "7",
        "project_name": "handbook",
        "project_namespace": "docs/team",
        "project_path": "docs/team/handbook",
        "project_title": "Our handbook",
    }


def test_group_knows_its_name_and_no_project() -> None:
    owner = WikiOwner("group", "docs")
    assert values_of(owner, "Documents", "", {}) == {"group_name": "Documents"}


def test_value_longer_than_any_name_is_cut() -> None:
    values = values_of(WikiOwner("group", "docs"), "x" * 1000, "", {})
    assert len(values["group_name"]) == 255
