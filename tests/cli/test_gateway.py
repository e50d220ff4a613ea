"""Commands behind something that refuses, limits or shows its own pages."""

from pathlib import Path

import pytest

from tests.support.agreed import agree_to
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
    settings = cloned.root / "wikisync.toml"
    settings.write_text(settings.read_text().replace(cloned.service.url, proxy.url))
    agree_to(cloned.root)
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

    said = ran.out + ran.err
    assert "in front of the service refused it: Request Rejected" in said
    assert "this token may not" not in said
    assert "does not know this token" not in said
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
    assert "guide" in (behind.root / "WIKISYNC-ATTENTION.md").read_text()
    filtered.end()
    assert (await behind.run("sync")).code == 0
    assert (await behind.wiki())["team/rules.md"] == "new team/rules\n"
    assert not (behind.root / "WIKISYNC-ATTENTION.md").exists()


async def test_limit_on_files_is_one_problem_and_holds_back_no_page(
    behind: Cloned, proxy: BendingProxy
) -> None:
    paths = [f"uploads/{'0a' * 16}/{name}.png" for name in "abcdefghij"]
    for path in paths:
        await behind.service.put_file(HANDBOOK, path, b"\x89PNG")
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
    service: EmbeddedService, proxy: BendingProxy, run: Run, tmp_path: Path
) -> None:
    """Without ``Retry-After``, as many limits in front of a service are."""
    paths = [f"uploads/{'0a' * 16}/{number}.png" for number in range(40)]
    await service.add_project(
        "docs/handbook", {"home": "".join(f"![x]({path})\n" for path in paths)}
    )
    for path in paths:
        await service.put_file(HANDBOOK, path, b"\x89PNG")
    limit = TokenBucket(8.0, 4.0)
    proxy.bend(when=limit.refuses, status=429, body=b"Retry later")

    ran = await run(
        *("clone", proxy.url, "--project", "docs/handbook", tmp_path / "few")
    )

    assert ran.code == 0, ran.err
    assert len(list((tmp_path / "few").rglob("*.png"))) == 40
    assert limit.refused <= 20


@pytest.mark.slow
async def test_pause_is_told_before_it_is_made(
    behind: Cloned, proxy: BendingProxy
) -> None:
    proxy.bend("wikis", status=429, count=1, headers={"Retry-After": "6"})

    ran = await behind.run("sync")

    assert ran.code == 0
    assert "waiting 6 s: cannot list the pages of project docs/handbook: too" in ran.err


@pytest.mark.parametrize("command", ["sync", "doctor"])
async def test_sign_on_of_another_host_is_not_given_the_token(
    command: str, behind: Cloned, proxy: BendingProxy
) -> None:
    with proxy.bend(redirect=SSO):
        ran = await behind.run(command)

    said = ran.out + ran.err
    assert "sso.example.com" in said
    assert "do not give it a token" in said
    assert "give https://sso.example.com" not in said
    assert await behind.wiki() == FILES


async def test_wrong_domain_that_sends_to_the_service_is_told_its_url(
    run: Run, cloned: Cloned, proxy: BendingProxy, tmp_path: Path
) -> None:
    own = cloned.service.url
    target = f"{own}/api/v4/projects/docs%2Fhandbook"
    with proxy.bend(redirect=target, status=301):
        ran = await run(
            "clone", proxy.url, "--project", HANDBOOK.full_path, tmp_path / "new"
        )

    assert f"give {own} as the service's URL" in ran.err
