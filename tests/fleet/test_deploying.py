"""The files that an operator starts workers with."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement

from tests.support.machine import code_blocks
from tests.test_licenses import needed
from tests.test_recipes import ROOT, verify
from wikisync.cli.fleet import command
from wikisync.fleet.rows import Counts
from wikisync.fleet.worker import Meter, metrics_text


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / "deploy" / name).read_text("utf-8"))


def check_words(words: list[str]) -> None:
    """See that ``wikisync`` knows a command and its options."""
    assert words[:2] == ["fleet", "run"]
    known = {name for one in command.commands["run"].params for name in one.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_compose_file_starts_workers_without_rights() -> None:
    worker = read("fleet-compose.yaml")["services"]["worker"]
    check_words(worker["command"])
    assert worker["read_only"]
    assert worker["cap_drop"] == ["ALL"]
    assert (ROOT / worker["build"]["args"]["LOCK"]).is_file()


def test_kubernetes_starts_workers_without_rights() -> None:
    found = read("fleet-kubernetes.yaml")
    assert (found["apiVersion"], found["kind"]) == ("apps/v1", "Deployment")
    spec = found["spec"]
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    pod = spec["template"]["spec"]
    (worker,) = pod["containers"]
    check_words(worker["args"])
    assert pod["securityContext"]["runAsNonRoot"]
    assert worker["securityContext"]["readOnlyRootFilesystem"]
    mounts = {one["name"] for one in worker["volumeMounts"]}
    assert mounts == {one["name"] for one in pod["volumes"]}


async def test_dashboard_shows_figures_that_there_are() -> None:
    counts = Counts(1, 1, 1, 1, 0, 0, 0.0, is_draining=False, budget_wait_s=0.0)
    meter = Meter()
    for step in ("look", "done"):
        await meter.at(step)
    text = metrics_text(counts, meter)
    there = set(re.findall(r"^(\w+)", text, re.MULTILINE))
    for word in ("HELP", "TYPE"):
        assert set(re.findall(rf"^# {word} (\w+) .", text, re.MULTILINE)) == there
    board = json.loads((ROOT / "deploy/fleet-grafana.json").read_text("utf-8"))
    asked = [one["expr"] for panel in board["panels"] for one in panel["targets"]]
    shown = set(re.findall(r"wikisync_\w+", " ".join(asked)))
    assert shown == there


def test_unit_of_systemd_is_one(tmp_path: Path) -> None:
    page = ROOT / "sample-site/handbook/export/fleet.md"
    (text,) = (text for kind, text in code_blocks(page) if kind == "ini")
    started = re.search(r"^ExecStart=\S+ (.*)$", text, re.MULTILINE)
    assert started
    check_words(started[1].split())
    # after five ends within ten seconds, as while a server is away, it starts no more
    waits = re.search(r"^RestartSec=(\d+)$", text, re.MULTILINE)
    assert waits
    assert int(waits[1]) > 10 / 5
    unit = tmp_path / "wikisync-worker@1.service"
    unit.write_text(text.replace("/usr/local/bin/wikisync", "/bin/true"))
    verify(unit)


def test_lock_of_the_fleet_has_all_that_it_needs() -> None:
    text = (ROOT / "requirements/fleet.txt").read_text("utf-8")
    pins = re.findall(r"^\S+==\S+", text, re.MULTILINE)
    pinned = {Requirement(one).name for one in pins}
    wanted = {name.lower() for name in needed({"fleet"})}
    assert {one.replace("_", "-") for one in wanted} <= pinned
