"""Where does the log go, and what does a line look like?"""

import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from festinger.observability.logs import LogRules, configure_logging, use_host_logging
from festinger.observability.metrics import DROPPED

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
SECRET = "hunter2-canary"

Capture = pytest.CaptureFixture[str]


def redact(text: str) -> str:
    return text.replace(SECRET, "[redacted:canary]")


@pytest.fixture(autouse=True)
def _own_log() -> Iterator[None]:
    """Each test may set the log up anew and leaves it as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    logging.captureWarnings(False)
    root.handlers[:] = handlers
    root.setLevel(level)


def start(style: str = "json", *, content: bool = False, level: str = "info") -> Any:
    configure_logging(level=level, style=style, content=content, redact=redact, clock=lambda: MONDAY)
    return structlog.get_logger(room="store")


def lines(capture: Capture) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capture.readouterr().err.splitlines()]


@pytest.mark.requirement("X-95")
def test_a_line_is_json_with_a_constant_text_and_fields(capsys: Capture):
    log = start()
    structlog.contextvars.bind_contextvars(space="main", trace="t1")

    log.info("pool opened", connections=3)

    assert lines(capsys) == [
        {
            "event": "pool opened",
            "room": "store",
            "space": "main",
            "trace": "t1",
            "connections": 3,
            "level": "info",
            "at": "2026-01-05T12:00:00Z",
        }
    ]


@pytest.mark.requirement("X-95")
def test_lines_are_json_unless_stderr_is_a_terminal(capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    start("auto").info("one")
    assert lines(capsys)[0]["event"] == "one"

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    start("auto").info("two")
    written = capsys.readouterr().err
    assert "two" in written
    with pytest.raises(json.JSONDecodeError):
        json.loads(written)


@pytest.mark.requirement("X-95")
@pytest.mark.parametrize("style", ["json", "console"])
def test_nothing_goes_to_stdout(capsys: Capture, style: str):
    start(style).warning("here")
    logging.getLogger("somewhere").warning("there")

    captured = capsys.readouterr()
    assert captured.out == ""
    assert "here" in captured.err
    assert "there" in captured.err


@pytest.mark.requirement("X-95")
@pytest.mark.parametrize("style", ["json", "console"])
@pytest.mark.parametrize(
    "write",
    [
        lambda log: log.info("opened", url=f"postgres://u:{SECRET}@h"),
        lambda log: log.info("opened", nested={"deep": [{"er": f"x {SECRET}"}], f"{SECRET}": 1}),
        lambda log: log.info("opened", thing=ValueError(SECRET)),
        lambda log: log.info(f"opened {SECRET}"),
        lambda log: logging.getLogger("psycopg.pool").warning("connecting to %s", f"u:{SECRET}@h"),
        lambda log: failing(log, SECRET),
    ],
    ids=["field", "nested", "object", "event", "foreign", "traceback"],
)
def test_secrets_leave_every_part_of_a_line(capsys: Capture, style: str, write: Callable[[Any], None]):
    write(start(style))

    written = capsys.readouterr().err
    assert SECRET not in written
    assert "[redacted:canary]" in written


def failing(log: Any, words: str) -> None:
    try:
        raise RuntimeError(words)
    except RuntimeError:
        log.exception("failed")


@pytest.mark.requirement("X-95")
@pytest.mark.parametrize(
    "field", ["password", "api_key", "apikey", "Authorization", "client_secret", "cookie", "token", "auth_token"]
)
def test_a_field_named_like_a_secret_is_never_written(capsys: Capture, field: str):
    start().info("called", **{field: "plain-word"})

    assert lines(capsys)[0][field] == "[redacted:field]"


def test_counts_of_tokens_are_no_secret(capsys: Capture):
    start().info("called", tokens_in=12, max_tokens=99, token=7)

    assert (line := lines(capsys)[0])["tokens_in"] == 12
    assert (line["max_tokens"], line["token"]) == (99, 7)


@pytest.mark.requirement("X-95")
def test_words_of_people_are_left_out_unless_allowed(capsys: Capture):
    start().info("learnt", text="Anna lives in Zürich", inner={"prompt": "be kind"})
    line = lines(capsys)[0]
    assert line["text"] == "[20 characters]"
    assert line["inner"]["prompt"] == "[7 characters]"

    start(content=True).info("learnt", text="Anna lives in Zürich")
    assert lines(capsys)[0]["text"] == "Anna lives in Zürich"


@pytest.mark.requirement("X-95")
@given(st.text(max_size=40), st.text(max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@pytest.mark.parametrize("style", ["json", "console"])
def test_a_record_is_one_line_whatever_its_fields_hold(capsys: Capture, style: str, one: str, other: str):
    capsys.readouterr()
    start(style).info("heard", one=f"a\n{one}\x1b[31m\r\x00", nested=[other, "\u2028\x85"])

    written = capsys.readouterr().err
    assert len(written.splitlines()) == 1
    assert "\x1b" not in written


def test_a_terminal_shows_control_characters_but_does_not_obey_them(capsys: Capture):
    start("console").info("heard", word="a\x1b[2Jb\nc")

    assert r"a\x1b[2Jb\nc" in capsys.readouterr().err.replace("\\\\", "\\")


@pytest.mark.requirement("X-95")
@pytest.mark.parametrize("name", ["uvicorn.error", "uvicorn.access", "procrastinate.worker", "psycopg.pool"])
def test_other_packages_log_the_same_way(capsys: Capture, name: str):
    foreign = logging.getLogger(name)
    foreign.addHandler(logging.StreamHandler(sys.stdout))
    foreign.propagate = False
    foreign.setLevel(logging.CRITICAL)
    start()

    foreign.warning("took %s seconds\nand more", 3)

    captured = capsys.readouterr()
    assert captured.out == ""
    line = json.loads(captured.err)
    assert line["event"] == "took 3 seconds\nand more"
    assert (line["logger"], line["level"], line["at"]) == (name, "warning", "2026-01-05T12:00:00Z")


def test_chatter_of_other_packages_stays_out(capsys: Capture):
    start(level="debug")
    logging.getLogger("httpx").info("HTTP Request: POST")

    assert capsys.readouterr().err == ""


def test_warnings_of_python_go_the_same_way(capsys: Capture):
    start()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        warnings.warn("old way", UserWarning, stacklevel=1)

    assert "old way" in lines(capsys)[-1]["event"]


@pytest.mark.parametrize(("level", "written"), [("info", 2), ("error", 1)])
def test_only_lines_from_the_level_on_are_written(capsys: Capture, level: str, written: int):
    log = start(level=level)
    log.debug("a")
    log.info("b")
    log.error("c")

    assert len(lines(capsys)) == written


def test_a_line_that_cannot_be_written_is_counted_and_harms_nobody(monkeypatch: pytest.MonkeyPatch):
    before = DROPPED.labels("log_line")._value.get()
    log = start()

    class Gone:
        def write(self, _: str) -> None:
            raise BrokenPipeError

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stderr", Gone())
    log.info("one")
    logging.getLogger("elsewhere").error("two")

    assert DROPPED.labels("log_line")._value.get() == before + 2


def test_fields_that_nest_without_end_are_cut_off():
    loop: dict[str, Any] = {}
    loop["loop"] = loop
    rules = LogRules(redact=redact, content=False, one_line=True)

    assert "{...}" in str(rules.allowed("loop", loop))


@pytest.mark.requirement("X-95")
def test_inside_somebodys_program_lines_go_to_its_own_logging_and_not_to_stdout(
    capsys: Capture, caplog: pytest.LogCaptureFixture
):
    structlog.reset_defaults()
    use_host_logging(redact=lambda text: text.replace("sk-secret", "[redacted]"), clock=lambda: MONDAY)

    with caplog.at_level(logging.WARNING, logger="festinger"):
        structlog.get_logger().debug("looked")
        structlog.get_logger().warning("went on", why="sk-secret")

    assert capsys.readouterr().out == ""
    assert [record.name for record in caplog.records] == ["festinger"]
    assert "[redacted]" in caplog.text
    assert "looked" not in caplog.text


def test_a_program_that_has_set_structlog_up_is_left_alone():
    start()
    before = structlog.get_config()

    use_host_logging(redact=str)

    assert structlog.get_config() == before
