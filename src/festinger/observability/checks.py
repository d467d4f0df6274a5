"""What is wrong, and what should be done about it?

A check is data: the same list is printed by `festinger doctor`, served as JSON and shown in the console.
Rooms make checks about themselves; nothing here looks at anything.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    name: str
    severity: Severity
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


def ok(name: str, message: str, **details: Any) -> Check:
    return Check(name=name, severity=Severity.OK, message=message, details=details)


def warn(name: str, message: str, remedy: str, **details: Any) -> Check:
    return Check(name=name, severity=Severity.WARN, message=message, remedy=remedy, details=details)


def fail(name: str, message: str, remedy: str, **details: Any) -> Check:
    return Check(name=name, severity=Severity.FAIL, message=message, remedy=remedy, details=details)


def worst(checks: Iterable[Check]) -> Severity:
    order = list(Severity)
    return max((check.severity for check in checks), key=order.index, default=Severity.OK)
