"""Diagrams drawn by a server that the owner names, once for each content."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.site.sites import Studio
from wikisync.core.model import Problem, Slug
from wikisync.markup.record import MarkupOptions
from wikisync.site.includes import PAUSE_S, Kroki

DRAWN = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20"><text>%s</text></svg>'
)
PAGES = """\
-- home.md --
```plantuml
A -> B
```
-- other.md --
```plantuml
A -> B
```

```d2
x -> y
```
-- plain.md --
x
"""


class Server(ThreadingHTTPServer):
    """Draws by writing the source into a drawing."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.asked: list[tuple[str, str]] = []
        self.code = 200
        self.body: str | None = None
        self.headers: dict[str, str] = {}

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.asked.append((self.path, text))
        body = self.server.body
        content = (DRAWN % text.strip().replace(">", "")) if body is None else body
        self.send_response(self.server.code)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content.encode())

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def studio(tmp_path: Path, server: Server) -> Studio:
    made = Studio(tmp_path)
    made.add(PAGES)
    made.set(markup=MarkupOptions(kroki=server.address))
    return made


def problems(studio: Studio) -> list[Problem]:
    found = studio.build().problems
    return [one for one in found if one.code.startswith("diagram-")]


def test_diagram_is_drawn_once_for_each_content(studio: Studio, server: Server) -> None:
    assert problems(studio) == []
    assert sorted(server.asked) == [
        ("/d2/svg", "x -> y\n"),
        ("/plantuml/svg", "A -> B\n"),
    ]
    for page in ("index.html", "other.html"):
        html = studio.read(page)
        assert "A - B</text>" in unquote(html)
        assert "A -&gt; B\n</pre></details></figure>" in html
        assert "documents." in html
    assert "documents." not in studio.read("plain.html")


def test_edit_and_another_site_ask_for_nothing_that_is_drawn(
    studio: Studio, server: Server
) -> None:
    studio.build()
    count = len(server.asked)
    source = studio.sources[0].folder / "other.md"
    source.write_text(source.read_text() + "\nmore\n")
    studio.build()
    assert len(server.asked) == count
    source.write_text("```d2\nx -> z\n```\n")
    studio.build()
    assert server.asked[count:] == [("/d2/svg", "x -> z\n")]


def test_without_an_address_nothing_is_asked(studio: Studio, server: Server) -> None:
    studio.set(markup=MarkupOptions())
    assert problems(studio) == []
    assert '<pre class="plantuml"' in studio.read("index.html")
    assert server.asked == []


def test_dead_server_leaves_sources_and_one_problem(
    studio: Studio, server: Server
) -> None:
    server.code = 503
    (problem,) = problems(studio)
    assert problem.code == "diagram-server"
    assert problem.subject == server.address
    assert "it answers 503" in problem.message
    assert "2 diagrams shown as source" in problem.message
    assert '<pre class="plantuml"' in studio.read("index.html")
    assert '<pre class="kroki" data-diagram-type="d2"' in studio.read("other.html")


def test_server_that_answers_again_draws_what_it_owes(
    studio: Studio, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.code = 503
    studio.build()
    server.code = 200
    monkeypatch.setattr(Kroki, "_silent_until", {})
    studio.set(retries=True)
    assert problems(studio) == []
    assert "A - B</text>" in unquote(studio.read("index.html"))


def test_server_that_does_not_answer_is_left_alone_for_a_while(
    tmp_path: Path, server: Server
) -> None:
    now = [0.0]
    kroki = Kroki(server.address, tmp_path, clock=lambda: now[0])
    server.code = 500
    assert kroki.drawing(Slug("a"), "d2", "x") is None
    server.code = 200
    assert kroki.drawing(Slug("a"), "d2", "y") is None
    assert len(server.asked) == 1
    (problem,) = kroki.problems
    assert "2 diagrams" in problem.message
    now[0] = PAUSE_S
    assert kroki.drawing(Slug("a"), "d2", "x") == DRAWN % "x"


def test_server_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    with serving() as server:
        address = server.address
    kroki = Kroki(address, tmp_path)
    assert kroki.drawing(Slug("a"), "d2", "x") is None
    (problem,) = kroki.problems
    assert problem.message.startswith("does not draw: Connection refused; 1 diagram")


def test_diagram_that_the_server_refuses_is_the_pages_problem(
    studio: Studio, server: Server
) -> None:
    server.code, server.body = 400, "Syntax error in line 1\nand more"
    found = problems(studio)
    assert {one.code for one in found} == {"diagram-not-drawn"}
    assert found[0].message.endswith("diagram: Syntax error in line 1")
    assert '<pre class="plantuml"' in studio.read("index.html")


@pytest.mark.parametrize("body", ["", "hello", "\x89PNG", "x" * (1024 * 1024) + "<svg"])
def test_answer_that_is_no_drawing_is_none(
    tmp_path: Path, server: Server, body: str
) -> None:
    server.body = body
    kroki = Kroki(server.address, tmp_path)
    assert kroki.drawing(Slug("a"), "d2", "x") is None
    assert [one.code for one in kroki.problems] == ["diagram-not-drawn"]
    assert list(tmp_path.rglob("*.svg")) == []


def test_source_follows_no_redirect(tmp_path: Path, server: Server) -> None:
    with serving() as other:
        server.code, server.headers = 307, {"Location": f"{other.address}/d2/svg"}
        kroki = Kroki(server.address, tmp_path)
        assert kroki.drawing(Slug("a"), "d2", "x") is None
        assert other.asked == []
    assert "it answers 307" in kroki.problems[0].message


def test_page_cannot_ask_the_server_by_an_include(
    studio: Studio, server: Server
) -> None:
    page = studio.sources[0].folder / "home.md"
    page.write_text("::include{file=\0drawing\0d2\0x}\n")
    (studio.sources[0].folder / "other.md").unlink()
    studio.build()
    assert server.asked == []


def test_drawing_that_holds_a_script_is_a_picture_in_a_picture(
    studio: Studio, server: Server
) -> None:
    server.body = '<svg xmlns="http://www.w3.org/2000/svg"><script>x()</script></svg>'
    studio.build()
    html = unquote(studio.read("index.html"))
    assert "x()" not in html
    assert "<image" in html


def test_drawings_that_no_page_has_are_swept(tmp_path: Path, server: Server) -> None:
    first = Kroki(server.address, tmp_path)
    for number in range(250):
        first.drawing(Slug("a"), "d2", f"x{number}")
    second = Kroki(server.address, tmp_path)
    second.drawing(Slug("a"), "d2", "x0")
    second.sweep()
    assert len(list(tmp_path.rglob("*.svg"))) == 1
