"""The child process that holds asciidoc3, the last resort; run by its path.

asciidoc3 is a program under AGPL-3.0-or-later that is not part of wikisync.  This
file is what loads it, in a process of its own that is fed through pipes, and may be
used under that licence as well as under ours.

As it comes, it runs commands and reads files that a page names.  Here it sees no file:
program and configuration are held in memory, and its ``open`` and ``os`` know these
alone.  It starts no program: filters give back what they got, system macros but
counters and templates give nothing, ``eval`` compares two strings or counts.  Once it
is loaded, an audit hook, which Python cannot take out again, ends every call that
opens, runs, removes or connects, and the process may write no file and start no other.

Messages are those of ``markup.asciidoc.worker``.  It reads the language as it was; less
than half of a newer page comes out as it should.
"""

import contextlib
import importlib.util
import io
import os
import posixpath
import re
import sys
import tarfile
import types
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, cast

from wikisync.core.system import child

ROOT = "/asciidoc3"
PROGRAM = f"{ROOT}/asciidoc3.py"
STYLE = f"{ROOT}/wiki.conf"
DEPTH_MAX = 3
RESULT_MAX = 4 << 20
"""Characters of one page: attributes of attributes grow tenfold with each line."""

FORBIDDEN = (
    *("open", "subprocess.", "os.", "shutil.", "socket.", "ctypes.", "pty.", "glob."),
    *("tempfile.", "mmap.", "import", "code.", "urllib.", "http.", "ftplib."),
    *("pathlib.", "pickle.", "marshal.", "sys._getframe", "signal.", "fcntl."),
    *("resource.", "builtins."),
)

STYLE_TEXT = Path(__file__).with_name("wiki.conf").read_text(encoding="utf-8")

INCLUDE = re.compile(r"^(\\?)include1?::([^\[\n]*)\[([^\]\n]*)\]\s*$")
SYSTEM = re.compile(r"^(?:eval|sys|sys2|sys3|eval3|ifeval|template)::.*$")
INLINE_SYSTEM = re.compile(r"\{(eval|eval3|sys|sys2|sys3|include|include1|template):")
ENTRY = re.compile(r"^:([A-Za-z0-9_][\w-]*)(!?)(?:\s|:)")
NAME = re.compile(r"(?<!\\)\{([A-Za-z0-9_][\w-]*)\}")
VERBATIM = re.compile(r"^(-{4,}|\.{4,}|\+{4,}|/{4,})[ \t]*$")
UNDERLINE_SLACK_CHARS = 2
STYLED = re.compile(r"^\[(?:.*filter|[A-Za-z]?\w*[#.%][\w.#%-]*[,\]])")
"""Starts a program, or would take the heading below it away."""
COMPARISON = re.compile(r"""(["'])([^"'\\]*)\1\s*(==|!=)\s*(["'])([^"'\\]*)\4""")
COUNT = re.compile(r'([0-9]{1,9})\+1|chr\(ord\("([^"\\])"\)\+1\)')
NOT_IN_ID = re.compile(r"<[^>]+>|&(?:[a-z]+\d{0,2}|#\d+|#x[\da-f]+);|[^ \w.-]")
SEPARATORS = re.compile(r"[ .-]+")
MONOSPACED = re.compile(r'<span class="monospaced">((?:[^<]|<(?!/?span))*)</span>')
KNOWN = frozenset(
    [
        *("amp", "lt", "gt", "nbsp", "brvbar", "plus", "asterisk", "empty", "sp"),
        *("author", "email", "revnumber", "revdate", "doctitle", "title", "zwsp"),
        *("backslash", "two-colons", "caret", "startsb", "endsb", "tilde"),
    ]
)


def read_files() -> dict[str, str]:
    """The program and its configuration, from the archive that its package holds."""
    spec = importlib.util.find_spec("asciidoc3")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("asciidoc3 is not installed")
    package = Path(next(iter(spec.submodule_search_locations)))
    wanted = {
        "asciidoc3.py": PROGRAM,
        "conf/asciidoc3.conf": f"{ROOT}/asciidoc3.conf",
        "conf/backends/html5.conf": f"{ROOT}/html5.conf",
        "conf/lang/lang-en.conf": f"{ROOT}/lang-en.conf",
    }
    files = {STYLE: STYLE_TEXT}
    with tarfile.open(package / "asciidoc3-latest.tar.gz") as archive:
        for name, path in wanted.items():
            member = archive.extractfile(name)
            if member is None:
                raise SystemExit(f"asciidoc3 holds no {name}")
            files[path] = member.read().decode("utf-8")
    for path, text in files.items():
        if path.endswith(".conf"):
            files[path] = without_programs(text)
    return files


def without_programs(configuration: str) -> str:
    """Configuration without what starts a program or reads a file."""
    return "\n".join(
        line
        for line in configuration.splitlines()
        if "sys:" not in line and "include1::" not in line and "filter=" not in line
    )


