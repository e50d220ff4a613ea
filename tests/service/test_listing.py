"""Lists of projects: each filter alone, orders, both ways of paging, the views."""

import io
from typing import Any

import pytest

from tests.service.conftest import Api
from tests.support.service import EmbeddedService
from wikisync.contract.project_schema import AccessLevel
from wikisync.service import jobs
from wikisync.service.projects import tables as project_tables
from wikisync.service.tables import Tables

PROJECTS = "/api/v4/projects"


async def filled(service: EmbeddedService, api: Api) -> Api:
    """Three projects that differ in all that can be asked; gives a member."""
    token = await service.add_user("dana")
    person = api.as_user(token)
    await service.add_project("docs/alpha", visibility="public", description="First")
    await service.add_project("docs/team/beta", visibility="internal")
    await service.add_project("dana/gamma")
    await service.add_member("docs/alpha", "dana", AccessLevel.DEVELOPER)
    await service.add_code("docs/alpha", {"a.py": b"x = 1", "b.js": b"x"})
    await api.put(f"{PROJECTS}/1", json={"topics": ["Sea", "deep"]})
    await api.put(
        f"{PROJECTS}/2", json={"topics": ["sea"], "issues_access_level": "disabled"}
    )
    await api.put(
        f"{PROJECTS}/3",
        json={"issues_access_level": "private", "merge_requests_enabled": False},
    )
    await person.post(f"{PROJECTS}/2/star")
    await service.ask(Tables.update, "project", 1, _stamps("2001"))
    await service.ask(Tables.update, "project", 2, _stamps("2002"))
    await service.ask(Tables.update, "project", 3, _stamps("2003"))
    return person


def _stamps(year: str) -> dict[str, object]:
    moment = f"{year}-05-05T10:00:00.000Z"
    names = ("created_at", "updated_at", "last_activity_at")
    return dict.fromkeys(names, moment)


async def ids(api: Api, query: str, path: str = PROJECTS) -> list[int]:
    answer = await api.get(f"{path}?{query}")
    assert answer.status == 200, answer.json
    return [project["id"] for project in answer.json]


async def test_list_is_narrowed_and_ordered(service: EmbeddedService, api: Api) -> None:
    person = await filled(service, api)
    expected = {
        "": [3, 2, 1],
        "sort=asc": [1, 2, 3],
        "order_by=name": [3, 2, 1],
        "order_by=path&sort=asc": [1, 2, 3],
        "order_by=updated_at&sort=asc": [1, 2, 3],
        "order_by=last_activity_at": [3, 2, 1],
        "order_by=wiki_size": [3, 2, 1],
        "order_by=similarity": [3, 2, 1],
        "order_by=similarity&search=alpha": [1],
        "id_after=1": [3, 2],
        "id_before=3": [2, 1],
        "last_activity_after=2002-01-01T00:00:00Z": [3, 2],
        "last_activity_before=2002-01-01T00:00:00%2B02:00": [1],
        "updated_after=2002-06-01T00:00:00Z&order_by=updated_at": [3],
        "updated_before=2002-06-01&order_by=updated_at&sort=asc": [1, 2],
        "search=FIRST": [1],
        "search=first%20nothing": [],
        "search=al": [],
        "search=team": [],
        "search=team&search_namespaces=true": [2],
        "search=docs/team/be&search_namespaces=true": [2],
        "search=docs/al&search_namespaces=true": [1],
        "topic=sea": [2, 1],
        "topic=sea,DEEP": [1],
        "topic_id=2": [1],
        "visibility=internal": [2],
        "membership=true": [3, 1],
        "owned=true": [3],
        "min_access_level=30": [3, 1],
        "starred=true": [2],
        "with_issues_enabled=true": [3, 1],
        "with_merge_requests_enabled=true": [2, 1],
        "with_programming_language=python": [1],
        "with_programming_language=Rust": [],
        "archived=true": [],
        "imported=true": [],
        "repository_checksum_failed=true": [],
        "wiki_checksum_failed=true": [],
        "custom_attributes[a]=b": [3, 2, 1],
        "repository_storage=other": [3, 2, 1],
    }

    assert {query: await ids(person, query) for query in expected} == expected


async def test_administrators_filters_count_for_them(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service, api)
    expected = {
        "repository_storage=default": [3, 2, 1],
        "repository_storage=other": [],
        "order_by=repository_size&sort=desc": [1, 3, 2],
        "custom_attributes[a]=b": [],
        "include_hidden=true": [3, 2, 1],
    }

    assert {query: await ids(api, query) for query in expected} == expected


async def test_similarity_orders_nothing_for_a_stranger(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service, api)
    await service.add_project("docs/alpha", visibility="public")
    stranger = api.as_user(await service.add_user("stranger"))

    assert await ids(api.as_user(None), "order_by=similarity&search=alpha") == [1]
    assert await ids(stranger, "order_by=similarity&search=alpha") == []


