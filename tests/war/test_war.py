"""The short form of ``make war``, and proof that the harness sees what it looks for."""

import ast
import json
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.war.account import Account, Copy, accounted
from tests.war.persons import Desk, Ledger, git
from tests.war.prove_war import SHORT, Outcome, fight
from tests.war.proxy import Proxy

pytestmark = pytest.mark.slow
IN_SYNC: dict[str, object] = {"wikis": [{"differences": []}]}


def write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def account_of(
    root: Path, here: dict[str, str], there: dict[str, str], *removed: str
) -> Account:
    wiki, folder = root / "wiki", root / "copy" / "handbook"
    for each in (wiki, folder):
        each.mkdir(parents=True)
    write(wiki, there)
    write(folder, here)
    git("init", "-q", str(wiki))
    git("-C", str(wiki), "commit", "-q", "--allow-empty", "-m", "empty")
    book = Ledger(
        written={"mk1x": "copy: edit", "mk2x": "web: save"}, removed={*removed}
    )
    return accounted(book, wiki, [Copy(folder, IN_SYNC)], lambda _: set())


def test_a_short_war_loses_nothing(tmp_path: Path) -> None:
    outcome = fight(tmp_path / "war", 347, SHORT)
    assert outcome.account.lost == set()
    assert outcome.account.different == []
    assert outcome.odd == []
    assert outcome.markers > 5
    assert outcome.kills["service"] == 1
    assert outcome.account.in_sync | outcome.account.apart


def test_a_marker_that_is_nowhere_is_lost(tmp_path: Path) -> None:
    page = {"home.md": "mk1x"}
    account = account_of(tmp_path, page, page)
    assert account.lost == {"mk2x"}
    assert Outcome(1, tmp_path, account=account).is_bad


def test_a_marker_that_a_person_took_away_is_not_lost(tmp_path: Path) -> None:
    page = {"home.md": "mk1x"}
    account = account_of(tmp_path, page, page, "mk2x")
    assert account.lost == set()
    assert account.removed == {"mk2x"}


def test_a_page_that_differs_and_is_not_named_is_found(tmp_path: Path) -> None:
    account = account_of(
        tmp_path, {"home.md": "mk1x mk2x"}, {"home.md": "mk1x", "a/b.md": ""}
    )
    assert account.different == ["copy: a/b (only there)", "copy: home (differs)"]
    assert account.apart == {"mk2x"}
    assert Outcome(1, tmp_path, account=account).is_bad


def test_no_person_hides_a_folder_of_pages(tmp_path: Path) -> None:
    """What is in it would be kept out of the sync, and differ."""
    for name in (".gitlab/a.md", "home.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mk1x")
    for seed in range(20):
        Desk(tmp_path, seed, Ledger()).move_folder()
    names = {path.name for path in tmp_path.iterdir() if path.name[0] == "."}
    assert names == {".gitlab"}


class Wiki(BaseHTTPRequestHandler):
    """A list of two pages."""

    def log_message(self, *_of: object) -> None:
        """Nothing."""

    def list_pages(self) -> None:
        body = json.dumps([{"slug": "a"}, {"slug": "b"}]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


setattr(Wiki, "do_GET", Wiki.list_pages)  # noqa: B010


def test_the_proxy_forwards_and_draws_every_fault() -> None:
    service = HTTPServer(("127.0.0.1", 0), Wiki)
    thread = Thread(target=service.serve_forever, args=(0.05,))
    thread.start()
    proxy = Proxy(service.server_port, seed=1)
    seen = set()
    try:
        for rate in (0.0, *[1.0] * 60):
            proxy.rate = rate
            try:
                with urllib.request.urlopen(f"{proxy.url}/wikis", timeout=30) as answer:
                    seen.add(f"{len(json.loads(answer.read()))} pages")
            except urllib.error.HTTPError as refused:
                seen.add(str(refused.code))
                refused.close()
            except (OSError, ValueError) as broken:
                seen.add("cut" if isinstance(broken, ValueError) else "dropped")
            except Exception as broken:  # noqa: BLE001
                seen.add(type(broken).__name__)
            if not rate:
                assert seen == {"2 pages"}
    finally:
        proxy.close()
        service.shutdown()
        thread.join()
        service.server_close()
    assert seen >= {"2 pages", "1 pages", "0 pages", "502", "429"}
    assert set(proxy.faults) == {
        *("502", "429", "dropped before", "dropped after", "cut", "slow"),
        *("empty list", "half list"),
    }


def test_the_harness_shares_nothing_with_what_it_fights() -> None:
    for path in Path(__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                assert not name.startswith("wikisync")
                assert name.split(".")[:2] == ["tests", "war"] or "tests" not in name
