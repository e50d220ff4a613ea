"""What the build puts into a wheel, and how it gets the one file that is not in git.

No test here needs the network: the registry is either not asked, or is a closed
port of this machine.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "wikisync" / "vendor" / "asciidoctor.js"
CLOSED_PORT = "http://127.0.0.1:9/"


def load_hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "hatch_build", ROOT / "hatch_build.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hook = load_hook()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with what the fetch needs, and nothing fetched."""
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def closed_registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("npm_config_registry", CLOSED_PORT)
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm-cache"))


def put_library(root: Path, content: bytes) -> Path:
    vendor = root / "wikisync" / "vendor"
    vendor.mkdir(parents=True)
    for name in ("asciidoctor", "opal"):
        (vendor / f"{name}.LICENSE").write_text("license")
    script = vendor / "asciidoctor.js"
    script.write_bytes(content)
    return script


def test_lock_names_no_registry() -> None:
    lock = json.loads((ROOT / "package-lock.json").read_text("utf-8"))
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert all(entry["integrity"].startswith("sha512-") for entry in packages.values())
    assert not any("resolved" in entry for entry in packages.values())


def test_package_and_lock_pin_the_same_version() -> None:
    package = json.loads((ROOT / "package.json").read_text("utf-8"))
    lock = json.loads((ROOT / "package-lock.json").read_text("utf-8"))
    wanted = package["dependencies"][hook.LIBRARY]
    assert re.fullmatch(r"3\.0\.\d+", wanted)
    assert lock["packages"][f"node_modules/{hook.LIBRARY}"]["version"] == wanted


def test_installed_library_is_the_pinned_one() -> None:
    assert hashlib.sha256(LIBRARY.read_bytes()).hexdigest() == hook.SCRIPT_SHA256
    assert "MIT License" in LIBRARY.with_suffix(".LICENSE").read_text("utf-8")


def test_library_is_never_committed() -> None:
    run = subprocess.run(
        ["git", "check-ignore", str(LIBRARY)],
        cwd=ROOT,
        check=False,
        capture_output=True,
    )
    assert run.returncode == 0


@pytest.mark.usefixtures("closed_registry")
def test_right_file_that_is_there_is_not_fetched_again(checkout: Path) -> None:
    script = put_library(checkout, LIBRARY.read_bytes())
    assert hook.provide_library(checkout) == script


@pytest.mark.slow
@pytest.mark.usefixtures("closed_registry")
def test_registry_that_is_not_there_is_one_line(checkout: Path) -> None:
    put_library(checkout, b"another file")
    with pytest.raises(SystemExit) as caught:
        hook.provide_library(checkout)
    assert re.fullmatch(
        r"wikisync build: npm cannot fetch @asciidoctor/core .*ECONNREFUSED.*",
        str(caught.value),
    )


def fetched_package(folder: Path, script: bytes) -> Path:
    """What npm leaves of the library, with another script."""
    package: Path = folder / "node_modules" / hook.LIBRARY
    (package / hook.SCRIPT).parent.mkdir(parents=True)
    (package / hook.SCRIPT).write_bytes(script)
    (package / "LICENSE").write_text("MIT License, Asciidoctor")
    runtime = package.parent.parent / hook.RUNTIME
    runtime.mkdir(parents=True)
    (runtime / "LICENSE").write_text("MIT License, the runtime")
    return package


