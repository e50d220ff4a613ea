"""Options made from the table of parameters, and read back."""

from pathlib import Path
from typing import Any

import click
import pytest

from wikisync.cli.attributes import parameter_options, read_values
from wikisync.cli.project import command
from wikisync.contract.parameters import parameters_of
from wikisync.contract.routes import Endpoint
from wikisync.errors import UsageError

POLICY = "--container-expiration-policy-attributes"
POLICY_VALUES = {"keep_n": 5, "enabled": True, "cadence": "7d"}


def parsed(endpoint: Endpoint, *words: str) -> dict[str, object]:
    """What the words of a command line come to."""
    options: dict[str, Any] = {}

    def take(given: dict[str, Any]) -> None:
        options.update(given)

    made = click.command("x")(parameter_options(endpoint)(take))
    assert isinstance(made, click.Command)
    made.main(list(words), standalone_mode=False)
    return read_values(endpoint, options)


@pytest.mark.parametrize(
    ("endpoint", "words", "values"),
    [
        (Endpoint.LIST, [], {}),
        (Endpoint.LIST, ["--archived"], {"archived": True}),
        (Endpoint.LIST, ["--no-archived"], {"archived": False}),
        (Endpoint.LIST, ["--id-after", "7"], {"id_after": 7}),
        (Endpoint.LIST, ["--order-by", "wiki_size"], {"order_by": "wiki_size"}),
        (Endpoint.LIST, ["--min-access-level", "30"], {"min_access_level": 30}),
        (Endpoint.LIST, ["--min-access-level", "Owner"], {"min_access_level": 50}),
        (
            Endpoint.LIST,
            ["--custom-attributes", "team=docs", "--custom-attributes", "x=a=b"],
            {"custom_attributes": {"team": "docs", "x": "a=b"}},
        ),
        (Endpoint.USERS, ["--skip-users", "1,2"], {"skip_users": [1, 2]}),
        (
            Endpoint.EDIT,
            ["--topics", "a, b", "--topics", "c"],
            {"topics": ["a", "b", "c"]},
        ),
        (Endpoint.EDIT, ["--topics", ""], {"topics": []}),
        (Endpoint.EDIT, ["--description", ""], {"description": ""}),
        (Endpoint.EDIT, ["--avatar", __file__], {"avatar": Path(__file__)}),
        (Endpoint.EDIT, ["--avatar", ""], {"avatar": ""}),
        (
            Endpoint.EDIT,
            [f"{POLICY}=keep_n=5", f"{POLICY}=enabled=true", f"{POLICY}=cadence=7d"],
            {"container_expiration_policy_attributes": POLICY_VALUES},
        ),
        (Endpoint.SHARE, ["--expires-at", "2026-01-31"], {"expires_at": "2026-01-31"}),
    ],
)
def test_words_become_values(
    endpoint: Endpoint, words: list[str], values: dict[str, object]
) -> None:
    assert parsed(endpoint, *words) == values


@pytest.mark.parametrize(
    ("words", "message"), [("team", "takes KEY=VALUE, not 'team'"), ("=x", "KEY=VALUE")]
)
def test_words_of_another_form_are_refused(words: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parsed(Endpoint.LIST, "--custom-attributes", words)


def test_role_that_is_none_is_refused_with_the_roles() -> None:
    with pytest.raises(click.BadParameter, match="none of guest, planner, reporter"):
        parsed(Endpoint.SHARE, "--group-access", "boss")


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("a=true", True),
        ("a=7", 7),
        ("a=", ""),
        ("a=text", "text"),
        ("a=b=c", "b=c"),
        ('a={"b": [1]}', {"b": [1]}),
    ],
)
def test_newer_attributes_are_json_or_text(word: str, value: object) -> None:
    assert read_values(Endpoint.LIST, {"newer": [word]}) == {"also": {"a": value}}


def test_newer_attribute_without_a_value_is_refused() -> None:
    with pytest.raises(UsageError, match="--attribute takes KEY=VALUE"):
        read_values(Endpoint.LIST, {"newer": ["active"]})


VERBS = {
    Endpoint.LIST: "list",
    Endpoint.USER_LIST: "list",
    Endpoint.CONTRIBUTED_LIST: "list",
    Endpoint.STARRED_LIST: "list",
    Endpoint.FORK_LIST: "forks",
    Endpoint.CREATE_FOR_USER: "create",
}
"""Of endpoints that do not have the name of their command."""
AS_ARGUMENT = {"file", "group_id"}


@pytest.mark.parametrize("endpoint", Endpoint)
def test_every_parameter_is_an_option_of_its_command(endpoint: Endpoint) -> None:
    name = endpoint.name.lower().replace("_", "-")
    verb = command.commands[VERBS.get(endpoint, name)]
    words = {word for option in verb.params for word in option.opts}
    wanted = {
        f"--{name.replace('_', '-')}"
        for name, row in parameters_of(endpoint).items()
        if not row.is_deprecated
    }

    assert wanted - {f"--{name.replace('_', '-')}" for name in AS_ARGUMENT} <= words


def test_old_names_are_no_options() -> None:
    options = {word for one in command.commands["edit"].params for word in one.opts}

    assert {"--tag-list", "--wiki-enabled", "--emails-disabled"}.isdisjoint(options)
