"""The import directions of ``docs/architecture.md``, held as data."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from tools.codemap import codemap, is_declared_pure, modules

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "wikisync"

LAYERS = """
core.fetching: core.messages core.model core.system.parallel errors
core.git_log: core.model core.versions
core.mentions: core.model
core.messages: core.model errors
core.system.parallel: errors
core.system.running: core.system.libc
core.system.processes: core.system.parallel
core.system.worker: core.system.child core.system.parallel core.system.processes
core.versions: core.model
config: config core.decoding core.layout core.model core.packaged core.system.private
    errors
api: api contract core.contents core.decoding core.git_log core.git_trees
    core.messages core.model core.origin core.packaged core.system.locks
    core.system.parallel core.system.private core.terminal core.version core.versions
    errors
folder: core.decoding core.layout core.model core.packaged core.system.file_status
    core.system.libc core.system.locks core.system.parallel core.system.private
    core.terminal core.version errors folder
merging: core.model merging
sync: core.contents core.decoding core.fetching core.mentions core.messages core.model
    core.packaged core.system.parallel core.system.private core.versions errors
    merging sync
markup: core.decoding core.messages core.model core.packaged core.system.child
    core.system.processes core.system.worker errors markup
site: core.decoding core.git_log core.layout core.messages core.model core.origin
    core.system.child core.system.connections core.system.file_status core.system.libc
    core.system.locks core.system.parallel core.system.private core.system.processes
    core.system.running core.system.worker core.version core.versions errors folder
    markup merging site
service: contract core.decoding core.git_trees core.mentions core.model core.origin
    core.packaged core.system.connections core.system.locks core.system.parallel
    core.system.private core.system.processes core.system.running errors folder.naming
    markup service
workspace: api config contract core.contents core.decoding core.fetching core.git_log
    core.layout core.mentions core.messages core.model core.origin
    core.system.file_status core.system.libc core.system.parallel core.system.private
    core.system.processes core.terminal core.version core.versions errors folder
    markup merging site sync workspace
watch: api config core.decoding core.layout core.messages core.model core.packaged
    core.system.connections core.system.file_status core.system.private
    core.system.processes core.system.running core.terminal core.version errors folder
    site sync watch workspace
fleet: api core.decoding core.messages core.model core.packaged core.system.locks
    core.system.parallel core.system.private core.system.processes core.terminal
    core.versions errors fleet site watch.listen workspace
library: core.messages core.model errors site.model sync.decide.narrowing
    sync.decide.plan workspace
cli: api cli config contract core.messages core.model core.origin
    core.system.connections core.system.parallel core.system.private
    core.system.processes core.system.running core.terminal core.version errors fleet
    folder markup merging service site sync watch workspace
