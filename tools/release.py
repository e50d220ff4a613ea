"""Build the files of a release into ``dist/`` and check them (``make release``).

The source distribution is made from the checkout, and the wheel from the source
distribution, as whoever packages wikisync makes it: without git and npm.  The wheel
is installed into an empty environment with the pinned packages.  Beside both lie the
licenses of everything that was installed, and a bill of materials (CycloneDX).
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
TOOLS = ROOT / ".venv" / "release"
BESIDE = frozenset({"pip", "setuptools"})
"""What an environment has, and no program needs."""
LICENSE_NAMES = ("LICEN", "COPYING", "NOTICE", "COPYRIGHT")


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """What a command prints.

    Raises:
        SystemExit: it failed; with what it printed.
    """
    ran = subprocess.run(  # noqa: S603 - programs of this checkout's environments
        [str(word) for word in command],
        check=False,
        cwd=cwd,
        capture_output=True,
        text=True,
    )
    if ran.returncode:
        raise SystemExit(f"release: {command[0]} failed:\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def python_in(environment: Path) -> Path:
    """The interpreter of an environment, which is made if it is not there."""
    python = environment / "bin" / "python"
    if not python.exists():
        venv.create(environment, with_pip=True, clear=True)
    return python


def pip_install(python: Path, *what: str | Path) -> None:
    """Install into the environment of an interpreter."""
    options = ("--quiet", "--disable-pip-version-check", "install")
    run(python, "-m", "pip", *options, *what)


def build(folder: Path) -> tuple[Path, Path]:
    """The source distribution, and the wheel that was made from it."""
    shutil.rmtree(DIST, ignore_errors=True)
    hatchling = (sys.executable, "-m", "hatchling", "build", "--directory", DIST)
    run(*hatchling, "--target", "sdist")
    (source,) = DIST.glob("*.tar.gz")
    # Python before 3.11.4 does not know what later ones want to be told
    run("tar", "-xf", source, "-C", folder)
    (unpacked,) = folder.iterdir()
    run(*hatchling, "--target", "wheel", cwd=unpacked)
    (wheel,) = DIST.glob("*.whl")
    return source, wheel


def _versions(folder: Path) -> Path:
    """The pinned versions alone: the wheel that is installed with them has no hash."""
    lock = (ROOT / "requirements" / "run.txt").read_text("utf-8")
    pins = [line.split()[0] for line in lock.splitlines() if line[:1].isalnum()]
    path = folder / "versions.txt"
    path.write_text("\n".join(pins) + "\n", encoding="utf-8")
    return path


def license_texts(installed: Sequence[Distribution], wheel: Path) -> str:
    """The licenses of wikisync, of what its wheel holds, and of what it needs."""
    parts = [(f"wikisync {one}", text) for one, text in _in_wheel(wheel)]
    for one in sorted(installed, key=lambda found: found.name.casefold()):
        if one.name.casefold() in {*BESIDE, "wikisync"}:
            continue
        named = one.metadata["License-Expression"] or one.metadata["License"]
        files = [
            file
            for file in one.files or ()
            if file.name.upper().startswith(LICENSE_NAMES)
        ]
        texts = [
            file.read_text("utf-8") for file in files if Path(file.locate()).is_file()
        ]
        words = "\n\n".join(text.strip() for text in texts)
        parts.append((f"{one.name} {one.version}", words or named or "see its page"))
    rule = "=" * 72
    return "\n\n".join(f"{rule}\n{name}\n{rule}\n\n{text}" for name, text in parts)


def _in_wheel(wheel: Path) -> list[tuple[str, str]]:
    with zipfile.ZipFile(wheel) as archive:
        return [
            (name.rpartition("/")[2], archive.read(name).decode("utf-8").strip())
            for name in sorted(archive.namelist())
            if ".dist-info/licenses/" in name
        ]


def bill_of_materials(tools: Path, environment: Path) -> str:
    """What the environment holds, and the JavaScript that the wheel brings, as JSON."""
    made = run(
        *(tools, "-m", "cyclonedx_py", "environment", environment / "bin" / "python"),
        *("--pyproject", ROOT / "pyproject.toml", "--mc-type", "application"),
        "--output-reproducible",
    )
    bill = json.loads(made)
    beside = {one["bom-ref"] for one in bill["components"] if one["name"] in BESIDE}
    for part, key in (("components", "bom-ref"), ("dependencies", "ref")):
        bill[part] = [one for one in bill[part] if one[key] not in beside]
    bill["components"] += javascript_components()
    return json.dumps(bill, indent=2) + "\n"


def javascript_components() -> list[dict[str, object]]:
    """The JavaScript libraries in the wheel; esbuild only puts them together."""
    lock = json.loads((ROOT / "package-lock.json").read_text("utf-8"))
    found: list[dict[str, object]] = []
    for path, package in lock["packages"].items():
        name = path.removeprefix("node_modules/")
        if not path or "esbuild" in name:
            continue
        purl = f"pkg:npm/{name.replace('@', '%40')}@{package['version']}"
        found.append(
            {
                "type": "library",
                "bom-ref": purl,
                "name": name,
                "version": package["version"],
                "licenses": [{"license": {"id": package["license"]}}],
                "purl": purl,
            }
        )
    return found


def main() -> None:
    """Build, check and describe a release."""
    if run("git", "status", "--porcelain"):
        raise SystemExit("release: commit first: the checkout has uncommitted changes")
    tools = python_in(TOOLS)
    pip_install(tools, "--require-hashes", "-r", ROOT / "requirements" / "release.txt")
    run(sys.executable, "-m", "tools.manual")
    with tempfile.TemporaryDirectory(prefix="wikisync-release-") as folder:
        source, wheel = build(Path(folder) / "source")
        run(tools, "-m", "twine", "check", "--strict", source, wheel)
        environment = Path(folder) / "environment"
        pip_install(
            python_in(environment), "--constraint", _versions(Path(folder)), wheel
        )
        version = run(environment / "bin" / "wikisync", "--version").split()[-1]
        (packages,) = environment.glob("lib/python*/site-packages")
        installed = list(distributions(path=[str(packages)]))
        texts = license_texts(installed, wheel)
        bill = bill_of_materials(tools, environment)
    (DIST / "LICENSES.txt").write_text(texts + "\n", encoding="utf-8")
    (DIST / f"wikisync-{version}.cdx.json").write_text(bill, encoding="utf-8")
    for path in sorted(DIST.iterdir()):
        sys.stdout.write(f"{path.stat().st_size:>10,}  {os.path.relpath(path, ROOT)}\n")


if __name__ == "__main__":
    main()
