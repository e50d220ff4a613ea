"""Options that several commands take, as decorators."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from wikisync.errors import UsageError

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class InputPath(click.Path):
    """A file or folder of this machine that must exist before any work begins.

    A file may also be a pipe or a device; with ``allow_dash``, ``-`` is standard input.
    """

    def __init__(self, *kinds: Literal["file", "folder"], **options: Any) -> None:
        super().__init__(path_type=Path, **options)
        self._kinds = kinds

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """The path of what is there."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if self.allow_dash and str(path) == "-":
            return path
        wanted = " or ".join(self._kinds)
        if not path.exists():
            raise UsageError(f"there is no {wanted} {path}", hint="check the path")
        if ("folder" if path.is_dir() else "file") not in self._kinds:
            raise UsageError(f"{path} is no {wanted}", hint=f"name a {wanted}")
        return path


def joined(
    name: str, make: Callable[..., Any], *options: Callable[..., Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Options that the command gets as the value ``name``, which ``make`` makes.

    Each of them is a parameter, or field, of ``make``; no type checker sees that, but a
    test compares the names and types of both.
    """

    def join(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def run(*words: Any, **values: Any) -> Any:
            taken = {option: values.pop(option) for option in names}
            return command(*words, **values, **{name: make(**taken)})

        before = len(vars(run).get("__click_params__", ()))
        made = vars(decorated(run, options))["__click_params__"][before:]
        names = [str(one.name) for one in made if one.expose_value]
        return run

    return join


def flag(*names: str, **settings: Any) -> Callable[[Decorated], Decorated]:
    """An option without a value."""
    return click.option(*names, is_flag=True, **settings)


def folder_option(*names: str, **settings: Any) -> Callable[[Decorated], Decorated]:
    """An option that names a folder, which need not be there."""
    kind = click.Path(path_type=Path)
    return click.option(*names, type=kind, metavar="FOLDER", **settings)


def _find_workspace(_ctx: click.Context, _option: click.Parameter, start: Path) -> Any:
    from wikisync.workspace.configured import find_workspace  # --help needs none

    return find_workspace(start)


_workspace = partial(
    click.option,
    *("--workspace", "-C"),
    type=click.Path(path_type=Path),
    default=Path(),
    help="Workspace. [default: the one that contains the current folder]",
)
start_option = _workspace("start")
"""Where a workspace is looked for."""
workspace_option = _workspace(callback=_find_workspace)
exclude_option = click.option(
    "--exclude",
    "excluded",
    multiple=True,
    metavar="WIKI",
    help="Skip this wiki, given by folder or full path; repeatable.",
)


def _print_json(ctx: click.Context, _option: click.Parameter, value: bool) -> None:
    ctx.obj.as_json |= value


def _credentials(
    ctx: click.Context, _option: click.Parameter, file: Path | None
) -> Any:
    from wikisync.workspace.service import Credentials  # --help needs none

    return Credentials(ctx.obj, file)


token_option = click.option(
    "--token-file",
    "credentials",
    type=click.Path(path_type=Path),
    callback=_credentials,
    metavar="FILE",
    help="File with the token. [default: $WIKISYNC_TOKEN]",
)
json_option = flag(
    "--json", expose_value=False, callback=_print_json, help="Print the result as JSON."
)
network_disk_option = flag(
    "--network-disk",
    "allows_network_disk",
    help="Allow a network disk that only this machine writes to.",
)
folder_argument = click.argument(
    "folder", type=click.Path(path_type=Path), default=Path(), metavar="[FOLDER]"
)
strict_option = flag("--strict", help="Fail if there is a broken link or a problem.")
retry_option = flag(
    "--retry", "retries", help="Retry pages that exceeded the time or memory limit."
)
replace_option = flag(
    "--replace",
    "replaces",
    help="Remove wikis from the site that this command does not include.",
)
markup_option = click.option(
    "--markup",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a key of [markup], as in wikisync.toml; repeatable.",
)


def decorated(
    function: Callable[..., Any], decorators: Sequence[Callable[..., Any]]
) -> Callable[..., Any]:
    """The function with all the decorators, the first outermost."""
    for decorate in reversed(decorators):
        function = decorate(function)
    return function


def give_examples(
    group: click.Group, shape: str, usual: str, words: Mapping[str, str]
) -> None:
    """Give each command of a group an example: its name and its words in the shape."""
    for name, made in group.commands.items():
        made.epilog = f"Example: wikisync {shape}".format(name, words.get(name, usual))