contract: contract core.decoding core.origin core.packaged
"""
"""Package to the packages or modules of ours that it may import."""
ALONE = """
core.contents core.decoding core.git_trees core.layout core.model core.origin
core.packaged core.system.child core.system.connections core.system.file_status
core.system.isolated core.system.libc core.system.locks core.system.private
core.terminal core.version errors
"""
"""Modules that import none of ours."""
ALLOWED = {
    name: set(allowed.split())
    for name, allowed in re.findall(r"^(\S+):((?:.|\n )*)$", LAYERS, re.MULTILINE)
} | {key: set[str]() for key in ALONE.split()}

PURE_BY_DESIGN = {
    *("core.model", "errors", "core.messages", "core.origin", "core.decoding"),
    *("api.scan", "api.trees", "contract.schema", "contract.routes"),
    *("contract.parameters", "folder.naming", "sync.decide.plan"),
    *("sync.decide.reconcile", "sync.decide.safety", "service.access", "markup.links"),
}
"""Modules that the design wants pure; any other may declare itself so."""
EFFECTS = {
    *("asyncio", "sqlite3", "aiohttp", "os"),
    *("time", "random", "logging", "subprocess"),
}


def module_name(path: Path) -> str:
    relative = path.relative_to(PACKAGE).with_suffix("")
    parts = [part for part in relative.parts if part != "__init__"]
    return ".".join(parts)


@cache
def nodes_of(path: Path) -> Sequence[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imported_names(path: Path) -> set[str]:
    names: set[str] = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
            names.add(node.module)
    return names


MODULES = modules()


def broken_by(
    rule: Callable[[Path], Iterable[str]], paths: Iterable[Path] = MODULES
) -> Mapping[str, Sequence[str]]:
    """Modules to what in them breaks a rule."""
    found = {module_name(path): sorted(rule(path)) for path in paths}
    return {name: wrong for name, wrong in found.items() if wrong}


def forbidden_imports(path: Path) -> Iterator[str]:
    own = f"{module_name(path)}."
    allowed = ALLOWED[
        max((one for one in ALLOWED if own.startswith(f"{one}.")), key=len)
    ]
    for full in imported_names(path):
        name = full.removeprefix("wikisync.")
        is_ours = name != full
        is_allowed = any(
            f"{name}.".startswith(f"{one}.") or one.startswith(f"{name}.")
            for one in allowed
        )
        if is_ours and not is_allowed:
            yield name


def test_modules_import_only_what_their_package_may() -> None:
    assert broken_by(forbidden_imports) == {}


SYNC_LAYERS: dict[str, set[str]] = {
    "decide": set(),
    "base": {"decide"},
    "views.py": {"decide", "base", "replica"},
    "run": {"decide", "base", "replica"},
}
"""Folder or module of ``sync`` to what of it that may import."""


@pytest.mark.parametrize("folder", SYNC_LAYERS)
def test_folders_of_the_sync_import_only_what_stands_below(folder: str) -> None:
    imported = {
        name.split(".")[2]
        for path in (PACKAGE / "sync").glob(folder if "." in folder else f"{folder}/*")
        if path.suffix == ".py"
        for name in imported_names(path)
        if name.startswith("wikisync.sync.")
    }
    assert imported
    assert imported <= SYNC_LAYERS[folder] | {folder}


def test_runner_knows_no_sync_folder_or_service() -> None:
    """What decides when a wiki has its turn is the same, whatever a cycle does."""
    names = imported_names(PACKAGE / "workspace" / "runner.py")
    ours = {name.split(".")[1] for name in names if name.startswith("wikisync.")}
    assert ours == {"core", "errors", "workspace"}
    others = {name for name in names if name.startswith("wikisync.workspace.")}
    assert {name.split(".")[2] for name in others} == {"failures"}


def test_what_decides_is_pure() -> None:
    paths = [*(PACKAGE / "sync" / "decide").glob("*.py")]
    assert paths
    assert not [path.name for path in paths if not is_declared_pure(path)]


def circles_in(modules: dict[str, set[str]]) -> list[set[str]]:
    """Modules that reach each other by imports; each group once.

    Args:
        modules: Each module with the modules that it imports anywhere, also inside of
            functions and for types alone: a reader has to follow these, too.
    """
    reached = {name: set(imports) for name, imports in modules.items()}
    for through in modules:
        for name in modules:
            if through in reached[name]:
                reached[name] |= reached[through]
    groups = {
        frozenset(
            other for other in imports if other in reached and name in reached[other]
        )
        for name, imports in reached.items()
        if name in imports
    }
    return [set(group) for group in sorted(groups, key=sorted)]


def imports_within(package: str) -> dict[str, set[str]]:
    """The modules of a package, each with those of the package that it imports."""
    names = {module_name(path): path for path in MODULES}
    own = {
        name: path
        for name, path in names.items()
        if name == package or name.startswith(f"{package}.")
    }
    return {
        name: {
            found
            for imported in imported_names(path)
            if (found := imported.removeprefix("wikisync.")) in own and found != name
        }
        for name, path in own.items()
    }


@pytest.mark.parametrize("package", sorted({one.split(".")[0] for one in ALLOWED}))
def test_no_modules_of_a_package_import_each_other_in_a_circle(package: str) -> None:
    """Imports for types alone, and inside functions, count: they hide circles."""
    assert circles_in(imports_within(package)) == []


def test_a_circle_is_found() -> None:
    imports = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a", "d.x"}, "d.x": set()}
    assert circles_in(imports) == [{"b", "c"}]


PURE = [path for path in MODULES if is_declared_pure(path)]


def test_every_module_that_must_be_pure_says_so() -> None:
    assert {module_name(path) for path in PURE} >= PURE_BY_DESIGN


def effects_of(path: Path) -> set[str]:
    return {imported.split(".")[0] for imported in imported_names(path)} & EFFECTS


def test_pure_modules_import_no_effects() -> None:
    assert broken_by(effects_of, PURE) == {}


RETIRED = {
    *("bent", "brake", "braked", "brakes", "bundle", "bundles", "descent"),
    *("overtaken", "passing", "standing", "standings", "told", "turned", "vain"),
}
"""Words of our own that the field's words have replaced (glossary)."""
CLEARED = {"api", "config", "markup", "service"}
RETIRED_IN_CLEARED = {"look", "looks", "place", "places", "standing"}
"""Words that the other packages still have."""
BORROWED = {"markup.retarget"}
"""Modules that use such a name of ``model``."""


