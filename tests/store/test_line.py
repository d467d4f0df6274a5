from itertools import islice, pairwise

import pytest
from psycopg import OperationalError

from festinger.settings.tree import StoreSettings
from festinger.store.line import FIRST_PAUSE, LONGEST_PAUSE, Line, pauses


@pytest.mark.requirement("X-26")
def test_pauses_grow_from_a_tenth_of_a_second_to_five_seconds_and_never_end() -> None:
    first = list(islice(pauses(), 100))

    assert first[0] == FIRST_PAUSE == 0.1
    assert max(first) == LONGEST_PAUSE == 5.0
    assert all(before <= after <= 2 * before for before, after in pairwise(first))


@pytest.mark.requirement("X-27")
async def test_trouble_names_the_reason_and_never_the_password() -> None:
    line = Line("postgresql://ann:s3cret@127.0.0.1:1/s3cret", StoreSettings(), door="test")

    with pytest.raises(OperationalError) as caught:
        await line.dial()

    assert line.trouble is not None
    assert "127.0.0.1" in line.trouble
    assert "s3cret" not in line.trouble + str(caught.value)


async def test_a_line_that_was_hung_up_tries_no_more() -> None:
    line = Line("postgresql://ann@127.0.0.1:1/notes", StoreSettings(), door="test")
    line.hang_up()

    with pytest.raises(OperationalError):
        await line.redial()