def refused(*_: object, **__: object) -> Any:
    """Stands for everything that a page has no business with."""
    raise child.PageError("it may not do that")


def limited_os(files: Mapping[str, str]) -> types.SimpleNamespace:
    """What asciidoc3 knows as ``os``: names of paths, and the files in memory."""
    folders = {ROOT}
    plain = ("join", "dirname", "basename", "splitext", "normpath", "isabs", "split")
    path = types.SimpleNamespace(
        **{name: getattr(posixpath, name) for name in plain},
        sep="/",
        commonprefix=posixpath.commonprefix,
        realpath=posixpath.normpath,
        abspath=lambda name: posixpath.normpath(posixpath.join(ROOT, name)),
        expanduser=lambda name: name,
        expandvars=lambda name: name,
        isfile=lambda name: posixpath.normpath(name) in files,
        exists=lambda name: posixpath.normpath(name) in files,
        isdir=lambda name: posixpath.normpath(name) in folders,
        getmtime=lambda _: 0.0,
    )
    return types.SimpleNamespace(
        path=path,
        name="posix",
        linesep="\n",
        sep="/",
        environ={},
        walk=lambda *_, **__: iter(()),
        getcwd=lambda: ROOT,
        listdir=lambda _: [],
        getenv=lambda *_: None,
        unlink=refused,
    )


def limited_eval(expression: str, *_: object) -> object:
    """Only what counters and comparisons of two strings need."""
    if found := COMPARISON.fullmatch(expression.strip()):
        return (found[2] == found[5]) is (found[3] == "==")
    if found := COUNT.fullmatch(expression):
        return int(found[1]) + 1 if found[1] else chr(ord(found[2]) + 1)
    raise child.PageError("it may not evaluate that")


