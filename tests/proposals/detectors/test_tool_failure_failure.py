"""Did a tool fail, and how?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.proposals.detectors.tool_failure import PLAIN, parse_failure

TRACE = """Traceback (most recent call last):
  File "/srv/app/{file}", line {line}, in fetch
    raise KeyError(name)
KeyError: 'row-{line}'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/app/{file}", line {line}, in main
urllib.errors.ReadTimeoutError: no answer after {line} seconds"""


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (TRACE.format(file="a.py", line=12), "ReadTimeoutError"),
        ("ConnectionError: the host is away", "ConnectionError"),
        ("Error: connection refused by 10.0.0.7", "connection refused"),
        ("HTTP 503 Service Unavailable", "HTTP 503"),
        ("status code: 404", "HTTP 404"),
        ("make: *** [all] failed\nexit code 2", "exit code 2"),
        ("Error: connect ECONNREFUSED 127.0.0.1:9200", "ECONNREFUSED"),
        ("bash: gti: command not found\nexit status: 127", "command not found"),
        ('{"error": "TimeoutError: took too long"}', "TimeoutError"),
        ('{"ok": false, "message": "rate limit reached"}', "rate limit"),
        ('{"exit_code": 3, "stderr": ""}', "exit code 3"),
        ('{"is_error": true, "content": "no"}', PLAIN),
        ("Error: something odd", PLAIN),
    ],
)
def test_a_failure_is_read_from_what_tools_write(result: str, kind: str):
    found = parse_failure(result)

    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize(
    "result",
    [
        "",
        "3 rows",
        "The log mentions an error in line 3, which was fixed.",
        "I read about TimeoutError in the manual",
        "Done.\nexit code 0",
        '{"error": null, "rows": [1, 2]}',
        '{"ok": true, "exit_code": 0}',
        '{"status": "done"}',
        "{not json",
    ],
)
def test_a_result_that_only_speaks_of_errors_is_no_failure(result: str):
    assert parse_failure(result) is None


def test_the_same_trouble_is_known_again_though_ids_times_and_paths_differ():
    one = parse_failure(TRACE.format(file="a.py", line=12))
    other = parse_failure(TRACE.format(file="b.py", line=340))

    assert one == other


def test_another_message_is_another_failure():
    assert parse_failure("ValueError: no such column") != parse_failure("ValueError: no such table")


@given(st.text(max_size=300))
def test_whatever_a_tool_writes_its_class_is_a_short_word_of_ours_or_the_name_of_a_class(text: str):
    found = parse_failure(f"Error: {text}")

    assert found is not None
    assert len(found.kind) <= 60
    assert found.kind.replace(" ", "").replace("-", "").isalnum()