def test_notice_of_opal_comes_with_the_library(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An install from before has none, and gets it."""
    put_library(checkout, LIBRARY.read_bytes())
    notice = checkout / "wikisync" / "vendor" / "opal.LICENSE"
    notice.unlink()
    monkeypatch.setattr(
        hook,
        "fetch_package",
        lambda _root, folder: fetched_package(folder, LIBRARY.read_bytes()),
    )
    hook.provide_library(checkout)
    text = notice.read_text()
    assert "Adam Beynon and the Opal contributors" in text
    assert "MIT License, the runtime" in text


def test_library_that_does_not_name_opal_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="does not say who made Opal"):
        hook.opal_notice(fetched_package(tmp_path, b"no notice"))


def test_build_requirements_are_the_pinned_ones() -> None:
    """A build by pip alone uses what `make` installs with its hashes."""
    wanted = read_project()["build-system"]["requires"]
    locked = (ROOT / "requirements" / "run.txt").read_text("utf-8")
    assert len(wanted) == 3
    assert [one for one in wanted if f"\n{one} \\\n" not in locked] == []


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        ("exit 0", 0, "audit: no hole is known in what requirements/*.txt pins"),
        (
            "echo 'jinja2 3.1.4 CVE-2025-27516'; exit 1",
            1,
            "jinja2 3.1.4 CVE-2025-27516",
        ),
        ("echo 'ConnectionError: no route' >&2; exit 1", 3, "asked (ConnectionError)"),
        ("exit 127", 3, "nothing was checked"),
    ],
)
def test_audit_tells_holes_from_a_database_that_is_away(
    tmp_path: Path, program: str, code: int, said: str
) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "requirements").mkdir()
    audit = shutil.copy(ROOT / "tools" / "audit.sh", tmp_path / "tools")
    (tmp_path / "requirements" / "audit.txt").touch()
    for name in (".venv/bin/python", ".venv/audit/bin/pip-audit"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(f"#!/bin/sh\n{program}\n")
        (tmp_path / name).chmod(0o755)
    run = subprocess.run([audit], capture_output=True, text=True, check=False)
    assert run.returncode == code
    assert said in run.stdout + run.stderr


def test_audit_without_an_environment_checks_nothing_and_says_so(
    tmp_path: Path,
) -> None:
    (tmp_path / "tools").mkdir()
    audit = shutil.copy(ROOT / "tools" / "audit.sh", tmp_path / "tools")
    run = subprocess.run([audit], capture_output=True, text=True, check=False)
    assert run.returncode == 3
    assert "make .venv/run" in run.stderr


def test_least_versions_are_not_above_the_pinned_ones() -> None:
    project = read_project()["project"]
    locked = (ROOT / "requirements" / "dev.txt").read_text("utf-8")
    pins = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", locked, re.MULTILINE))
    wanted = [*project["dependencies"], *project["optional-dependencies"]["fast"]]
    for one in wanted:
        name, _, least = one.partition(">=")
        assert least, f"{one} has no least version"
        least, _, too_new = least.partition(",<")
        assert _numbers(pins[name]) >= _numbers(least), one
        assert not too_new or _numbers(pins[name]) < _numbers(too_new), one


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def read_project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_file_of_another_content_is_refused(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch_package(_root: Path, folder: Path) -> Path:
        script = folder / hook.SCRIPT
        script.parent.mkdir(parents=True)
        script.write_text("alert('not Asciidoctor')")
        return folder

    monkeypatch.setattr(hook, "fetch_package", fetch_package)
    with pytest.raises(SystemExit, match="another dist/browser"):
        hook.provide_library(checkout)
    assert not (checkout / "wikisync" / "vendor" / "asciidoctor.js").exists()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel of this checkout, built without isolation and without network."""
    output = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run(
        [*command, "--directory", str(output)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (path,) = output.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "wikisync/__main__.py",
        "wikisync/py.typed",
        "wikisync/vendor/asciidoctor.js",
        "wikisync/vendor/asciidoctor.LICENSE",
        "wikisync/vendor/opal.LICENSE",
        "wikisync/markup/asciidoc/convert.js",
        "wikisync/markup/asciidoc/worker.py",
    ],
)
def test_wheel_holds(wheel: zipfile.ZipFile, name: str) -> None:
    assert wheel.getinfo(name).file_size > 0 or name.endswith("py.typed")


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["themes", "sample-site", "docs/themes.md"])
def test_wheel_holds_every_file_of(wheel: zipfile.ZipFile, folder: str) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", folder], cwd=ROOT, check=True, capture_output=True
    )
    wanted = {name for name in listed.stdout.decode().split("\0") if name}
    shipped = {name.removeprefix("wikisync/") for name in wheel.namelist()}
    assert {name for name in wanted if (ROOT / name).is_file()} <= shipped


@pytest.mark.slow
def test_wheel_holds_nothing_of_the_workshop(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert tops == {"wikisync", f"wikisync-{version_of(wheel)}.dist-info"}


@pytest.mark.slow
def test_wheel_gives_the_command(wheel: zipfile.ZipFile) -> None:
    folder = f"wikisync-{version_of(wheel)}.dist-info"
    entries = wheel.read(f"{folder}/entry_points.txt").decode()
    assert "wikisync = wikisync.cli.start:run" in entries


def version_of(wheel: zipfile.ZipFile) -> str:
    assert wheel.filename is not None
    return Path(wheel.filename).name.split("-")[1]
