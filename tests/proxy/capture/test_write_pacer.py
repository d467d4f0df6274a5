"""Work beside the requests goes on while nobody waits, and rests while somebody does."""

import pytest

from festinger.proxy.capture.write import LONGEST_REST, REST, WorkPacer


class Times:
    """A stopwatch that shows these readings, one after the other."""

    def __init__(self, *readings: float) -> None:
        self._left = list(readings)

    def __call__(self) -> float:
        return self._left.pop(0)


@pytest.mark.parametrize(
    ("readings", "rests"),
    [
        ((0.0, 0.010, 0.0101, 0.011), []),
        ((0.0, 0.010, 0.015, 0.016), [REST * 0.010]),
        ((0.0, 10.0, 10.5, 11.0), [LONGEST_REST]),
    ],
    ids=["idle", "busy", "after a long piece"],
)
async def test_it_rests_as_long_as_others_need(
    readings: tuple[float, ...], rests: list[float], monkeypatch: pytest.MonkeyPatch
):
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    pace = WorkPacer(Times(*readings))
    monkeypatch.setattr("festinger.proxy.capture.write.asyncio.sleep", sleep)
    await pace.yield_to_requests()

    assert slept == pytest.approx([0, *rests])
