"""``wikisync mcp``: the pages of a workspace as the tools of an agent, over stdio."""

import asyncio
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from wikisync.cli.options import flag, token_option, workspace_option
from wikisync.core.system.parallel import leaves
from wikisync.core.version import __version__
from wikisync.errors import UsageError, WikisyncError
from wikisync.workspace.agent import Agent
from wikisync.workspace.configured import ConfiguredWorkspace
from wikisync.workspace.service import Credentials

Tool = Callable[..., Any]
INSTRUCTIONS = (
    "Pages of a wiki that people edit at the same time. A page is named FOLDER/SLUG, as"
    " list_pages shows it. Read a page before you edit it, and name the version that"
    " the answer gave: an edit is merged with what a person wrote meanwhile, or refused"
    " where both changed the same passage. A page with 'held' waits for a person."
)


@click.command(name="mcp", epilog="Example: wikisync mcp -C my-wikis --sync")
@workspace_option
@flag("--read-only", "is_read_only", help="Offer no tool that writes.")
@flag("--sync", "syncs", help="Sync each page that was written.")
@flag("--allow-delete", "allows_delete", help="Delete pages; without it, only say so.")
@token_option
def command(
    workspace: ConfiguredWorkspace,
    credentials: Credentials,
    *,
    is_read_only: bool,
    syncs: bool,
    allows_delete: bool,
) -> None:
    """Let an agent list, search, read and edit the workspace's pages.

    It speaks the Model Context Protocol on standard input and output; the agent's
    program starts it. Needs the extra mcp.
    """
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ImportError as error:
        raise UsageError(
            "the SDK of the Model Context Protocol is not installed",
            hint="install wikisync with its extra mcp",
        ) from error

    agent = Agent(workspace, credentials, syncs, allows_delete)
    server = MCPServer(
        "wikisync", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING"
    )
    reads: list[Tool] = [
        agent.list_pages,
        agent.search_pages,
        agent.read_page,
        agent.page_history,
    ]
    writes: list[Tool] = [agent.edit_page, agent.create_page, agent.delete_page]
    for tool in [*reads, *([] if is_read_only else writes)]:
        server.add_tool(
            _with_answers(tool, ToolError),
            description=(inspect.getdoc(tool) or "").partition("\n\nRaises:")[0],
            annotations=ToolAnnotations(
                read_only_hint=tool in reads, destructive_hint=tool == agent.delete_page
            ),
        )
    try:
        server.run()
    except ExceptionGroup as error:
        # such as that the agent's program is gone, which the SDK's tasks find out
        raise next(leaves(error)) from error


def _with_answers(tool: Tool, kind: type[Exception]) -> Tool:

    @wraps(tool)
    async def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if inspect.iscoroutinefunction(tool):
                return await tool(*args, **kwargs)
            return await asyncio.to_thread(tool, *args, **kwargs)
        except WikisyncError as error:
            raise kind("; ".join(filter(None, (error.message, error.hint)))) from error

    return call
