"""The suite `proxy`: what its numbers are made of."""

import asyncio
from collections.abc import Sequence

import pytest
from benchmarks.contenders import DIRECT
from benchmarks.load import HOST, LoadResult, request
from benchmarks.open_streams import OpenStreamListener
from benchmarks.passing import PATH, PassingShape, samples
from benchmarks.prefix import PrefixTurn, by_turn, read_turn
from benchmarks.prefix import samples as prefix_samples
from benchmarks.proxy import MET_FIRST, METRICS, ROUTE, SHAPES, distribution, growth, sizes
from benchmarks.stub import ModelServerStub
from benchmarks.suite import PRODUCT
from tests.benchmarks.test_passthrough import block
from tests.upstream import always, chunked, scripted

from festinger.clock import system_stopwatch


def times(*added_ms: float) -> dict[PassingShape, dict[str, Sequence[LoadResult]]]:
    """What is added to each shape without a stream, in the order of their sizes."""
    whole = [shape for shape in SHAPES if not shape.streamed]
    return {
        shape: {DIRECT: [block(1.0)], PRODUCT: [block(1.0 + value)]}
        for shape, value in zip(whole, added_ms, strict=True)
    }


def test_time_that_grows_with_the_body_has_a_slope_of_one():
    sizes_kib = [shape.kib for shape in SHAPES if not shape.streamed]

    (linear,) = growth(times(*(0.01 * kib for kib in sizes_kib)))
    (flat,) = growth(times(*(0.5 for _ in sizes_kib)))

    assert linear.value == pytest.approx(1)
    assert flat.value == pytest.approx(0, abs=1e-9)


def test_the_plots_show_what_is_added_and_how_long_it_takes():
    measured = times(0.5, 0.5, 1.0, 8.0)

    assert sizes(measured).points[PRODUCT][-1] == pytest.approx((1024.0, 8.0))
    assert DIRECT not in sizes(measured).points
    assert distribution(measured).points[PRODUCT][0] == pytest.approx((1.5, 0.01))


def test_every_number_of_the_requests_is_a_metric_of_the_suite():
    blocks = {name: [block(1.0)] for name in (DIRECT, PRODUCT, "litellm")}
    given = {sample.metric for sample in samples(ROUTE, dict.fromkeys((*SHAPES, MET_FIRST), blocks), blocks)}
    names = {metric.name for metric in METRICS}

    assert given < names
    assert {name.split(".")[1] for name in names - given} == {"growth", "stalled", "session", "streams", "prefix"}


# A chat whose beginning stays: each turn reads what is new, and the notes are read once.
STRAIGHT = [PrefixTurn(prompt=100, evaluated=100), PrefixTurn(prompt=200, evaluated=100)]
STEADY = [PrefixTurn(prompt=120, evaluated=120), PrefixTurn(prompt=240, evaluated=120)]
MOVED = [PrefixTurn(prompt=120, evaluated=120), PrefixTurn(prompt=240, evaluated=240)]


@pytest.mark.parametrize(("through", "ratio"), [(STEADY, 1.0), (MOVED, 1.5)], ids=["steady", "moved"])
def test_a_moved_beginning_is_read_again(through: list[PrefixTurn], ratio: float):
    found = {(sample.metric, sample.system): sample.value for sample in prefix_samples(STRAIGHT, through)}

    assert found["proxy.prefix.evaluated", PRODUCT] == pytest.approx(ratio)
    assert found["proxy.prefix.notes", PRODUCT] == 40
    assert by_turn(STRAIGHT, through).points["straight"] == [(1.0, 100.0), (2.0, 100.0)]


def test_a_turn_is_read_from_what_the_model_server_says():
    body = b'{"usage": {"prompt_tokens": 50}, "timings": {"prompt_n": 12, "prompt_ms": 3.5}}'

    assert read_turn(body) == PrefixTurn(prompt=50, evaluated=12)


async def test_a_listener_hears_a_stream_to_its_end():
    wire = request(0, PATH, b"{}")
    async with scripted(always(chunked(b"one", b"two"))) as server:
        listener = OpenStreamListener(wire, system_stopwatch)
        await asyncio.get_running_loop().create_connection(lambda: listener, HOST, server.port)

        assert await listener.ended


async def test_a_listener_tells_a_stream_that_broke_off():
    async def reset(_request, peer):
        peer.reset()
        return False

    async with scripted(reset) as server:
        listener = OpenStreamListener(request(0, PATH, b"{}"), system_stopwatch)
        await asyncio.get_running_loop().create_connection(lambda: listener, HOST, server.port)

        assert not await listener.ended


async def test_the_wait_for_the_first_byte_and_the_longest_silence_are_kept():
    readings = iter([0.0, 0.3, 0.4, 1.2, 1.3])
    listener = OpenStreamListener(b"", lambda: next(readings))
    listener.connection_made(Mute())
    for piece in (b"a", b"b", b"c", b"0\r\n\r\n"):
        listener.data_received(piece)

    assert (listener.first, listener.longest) == pytest.approx((0.3, 0.8))
    assert listener.ended.result() is True


class Mute(asyncio.Transport):
    """A connection on which nothing happens."""

    def write(self, data: object) -> None:
        pass

    def abort(self) -> None:
        pass


async def test_the_slow_model_says_all_of_its_words_one_by_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("benchmarks.stub.PACE_S", 0.0)
    server = await asyncio.get_running_loop().create_server(ModelServerStub, HOST, 0)
    port = server.sockets[0].getsockname()[1]
    listener = OpenStreamListener(request(port, PATH, b'{"model": "slow", "stream": true}'), system_stopwatch)
    await asyncio.get_running_loop().create_connection(lambda: listener, HOST, port)

    assert await listener.ended
    assert listener.longest > 0
    server.close()
