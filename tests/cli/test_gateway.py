"""Commands behind something that refuses, limits or shows its own pages."""

from pathlib import Path

import pytest

from tests.support.bending import BendingProxy
from tests.support.commands import Run
from tests.support.limiting import TokenBucket
from tests.support.service import EmbeddedService
from tests.support.workspaces import FILES, HANDBOOK, Cloned

BLOCKED = b"<html><head><title>Request Rejected</title></head><body>no</body></html>"
SSO = "https://sso.example.com/adfs/ls?RelayState=x"


@pytest.fixture
async def behind(cloned: Cloned, proxy: BendingProxy) -> Cloned:
    """A workspace whose service is reached through the proxy."""
    cloned.configure(cloned.service.url, proxy.url)
    ran = await cloned.run("sync")
    assert ran.code == 0, ran.err
    return cloned


@pytest.mark.parametrize(
    ("status", "command"), [(401, "sync"), (403, "status"), (403, "doctor")]
)
async def test_refusal_of_a_gateway_is_named_and_blames_no_token(
    status: int, command: str, behind: Cloned, proxy: BendingProxy
) -> None:
    behind.write("home.md", "mine\n")
    with proxy.bend(status=status, html=BLOCKED):
        ran = await behind.run(command)

    assert "in front of the service refused it: Request Rejected" in ran.told
    assert "this token may not" not in ran.told
    assert "does not know this token" not in ran.told
    assert (await behind.run("sync")).code == 0
    assert (await behind.wiki())["home.md"] == "mine\n"


async def test_page_whose_text_a_filter_refuses_holds_back_no_other(
    behind: Cloned, proxy: BendingProxy
) -> None:
    for name in ("guide", "home", "team/people", "team/rules"):
        behind.write(f"{name}.md", f"new {name}\n")
    filtered = proxy.bend("guide|people|rules", method="PUT", status=403, html=BLOCKED)

    ran = await behind.run("sync")

    assert ran.code == 3
    assert filtered.met == 3
    assert (await behind.wiki())["home.md"] == "new home\n"
    assert "Request Rejected" in ran.err
    assert "the text may look like an attack" in ran.err
    assert "guide" in behind.attention
    filtered.end()
    assert (await behind.run("sync")).code == 0
    assert (await behind.wiki())["team/rules.md"] == "new team/rules\n"
    assert not behind.attention


async def test_limit_on_files_is_one_problem_and_holds_back_no_page(
    behind: Cloned, proxy: BendingProxy
) -> None:
    paths = [f"uploads/{'0a' * 16}/{name}.png" for name in "abcdefghij"]
    await behind.service.put_files(HANDBOOK, dict.fromkeys(paths, b"\x89PNG"))
    await behind.edit({"guide": "".join(f"![x]({path})\n" for path in paths)})
    behind.write("home.md", "mine\n")
    far = {"Retry-After": "100000"}
    limit = proxy.bend("/-/wikis/uploads/", status=429, headers=far)

    ran = await behind.run("sync")

    assert ran.code == 3
    assert ran.err.count("too many requests") == 1
    assert "the files after it also wait" in ran.err
    assert limit.met <= 8
    assert (await behind.wiki())["home.md"] == "mine\n"
    limit.end()
    assert "10 attachments fetched" in (await behind.run("sync")).out


@pytest.mark.slow
async def test_clone_of_many_files_at_few_requests_a_second_is_whole(
    service: EmbeddedService, proxy: BendingProxy, run: Run, workspace: Path
) -> None:
    """Without ``Retry-After``, as many limits in front of a service are."""
    paths = [f"uploads/{'0a' * 16}/{number}.png" for number in range(40)]
    mentions = "".join(f"![x]({path})\n" for path in paths)
    await service.add_project("docs/handbook", {"home": mentions})
    await service.put_files(HANDBOOK, dict.fromkeys(paths, b"\x89PNG"))
    limit = TokenBucket(8.0, 4.0)
    proxy.bend(when=limit.refuses, status=429, body=b"Retry later")

    ran = await run("clone", proxy.url, "--project", "docs/handbook", workspace)

    assert ran.code == 0, ran.err
    assert len(list(workspace.rglob("*.png"))) == 40
    assert limit.refused <= 20


@pytest.mark.slow
async def test_pause_is_told_before_it_is_made(
    behind: Cloned, proxy: BendingProxy
) -> None:
    proxy.bend("wikis", status=429, count=1, headers={"Retry-After": "6"})

    ran = await behind.run("sync")

    ran.ended(0, "waiting 6 s: cannot list the pages of project docs/handbook: too")


@pytest.mark.parametrize("command", ["sync", "doctor"])
async def test_sign_on_of_another_host_is_not_given_the_token(
    command: str, behind: Cloned, proxy: BendingProxy
) -> None:
    with proxy.bend(redirect=SSO):
        told = (await behind.run(command)).told

    assert "sso.example.com" in told
    assert "do not give it a token" in told
    assert "give https://sso.example.com" not in told
    assert await behind.wiki() == FILES


async def test_wrong_domain_that_sends_to_the_service_is_told_its_url(
    run: Run, service: EmbeddedService, proxy: BendingProxy, workspace: Path
) -> None:
    target = f"{service.url}/api/v4/projects/docs%2Fhandbook"
    with proxy.bend(redirect=target, status=301):
        ran = await run("clone", proxy.url, "--project", "docs/handbook", workspace)

    assert f"give {service.url} as the service's URL" in ran.err