class Program:
    """asciidoc3, loaded anew for each page because its state is global."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files
        self._code = compile(files[PROGRAM], PROGRAM, "exec")
        # It imports this module of its own each time it is loaded.
        contents = types.ModuleType("asciidoc3_toc_generator")
        contents.__dict__["gen_toc"] = refused
        sys.modules[contents.__name__] = contents

    def html_of(self, source: str, attributes: Mapping[str, str]) -> str:
        """HTML of a page whose includes are resolved."""
        space: dict[str, Any] = {"__name__": "asciidoc3_page", "__file__": PROGRAM}
        exec(self._code, space)  # noqa: S102 - an installed program, not the page
        self._limit(space)
        options = [("-s", ""), ("-b", "html5"), ("-f", STYLE)]
        options += [("-a", f"{name}={value}") for name, value in attributes.items()]
        output = io.StringIO()
        options.append(("-o", cast(str, output)))
        try:
            with contextlib.redirect_stderr(io.StringIO()) as messages:
                space["execute"](PROGRAM, options, [io.StringIO(source)])
        except SystemExit as error:
            # It reports mistakes that do not end a page when all is written.
            if error.code and error.__context__ is not None:
                lines = messages.getvalue().strip().splitlines() or ["it failed"]
                raise child.PageError(lines[-1]) from error
        except RecursionError as error:
            raise child.PageError("the page nests too deeply") from error
        title = space["document"].attributes.get("doctitle")
        head = f"<h1>{title}</h1>\n" if title else ""
        html = head + output.getvalue().replace("\r\n", "\n")
        return MONOSPACED.sub(r"<code>\1</code>", html)

    def _limit(self, space: dict[str, Any]) -> None:
        system = space["system"]

        def limited_system(
            name: str, args: str, is_macro: bool = False, attrs: object = None
        ) -> object:
            if name not in {"counter", "counter2", "set", "set2", "template"}:
                return None
            return system(name, args, is_macro, attrs)

        def limited_open(name: str, *_: object, **__: object) -> io.StringIO:
            text = self._files.get(posixpath.normpath(str(name)))
            return refused() if text is None else io.StringIO(text)

        space.update(
            system=limited_system,
            filter_lines=lambda _command, lines, _attrs=None: lines,
            open=limited_open,
            eval=limited_eval,
            os=limited_os(self._files),
            mkstemp=refused,
            exec=refused,
            compile=refused,
            __import__=refused,
        )
        for name in ("subprocess", "shutil", "zipfile", "mimetypes", "base64"):
            space[name] = None
        # It searches for pictures that are not where they should be.
        space["glob"] = types.SimpleNamespace(glob=lambda _: [])
        section = space["Section"]

        def identify(title: str) -> str:
            """The id of a heading, as Asciidoctor makes it."""
            prefix = space["document"].attributes.get("idprefix", "_")
            words = NOT_IN_ID.sub("", title.lower())
            identity = prefix + SEPARATORS.sub("-", words).strip("-")
            number = 2
            while (
                given := identity if number == 2 else f"{identity}-{number - 1}"
            ) in (section.ids):
                number += 1
            section.ids.append(given)
            return given

        section.gen_id = staticmethod(identify)


def expanded(source: str, ask: child.Ask, includer: str = "", depth: int = 0) -> str:
    """A text with what it includes; a directive that is left would be refused."""
    lines = []
    for line in source.splitlines():
        found = INCLUDE.match(line)
        if found is None or found[1]:
            lines.append(line)
            continue
        target = found[2]
        options = dict(re.findall(r'(lines|tags?)="?([^",\]]*)"?', found[3]))
        answer = ask(
            {
                "target": target,
                "includer": includer,
                "depth": depth,
                "lines": options.get("lines"),
                "tags": options.get("tags", options.get("tag")),
            }
        )
        text = answer.get("text")
        if isinstance(text, str):
            lines.append(expanded(text, ask, str(answer["path"]), depth + 1))
        elif "optional" in found[3]:
            lines.append("")
        else:
            # Escaped, so that it is not read as a directive.
            reason = f"+++include::{target}[]+++ - unresolved directive"
            lines.append(f"*[ERROR: {reason}]*")
    return "\n".join(lines)


def harmless(source: str) -> str:
    """A page without lines and marks that name a program, and no line lost."""
    defined = {found[1] for line in source.splitlines() if (found := ENTRY.match(line))}
    closing = previous = ""
    lines: list[str] = []
    for line in source.splitlines():
        above, previous = previous, line
        # A directive is one wherever it stands.
        if SYSTEM.match(line) or (not closing and STYLED.match(line)):
            continue
        is_text = not closing
        if closing:
            closing = "" if line.rstrip() == closing else closing
        elif (verbatim := VERBATIM.match(line)) and not is_underlined(above, line):
            closing, is_text = verbatim[1], False
        lines.append(without_unknown(line, defined) if is_text else line)
    return "\n".join(lines) + "\n"


def is_underlined(title: str, line: str) -> bool:
    """Whether a line of signs makes the one above it a heading."""
    return (
        bool(title.strip())
        and title[0] not in ".["
        and (abs(len(title.rstrip()) - len(line.rstrip())) <= UNDERLINE_SLACK_CHARS)
    )


def without_unknown(line: str, defined: set[str]) -> str:
    """A line whose names all have values, or it would be dropped as a whole."""
    return NAME.sub(
        lambda found: found[0] if found[1] in defined | KNOWN else f"\\{found[0]}",
        INLINE_SYSTEM.sub(r"\\{\1:", line),
    )


def forbid(event: str, _arguments: object) -> None:
    """The audit hook: nothing of a page may reach the machine."""
    if event.startswith(FORBIDDEN):
        raise child.PageError(f"it may not {event}")


def limit_process(memory_bytes_max: int) -> None:
    """Limits of the operating system, where it has them."""
    with contextlib.suppress(ImportError):
        import resource

        extra = 256 << 20  # the interpreter itself
        limits = {
            resource.RLIMIT_AS: memory_bytes_max + extra,
            resource.RLIMIT_FSIZE: 0,
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_NPROC: 0,
        }
        for kind, limit in limits.items():
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(kind, (limit, limit))


def serve(arguments: list[str], requests: IO[bytes], answers: IO[bytes]) -> None:
    """Load the program, shut the door behind it, and answer pages."""
    wait_seconds_max, memory_bytes_max = float(arguments[0]), int(arguments[1])
    program = Program(read_files())
    # What is loaded on first use has to be there before the door is shut.
    program.html_of("= T\n\n== A\n\n* b\n\n|===\n|c\n|===\n\nNOTE: d\n", {})
    nowhere = os.open(os.devnull, os.O_WRONLY)
    limit_process(memory_bytes_max)
    sys.addaudithook(forbid)
    ask = child.asker(requests, answers)
    child.serve_pages(
        lambda page: {"html": render(program, page, ask)},
        requests,
        answers,
        wait_seconds_max,
        nowhere,
    )


def render(program: Program, page: dict[str, Any], ask: child.Ask) -> str:
    """HTML of one page."""
    source = page["source"]
    if page["is_alone"]:
        # What the service's engine shows where there is nothing to include from.
        source = "\n".join(
            INCLUDE.sub(r"link:\2[role=include]", line) for line in source.splitlines()
        )
    else:
        source = expanded(source, ask)
    attributes = {
        "idprefix": page["attributes"].get("idprefix", "_"),
        "env": page["attributes"].get("env", ""),
    }
    html = program.html_of(harmless(source), attributes)
    if len(html) > RESULT_MAX:
        raise child.PageError("the page grows too large")
    return html


def main() -> None:
    """Serve on the standard streams."""
    with child.standard_streams() as (requests, answers):
        serve(sys.argv[1:], requests, answers)


if __name__ == "__main__":
    main()
