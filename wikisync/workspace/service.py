"""Clients for services, and the token and secret for them: a file, variable or command.

A token goes to the address that the person named: on the command line, in
``WIKISYNC_URL``, or in a configuration that they agreed to.
"""

import asyncio
import os
import stat
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from shlex import quote

from msgspec import Struct, field

from wikisync.api.address import shown_address
from wikisync.api.client import Client
from wikisync.api.settings import DEFAULT_SETTINGS, ClientSettings
from wikisync.config.sections import ServiceSection
from wikisync.config.trust import refuse_unagreed
from wikisync.core.decoding import decode_text
from wikisync.core.messages import Messages
from wikisync.core.origin import is_same_origin
from wikisync.core.system.private import expanded
from wikisync.core.system.processes import output_of
from wikisync.errors import UsageError
from wikisync.workspace.configured import ConfiguredWorkspace
from wikisync.workspace.discovery import Selection
from wikisync.workspace.rights import resolve_address

TOKEN_VARIABLE = "WIKISYNC_TOKEN"  # noqa: S105 - the variable's name
URL_VARIABLE = "WIKISYNC_URL"
"""The service that the variable's token is for, and that commands speak to."""
TOKEN_COMMAND_TIMEOUT_S = 30.0
SECRET_VARIABLE = "WIKISYNC_HOOK_SECRET"  # noqa: S105 - the variable's name
SECRET_BYTES_MAX = 4096
ANONYMOUS = (
    "no token is set: only public wikis can be read, and nothing can be written; set"
    " WIKISYNC_TOKEN, or set token_file in wikisync.toml"
)


class Credentials(Struct, frozen=True):
    """With which tokens services are asked, and who is told of it."""

    messages: Messages
    token_file: Path | None = None
    """What a person named on the command line; it counts more than all else."""
    env: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def __repr__(self) -> str:
        return f"Credentials({self.token_file!r})"

    def token(self, url: str) -> str | None:
        """The token of the file, or of the environment; None for neither."""
        if self.token_file is not None:
            return _token_in(self.token_file, self.messages)
        token = self._of_variable(url)
        if token is None and self.env.get(TOKEN_VARIABLE, "").strip():
            named = shown_address(self.env[URL_VARIABLE])
            self.messages.warn(
                f"{TOKEN_VARIABLE} is for {named} ({URL_VARIABLE}) and is not sent to"
                f" {url}"
            )
        return token

    def _of_variable(self, url: str) -> str | None:
        named = self.env.get(URL_VARIABLE, "")
        if named and not is_same_origin(named, url):
            return None
        return self.env.get(TOKEN_VARIABLE, "").strip() or None

    def of_workspace(self, workspace: ConfiguredWorkspace) -> str | None:
        """The token for a workspace's service, which its user agreed to or named."""
        service = workspace.config.service
        is_configured = bool(service.token_command or service.token_file)
        is_named = is_same_origin(self.env.get(URL_VARIABLE, ""), service.url)
        if not is_named or (is_configured and not self._is_given(service)):
            refuse_unagreed(workspace.root, workspace.config)
        return self.configured(service)

    def configured(self, service: ServiceSection) -> str | None:
        """The token: the option's file, the variable, or what ``[service]`` says."""
        if not self._is_given(service):
            if service.token_command:
                return _token_of(service.token_command, self.messages)
            if service.token_file:
                return _token_in(expanded(service.token_file), self.messages)
        return self.token(service.url)

    def _is_given(self, service: ServiceSection) -> bool:
        return self.token_file is not None or bool(self._of_variable(service.url))

    @asynccontextmanager
    async def open(
        self,
        workspace: ConfiguredWorkspace,
        settings: ClientSettings = DEFAULT_SETTINGS,
    ) -> AsyncIterator[Client]:
        """A client for the workspace's service, which says what it waits for."""
        token, url = self.of_workspace(workspace), workspace.config.service.url
        notify = self.messages.note
        if token is None:
            notify(ANONYMOUS)
        async with Client(url, token, settings=settings, notify=notify) as client:
            yield client

    def open_selected(self, url: str, selection: Selection) -> tuple[Client, Selection]:
        """A client, still to be entered, for an address's service, and the wikis meant.

        An address may name its wiki, besides the selection's.
        """
        notify = self.messages.note
        resolving = resolve_address(url, selection, self.token, notify)
        url, selection = asyncio.run(resolving)
        selection.check()
        return Client(url, self.token(url), notify=notify), selection

    def hook_secret(self, file: str, named: str) -> str:
        """What webhooks bring: of the variable, or of the file; else nothing.

        ``named`` is the setting or option that named the file, for messages.
        """
        secret, source = self.env.get(SECRET_VARIABLE, "").strip(), SECRET_VARIABLE
        if not secret and file:
            path = expanded(file)
            source = f"the file {path} of {named}"
            content = _read_secret(path, source, SECRET_VARIABLE, self.messages)
            try:
                secret = decode_text(content).strip()
            except UnicodeDecodeError as exc:
                hint = "save it as UTF-8"
                raise UsageError(f"{source} is not UTF-8 text", hint=hint) from exc
            if not secret:
                raise UsageError(
                    f"{source} is empty",
                    hint="put the secret from the webhook's settings into it",
                )
        is_plain = secret.isascii() and secret.isprintable()
        if not is_plain or len(secret) > SECRET_BYTES_MAX:
            raise UsageError(
                f"the secret in {source} must be plain text on one line",
                hint=f"use up to {SECRET_BYTES_MAX} letters, digits and punctuation",
            )
        return secret


def _token_in(token_file: Path, messages: Messages) -> str:
    source = f"the token file {token_file}"
    content = _read_secret(token_file, source, TOKEN_VARIABLE, messages)
    try:
        token = decode_text(content).strip()
    except UnicodeDecodeError:
        token = ""
    if (
        not token.isascii()
        or len(token.split()) != 1
        or len(content) > SECRET_BYTES_MAX
    ):
        raise UsageError(
            f"{source} does not contain exactly one token",
            hint="the file must contain only the token, on one line",
        )
    return token


def _read_secret(path: Path, source: str, variable: str, messages: Messages) -> bytes:
    # no message repeats what the file holds
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(SECRET_BYTES_MAX + 1)
    except OSError as exc:
        raise UsageError(
            f"{source} cannot be read: {exc.strerror}",
            hint=f"give a readable file, or set {variable}",
        ) from exc
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        messages.warn(f"others can read {source}; run: chmod 600 {quote(str(path))}")
    return content


def _token_of(command: Sequence[str], messages: Messages) -> str:
    """The first line of a command's output; never shown, whatever happens."""
    try:
        code, output = output_of(
            command,
            TOKEN_COMMAND_TIMEOUT_S,
            lambda: messages.warn(f"waiting for the token command {command[0]}"),
        )
    except TimeoutError as exc:
        raise UsageError(
            f"the token command {command[0]} did not end within"
            f" {TOKEN_COMMAND_TIMEOUT_S:.0f} seconds",
            hint="run it by hand to see what it waits for",
        ) from exc
    except OSError as exc:
        raise UsageError(
            f"the token command {command[0]} cannot be run: {type(exc).__name__}",
            hint="check token_command in wikisync.toml",
        ) from exc
    line = output.removeprefix(BOM_UTF8).decode("ascii", "replace")
    line = line.partition("\n")[0].strip()
    if code != 0 or not line:
        raise UsageError(
            f"the token command {command[0]} printed no token (exit code {code})",
            hint="run it by hand to see its output",
        )
    return line
