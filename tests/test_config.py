import cProfile
import json
import re
import tomllib
from itertools import combinations
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from wikisync.config.reading import (
    check_folders,
    load_config,
    overlap,
    parse_config,
    render_config,
)
from wikisync.config.sections import (
    CheckSection,
    Config,
    MarkupSection,
    PreviewSection,
    ServiceSection,
    SiteSection,
    SyncSection,
    WikiSection,
)
from wikisync.core.model import WikiOwner
from wikisync.errors import ConfigError, ExitCode

SERVICE = '[service]\nurl = "https://gitlab.example.com"\n'
FULL = """
[service]
url = "https://gitlab.example.com/sub/"
token_command = "pass show 'git lab'"

[[wiki]]
project = "docs/handbook"

[[wiki]]
group = "docs"
folder = "our/docs/"

[sync]
settle_ms = 50
poll_interval_s = 60
listen = "127.0.0.1:8765"
hook_secret_file = "~/.wikisync-hook"
attention_command = "mail -s 'a page waits' me"
exclude = ["docs"]

[site]
title = "Our handbook"
output = "public"
publish = true
url = "https://docs.example.com"
language = "pt-BR"
description = "How we work"
theme = "plain"
templates = "theme"

[site.options]
accent = "#0a6"
toc_levels = [2, 3]
show_source = true

[markup]
markdown_engine = "comrak"
asciidoc_engine = "quickjs"
math = "source"
kroki = "https://kroki.example.com"
highlight = false
emoji = false
anchors = false
placeholders = true

[preview]
host = "0.0.0.0"
port = 0
"""


def problems_of(text: str) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        parse_config(text)
    return caught.value.problems


def test_service_and_wikis_are_read() -> None:
    config = parse_config(FULL)
    command = ("pass", "show", "git lab")
    assert config.service == ServiceSection("https://gitlab.example.com/sub", command)
    assert config.wikis == (
        WikiSection("project", "docs/handbook", "handbook"),
        WikiSection("group", "docs", "our/docs"),
    )


@pytest.mark.parametrize("name", ["sync", "site", "markup", "preview"])
def test_every_other_key_is_read_as_it_is_written(name: str) -> None:
    said = tomllib.loads(FULL)[name]
    if name == "sync":
        said["attention_command"] = ["mail", "-s", "a page waits", "me"]
    found = json.loads(msgspec.json.encode(getattr(parse_config(FULL), name)))
    assert {key: found[key] for key in said} == said


def test_only_the_services_address_is_needed() -> None:
    assert parse_config(SERVICE) == Config(ServiceSection("https://gitlab.example.com"))


def test_wiki_knows_its_owner() -> None:
    (wiki,) = parse_config(SERVICE + '[[wiki]]\ngroup = "docs"\n').wikis
    assert wiki.owner == WikiOwner("group", "docs")


def test_token_command_may_be_a_list_of_words() -> None:
    config = parse_config(SERVICE + 'token_command = ["a", "b c"]\n')
    assert config.service.token_command == ("a", "b c")


MISTAKES = (Path(__file__).parent / "cases/config.txt").read_text("utf-8")
CASES = [one.split("\n=> ") for one in MISTAKES.rstrip().split("\n\n")[1:]]


@pytest.mark.parametrize(("lines", "problem"), CASES)
def test_mistake_is_named_with_its_key_its_value_and_the_nearest_name(
    lines: str, problem: str
) -> None:
    assert problems_of(f"{SERVICE}{lines}\n") == (problem,)


@pytest.mark.parametrize("port", ["65536", "9" * 4301])
def test_number_that_is_no_port_is_a_mistake(port: str) -> None:
    (problem,) = problems_of(f'{SERVICE}[sync]\nlisten = "127.0.0.1:{port}"\n')
    assert "must be an address of this machine with a port" in problem


def test_wiki_that_is_no_table_is_one_mistake() -> None:
    said = "wiki[0]: expected a table: write [[wiki]]"
    assert problems_of(f'wiki = ["docs/handbook"]\n{SERVICE}') == (said,)


@pytest.mark.parametrize(
    "folder", ["", ".", "/abs", "../x", "a/../..", "a\\\\b", ".wikisync/x", "a\\nb"]
)
def test_folder_outside_the_workspace_is_refused(folder: str) -> None:
    wiki = f'[[wiki]]\nproject = "a/b"\nfolder = "{folder}"\n'
    (problem,) = problems_of(SERVICE + wiki)
    assert problem.startswith("wiki[0].folder = ")


@pytest.mark.parametrize(
    "url",
    [
        *("gitlab.example.com", "ftp://gitlab.example.com", "https://"),
        *("https://gitlab.example.com:port", "https://gitlab.example.com?x=1"),
        *("https://gitlab.example.com#x", "https://[::1"),
    ],
)
def test_address_that_is_none_is_refused(url: str) -> None:
    (problem,) = problems_of(f'[service]\nurl = "{url}"\n')
    assert problem.startswith(f'service.url = "{url}": ')


