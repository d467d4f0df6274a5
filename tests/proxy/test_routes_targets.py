"""A target that two servers may read differently is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.clock import system_stopwatch
from festinger.proxy.routes import decode_path, find_target_fault, split_target

DOUBTFUL = [
    b"/a/../b", b"/..", b"/a/..", b"/%2e%2e/x", b"/.%2E/x", b"/%2e/x", b"/./x", b"/a//b", b"//a", b"/a%2fb", b"/a%2Fb",
    b"/a%5cb", b"/a\\b", b"/a%0d%0ab", b"/a%0Ab", b"/a%00", b"http://evil.example/x", b"*", b"", b"evil.example:80",
    b"/a b", b"/a\tb", b"/\xc3\xa4", b"/a#b", b"/a?b#c",
]  # fmt: skip
CLEAR = [
    b"/", b"/api/chat", b"/v1/models/llama3.2:1b", b"/a?x=../..&y=//&z=%2F", b"/a?", b"/...", b"/a..b", b"/.well-known/x",
    b"/a%20b", b"/a;b=c", b"/a,b!$&'()*+=:@", b"/%c3%a4",
]  # fmt: skip


@pytest.mark.requirement("P-85", "F-65")
@pytest.mark.parametrize("target", DOUBTFUL)
def test_a_doubtful_target_is_refused(target: bytes):
    assert find_target_fault(target) is not None


@pytest.mark.requirement("P-85")
@pytest.mark.parametrize("target", CLEAR)
def test_a_clear_target_passes(target: bytes):
    assert find_target_fault(target) is None


@given(st.lists(st.sampled_from([b"a", b"..", b"%2e", b".", b"b.c", b"%20"]), min_size=1, max_size=6))
def test_no_segment_of_a_clear_path_climbs(segments: list[bytes]):
    target = b"/" + b"/".join(segments)

    climbs = any(decode_path(segment) in (".", "..") for segment in segments)
    assert (find_target_fault(target) is not None) is climbs


@given(st.binary(max_size=80))
def test_path_and_query_are_the_whole_target(target: bytes):
    path, query = split_target(target)

    assert path + query == target
    assert b"?" not in path


@pytest.mark.requirement("P-86")
@pytest.mark.parametrize("piece", [b".", b"/%2e", b"/a", b"//", b"%"])
def test_hostile_targets_cost_no_more_than_their_length(piece: bytes):
    def cost(size: int) -> float:
        hostile = b"/" + piece * (size // len(piece))
        return min(_seconds(hostile) for _ in range(5))

    # Eight times the length; what grows by the square would cost sixty-four times as much.
    assert cost(2**20) <= 40 * cost(2**17)


def _seconds(target: bytes) -> float:
    began = system_stopwatch()
    find_target_fault(target)
    return system_stopwatch() - began
