"""Configures logging: where lines go, what they look like and what they may contain.

One line per operation: a constant event text plus fields, as JSON when the output is not a terminal. Always
stderr: stdout belongs to commands and protocols. Packages call `structlog.get_logger()`, and standard library
logging takes the same path. Secrets are redacted from every string by `text.redaction`, which is passed in;
words of people and models are left out unless `log.content` allows them.
"""

import logging
import re
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO

import structlog
from structlog.contextvars import bound_contextvars, get_contextvars

from festinger.clock import Clock, iso, system_clock
from festinger.observability.metrics import DROPPED

Redact = Callable[[str], str]

CONTENT_FIELDS = frozenset({"text", "prompt", "reply", "content", "body", "message", "messages"})
"""Fields that hold words of people or models; left out unless `log.content` is on."""

SECRET_FIELD = re.compile(r"(?i)passw|passphrase|secret|authorization|cookie|api_?key|(?:^|_)token$|credential")
"""Names of fields whose values are secrets, whatever they look like."""

DEPTH = 6
"""Maximum nesting of fields; anything deeper is shown as text."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_CONTROL_IN_TRACES = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")


def configure_logging(*, level: str, style: str, content: bool, redact: Redact, clock: Clock = system_clock) -> None:
    """Set up logging once, at the start of a command. `style` is `auto`, `json` or `console`."""
    as_json = style == "json" or (style == "auto" and not sys.stderr.isatty())
    steps = _steps(LogRules(redact=redact, content=content, one_line=not as_json), clock)
    renderer = _renderer(as_json)
    number = getattr(logging, level.upper())
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, *steps, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=lambda *_: LogWriter(sys.stderr),
        cache_logger_on_first_use=False,
    )
    _take_over_standard_library(steps, renderer, level=max(number, logging.WARNING))


def use_host_logging(*, redact: Redact, clock: Clock = system_clock) -> None:
    """Send lines to the logger `festinger` of Python's own logging, for the library inside a host program. A
    host that has already configured structlog is left alone."""
    if structlog.is_configured():
        return
    steps = _steps(LogRules(redact=redact, content=False, one_line=True), clock)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.contextvars.merge_contextvars,
            *steps,
            structlog.processors.KeyValueRenderer(key_order=["event"]),
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=lambda *_: logging.getLogger("festinger"),
        cache_logger_on_first_use=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRules:
    """What a log line may contain."""

    redact: Redact
    content: bool
    one_line: bool

    def allowed(self, name: str, value: Any, depth: int = 0) -> Any:
        """Return the value of a field as it may be written."""
        if value is None or isinstance(value, bool | int | float):
            return value
        if name in CONTENT_FIELDS and not self.content:
            return f"[{len(value) if isinstance(value, str) else len(str(value))} characters]"
        if isinstance(value, Mapping) and depth < DEPTH:
            return {self._text("", str(key)): self.allowed(str(key), inner, depth + 1) for key, inner in value.items()}
        if isinstance(value, list | tuple | set | frozenset) and depth < DEPTH:
            return [self.allowed(name, inner, depth + 1) for inner in value]
        return self._text(name, value if isinstance(value, str) else str(value))

    def _text(self, name: str, text: str) -> str:
        if text and SECRET_FIELD.search(name):
            return "[redacted:field]"
        control = _CONTROL_IN_TRACES if name == "exception" else _CONTROL
        plain = self.redact(text)
        # JSON escapes these itself; on a terminal they would break the line or act as control sequences.
        return control.sub(lambda found: repr(found[0])[1:-1], plain) if self.one_line else plain


class LogWriter:
    """Writes lines. One that cannot be written is counted and dropped: a full disk or a closed pipe behind
    the log must not fail the work that is logged."""

    def __init__(self, output: TextIO) -> None:
        self._output = output

    def msg(self, line: str) -> None:
        try:
            self._output.write(line + "\n")
            self._output.flush()
        except (OSError, ValueError):
            DROPPED.labels("log_line").inc()

    debug = info = warning = warn = error = exception = critical = fatal = log = msg


class _Handler(logging.Handler):
    """Routes records of the standard library to the same output."""

    def emit(self, record: logging.LogRecord) -> None:
        LogWriter(sys.stderr).msg(self.format(record))


def _steps(rules: LogRules, clock: Clock) -> list[structlog.typing.Processor]:
    def at(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event["at"] = iso(clock())
        return event

    def allowed(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        # Keys with a leading underscore are the formatter's own and never written.
        return {name: value if name.startswith("_") else rules.allowed(name, value) for name, value in event.items()}

    return [structlog.processors.add_log_level, at, structlog.processors.format_exc_info, allowed]


def _renderer(as_json: bool) -> structlog.typing.Processor:
    if as_json:
        return structlog.processors.JSONRenderer()
    return structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), timestamp_key="at")


def _take_over_standard_library(
    steps: list[structlog.typing.Processor], renderer: structlog.typing.Processor, *, level: int
) -> None:
    handler = _Handler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *steps],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.captureWarnings(True)
    for logger in [*logging.root.manager.loggerDict.values()]:
        if isinstance(logger, logging.Logger):
            # Some packages bring a handler or level of their own, which would bypass the rules above.
            logger.handlers[:] = []
            logger.setLevel(logging.NOTSET)
            logger.propagate = True


FIELD = "request"
"""The name of the field in a log line."""


@contextmanager
def bind_request_id(request: str | None) -> Iterator[None]:
    """Attach this request id to everything inside the block; `None` keeps the current one."""
    if request is None:
        yield
        return
    with bound_contextvars(**{FIELD: request}):
        yield


def current_request_id() -> str | None:
    """Return the id of the request that is being served, if any."""
    carried: str | None = get_contextvars().get(FIELD)
    return carried
