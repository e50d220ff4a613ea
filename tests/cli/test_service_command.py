"""The service's URL: first word, option or environment."""

import click
import pytest

from wikisync.cli.main import main
from wikisync.cli.service_command import ServiceCommand, url_option

URL = "https://gitlab.example.com"


@click.command("probe", cls=ServiceCommand)
@click.argument("project", required=False)
@click.option("--name")
@click.option("-y", "--yes", is_flag=True)
@url_option
def probe(url: str, project: str | None, name: str | None, *, yes: bool) -> str:
    return f"{url} {project} {name} {yes}"


def called(*words: str) -> object:
    return probe.main(list(words), standalone_mode=False)


@pytest.mark.parametrize(
    "words",
    [
        (URL, "a/b"),
        ("--url", URL, "a/b"),
        (f"--url={URL}", "a/b"),
        ("a/b", "--url", URL),
    ],
)
def test_url_is_the_first_word_or_an_option(words: tuple[str, ...]) -> None:
    assert called(*words) == f"{URL} a/b None False"


@pytest.mark.parametrize(
    "words", [("--name", "x", "-y", URL, "a/b"), ("-y", URL, "--name=x", "a/b")]
)
def test_options_may_come_before_it(words: tuple[str, ...]) -> None:
    assert called(*words) == f"{URL} a/b x True"


def test_value_of_an_option_is_no_url() -> None:
    assert called("--name", "https://other", URL) == f"{URL} None https://other False"


def test_environment_names_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIKISYNC_URL", URL)

    assert called("a/b") == f"{URL} a/b None False"
    assert called("https://other", "a/b") == "https://other a/b None False"


def test_words_behind_two_dashes_are_no_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIKISYNC_URL", URL)

    assert called("--", "a://b") == f"{URL} a://b None False"


def test_no_service_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("WIKISYNC_URL", raising=False)

    assert main(["project", "list"]) == 2

    error = capsys.readouterr().err
    assert "no service is given" in error
    assert "or set WIKISYNC_URL" in error


def test_first_word_that_is_no_url_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["project", "show", "gitlab.example.com", "a/b"]) == 2

    error = capsys.readouterr().err
    assert "gitlab.example.com is not the URL of a service" in error
    assert "https://gitlab.example.com" in error


def test_usage_line_has_the_url(capsys: pytest.CaptureFixture[str]) -> None:
    main(["clone", "--help"])

    assert "wikisync clone [OPTIONS] [URL] FOLDER" in capsys.readouterr().out
