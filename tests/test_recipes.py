"""The recipes of the user guide, done as they are written.

The code is taken out of the pages, so that text and test cannot drift.  What this
machine has no program for (nginx) is looked at as text; what belongs to other
people's machines (pip, systemctl, rclone) is a program that notes how it was called.
"""

import json
import os
import plistlib
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.bucket_server import got
from tests.support.machine import SERVICE_URL, Machine, clean_machine, code_blocks
from wikisync.config.reading import parse_config
from wikisync.core.layout import HEALTH_FILE, PRIVATE_FOLDER
from wikisync.core.model import WikiOwner
from wikisync.fleet.parts import BucketServer
from wikisync.folder.workspace import MACHINE_IDS

ROOT = Path(__file__).resolve().parent.parent
RECIPES = ROOT / "sample-site/handbook/recipes"
HANDBOOK = WikiOwner("project", "docs/handbook")
CRON_FIELD = re.compile(r"(\*|\d{1,2}(-\d{1,2})?)(/\d{1,2})?(,\d{1,2})*")
CRON_LIMITS = (59, 23, 31, 12, 7)
PAGES = {".md", ".org", ".rdoc", ".asciidoc"}
SECRET_WORD = re.compile(
    r"^[\s$>|`*]*(?:curl|wget|git|wikisync|python|glab)\b.*"
    r"(?:PRIVATE-TOKEN: |://[^/@ ]*:[^/@ ]+@|private_token=|glpat-|--hook-secret )"
)
"""A line of code with a command that is given a secret."""


def blocks(page: str, language: str) -> list[str]:
    """The blocks of code in this language on a page, in order."""
    found = code_blocks(RECIPES / page)
    assert found, f"{page} has no code"
    return [code for name, code in found if name == language]


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncIterator[Machine]:
    async with clean_machine(tmp_path) as machine:
        await machine.service.add_project("docs/handbook", {"home": "# Welcome\n"})
        machine.note_calls_of("pip", "systemctl", "loginctl")
        yield machine


# -- pipelines ---------------------------------------------------------------------


def gitlab_job() -> Mapping[str, Any]:
    code, _component = blocks("gitlab-pages.md", "yaml")
    job: Mapping[str, Any] = yaml.safe_load(code)["pages"]
    return job


@pytest.mark.parametrize("page", ["# Welcome\n", f"![](uploads/{'0' * 32}/p.png)\n"])
async def test_gitlab_pipeline_publishes_the_site(machine: Machine, page: str) -> None:
    """Also where a page has a problem, which ends the export with exit code 3."""
    await machine.service.add_pages(HANDBOOK, {"other": page})
    job = gitlab_job()
    folder = machine.home / "build"
    folder.mkdir()
    done = await machine.run(
        "\n".join(job["script"]),
        folder=folder,
        CI_SERVER_URL=machine.service.url,
        CI_PROJECT_PATH="docs/handbook",
        WIKISYNC_TOKEN=machine.service.token,
    )
    assert done.returncode == 0, done.stderr
    repository = f"git+{machine.service.url}/tools/wikisync.git"
    assert machine.calls == [f"pip install {repository}"]
    kept = [*job["artifacts"]["paths"], *job["cache"]["paths"]]
    assert kept == ["public", ".wikisync-cache"]
    assert (folder / "public/index.html").exists()
    assert any((folder / ".wikisync-cache").iterdir())


