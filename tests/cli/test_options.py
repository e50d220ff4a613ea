"""Every option of every command reaches a parameter of its name and type."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click
import pytest
from click.testing import CliRunner
from msgspec import Struct

from tests.cli.test_main import commands_below
from wikisync.cli.console import Console
from wikisync.cli.main import cli
from wikisync.cli.options import flag, joined

COMMANDS = dict(commands_below(cli, "wikisync"))


def type_of(option: click.Parameter) -> Any:
    """What the values of an option are; Any where a function makes them."""
    kind: Any = str
    match option.type:
        case click.Choice(choices=choices):
            kind = Literal[tuple(choices)]
        case click.Path():
            kind = Path
        case click.types.BoolParamType():
            kind = bool
        case click.types.IntParamType():  # a range is one
            kind = int
    if option.callback is not None:
        return Any
    if option.multiple or option.nargs == -1:
        return tuple[kind, ...]
    is_flag = isinstance(option, click.Option) and option.is_flag
    has_default = option.to_info_dict()["default"] is not None
    return kind if is_flag or has_default or option.required else kind | None


def takes(wanted: Any, given: Any) -> bool:
    """Whether a parameter takes such values."""
    if get_origin(wanted) is tuple and get_origin(given) is tuple:
        return takes(get_args(wanted)[0], get_args(given)[0])
    if get_origin(given) is Literal:
        return wanted is str or set(get_args(given)) == set(get_args(wanted))
    one, other = (set(get_args(kind)) - {type(None)} for kind in (wanted, given))
    if len(one) == len(other) == 1 and type(None) in get_args(given):
        return type(None) in get_args(wanted) and takes(one.pop(), other.pop())
    return given is Any or bool(wanted == given) or given in get_args(wanted)


def misfits(run: Callable[..., Any], given: Mapping[str, Any]) -> Iterator[str]:
    """What is given and not taken, or taken and not given."""
    if run is dict:
        return  # the table of parameters says what it holds
    hints = get_type_hints(inspect.unwrap(run))
    parameters = inspect.signature(run).parameters
    yield from (f"{name} is not taken" for name in given.keys() - parameters.keys())
    for name, parameter in parameters.items():
        is_passed = hints.get(name) in {Console, click.Context}
        if name in given and not takes(hints[name], given[name]):
            yield f"{name} is {given[name]}, not {hints[name]}"
        elif name not in given and parameter.default is parameter.empty:
            yield from [] if is_passed else [f"{name} is not given"]


def misfits_of(command: click.Command) -> list[str]:
    """The same from the options of a command to its function."""
    given = {str(one.name): type_of(one) for one in command.params if one.expose_value}
    run, found = command.callback, list[str]()
    assert run is not None
    while run.__code__.co_qualname.startswith(f"{joined.__name__}.<locals>"):
        held = inspect.getclosurevars(run).nonlocals
        make, names = held["make"], held["names"]
        found += misfits(make, {name: given.pop(name) for name in names})
        made = get_type_hints(make).get("return", make)
        given[held["name"]] = Any if made is dict else made
        run = held["command"]
    return [*found, *misfits(run, given)]


@pytest.mark.parametrize("path", COMMANDS)
def test_every_option_reaches_a_parameter_of_its_type(path: str) -> None:
    assert misfits_of(COMMANDS[path]) == []


class Wish(Struct):
    """What options are joined to."""

    is_dry_run: bool
    folder: Path | None = None


FOLDER = click.option("--folder", type=click.Path(path_type=Path))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([flag("--dry-run", "is_dry_run"), FOLDER], []),
        ([flag("--dry-run")], ["dry_run is not taken", "is_dry_run is not given"]),
        (
            [click.option("--folder"), flag("--dry-run", "is_dry_run")],
            [f"folder is {str | None}, not {Path | None}"],
        ),
    ],
)
def test_option_that_fits_no_field_is_found(
    options: list[Callable[..., Any]], expected: list[str]
) -> None:
    def run(wish: Wish) -> None:
        pass

    made = click.command("x")(joined("wish", Wish, *options)(run))
    assert misfits_of(made) == expected


def test_parameter_that_takes_anything_is_found() -> None:
    def run(**given: Any) -> None:
        pass

    made = click.command("x")(FOLDER(run))
    assert misfits_of(made) == ["folder is not taken", "given is not given"]


def test_joined_options_come_as_one_value_beside_the_others() -> None:
    def run(page: str, wish: Wish) -> None:
        click.echo(f"{page} {wish}")

    inner = joined("wish", Wish, flag("--dry-run", "is_dry_run"), FOLDER)(run)
    made = click.command("x")(click.argument("page")(inner))
    shown = CliRunner().invoke(made, ["home", "--dry-run"])
    assert shown.output == "home Wish(is_dry_run=True, folder=None)\n"
