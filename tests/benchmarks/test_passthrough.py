"""What the blocks of a run say about the systems that took turns."""

import json

import pytest
from benchmarks.load import LoadResult, Timing
from benchmarks.passing import Blocks, added, judged, samples
from benchmarks.passthrough import METRICS, ROUTE, SHAPES, chat_body
from benchmarks.result import System, SystemKind, SystemStatus

WHOLE, STREAMED = SHAPES[0], SHAPES[2]


def block(*whole_ms: float, errors: int = 0) -> LoadResult:
    timings = [Timing(first=value / 2000, whole=value / 1000) for value in whole_ms]
    return LoadResult(timings=timings, errors=errors, seconds=1.0)


def found(latencies: Blocks, throughput: Blocks, *, shape=WHOLE) -> dict[tuple[str, str], float]:
    return {
        (sample.metric.removeprefix("passthrough."), sample.system): sample.value
        for sample in samples(ROUTE, {shape: latencies}, throughput)
    }


def test_what_is_added_is_taken_turn_by_turn():
    # In the second turn the machine was slow for both: that is no cost of the proxy.
    proxy, direct = [block(3, 3, 3), block(103, 103, 103), block(3, 3, 3)], [block(1), block(100), block(1)]

    assert added(proxy, direct, share=0.5) == pytest.approx(2)


def test_quantiles_are_compared_with_the_same_quantile():
    assert added([block(2, 2, 9)], [block(1, 1, 4)], share=0.99) == pytest.approx(5)


def test_we_are_compared_with_the_peer_in_the_same_run():
    latencies = {"direct": [block(1)], "festinger": [block(1.5)], "litellm": [block(6)]}
    throughput = {"direct": [block(1)], "festinger": [block(*[1] * 30)], "litellm": [block(*[1] * 5)]}

    numbers = found(latencies, throughput)

    assert numbers["5k.added_p50", "festinger"] == pytest.approx(0.5)
    assert numbers["5k.against_litellm", "festinger"] == pytest.approx(10)
    assert numbers["throughput.against_litellm", "festinger"] == pytest.approx(6)
    assert ("5k.added_p50", "direct") not in numbers


def test_a_difference_that_noise_made_negative_does_not_turn_the_ratio_around():
    latencies = {"direct": [block(1)], "festinger": [block(0.9)], "litellm": [block(6)]}

    numbers = found(latencies, {name: [block(1)] for name in latencies})

    assert numbers["5k.against_litellm", "festinger"] == pytest.approx(500)


def test_the_first_byte_is_told_for_streams_only():
    latencies = {"direct": [block(2)], "festinger": [block(4)]}
    throughput = {name: [block(1)] for name in latencies}

    assert found(latencies, throughput, shape=STREAMED)["5k_streamed.added_first", "festinger"] == 1.0
    assert ("5k.added_first", "festinger") not in found(latencies, throughput)


def test_a_peer_that_stops_answering_has_failed_and_has_no_numbers():
    latencies = {"direct": [block(1)], "festinger": [block(2)], "litellm": [block(errors=5)]}
    throughput = {"direct": [block(1)], "festinger": [block(1)], "litellm": [block(errors=7)]}
    systems = [System(name="festinger", kind=SystemKind.PRODUCT), System(name="litellm", kind=SystemKind.PEER)]

    numbers = found(latencies, throughput)
    ours, peer = judged(systems, {WHOLE: latencies}, throughput)

    assert [name for name, system in numbers if system == "litellm"] == ["errors"]
    assert (numbers["errors", "litellm"], ours.status, peer.status) == (12, SystemStatus.RAN, SystemStatus.FAILED)
    assert peer.reason


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_body_has_the_size_that_its_name_says(shape):
    body = chat_body(shape, seed=0)

    assert len(body) == shape.kib * 1024
    assert json.loads(body)["stream"] is shape.streamed
    assert body == chat_body(shape, seed=0) != chat_body(shape, seed=1)


def test_every_number_of_a_run_is_a_metric_of_the_suite():
    names = {metric.name for metric in METRICS}
    blocks = {name: [block(1)] for name in ("direct", "festinger", "litellm")}
    given = {sample.metric for sample in samples(ROUTE, dict.fromkeys(SHAPES, blocks), blocks)}

    assert given == names
