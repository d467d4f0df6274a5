"""What is wrong, and what should be done about it?"""

import pytest

from festinger.observability.checks import Check, Severity, fail, ok, warn, worst

FINE = ok("disk", "Plenty of space.", free_mb=9000)
LOW = warn("disk", "Little space.", "Make room.", free_mb=700)
GONE = fail("store", "No answer.", "Start it.")


@pytest.mark.parametrize(
    ("checks", "severity"),
    [
        ([], Severity.OK),
        ([FINE], Severity.OK),
        ([LOW, FINE], Severity.WARN),
        ([LOW, GONE, FINE], Severity.FAIL),
    ],
)
def test_a_list_is_as_bad_as_its_worst_check(checks: list[Check], severity: Severity):
    assert worst(checks) is severity


def test_a_check_is_data_that_every_door_shows_alike():
    assert LOW.as_json() == {
        "name": "disk",
        "severity": "warn",
        "message": "Little space.",
        "remedy": "Make room.",
        "details": {"free_mb": 700},
    }
