"""Where does the log go, and what does a line look like?

One line a deed: a constant event text plus fields. JSON lines when the output is not a terminal. Always
stderr: stdout belongs to commands and to protocols. What counts as a secret is decided by `text.redaction`,
which is handed in; rooms simply call `structlog.get_logger()`.
"""

import logging
import sys
from collections.abc import Callable, MutableMapping
from typing import Any

import structlog

Redact = Callable[[str], str]

CONTENT_FIELDS = frozenset({"text", "prompt", "reply", "content", "body"})
"""Fields that hold words of people or models; left out unless `log.content` is on."""


def configure(*, level: str, style: str, content: bool, redact: Redact) -> None:
    """Set the log up once, at the start of a command. `style` is `auto`, `json` or `console`."""
    as_json = style == "json" or (style == "auto" and not sys.stderr.isatty())
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if as_json
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _without_content if not content else _unchanged,
        _redacted(redact),
        structlog.processors.format_exc_info,
        _redacted(redact),
    ]
    number = getattr(logging, level.upper())
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(number, logging.WARNING))


def _unchanged(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return event


def _without_content(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for field in CONTENT_FIELDS & event.keys():
        event[field] = f"[{len(str(event[field]))} characters]"
    return event


def _redacted(redact: Redact) -> structlog.typing.Processor:
    def processor(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        for key, value in event.items():
            if isinstance(value, str):
                event[key] = redact(value)
        return event

    return processor
