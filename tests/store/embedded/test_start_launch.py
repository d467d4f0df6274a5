import pytest

from festinger.store.embedded.start import deadline_in, is_transient_failure, is_wrong_password


@pytest.mark.requirement("X-23")
@pytest.mark.parametrize(
    "reason",
    [
        "pre-existing shared memory block (key 1, ID 2) is still in use",
        'lock file "postmaster.pid" already exists',
        "the last server on this data is still starting or stopping",
    ],
)
def test_what_a_dying_server_leaves_passes_by_itself(reason: str) -> None:
    assert is_transient_failure(reason)


@pytest.mark.parametrize("reason", ["No space left on device", "gone", "it ended without a word", ""])
def test_what_waiting_does_not_mend_is_told_at_once(reason: str) -> None:
    assert not is_transient_failure(reason)
    assert not is_wrong_password(reason)


def test_a_renewed_deadline_has_its_whole_time_again() -> None:
    now = 0.0
    deadline = deadline_in(5, lambda: now)
    now = 6.0

    assert deadline.over
    assert not deadline.restart_from_now().over
