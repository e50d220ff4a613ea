"""An editor that speaks the Language Server Protocol, by its library's own client."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from wikisync.core.version import __version__

WAIT_S = 60.0


class Editor:
    """An editor with some files open."""

    def __init__(self, client: LanguageClient, root: Path) -> None:
        self.client = client
        self.root = root
        self.found: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()
        self.said: asyncio.Queue[str] = asyncio.Queue()
        self.opened: set[str] = set()

        @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
        def note(params: lsp.PublishDiagnosticsParams) -> None:
            self.found.put_nowait(params)

        @client.feature(lsp.WINDOW_SHOW_MESSAGE)  # type: ignore[untyped-decorator]
        def hear(params: lsp.ShowMessageParams) -> None:
            self.said.put_nowait(params.message)

    def uri(self, path: str) -> str:
        return (self.root / path).as_uri()

    def open(self, path: str, text: str | None = None) -> str:
        source = (self.root / path).read_text() if text is None else text
        item = lsp.TextDocumentItem(self.uri(path), "markdown", 1, source)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        self.opened.add(path)
        return source

    def close(self) -> None:
        """Close what a test has open, and forget what was shown in it."""
        for path in self.opened:
            document = lsp.TextDocumentIdentifier(self.uri(path))
            self.client.text_document_did_close(
                lsp.DidCloseTextDocumentParams(document)
            )
        self.opened.clear()
        self.found = asyncio.Queue()

    def type(self, path: str, text: str, version: int) -> None:
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(
                    uri=self.uri(path), version=version
                ),
                [lsp.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    async def marks(self, path: str, version: int) -> list[lsp.Diagnostic]:
        """What is shown in a document in its newest version."""
        async with asyncio.timeout(WAIT_S):
            while True:
                found = await self.found.get()
                if (found.uri, found.version) == (self.uri(path), version):
                    return list(found.diagnostics)

    def at(self, path: str, text: str, word: str) -> dict[str, Any]:
        """The place of a word's last character in a document."""
        line, _, _ = text.partition(word)
        row = line.count("\n")
        column = len(line.rpartition("\n")[2]) + len(word)
        return {
            "text_document": lsp.TextDocumentIdentifier(self.uri(path)),
            "position": lsp.Position(row, column),
        }

    async def renamed(self, *names: tuple[str, str]) -> dict[str, list[str]]:
        """The lines that are others when the editor renames files."""
        files = [lsp.FileRename(*map(self.uri, pair)) for pair in names]
        edit = await self.client.workspace_will_rename_files_async(
            lsp.RenameFilesParams(files)
        )
        assert edit is not None
        changes = edit.document_changes or ()
        assert all(isinstance(one, lsp.TextDocumentEdit) for one in changes)
        return {
            unquote(one.text_document.uri.removeprefix(f"{self.root.as_uri()}/")): [
                line.new_text for line in one.edits if isinstance(line, lsp.TextEdit)
            ]
            for one in changes
            if isinstance(one, lsp.TextDocumentEdit)
        }

    async def labels(self, path: str, text: str, word: str) -> list[str]:
        params = lsp.CompletionParams(**self.at(path, text, word))
        found = await self.client.text_document_completion_async(params)
        assert isinstance(found, lsp.CompletionList)
        return [item.label for item in found.items]


@asynccontextmanager
async def editing(
    root: Path, *beside: Path, is_named: bool = True, renames: bool = True, **env: str
) -> AsyncIterator[Editor]:
    client = LanguageClient("tests", __version__)
    editor = Editor(client, root)
    cache = str(root.with_name("cache"))
    can = [lsp.ResourceOperationKind.Rename] if renames else []
    edits = lsp.WorkspaceEditClientCapabilities(resource_operations=can)
    workspace = lsp.WorkspaceClientCapabilities(workspace_edit=edits)
    capabilities = lsp.ClientCapabilities(workspace=workspace)
    await client.start_io(
        sys.executable,
        *("-m", "wikisync", "lsp", *([str(root)] if is_named else [])),
        env={**os.environ, "XDG_CACHE_HOME": cache, **env},
        cwd=env.get("HOME"),
    )
    folders = [lsp.WorkspaceFolder(one.as_uri(), one.name) for one in (root, *beside)]
    answer = await client.initialize_async(
        lsp.InitializeParams(
            capabilities=capabilities,
            root_uri=None if beside or env else root.as_uri(),
            workspace_folders=folders if beside else None,
        )
    )
    sync = answer.capabilities.text_document_sync
    assert isinstance(sync, lsp.TextDocumentSyncOptions)
    # an edit of a line of 700 KB takes the library half a second
    assert sync.change == lsp.TextDocumentSyncKind.Full
    client.initialized(lsp.InitializedParams())
    yield editor
    await client.shutdown_async(None)
    client.exit(None)
    server = client._server
    assert server is not None
    assert server.stderr is not None
    # what is refused is shown by the editor, and is no error of the server
    assert await server.stderr.read() == b""
    await client.stop()  # type: ignore[no-untyped-call]