def retired_words(path: Path) -> set[str]:
    names = {path.stem}
    for node in nodes_of(path):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name) | ast.Name(id=name) | ast.arg(arg=name):
                names.add(name)
            case ast.Attribute(attr=name):
                names.add(name)
            case _:
                pass
    words = {
        word.lower()
        for name in names
        for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
    }
    package = module_name(path).partition(".")[0]
    is_cleared = package in CLEARED and module_name(path) not in BORROWED
    return words & (RETIRED | RETIRED_IN_CLEARED if is_cleared else RETIRED)


def test_no_name_has_a_retired_word() -> None:
    assert broken_by(retired_words) == {}


MAKERS = {"json_decoder", "msgpack_decoder"}
MADE_WHEN_ASKED_FOR = {"core.decoding", "api.exchange"}
"""``api.exchange`` decodes what its caller names."""


def typed_decodings(path: Path) -> Iterator[str]:
    """Places that have msgspec find out about a class when they are reached."""
    functions = [
        node
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    ]
    inner = {id(node) for function in functions for node in ast.walk(function)}
    for call in nodes_of(path):
        if not isinstance(call, ast.Call):
            continue
        words = ast.unparse(call.func).split(".")
        name = words[-1]
        is_typed = name == "decode" and any(
            word.arg == "type" for word in call.keywords
        )
        is_own = name == "Decoder" or words == ["msgspec", "convert"]
        if is_typed or is_own or (name in MAKERS and id(call) in inner):
            yield f"{path.name}:{call.lineno}"


def test_decoders_are_made_when_their_module_is_loaded() -> None:
    """One that is made at its first use, in two threads, ends the process."""
    found = broken_by(typed_decodings)
    assert found.keys() <= MADE_WHEN_ASKED_FOR


@pytest.mark.parametrize(
    "line",
    [
        "def f(b): return msgspec.json.decode(b, type=Kept)",
        "x = msgspec.msgpack.decode(b, type=Kept)",
        "KEPT = msgspec.json.Decoder(Kept)",
        "KEPT = json.Decoder(Kept)",
        "f = lambda b: json_decoder(Kept).decode(b)",
        "class A:\n    def f(self): return decoding.msgpack_decoder(Kept)",
        "async def f(b): return msgspec.convert(b, Kept)",
    ],
)
def test_a_decoder_that_is_made_at_its_first_use_is_found(
    line: str, tmp_path: Path
) -> None:
    module = tmp_path / "module.py"
    module.write_text(line)
    assert len(list(typed_decodings(module))) == 1


