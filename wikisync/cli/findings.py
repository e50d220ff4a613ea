"""What was found in pages, in the formats that the services of pipelines show.

- Code Quality: the report that GitLab shows in a merge request.
- SARIF 2.1.0: the report that code scanning and editors take.
- GitHub: one workflow command a line, which becomes an annotation.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from urllib.parse import quote

import click
from msgspec import Struct

from wikisync.core.model import Problem
from wikisync.core.terminal import visible_line
from wikisync.core.version import __version__
from wikisync.site.model import BrokenLink

BROKEN_LINK = "broken-link"
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

findings_option = click.option(
    "--findings",
    type=click.Choice(["code-quality", "sarif", "github"]),
    help="Print broken links and problems in this format of pipelines.",
)


class Finding(Struct, frozen=True):
    """One thing that is wrong with a page."""

    rule: str
    """Kebab-case word for its kind."""
    message: str
    path: str
    """File of the page, as the pipeline knows it, or what else names its place."""
    line: int = 1


def findings_text(
    links: Iterable[tuple[BrokenLink, str]], problems: Iterable[Problem], style: str
) -> str:
    """Broken links, each with its path, and problems in a format of ``--findings``."""
    findings = [
        Finding(
            BROKEN_LINK, f"broken link {one.href} ({one.reason})", path, one.line or 1
        )
        for one, path in links
    ]
    findings += [Finding(one.code, one.message, one.subject) for one in problems]
    if style == "github":
        return "\n".join(map(_annotation, findings))
    shown = _code_quality(findings) if style == "code-quality" else _sarif(findings)
    return json.dumps(shown, ensure_ascii=False, indent=2)


def _code_quality(findings: Sequence[Finding]) -> list[dict[str, object]]:
    counts: Counter[str] = Counter()
    shown: list[dict[str, object]] = []
    for one in findings:
        # without the line: a finding that moves with its text stays the same one
        key = "\0".join([one.rule, one.path, one.message])
        counts[key] += 1
        fingerprint = hashlib.sha256(f"{key}\0{counts[key]}".encode()).hexdigest()
        shown.append(
            {
                "description": one.message,
                "check_name": one.rule,
                "fingerprint": fingerprint,
                "severity": "major" if one.rule == BROKEN_LINK else "minor",
                "location": {"path": one.path, "lines": {"begin": one.line}},
            }
        )
    return shown


def _sarif(findings: Sequence[Finding]) -> dict[str, object]:
    rules = sorted({one.rule for one in findings})
    results = [
        {
            "ruleId": one.rule,
            "level": "error" if one.rule == BROKEN_LINK else "warning",
            "message": {"text": one.message},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": quote(one.path)},
                        "region": {"startLine": one.line},
                    }
                }
            ],
        }
        for one in findings
    ]
    ids = [{"id": rule} for rule in rules]
    driver = {"name": "wikisync", "version": __version__, "rules": ids}
    run = {"tool": {"driver": driver}, "results": results}
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _annotation(one: Finding) -> str:
    place = f"file={_escaped(one.path, ':,')},line={one.line}"
    level = "error" if one.rule == BROKEN_LINK else "warning"
    return f"::{level} {place},title={one.rule}::{_escaped(visible_line(one.message))}"


def _escaped(text: str, signs: str = "") -> str:
    """A value in a workflow command; in a property some signs end it, too."""
    for sign in ("%", "\r", "\n", *signs):
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text
