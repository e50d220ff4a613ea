"""What is shown of projects: every field, sizes, and nothing of private people."""

import io

import pytest

from tests.service.conftest import Api
from tests.support.service import EmbeddedService
from wikisync.service import jobs
from wikisync.service.projects import tables as project_tables
from wikisync.service.tables import Tables

PROJECTS = "/api/v4/projects"


async def filled(service: EmbeddedService, api: Api) -> None:
    """A project with code, and a person with another one and a star."""
    person = api.as_user(await service.add_user("dana"))
    await service.add_project("docs/alpha", visibility="public")
    await service.add_project("dana/gamma")
    await service.add_code("docs/alpha", {"a.py": b"x = 1"})
    await person.post(f"{PROJECTS}/1/star")


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
    broken = await api.get(f"{PROJECTS}?repository_checksum_failed=true")

    assert [project["id"] for project in broken.json] == [1]


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


async def test_every_field_of_the_contract_is_there(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service, api)

    shown = (await api.get(f"{PROJECTS}/1?statistics=1&license=1")).json
    simple = (await api.get(f"{PROJECTS}?simple=1")).json[-1]

    assert set(FIELDS.split()) <= set(shown)
    assert set(SIMPLE.split()) <= set(simple)
    assert "wiki_access_level" not in simple


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
