"""What is read from a repository: languages by bytes, licenses by their words."""

import pytest

from wikisync.service.code import LICENSES, License, language_of, license_of, shares_of


def test_languages_are_percentages_of_bytes_the_largest_first() -> None:
    sizes = [("a.js", 100), ("b.py", 500), ("c/d.PY", 400), ("README.md", 9000)]
    assert list(shares_of(sizes).items()) == [("Python", 90.0), ("JavaScript", 10.0)]


def test_nothing_but_prose_has_no_language() -> None:
    assert shares_of([("a.md", 10), ("b.py", 0)]) == {}


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("Dockerfile", "Dockerfile"),
        ("x/Makefile", "Makefile"),
        ("a.tsx", "TypeScript"),
        (".py", None),
        ("py", None),
        ("a.unknown", None),
    ],
)
def test_language_of_a_file_is_its_names(path: str, language: str | None) -> None:
    assert language_of(path) == language


@pytest.mark.parametrize("known", LICENSES, ids=lambda known: known.key)
def test_license_is_known_by_its_phrases(known: License) -> None:
    text = "\n\n".join(phrase.upper().replace(" ", "\n") for phrase in known.phrases)
    assert license_of(f"Copyright\n{text}\nmore words").key == known.key


def test_other_text_is_another_license() -> None:
    assert license_of("Do what you like.").key == "other"