def test_missing_address_is_told_with_an_example() -> None:
    wanted = "service.url: is missing, like https://gitlab.example.com"
    assert problems_of("") == (wanted,)


@pytest.mark.parametrize(
    "line",
    [
        *('token = "glpat-EXAMPLE"', 'tokn = "glpat-EXAMPLE"'),
        *('private_token = "short"', 'password = "short"'),
        *('address = "glpat-EXAMPLE"', 'address = "0123456789abcdef0123456789abcdef"'),
        'address = "https://user:short@gitlab.example.com"',
    ],
)
def test_what_could_be_a_secret_is_not_repeated(line: str) -> None:
    (problem,) = problems_of(f"{SERVICE}{line}\n")
    assert problem.startswith(f"service.{line.split(' ', maxsplit=1)[0]}:")
    assert "EXAMPLE" not in problem
    assert "short" not in problem
    assert "0123" not in problem


def test_address_with_a_token_in_it_is_refused_unseen() -> None:
    url = "https://oauth2:glpat-EXAMPLE@gitlab.example.com"
    (problem,) = problems_of(f'[service]\nurl = "{url}"\n')
    assert problem == "service.url: must not hold a user or a token"


def test_token_in_the_file_is_told_where_it_belongs() -> None:
    (problem,) = problems_of(SERVICE + 'token = "glpat-EXAMPLE"\n')
    assert "WIKISYNC_TOKEN, token_command or token_file" in problem


def test_all_mistakes_are_told_at_once_with_the_places_they_have() -> None:
    problems = problems_of(
        'service = 3\n[[wiki]]\nprojct = "a/b"\n[[wiki]]\nproject = "a/b"\n'
        'folder = "site"\n[preview]\nport = "x"\n'
    )
    assert [problem.split(":")[0].split(" ")[0] for problem in problems] == [
        "wiki[0].projct",
        "service",
        "service.url",
        "preview.port",
        "wiki[1].folder",
    ]


FOLDERS = st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map("/".join)


@given(st.lists(FOLDERS, max_size=5), st.sampled_from(["site", "A/b", "b"]))
def test_each_pair_of_folders_that_overlap_is_told(
    folders: list[str], output: str
) -> None:
    wikis = {
        f"wiki[{number}]": WikiSection("project", f"a/{number}", folder)
        for number, folder in enumerate(folders)
    }
    problems: list[str] = []
    check_folders(wikis, output, problems)
    named = {"site.output": output}
    named |= {f"{key}.folder": wiki.folder for key, wiki in wikis.items()}
    assert sorted(
        (line.partition(" = ")[0], line.partition(": overlaps ")[2].partition(",")[0])
        for line in problems
    ) == sorted(
        (second, first)
        for (first, one), (second, two) in combinations(named.items(), 2)
        if overlap(one, two)
    )


def test_thousands_of_wikis_are_read_in_linear_time() -> None:
    """Every command reads them: 8,600 wikis took 9 s of processor time."""

    def calls_for(wikis: int) -> int:
        text = "".join(f'[[wiki]]\nproject = "docs/w{n}"\n' for n in range(wikis))
        profile = cProfile.Profile()
        profile.runcall(parse_config, SERVICE + text, "wikisync.toml")
        return sum(entry.callcount for entry in profile.getstats())

    parse_config(SERVICE, "wikisync.toml")
    assert calls_for(400) < 2.2 * calls_for(200)


def test_text_that_is_not_toml_is_told_with_its_line() -> None:
    with pytest.raises(ConfigError, match=r"my\.toml is not TOML") as caught:
        parse_config("[service]\nurl = \n", "my.toml")
    assert "line 2" in caught.value.problems[0]
    assert caught.value.exit_code is ExitCode.USAGE


def test_file_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "wikisync.toml").write_text(FULL)
    assert load_config(tmp_path / "wikisync.toml") == parse_config(FULL)


def test_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no wikisync\.toml in") as caught:
        load_config(tmp_path / "wikisync.toml")
    assert "wikisync init" in str(caught.value.hint)


def test_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        load_config(tmp_path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_file_that_an_editor_of_windows_saved_is_read(
    tmp_path: Path, encoding: str
) -> None:
    text = render_config(Config(ServiceSection("https://gitlab.example.com")))
    file = tmp_path / "wikisync.toml"
    file.write_bytes(text.replace("\n", "\r\n").encode(encoding))
    assert load_config(file).service.url == "https://gitlab.example.com"


def test_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "wikisync.toml").write_bytes(b"# caf\xe9")
    with pytest.raises(ConfigError, match="not UTF-8 at byte 5"):
        load_config(tmp_path / "wikisync.toml")