async def test_least_level_hides_no_users_project_from_administrators(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service, api)

    assert await ids(api, "min_access_level=30", "/api/v4/users/dana/projects") == [3]
    assert await ids(api, "min_access_level=30") == []


async def test_hidden_and_going_projects_are_for_administrators_who_ask(
    service: EmbeddedService, api: Api
) -> None:
    person = await filled(service, api)
    await service.ask(Tables.update, "project", 1, {"is_hidden": 1})
    await service.ask(Tables.update, "project", 2, {"is_going": 1})
    both = "include_hidden=true&include_pending_delete=true"

    assert await ids(api, "") == [3]
    assert await ids(api, both) == [3, 2, 1]
    assert await ids(person, both) == [3]


async def test_broken_repository_is_found_by_its_check(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service, api)
    folder = service.running.code_folder(1)
    for file in (folder / "objects").rglob("*"):
        if file.is_file():
            file.unlink()
    await service.ask(Tables.update, "project", 1, {"is_measured": 0})

    await api.get(f"{PROJECTS}?order_by=storage_size")

    assert await ids(api, "repository_checksum_failed=true") == [1]


async def test_filters_of_updates_go_with_their_order(api: Api) -> None:
    answer = await api.get(f"{PROJECTS}?updated_after=2020-01-01T00:00:00Z")

    text = (
        "400 Bad request - `updated_at` filter and `updated_at` sorting must be paired"
    )
    assert (answer.status, answer.json) == (400, {"message": text})


async def test_lists_of_one_user_or_group(service: EmbeddedService, api: Api) -> None:
    await filled(service, api)
    expected = {
        "users/dana/projects?": [3],
        "users/2/projects?": [3],
        "users/dana/projects?topic=nothing": [3],  # a filter of another list
        "users/dana/starred_projects?": [2],
        "users/root/contributed_projects?": [],
        "groups/docs/projects?": [1],
        "groups/docs/projects?include_subgroups=true": [2, 1],
    }

    assert {
        path: await ids(
            api, path.partition("?")[2], f"/api/v4/{path.partition('?')[0]}"
        )
        for path in expected
    } == expected


async def test_private_profile_shows_nothing_to_others(
    service: EmbeddedService, api: Api
) -> None:
    person = await filled(service, api)
    await service.ask(Tables.update, "user", 2, {"has_private_profile": 1})
    other = api.as_user(await service.add_user("eve"))
    places = [f"/api/v4/users/dana/{part}" for part in ("projects", "starred_projects")]

    assert [await ids(other, "", place) for place in places] == [[], []]
    assert [await ids(person, "", place) for place in places] == [[3], [2]]


@pytest.mark.parametrize("part", ["projects", "starred_projects"])
async def test_private_profile_answers_like_an_empty_one(
    service: EmbeddedService, api: Api, part: str
) -> None:
    """Or the headers of paging would tell one from the other."""
    await filled(service, api)
    await service.add_user("anna")
    await service.ask(Tables.update, "user", 2, {"has_private_profile": 1})
    other = api.as_user(await service.add_user("eve"))

    hidden = await other.get(f"/api/v4/users/dana/{part}?per_page=5")
    empty = await other.get(f"/api/v4/users/anna/{part}?per_page=5")
    refused = await other.get(f"/api/v4/users/dana/{part}?search={'a ' * 200}")

    own = {"Date", "X-Request-ID", "X-Runtime"}
    told, known = (
        {
            name: value.replace("dana", "anna")
            for name, value in answer.headers.items()
            if name not in own
        }
        for answer in (hidden, empty)
    )
    assert told == known
    assert (hidden.json, told["X-Total"], refused.status) == ([], "0", 400)


async def test_fork_is_not_listed_as_imported(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service, api)
    fork = (await api.post(f"{PROJECTS}/1/fork")).json
    template = {"name": "pages", "template_name": "plainhtml"}
    made = await api.post(PROJECTS, json=template)

    assert made.status == 201, made.json
    assert await ids(api, "imported=true") == [made.json["id"]]
    assert fork["import_type"] is None
    assert fork["import_status"] in {"scheduled", "started", "finished"}


async def test_any_paging_but_keyset_is_by_offset(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service, api)

    for word in ("offset", "legacy", "none", ""):
        answer = await api.get(f"{PROJECTS}?pagination={word}&per_page=2")

        assert (answer.status, answer.headers["X-Total"]) == (200, "3"), word


async def test_unknown_user_is_not_found(api: Api) -> None:
    answer = await api.get("/api/v4/users/nobody/projects")

    assert (answer.status, answer.json) == (404, {"message": "404 User Not Found"})


# paging