def test_pages_with_any_name_are_compressed(tmp_path: Path) -> None:
    text = (RECIPES / "gitlab-pages.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"`(find public[^`]*)`", text)
    names = ["home.html", "with space.html", 'say "it\'s".html']
    (tmp_path / "public").mkdir()
    for name in names:
        (tmp_path / "public" / name).write_text("text")
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    for name in names:
        assert (tmp_path / "public" / f"{name}.gz").exists()


def test_gitlab_pipeline_runs_for_the_events_that_the_page_names() -> None:
    conditions = [rule["if"] for rule in gitlab_job()["rules"]]
    assert conditions == [
        f'$CI_PIPELINE_SOURCE == "{source}"'
        for source in ("schedule", "web", "trigger")
    ]


def component_job(page: str, name: str) -> Mapping[str, Any]:
    """The job of a component, with the inputs that a page gives it."""
    (included,) = yaml.safe_load(blocks(page, "yaml")[-1 if name == "pages" else 0])[
        "include"
    ]
    assert included["component"] == f"$CI_SERVER_FQDN/tools/wikisync/{name}@main"
    head, body = (
        (RECIPES.parents[2] / f"templates/{name}.yml").read_text().split("\n---\n")
    )
    inputs = yaml.safe_load(head)["spec"]["inputs"]
    needed = {key for key, value in inputs.items() if "default" not in value}
    assert needed <= set(included["inputs"]) <= set(inputs)
    for key, value in inputs.items():
        given = included["inputs"].get(key, value.get("default"))
        body = body.replace(f"$[[ inputs.{key} ]]", given)
    assert "$[[" not in body
    (job,) = yaml.safe_load(body).values()
    return {**job, "script": [*job["before_script"], *job["script"]]}


@pytest.mark.parametrize("page", ["# Welcome\n", "[lost](lost)\n"])
async def test_component_publishes_the_site_and_its_findings(
    machine: Machine, page: str
) -> None:
    await machine.service.add_pages(HANDBOOK, {"other": page})
    job = component_job("gitlab-pages.md", "pages")
    done = await machine.run(
        "\n".join(job["script"]),
        WIKISYNC_URL=machine.service.url,
        CI_PROJECT_PATH="docs/handbook",
        WIKISYNC_TOKEN=machine.service.token,
    )
    assert done.returncode == 0, done.stderr
    report = machine.home / job["artifacts"]["reports"]["codequality"]
    found = [one["location"]["path"] for one in json.loads(report.read_text())]
    assert found == (["docs/handbook/other"] if "lost" in page else [])
    assert (machine.home / "public/index.html").exists()
    assert [call.split()[0] for call in machine.calls] == ["pip"]


@pytest.mark.parametrize("is_component", [False, True])
async def test_pipeline_fails_where_nothing_was_exported(
    machine: Machine, *, is_component: bool
) -> None:
    own = gitlab_job()
    job = component_job("gitlab-pages.md", "pages") if is_component else own
    done = await machine.run(
        "\n".join(job["script"]),
        CI_SERVER_URL=machine.service.url,
        WIKISYNC_URL=machine.service.url,
        CI_PROJECT_PATH="docs/none",
        WIKISYNC_TOKEN=machine.service.token,
    )
    assert done.returncode != 0


@pytest.mark.parametrize(("text", "code"), [("home", 0), ("[lost](lost)", 3)])
async def test_checks_of_pipelines_and_commits_find_broken_links(
    machine: Machine, text: str, code: int
) -> None:
    (machine.home / "docs").mkdir()
    (machine.home / "docs/home.md").write_text(f"{text}\n")
    job = component_job("check.md", "check")
    checked = await machine.run("\n".join(job["script"]))
    assert checked.returncode == code, checked.stderr
    assert bool(json.loads((machine.home / "wikisync-findings.json").read_text())) == (
        code > 0
    )
    _gitlab, github, commits = blocks("check.md", "yaml")
    (_checkout, step) = yaml.safe_load(github)["jobs"]["pages"]["steps"]
    action = yaml.safe_load((RECIPES.parents[2] / "action.yml").read_text())
    annotated = await machine.run(
        action["runs"]["steps"][-1]["run"],
        shell=("bash", "-e"),
        ARGUMENTS=step["with"]["arguments"],
    )
    assert annotated.returncode == code
    assert ("::error file=docs/home.md,line=1" in annotated.stdout) == (code > 0)
    (hook,) = yaml.safe_load(
        (RECIPES.parents[2] / ".pre-commit-hooks.yaml").read_text()
    )
    (used,) = yaml.safe_load(commits)["repos"][0]["hooks"]
    assert used["id"] == hook["id"]
    # a commit that only removes a page has no file that pre-commit would look at
    assert hook["always_run"]
    assert not hook["pass_filenames"]
    refused = await machine.run(f"{hook['entry']} {' '.join(used['args'])}")
    assert refused.returncode == code


async def test_github_workflow_makes_the_site_that_it_uploads(machine: Machine) -> None:
    (code,) = blocks("github-pages.md", "yaml")
    workflow = yaml.safe_load(machine.localised(code))
    job = workflow["jobs"]["site"]
    steps = [step for step in job["steps"] if "run" in step]
    for step in steps:
        variables = {**job["env"], **step.get("env", {})}
        secret = "${{ secrets.WIKISYNC_TOKEN }}"
        done = await machine.run(
            step["run"],
            shell=("bash", "-e"),
            **{
                name: value.replace(secret, machine.service.token)
                for name, value in variables.items()
            },
        )
        assert done.returncode == 0, done.stderr
    uploaded = next(step for step in job["steps"] if "upload" in step.get("uses", ""))
    cached = next(step for step in job["steps"] if "cache" in step.get("uses", ""))
    assert (machine.home / uploaded["with"]["path"] / "index.html").exists()
    assert any((machine.home / cached["with"]["path"]).iterdir())


def test_github_workflow_gives_the_token_to_one_step_and_fixes_versions() -> None:
    (code,) = blocks("github-pages.md", "yaml")
    workflow = yaml.safe_load(code)
    # the key "on" is the truth value of YAML 1.1
    (schedule,) = workflow[True]["schedule"]
    steps = workflow["jobs"]["site"]["steps"]
    assert is_cron(schedule["cron"])
    assert code.count("secrets.") == 1
    assert all(re.search(r"@v\d+$", step["uses"]) for step in steps if "uses" in step)


# -- systemd -----------------------------------------------------------------------


def verify(unit: Path, *options: str) -> None:
    """What systemd says of a unit; it says nothing of a good one."""
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    done = subprocess.run(
        [program, *options, "verify", str(unit)],
        check=False,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "SYSTEMD_LOG_LEVEL": "warning",
            # without one of a session it looks at nothing
            "XDG_RUNTIME_DIR": str(unit.parent),
        },
    )
    assert "Failed to initialize manager" not in done.stderr
    about = [line for line in done.stderr.splitlines() if unit.stem in line]
    assert about == []


async def test_systemd_unit_of_a_person_is_set_up(machine: Machine) -> None:
    await machine.clone()
    done = await machine.run(blocks("systemd.md", "sh")[0])
    assert done.returncode == 0, done.stderr
    unit = machine.home / ".config/systemd/user/wikisync.service"
    assert f"watch -C {machine.home / 'my-wikis'}" in unit.read_text()
    environment = machine.home / ".config/wikisync/environment"
    assert environment.stat().st_mode & 0o777 == 0o600
    assert f"EnvironmentFile=-%h/{environment.relative_to(machine.home)}\n" in (
        unit.read_text()
    )
    assert machine.calls[-1] == "systemctl --user enable --now wikisync"
    verify(unit, "--user")


async def test_systemd_unit_of_the_system_is_set_up(machine: Machine) -> None:
    workspace = await machine.clone()
    units = machine.home / "units"
    units.mkdir()
    machine.add_program("sudo", '[ "$1" = -u ] && shift 2\nexec "$@"')
    code = blocks("systemd.md", "sh")[3]
    done = await machine.run(
        code.replace("/srv/wikis", str(workspace)).replace(
            "/etc/systemd/system", str(units)
        )
    )
    assert done.returncode == 0, done.stderr
    unit = units / "wikisync.service"
    assert "EnvironmentFile=-/etc/wikisync/environment\n" in unit.read_text()
    assert f"ReadWritePaths={workspace}\n" in unit.read_text()
    verify(unit)


async def test_systemd_timer_exports(machine: Machine) -> None:
    service, timer = blocks("systemd.md", "ini")
    started = re.search(r"^ExecStart=(.*)$", service, re.MULTILINE)
    assert started is not None
    command = started[1].replace("%h/.local/bin/wikisync", "wikisync")
    done = await machine.run(
        command.replace("%h", str(machine.home)), WIKISYNC_TOKEN=machine.service.token
    )
    assert done.returncode == 0, done.stderr
    assert (machine.home / "site/index.html").exists()
    folder = machine.home / "units"
    folder.mkdir()
    program = str(machine.programs / "wikisync")
    (folder / "handbook.service").write_text(
        service.replace("%h/.local/bin/wikisync", program)
    )
    (folder / "handbook.timer").write_text(timer)
    verify(folder / "handbook.timer", "--user")
    verify(folder / "handbook.service", "--user")


# -- launchd -----------------------------------------------------------------------


async def test_launchd_agent_starts_a_watch(machine: Machine) -> None:
    await machine.clone()
    (code,) = blocks("launchd.md", "xml")
    agent = plistlib.loads(code.replace("/Users/ann", str(machine.home)).encode())
    program, *words = agent["ProgramArguments"]
    assert program == str(machine.home / ".local/bin/wikisync")
    # the unit of systemd: this watch, with its options and its workspace
    done = await machine.run(f"wikisync {shlex.join(words)} --print-unit")
    assert done.returncode == 0, done.stderr
    assert f"{shlex.join(words)}\n" in done.stdout
    assert agent["RunAtLoad"]
    # a watch that was stopped ends with 0; launchd starts it again after a failure
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    (setup,) = blocks("launchd.md", "sh")
    for call in setup.splitlines()[:2]:
        assert f"LaunchAgents/{agent['Label']}.plist" in call


# -- nginx -------------------------------------------------------------------------


def nginx_depths(text: str) -> list[int]:
    """How deep in braces each line ends; every line is a directive or a brace."""
    depth, depths = 0, []
    for line in filter(None, map(str.strip, text.splitlines())):
        assert line.endswith((";", "{", "}")), line
        depth += line.count("{") - line.count("}")
        depths.append(depth)
    return depths


def test_nginx_configuration_is_well_formed() -> None:
    (server,) = blocks("nginx.asciidoc", "nginx")
    depths = nginx_depths(server)
    assert depths[-1] == 0
    assert min(depths[:-1]) > 0


def test_nginx_passes_hooks_to_where_watch_listens() -> None:
    (server,) = blocks("nginx.asciidoc", "nginx")
    (settings,) = blocks("nginx.asciidoc", "toml")
    config = parse_config(
        f'[service]\nurl = "{SERVICE_URL}"\n[[wiki]]\nproject = "a/b"\n{settings}'
    )
    assert f"proxy_pass http://{config.sync.listen};" in server
    assert server.count("proxy_pass") == 1


def test_nginx_itself_takes_the_configuration(tmp_path: Path) -> None:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    openssl = shutil.which("openssl")
    if program is None or openssl is None:
        pytest.skip("nginx is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"),
            *("-subj", "/CN=x", "-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    (server,) = blocks("nginx.asciidoc", "nginx")
    server = re.sub(r"(ssl_certificate) .*;", rf"\1 {certificate};", server)
    server = re.sub(r"(ssl_certificate_key) .*;", rf"\1 {key};", server)
    file = tmp_path / "nginx.conf"
    file.write_text(
        f"pid {tmp_path}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\n{server}}}\n"
    )
    done = subprocess.run(
        [program, "-t", "-c", str(file), "-p", str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


# -- object storage ----------------------------------------------------------------


async def test_new_version_of_the_site_is_in_the_bucket(
    machine: Machine, s3: BucketServer
) -> None:
    workspace = await machine.clone()
    (settings,) = blocks("object-storage.md", "toml")
    file = workspace / "wikisync.toml"
    table = file.read_text().partition("[site]\n")
    bucket = f"s3://site/{machine.home.parent.name}"
    settings = settings.replace("s3://handbook", bucket)
    file.write_text(table[0] + settings + table[2])
    code = blocks("object-storage.md", "sh")[0]
    for name, value in s3.environment.items():
        code, count = re.subn(rf"\b{name}=\S+", f"{name}={value}", code)
        assert count == 1
    done = await machine.run(code)
    assert done.returncode == 0, done.stderr
    index = got(s3, f"{machine.home.parent.name}/index.html")
    assert index
    assert index[0] == (workspace / "site/index.html").read_bytes()


# -- cron --------------------------------------------------------------------------


def is_cron(text: str) -> bool:
    """Whether these are the five fields of a time, each within its limits."""
    fields = text.split()
    return len(fields) == len(CRON_LIMITS) and all(
        CRON_FIELD.fullmatch(field)
        and all(int(number) <= most for number in re.findall(r"\d+", field))
        for field, most in zip(fields, CRON_LIMITS, strict=True)
    )


async def test_cron_lines_run(machine: Machine) -> None:
    workspace = await machine.clone()
    token = machine.home / ".wikisync-token"
    token.write_text(machine.service.token)
    token.chmod(0o600)
    file = workspace / "wikisync.toml"
    file.write_text(
        file.read_text().replace(
            "# token_file =", f'token_file = "{token}"\n# token_file ='
        )
    )
    agreed = await machine.run(f"wikisync init --trust {workspace}")
    assert agreed.returncode == 0, agreed.stderr
    local = machine.home / ".local/bin"
    local.mkdir(parents=True)
    (local / "wikisync").symlink_to(machine.programs / "wikisync")
    (table,) = blocks("cron.org", "crontab")
    lines = [line for line in table.splitlines() if not line.startswith("#")]
    assert len(lines) == 2
    for line in lines:
        *time, command = line.split(maxsplit=5)
        assert is_cron(" ".join(time))
        assert "%" not in command, "cron ends a command there"
        done = await machine.run(command)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (machine.home / "site/index.html").exists()


async def test_exit_codes_lead_to_what_the_page_says(machine: Machine) -> None:
    (script,) = blocks("cron.org", "sh")
    said = {
        0: "",
        1: "it failed",
        3: "pages or problems need attention",
        4: "the safety stop held a batch",
        130: "it was interrupted",
    }
    for code, words in said.items():
        machine.add_program("wikisync", f"exit {code}")
        done = await machine.run(script, shell=("sh",))
        assert done.returncode == 0
        assert done.stdout.startswith(words)
        assert bool(done.stdout) == bool(words)


# -- container -----------------------------------------------------------------------


@pytest.mark.parametrize("is_healthy", [True, False])
def test_health_check_of_the_image_reads_what_watch_writes(
    tmp_path: Path, *, is_healthy: bool
) -> None:
    text = (ROOT / "Containerfile").read_text("utf-8").replace("\\\n", "")
    check = re.search(r"^HEALTHCHECK .* CMD (\[.*\])$", text, re.MULTILINE)
    assert check is not None
    _python, option, code = json.loads(check[1])
    path = tmp_path / PRIVATE_FOLDER / HEALTH_FILE
    path.parent.mkdir()
    path.write_text(json.dumps({"is_healthy": is_healthy}))
    code = code.replace(f"/wiki/{PRIVATE_FOLDER}/{HEALTH_FILE}", str(path))
    ran = subprocess.run(
        [sys.executable, option, code], check=False, capture_output=True
    )
    assert (ran.returncode == 0) == is_healthy
    assert str(path) in code


def test_image_and_compose_file_give_no_rights_that_are_not_needed() -> None:
    image = (ROOT / "Containerfile").read_text("utf-8")
    stages = image.split("\nFROM ")
    assert "\nUSER 10001\n" in stages[-1]
    for name, service in yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))[
        "services"
    ].items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        ports = service.get("ports", [])
        assert all(port.startswith("127.0.0.1:") for port in ports), name


def test_compose_file_has_the_health_check_of_the_image() -> None:
    image = (ROOT / "Containerfile").read_text("utf-8")
    services = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
    _cmd, *words = services["wikisync"]["healthcheck"]["test"]
    assert json.dumps(words[-1]) in image
    assert words[:2] == ["python3", "-c"]


def test_containers_of_the_image_are_one_machine_to_a_workspace() -> None:
    """Else a folder counts as moved at each start, and no removal is carried over."""
    stage = (ROOT / "Containerfile").read_text("utf-8").split("\nFROM ")[-1]
    (number,) = re.findall(r"&& echo (\w+) >(\S+)", stage)
    assert re.fullmatch(r"[0-9a-f]{32}", number[0])
    assert Path(number[1]) in MACHINE_IDS


# -- all of them -------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(RECIPES.iterdir()), ids=lambda path: path.stem)
def test_recipe_is_found_from_the_sidebar_and_the_list(path: Path) -> None:
    handbook = RECIPES.parent
    link = f"(recipes/{path.stem})"
    assert link in (handbook / "_sidebar.md").read_text(encoding="utf-8")
    assert link in (handbook / "recipes.md").read_text(encoding="utf-8")


def test_no_command_of_the_guide_has_a_secret_among_its_words() -> None:
    """Everybody on a machine can see the words of a command."""
    guide = RECIPES.parent.parent
    texts = [
        *(path for path in guide.rglob("*") if path.suffix in PAGES),
        *(guide.parent / "docs").glob("*.md"),
        guide.parent / "README.md",
    ]
    assert len(texts) > 20
    found = [
        f"{path.name}: {line}"
        for path in texts
        for line in path.read_text(encoding="utf-8").splitlines()
        if SECRET_WORD.search(line)
    ]
    assert not found


# -- the name on the package index ---------------------------------------------------


@pytest.mark.parametrize("folder", ["sample-site", "docs", "wikisync", "README.md"])
def test_nobody_is_told_to_install_a_package_that_is_not_ours(folder: str) -> None:
    """The name is free: whoever registers it would run in pipelines with a token."""
    root = RECIPES.parents[2] / folder
    files = [root] if root.is_file() else root.rglob("*")
    told = [
        f"{file.name}: {line}"
        for file in files
        if file.suffix in {*PAGES, ".py"}
        for line in file.read_text(encoding="utf-8").splitlines()
        if re.search(r"(?:pip|pipx|uv tool) install [\"']?wikisync(?!.*git\+)", line)
    ]
    assert told == []
