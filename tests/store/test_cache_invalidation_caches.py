import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.observability.metrics import DEGRADED
from festinger.store.cache_invalidation import BoundedCache


def cache(limit: int) -> BoundedCache[str, str]:
    return BoundedCache("words", limit=limit, weigh=len)


def test_what_was_kept_is_found() -> None:
    words = cache(10)

    assert words.keep("a", "apple")
    assert words.find("a") == "apple"
    assert words.find("b") is None
    assert words.degraded("a") == ()


@pytest.mark.requirement("X-63")
def test_the_longest_unused_gives_way() -> None:
    words = cache(10)
    words.keep("a", "12345")
    words.keep("b", "12345")
    words.find("a")

    words.keep("c", "1")

    assert list(words) == ["a", "c"]
    assert words.degraded("b") == ()


@pytest.mark.requirement("X-63")
def test_what_would_not_fit_alone_is_not_kept_and_says_degraded() -> None:
    words = cache(10)
    words.keep("a", "12345")
    before = DEGRADED.labels("cache")._value.get()

    assert not words.keep("b", "12345678901")

    assert words.find("b") is None
    assert words.degraded("b") == ("cache",)
    assert words.find("a") == "12345"
    assert DEGRADED.labels("cache")._value.get() == before + 1


@pytest.mark.requirement("X-63")
def test_what_has_grown_too_large_takes_its_older_self_along() -> None:
    words = cache(10)
    words.keep("a", "12345")

    words.keep("a", "12345678901")

    assert "a" not in words
    assert words.size == 0


@pytest.mark.parametrize("mend", ["shrink", "drop"])
def test_degraded_ends_when_its_cause_ends(mend: str) -> None:
    words = cache(10)
    words.keep("a", "12345678901")

    match mend:
        case "shrink":
            words.keep("a", "1")
        case "drop":
            words.drop("a")

    assert words.degraded("a") == ()


STEPS = st.lists(st.tuples(st.sampled_from(["keep", "drop", "find"]), st.sampled_from("abcd"), st.integers(0, 30)))


@pytest.mark.requirement("X-63")
@given(steps=STEPS)
def test_a_cache_never_holds_more_than_its_limit_and_counts_what_it_holds(steps: list[tuple[str, str, int]]) -> None:
    words = cache(20)
    for operation, key, number in steps:
        match operation:
            case "keep":
                assert words.keep(key, "x" * number) is (number <= words.limit)
            case "drop":
                words.drop(key)
            case "find":
                words.find(key)

        held = [words.find(kept) or "" for kept in list(words)]
        assert words.size == sum(map(len, held)) <= words.limit