async def test_walk_by_id_meets_every_project_once(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service, api)
    first = f"{PROJECTS}?pagination=keyset&order_by=id&per_page=2&sort="

    # the last part is empty and leads nowhere
    assert await _walk(api, f"{first}asc") == ([1, 2, 3], [2, 1, 0])
    assert await _walk(api, f"{first}desc") == ([3, 2, 1], [2, 1, 0])


async def _walk(api: Api, path: str) -> tuple[list[int], list[int]]:
    found: list[int] = []
    parts: list[int] = []
    while path:
        answer = await api.get(path)
        assert "X-Total" not in answer.headers
        found += [project["id"] for project in answer.json]
        parts.append(len(answer.json))
        link = answer.headers.get("Link", "").partition(">")[0]
        path = link.removeprefix(f"<{api.base}")
    return found, parts


async def test_totals_are_left_out_above_the_count(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service, api)
    service.set_limits(counted_rows_max=2)

    answer = await api.get(f"{PROJECTS}?per_page=1")
    last = await api.get(f"{PROJECTS}?per_page=1&page=3")

    assert "X-Total" not in answer.headers
    assert 'rel="last"' not in answer.headers["Link"]
    assert (answer.headers["X-Next-Page"], last.headers["X-Next-Page"]) == ("2", "")
    assert [project["id"] for project in last.json] == [1]


async def test_links_repeat_every_parameter(service: EmbeddedService, api: Api) -> None:
    await filled(service, api)

    answer = await api.get(f"{PROJECTS}?per_page=1&custom_attributes[a]=b&topic=x,y")

    for part in (
        "custom_attributes%5Ba%5D=b",
        "topic=x%2Cy",
        "sort=desc",
        "per_page=1",
    ):
        assert part in answer.headers["Link"]


# views


async def test_what_a_role_may_not_know_is_left_out(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service, api)
    views: dict[str, dict[str, Any]] = {}
    for name, level in (("guest", 10), ("reporter", 20), ("maintainer", 40)):
        token = await service.add_user(name)
        await service.add_project("docs/delta")
        await service.add_member("docs/delta", name, level)
        person = api.as_user(token)
        views[name] = (await person.get(f"{PROJECTS}/4?statistics=1")).json

    known = {
        field: [name for name, view in views.items() if field in view]
        for field in (
            *("statistics", "ci_config_path", "runners_token", "default_branch"),
            *("service_desk_address", "build_timeout", "ci_default_git_depth"),
            *("ci_job_token_scope_enabled", "group_runners_enabled", "import_type"),
            "restrict_user_defined_variables",
        )
    }
    assert known == {
        "service_desk_address": ["reporter", "maintainer"],
        "build_timeout": ["maintainer"],
        "ci_default_git_depth": ["maintainer"],
        "ci_job_token_scope_enabled": ["maintainer"],
        "group_runners_enabled": ["maintainer"],
        "import_type": ["maintainer"],
        "restrict_user_defined_variables": ["maintainer"],
        "statistics": ["reporter", "maintainer"],
        "ci_config_path": ["reporter", "maintainer"],
        "runners_token": ["maintainer"],
        "default_branch": ["reporter", "maintainer"],
    }
    assert not any("repository_storage" in view for view in views.values())


async def test_every_field_of_the_contract_is_there(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service, api)

    shown = (await api.get(f"{PROJECTS}/1?statistics=1&license=1")).json
    simple = (await api.get(f"{PROJECTS}?simple=1")).json[-1]

    assert set(FIELDS.split()) <= set(shown)
    assert set(SIMPLE.split()) <= set(simple)
    assert "wiki_access_level" not in simple
    assert set(shown["statistics"]) == {
        "commit_count", "storage_size", "repository_size", "wiki_size",
        "lfs_objects_size", "job_artifacts_size", "pipeline_artifacts_size",
        "packages_size", "snippets_size", "uploads_size",
    }  # fmt: skip


async def test_statistics_grow_with_what_is_written(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service, api)
    before = (await api.get(f"{PROJECTS}/1?statistics=1")).json["statistics"]

    await api.post(f"{PROJECTS}/1/wikis", json={"title": "a", "content": "b"})
    after = (await api.get(f"{PROJECTS}/1?statistics=1")).json["statistics"]

    assert before["commit_count"] == 1
    assert before["repository_size"] > 0
    assert (before["wiki_size"], after["wiki_size"] > 0) == (0, True)
    assert after["storage_size"] == after["repository_size"] + after["wiki_size"]


