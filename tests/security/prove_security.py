"""All attacks on what wikisync runs, in their long form, and what came of them.

    python -m tests.security.prove_security [FAMILY ...]

attacks a site in Chromium, the commands, a preview, the listener of a watch and the
embedded service, all on this machine, and prints a row for each family: how many
attacks, how many got through, the longest time of one and its limit.  The exit code is
1 where something got through or took too long.  The tests have the short form.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.security import (
    own_html,
    proof_of_servers,
    proof_of_sites,
    proof_of_tokens,
    text_growth,
)
from tests.security.proof import Row, table
from tests.security.proof_by_tests import Family, by_tests

FAMILY_S = 1200.0
FAMILIES: dict[str, Family] = {
    "pages": proof_of_sites.pages,
    "attachments": proof_of_sites.attachments,
    "addresses": proof_of_sites.addresses,
    "large": proof_of_sites.large,
    "swapped": proof_of_sites.swapped,
    "worst": proof_of_sites.worst_pages,
    "planted": by_tests("planted Python files", "test_processes.py"),
    "owners": by_tests(
        "configuration of another user",
        "cli/test_other_users.py",
        "test_config_trust.py",
    ),
    "modes": by_tests("files open to others", "cli/test_private_modes.py"),
    "tokens": proof_of_tokens.tokens,
    "echoes": by_tests(
        "tokens in errors, logs, git and prompts",
        *("api/test_echoes.py", "api/test_secret.py", "api/test_git.py"),
        "cli/test_init_questions.py",
        only="test_echoes or test_secret or token or redirect or test_init_questions",
    ),
    "preview": by_tests(
        "preview: other sites, windows, editors",
        *("site/preview/test_guard.py", "site/preview/test_editor.py"),
        "site/preview/test_write_attacks.py",
    ),
    "listener": by_tests(
        "webhook listener",
        "watch/test_listen.py",
        only="secret or rubbish or megabytes or foreign or another_project",
    ),
    "malformed": by_tests("messages that are no HTTP", "test_malformed.py"),
    "half": proof_of_servers.half_requests,
    "requests": proof_of_servers.requests,
    "rights": by_tests(
        "what others may not see",
        *("service/test_rights.py", "security/test_service_requests.py"),
        only="test_rights or private",
    ),
    "readers": proof_of_servers.readers,
    "bodies": proof_of_servers.bodies,
    "pushes": proof_of_servers.pushes,
    "imports": by_tests("imports from inside", "security/test_service_imports.py"),
    "texts": text_growth.growths,
    "sanitiser": own_html.same_tokens,
}


def main(names: Sequence[str]) -> int:
    unknown = set(names) - FAMILIES.keys()
    if unknown:
        known = ", ".join(FAMILIES)
        print(f"no family {', '.join(sorted(unknown))}: name {known}", file=sys.stderr)
        return 2
    # refusals are logged by the thousand; what counts is in the table
    logging.disable()
    began = time.monotonic()
    rows = [_prove(name) for name in names or FAMILIES]
    print(table(rows))
    print(f"{time.monotonic() - began:.0f} s")
    return 0 if all(row.is_held for row in rows) else 1


def _prove(name: str) -> Row:
    """Run a family; what ends it early is what got through."""
    print(f"{name} ...", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="wikisync-security-") as place:
        return asyncio.run(_bounded(name, Path(place)))


async def _bounded(name: str, root: Path) -> Row:
    try:
        async with asyncio.timeout(FAMILY_S):
            return await FAMILIES[name](root)
    except Exception as exc:  # noqa: BLE001 - the other families are proved all the same
        row = Row(name)
        row.note(f"ended by {exc!r}", 0.0, is_held=False)
        return row


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
