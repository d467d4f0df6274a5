"""Health checks as data: what is wrong, and what to do about it.

The same list is printed by `festinger doctor`, served as JSON and shown in the console. Each package builds
the checks about itself.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Report = Callable[[int, int | None, str], None]
"""Called while a long check runs with what is done, the total if known, and a note."""


class CheckSeverity(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    name: str
    severity: CheckSeverity
    message: str
    remedy: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "severity": self.severity.value,
            "message": self.message,
            "remedy": self.remedy,
            "details": dict(self.details),
        }


def ok_check(name: str, message: str, **details: Any) -> Check:
    return Check(name=name, severity=CheckSeverity.OK, message=message, details=details)


def warning_check(name: str, message: str, remedy: str, **details: Any) -> Check:
    return Check(name=name, severity=CheckSeverity.WARN, message=message, remedy=remedy, details=details)


def failed_check(name: str, message: str, remedy: str, **details: Any) -> Check:
    return Check(name=name, severity=CheckSeverity.FAIL, message=message, remedy=remedy, details=details)


def worst_severity(checks: Iterable[Check]) -> CheckSeverity:
    order = list(CheckSeverity)
    return max((check.severity for check in checks), key=order.index, default=CheckSeverity.OK)
