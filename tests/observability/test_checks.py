"""What is wrong, and what should be done about it?"""

import pytest

from festinger.observability.checks import Check, CheckSeverity, failed_check, ok_check, warning_check, worst_severity

FINE = ok_check("disk", "Plenty of space.", free_mb=9000)
LOW = warning_check("disk", "Little space.", "Make room.", free_mb=700)
GONE = failed_check("store", "No answer.", "Start it.")


@pytest.mark.parametrize(
    ("checks", "severity"),
    [
        ([], CheckSeverity.OK),
        ([FINE], CheckSeverity.OK),
        ([LOW, FINE], CheckSeverity.WARN),
        ([LOW, GONE, FINE], CheckSeverity.FAIL),
    ],
)
def test_a_list_is_as_bad_as_its_worst_check(checks: list[Check], severity: CheckSeverity):
    assert worst_severity(checks) is severity


def test_a_check_is_data_that_every_door_shows_alike():
    assert LOW.as_json() == {
        "name": "disk",
        "severity": "warn",
        "message": "Little space.",
        "remedy": "Make room.",
        "details": {"free_mb": 700},
    }