def test_written_file_shows_what_can_be_set() -> None:
    text = render_config(Config(ServiceSection("https://gitlab.example.com")))
    assert '# theme = "default"' in text
    assert "# token_command" in text
    assert 'url = "https://gitlab.example.com"' in text.splitlines()


def test_every_comment_that_sets_a_key_is_a_right_setting() -> None:
    """Whoever takes the mark away gets the default, not an error."""
    config = Config(ServiceSection("https://gitlab.example.com"))
    lines = render_config(config).splitlines()
    shown = [line.removeprefix("# ") if " = " in line else line for line in lines]
    unset = ("token", "sources")  # their default is that they are absent
    kept = [
        line for line in shown if not line.endswith('""') and not line.startswith(unset)
    ]
    assert parse_config("\n".join(kept)) == config


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = (
    TEXT | st.integers(-(2**40), 2**40) | st.booleans() | st.floats(allow_nan=False)
)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(
    st.builds(
        Config,
        service=st.builds(
            ServiceSection,
            url=st.just("https://gitlab.example.com/sub"),
            token_command=st.lists(TEXT, max_size=3).map(tuple),
        ),
        wikis=st.sampled_from([(), (WikiSection("project", "a/b", "ünï/x y"),)]),
        sync=st.builds(SyncSection, settle_ms=st.integers(50, 10_000)),
        site=st.builds(
            SiteSection,
            title=TEXT,
            description=TEXT,
            options=st.dictionaries(
                TEXT, VALUES | st.lists(VALUES, max_size=3).map(tuple), max_size=3
            ),
        ),
        markup=st.builds(MarkupSection, highlight=st.booleans()),
        preview=st.builds(PreviewSection, port=st.integers(0, 65535)),
    )
)
def test_written_file_is_read_back(config: Config) -> None:
    assert parse_config(render_config(config)) == config


GUIDE = Path(__file__).resolve().parent.parent / "sample-site/handbook/reference"
SECTIONS: dict[str, type[Struct]] = {
    "service": ServiceSection,
    "wiki": WikiSection,
    "sync": SyncSection,
    "site": SiteSection,
    "markup": MarkupSection,
    "preview": PreviewSection,
    "check": CheckSection,
}
NO_ROW = {"options", "kind", "path"}
"""A table of its own, and what ``project`` or ``group`` says."""


@pytest.mark.parametrize("name", SECTIONS)
def test_the_guide_has_each_key_with_the_default_and_bounds_of_the_code(
    name: str,
) -> None:
    text = (GUIDE / "configuration.org").read_text(encoding="utf-8")
    heading = re.search(rf"^\*\* =\[+{name}\]+=", text, re.MULTILINE)
    assert heading is not None
    section = re.split(r"^\*", text[heading.end() :], flags=re.MULTILINE)[0]
    rows = {
        key: (default.strip(), meaning)
        for keys, default, meaning in re.findall(
            r"^\| (=[^|]*)\|([^|]*)\| (.*) \|$", section, re.MULTILINE
        )
        for key in re.findall(r"=(\w+)=", keys)
    }
    known = {one.name: one for one in fields(SECTIONS[name]) if one.name not in NO_ROW}
    assert rows.keys() - {"project", "group"} == known.keys()
    for key, one in known.items():
        default, meaning = rows[key]
        value = None if one.default is NODEFAULT else one.default
        said = json.dumps(value).strip('"')
        if value or value is False:
            assert default in {said, f"={said}="}, key
        else:
            assert not default.startswith("=") or "," in default, key
        for key_of in getattr(one.type, "__metadata__", ()):
            bounds = {key_of.low, key_of.high} - {0, 1, 65_535}
            assert {f"{bound:,}" for bound in bounds} <= set(
                re.findall(r"[\d,]*\d", meaning)
            ), key


def test_wikis_that_are_excluded_by_path_or_folder_are_not_kept_in_sync() -> None:
    config = parse_config(
        SERVICE
        + '[[wiki]]\nproject = "docs/one"\n[[wiki]]\nproject = "docs/two"\n'
        + '[[wiki]]\nproject = "docs/three"\nfolder = "3"\n'
        + '[sync]\nexclude = ["docs/one", "3"]\n'
    )
    assert [wiki.path for wiki in config.synced_wikis] == ["docs/two"]


def test_id_of_a_wiki_is_read_and_written_beside_its_path() -> None:
    wikis = (
        WikiSection("project", "docs/handbook", "handbook", 42),
        WikiSection("group", "docs", "docs"),
    )
    config = Config(ServiceSection("https://gitlab.example.com"), wikis)
    text = render_config(config)
    assert 'project = "docs/handbook"\nid = 42\nfolder = "handbook"\n' in text
    assert text.count("\nid = ") == 1
    assert parse_config(text) == config
