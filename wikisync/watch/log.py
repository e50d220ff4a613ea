"""The log of a watch, text or JSON lines; each bears its cycle: ``handbook#12``."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Literal

from wikisync.core.layout import LOG_FILE
from wikisync.core.system.private import make_private_file, make_private_folder
from wikisync.core.terminal import VisibleLines, visible_line
from wikisync.folder.safe_open import folder_error
from wikisync.workspace.runner import CYCLE

LOG_BYTES_MAX = 2 * 1024 * 1024
LOG_FILES_KEPT = 3
"""Earlier ones: ``log.1`` and so on."""
MESSAGE_CHARS_MAX = 4000

LogFormat = Literal["text", "json"]


class _Lines(VisibleLines):
    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - its name
        message = record.getMessage()[:MESSAGE_CHARS_MAX]
        at = datetime.fromtimestamp(record.created, UTC).astimezone()
        cycle = f" [{CYCLE.get()}]" if CYCLE.get() else ""
        line = f"{at:%Y-%m-%d %H:%M:%S} {record.levelname}{cycle} {message}"
        return visible_line(line)


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        said: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "cycle": CYCLE.get(),
            "where": record.name,
            "message": record.getMessage()[:MESSAGE_CHARS_MAX],
        }
        if record.exc_info:
            said["traceback"] = self.formatException(record.exc_info)
        return json.dumps(said, ensure_ascii=False)


class _LogFile(RotatingFileHandler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - its name
        """Lose the line: a full disk is no reason for tracebacks on the terminal."""


@contextmanager
def logging_to(
    private: Path, log_format: LogFormat, *, bytes_max: int = LOG_BYTES_MAX
) -> Iterator[Path]:
    """Log into the workspace, as far as it can be written, until the block ends."""
    path = private / LOG_FILE
    try:
        make_private_folder(private)
        make_private_file(path)
        handler = _LogFile(
            path, maxBytes=bytes_max, backupCount=LOG_FILES_KEPT, encoding="utf-8"
        )
    except OSError as exc:
        raise folder_error("write", str(exc.filename or path), exc) from exc
    handler.setFormatter(_JsonLines() if log_format == "json" else _Lines())
    handler.setLevel(logging.INFO)
    logger = logging.getLogger("wikisync")
    level = logger.level
    logger.addHandler(handler)
    if logger.getEffectiveLevel() > logging.INFO:
        logger.setLevel(logging.INFO)
    try:
        yield path
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        handler.close()
