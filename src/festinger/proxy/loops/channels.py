"""Reads what is said and what is thought in a reply, each with a detector of its own.

A loop in either ends the whole reply. What a tool is told is not read: half an object is of no use to anybody.
"""

from dataclasses import dataclass
from enum import StrEnum

from festinger.proxy.loops.finding import Finding
from festinger.proxy.loops.restraint import Allowance
from festinger.proxy.loops.stream import Detector
from festinger.settings.tree import StreamLoopSettings


class Channel(StrEnum):
    TEXT = "text"
    THINKING = "thinking"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    channel: Channel
    finding: Finding


class Channels:
    """One reply."""

    def __init__(self, settings: StreamLoopSettings, allowance: Allowance) -> None:
        self._settings = settings
        self._allowance = allowance
        self._detectors: dict[Channel, Detector] = {}

    def hear(self, channel: Channel, text: str) -> Heard | None:
        """The cut that this piece of a channel brings about, if it does."""
        detector = self._detectors.get(channel)
        if detector is None:
            detector = self._detectors[channel] = Detector(self._settings, self._allowance)
        if not detector.feed(text) or detector.cut is None:
            return None
        return Heard(channel=channel, finding=detector.cut)

    def finish(self) -> tuple[Heard, ...]:
        """The reply is over: everything that was found in it."""
        for detector in self._detectors.values():
            detector.finish()
        return tuple(
            Heard(channel=channel, finding=finding)
            for channel, detector in self._detectors.items()
            for finding in detector.findings
        )
