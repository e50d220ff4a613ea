import time

import pytest

from wikisync.folder.ignore import (
    ANY_FOLDERS_MAX,
    PATTERN_CHARS_MAX,
    PATTERNS_MAX,
    parse_patterns,
    pattern_of,
)


def hides(patterns: str, path: str) -> bool:
    found, problems = parse_patterns(patterns)
    assert problems == ()
    return found.hides(path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("draft.md", "draft.md"),
        ("draft.md", "dir/draft.md"),
        ("*.org", "a/b/c.org"),
        ("drafts/", "drafts/a.md"),
        ("drafts/", "x/drafts/y/a.md"),
        ("/drafts/", "drafts/a.md"),
        ("a/*.md", "a/b.md"),
        ("a/**", "a/b/c.md"),
        ("**/tmp/*.md", "tmp/x.md"),
        ("**/tmp/*.md", "a/b/tmp/x.md"),
        ("a/**/z.md", "a/z.md"),
        ("a/**/z.md", "a/b/c/z.md"),
        ("?.md", "é.md"),
        ("[a-c]x.md", "bx.md"),
        ("[!a-c]x.md", "dx.md"),
        ("[]]x.md", "]x.md"),
        ("[x.md", "[x.md"),
        ("\\#x.md", "#x.md"),
        ("\\!x.md", "!x.md"),
        ("a\\*.md", "a*.md"),
        ("x.md   ", "x.md"),
        ("x\\ ", "x "),
        ("*a*b*.md", "xaybz.md"),
        ("*aab.md", "aaaab.md"),
        ("dir", "dir/a.md"),
        ("# no\n\nx.md", "x.md"),
    ],
)
def test_path_is_hidden(pattern: str, path: str) -> None:
    assert hides(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("draft.md", "mydraft.md"),
        ("/draft.md", "dir/draft.md"),
        ("a/*.md", "a/b/c.md"),
        ("a/*.md", "x/a/b.md"),
        ("draft.md/", "draft.md"),
        ("?.md", "ab.md"),
        ("[!a]b", "/b"),
        ("[z-a]x.md", "bx.md"),
        ("#x.md", "#x.md"),
        ("a/**", "a"),
        ("x*y", "x/y"),
        ("", "a.md"),
        ("*.md\n!keep.md", "dir/keep.md"),
    ],
)
def test_path_is_not_hidden(pattern: str, path: str) -> None:
    assert not hides(pattern, path)


def test_last_line_that_fits_counts() -> None:
    assert hides("*.md\n!a.md\na.md", "a.md")


@pytest.mark.parametrize("path", ["a.md", "a/b [c]*?\\.md", "#a.md", "!a", "a "])
def test_pattern_of_a_path_fits_it_alone(path: str) -> None:
    patterns, problems = parse_patterns(pattern_of(path))
    assert problems == ()
    assert patterns.is_ignored(path)
    assert not patterns.is_ignored(f"x/{path}")
    assert not patterns.is_ignored(path.replace("b", "bb").replace("a", "aa"))


def test_nothing_in_an_ignored_folder_is_taken_back() -> None:
    assert hides("drafts/\n!drafts/keep.md", "drafts/keep.md")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("x" * (PATTERN_CHARS_MAX + 1), "is longer than"),
        ("**/" * (ANY_FOLDERS_MAX + 1) + "x", "has ** more than"),
        ("!", "names nothing"),
        ("/", "names nothing"),
    ],
)
def test_line_that_is_no_pattern_is_told_with_its_number(line: str, words: str) -> None:
    found, (problem,) = parse_patterns(f"a.md\n{line}\nb.md")
    assert problem.subject == ".wikisyncignore, line 2"
    assert words in problem.message
    assert found.hides("a.md")
    assert found.hides("b.md")


def test_too_many_patterns_are_told() -> None:
    found, problems = parse_patterns("x.md\n" * (PATTERNS_MAX + 2))
    assert (len(found.rules), len(problems)) == (PATTERNS_MAX, 2)


def test_hostile_pattern_costs_little_time() -> None:
    found, _ = parse_patterns("*a" * 100 + "b")
    began = time.process_time()
    assert not found.hides("a" * 255)
    assert time.process_time() - began < 0.5