async def test_list_by_size_follows_every_kind_of_write(
    service: EmbeddedService, api: Api
) -> None:
    for name in "abcd":
        await service.add_project(f"docs/{name}")
    largest = f"{PROJECTS}?order_by=storage_size&statistics=1"
    empty = (await api.get(largest)).json
    await api.post(f"{PROJECTS}/1/wikis", json={"title": "a", "content": "b" * 5000})
    await api.post(f"{PROJECTS}/3/uploads", data={"file": io.BytesIO(b"x" * 90_000)})
    await service.add_code("docs/b", {"a.py": b"pass"})

    found = (await api.get(largest)).json

    assert {one["statistics"]["storage_size"] for one in empty} == {0}
    assert (found[0]["id"], found[-1]["id"]) == (3, 4)
    assert {found[1]["id"], found[2]["id"]} == {1, 2}
    assert found[0]["statistics"]["uploads_size"] == 90_000


async def test_list_by_size_waits_for_a_part_of_what_changed(
    service: EmbeddedService, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest is measured beside the answers."""
    monkeypatch.setattr(jobs, "MEASURED_MAX", 1)
    for name in "ab":
        await service.add_project(f"docs/{name}")
        await service.add_code(f"docs/{name}", {"a.py": b"pass"})

    await api.get(f"{PROJECTS}?order_by=storage_size")
    unmeasured = await service.ask(project_tables.take_unmeasured, 9)

    assert len(unmeasured) == 1


async def test_project_that_changes_while_it_is_measured_is_measured_again(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/a")
    await service.add_code("docs/a", {"a.py": b"pass"})
    await service.ask(project_tables.take_unmeasured, 9)
    await api.post(f"{PROJECTS}/1/wikis", json={"title": "a", "content": "b"})
    figures = dict.fromkeys(
        (
            "repository_size",
            "wiki_size",
            "repository_checksum_failed",
            "wiki_checksum_failed",
        ),
        0,
    )
    await service.ask(project_tables.set_sizes, 1, figures)

    found = (await api.get(f"{PROJECTS}?order_by=storage_size&statistics=1")).json

    assert found[0]["statistics"]["wiki_size"] > 0


async def test_license_is_told_when_asked(service: EmbeddedService, api: Api) -> None:
    await filled(service, api)
    text = (
        b"Permission is hereby granted, free of charge, to any person obtaining ..."
        b" to permit persons to whom the Software is furnished to do so"
    )
    await service.add_code("docs/alpha", {"LICENSE.md": text})

    plain = (await api.get(f"{PROJECTS}/1")).json
    asked = (await api.get(f"{PROJECTS}/1?license=true")).json

    assert "license" not in plain
    assert (asked["license"]["key"], asked["license"]["nickname"]) == ("mit", None)
    assert asked["license_url"].endswith("/docs/alpha/-/blob/main/LICENSE.md")


SIMPLE = """id description name name_with_namespace path path_with_namespace created_at
default_branch tag_list topics ssh_url_to_repo http_url_to_repo web_url avatar_url
star_count last_activity_at namespace"""
FIELDS = (
    SIMPLE
    + """ description_html visibility updated_at creator_id archived empty_repo
forks_count open_issues_count readme_url container_registry_image_prefix _links
permissions shared_with_groups statistics container_expiration_policy issues_enabled
merge_requests_enabled wiki_enabled jobs_enabled snippets_enabled
container_registry_enabled service_desk_enabled packages_enabled issues_access_level
repository_access_level merge_requests_access_level forking_access_level
wiki_access_level builds_access_level snippets_access_level pages_access_level
analytics_access_level container_registry_access_level
security_and_compliance_access_level requirements_access_level
can_create_merge_request_in resolve_outdated_diff_discussions shared_runners_enabled
group_runners_enabled lfs_enabled public_jobs request_access_enabled
only_allow_merge_if_pipeline_succeeds allow_merge_on_skipped_pipeline
restrict_user_defined_variables only_allow_merge_if_all_discussions_are_resolved
remove_source_branch_after_merge printing_merge_request_link_enabled
autoclose_referenced_issues keep_latest_artifact auto_devops_enabled
enforce_auth_checks_on_uploads requirements_enabled security_and_compliance_enabled
emails_disabled emails_enabled import_url import_type import_error import_status
ci_default_git_depth ci_forward_deployment_enabled
ci_forward_deployment_rollback_allowed ci_allow_fork_pipelines_to_run_in_parent_project
ci_job_token_scope_enabled ci_separated_caches ci_restrict_pipeline_cancellation_role
build_timeout auto_cancel_pending_pipelines ci_config_path merge_method squash_option
suggestion_commit_message merge_commit_template squash_commit_template
issue_branch_template auto_devops_deploy_strategy runner_token_expiration_interval
external_authorization_classification_label compliance_frameworks repository_storage
mirror mirror_trigger_builds only_mirror_protected_branches
mirror_overwrites_diverged_branches mirror_user_id approvals_before_merge
service_desk_address runners_token marked_for_deletion_at marked_for_deletion_on
issues_template merge_requests_template only_allow_merge_if_all_status_checks_passed
license license_url"""
)