STARTS_PROCESSES = re.compile(
    r"subprocess\b|asyncio\.subprocess|multiprocessing|webbrowser|pty\b"
    r"|concurrent\.futures\.(process|ProcessPoolExecutor)"
    r"|(asyncio\.)?create_subprocess_|os\.(system|popen|fork|exec|spawn|posix_spawn)"
    r"|\w+\.subprocess_(exec|shell)"
)
"""Modules and functions by which a process can be started, as they are written."""
STARTS_ITSELF_ANEW = {"cli.start": ["os.execv"]}
"""The program in another mode of Python is no child."""


def dotted_names(path: Path) -> set[str]:
    """Every ``a.b`` of a module's code."""
    return {
        f"{node.value.id}.{node.attr}"
        for node in nodes_of(path)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }


def starts_of_processes(path: Path) -> set[str]:
    names = imported_names(path) | dotted_names(path)
    return {name for name in names if STARTS_PROCESSES.match(name)}


def test_only_one_module_starts_processes() -> None:
    """Elsewhere a child would get the token, or run what is in the folder."""
    found = dict(broken_by(starts_of_processes))
    assert found.pop("core.system.processes")
    assert found == STARTS_ITSELF_ANEW


def test_one_function_of_the_folder_knows_disks_without_hard_links() -> None:
    """A caller of its own would fail on exFAT; that function says what to do."""
    linking = {
        module_name(path)
        for path in MODULES
        if module_name(path).startswith("folder.")
        and re.search(r"\bos\.link\(", path.read_text(encoding="utf-8"))
    }
    assert linking == {"folder.disk"}


def test_importing_the_package_loads_nothing_heavy() -> None:
    """``import wikisync`` stays under 50 ms because it imports nothing."""
    script = "import sys, wikisync; print(*sorted(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = set(run.stdout.split())
    assert not loaded & {"aiohttp", "jinja2", "click", "pygit2", "asyncio", "rich"}


def test_help_loads_no_command() -> None:
    """``wikisync --help`` stays under 200 ms because commands load when called."""
    script = (
        "import sys; from wikisync.cli.main import main; main(['--help']);"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = set(run.stderr.split())
    assert not loaded & {"aiohttp", "jinja2", "pygit2", "rich", "markdown_it", "nh3"}


def test_build_without_books_and_publishing_loads_neither() -> None:
    script = "import sys, wikisync.cli.site; print(*sorted(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    heavy = {"asyncio", "yaml", "jinja2", "pygit2", "wikisync.site.book.writing"}
    assert not set(run.stdout.split()) & heavy


def test_the_codemap_has_a_sentence_for_each_module() -> None:
    text = codemap(MODULES)
    names = {path.relative_to(PACKAGE).as_posix() for path in MODULES}
    assert set(re.findall(r"- `([^`]+)`: \S", text)) == names
    assert re.search("^- `core/model.py`: .*[(]pure[)]$", text, re.MULTILINE)


def test_every_test_that_the_security_page_names_is_there() -> None:
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(tests/[a-z0-9_/.]+)`", text))
    assert len(named) > 20
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


MAKERS_OF_FOLDERS = {
    "workspace.page_files",
    "cli.theme",
    "folder.safe_open",  # a wiki's, or with the mode that its caller says
    "folder.trash",
    "core.system.private",
    "site.book.one_file",  # beside the file that it writes
    "site.output",
    "site.publish",
}
"""Modules that make folders; what is ours alone is made by ``private``."""


def calls_of(path: Path) -> set[str]:
    """Names of the functions and methods that a module calls."""
    called = [node.func for node in nodes_of(path) if isinstance(node, ast.Call)]
    return {
        func.attr if isinstance(func, ast.Attribute) else func.id
        for func in called
        if isinstance(func, ast.Attribute | ast.Name)
    }


def test_no_other_module_makes_folders_by_itself() -> None:
    makers = {
        module_name(path) for path in MODULES if calls_of(path) & {"mkdir", "makedirs"}
    }
    assert makers == MAKERS_OF_FOLDERS


def test_configurations_are_read_in_one_place_that_knows_whom_to_trust() -> None:
    readers = {module_name(path) for path in MODULES if "load_config" in calls_of(path)}
    assert readers == {"workspace.configured"}
