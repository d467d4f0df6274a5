"""Each statement of an operation fails once: afterwards nothing has changed, or all is there."""

import os
from pathlib import Path

import pytest
from tests.faults.bench import Bench, bench_for, form_of
from tests.faults.operations import OPERATIONS, Operation, sleep
from tests.faults.wire import KINDS, Fault, nth

from festinger.errors import FestingerError, StoreDown

EXPLORING = os.environ.get("HYPOTHESIS_PROFILE") == "exploring"
"""Every fault in every operation is left to `make explore`."""
CASES = [(name, fault) for name, each in OPERATIONS.items() for fault in Fault if EXPLORING or fault is each.fault]
PASSING = (Fault.SERIALIZATION, Fault.DEADLOCK)
"""Errors that say nothing but: try again."""


@pytest.mark.requirement("M-23", "X-26")
@pytest.mark.parametrize(("name", "fault"), CASES, ids=[f"{name}, {fault.name.lower()}" for name, fault in CASES])
async def test_an_operation_is_done_or_undone_whichever_statement_fails(
    database_url: str, tmp_path: Path, name: str, fault: Fault
):
    operation = OPERATIONS[name]
    async with bench_for(operation.prepare, database_url, tmp_path) as bench:
        numbers, reached = bench.numbers(), 0
        for number in numbers:
            error = await bench.fail(nth(number), fault)

            reached += bench.wire.is_reached
            await check(bench, operation, fault, number=number, error=error)
            bench.tables.put_back()
        # What the process does besides, such as reading the world anew, comes now and then and moves the numbers.
        assert reached > len(numbers) * 0.5


async def check(bench: Bench, operation: Operation, fault: Fault, *, number: int, error: FestingerError | None) -> None:
    """What must hold after a statement failed."""
    done = bench.wire.statements[:number]
    place = f"{fault.name} at {number}: {done[-1]}"
    if error is None:
        assert bench.is_complete(), place
        return
    assert isinstance(error, StoreDown), place
    # Whatever keeps a connection from being opened, the caller is told that there is none.
    assert error.details["kind"] in ((KINDS[fault], "lost") if operation.connects else (KINDS[fault],)), place
    if operation.goes_on:
        await bench.act()
        assert bench.is_complete(), place
    elif fault is Fault.UNANSWERED and done[-1] == "COMMIT":
        assert bench.tables.changes() == [] or bench.is_complete(), place
    else:
        assert bench.tables.changes() == [], place
    if operation.tries_again and fault in PASSING:
        # What only reads locks nothing, so that nobody is in its way; what writes is the last to begin.
        assert done.count("BEGIN") < bench.statements.count("BEGIN"), place


@pytest.mark.requirement("C-10")
@pytest.mark.parametrize("fault", Fault if EXPLORING else [Fault.DISK_FULL])
async def test_a_night_of_which_statements_of_all_forms_fail_comes_to_its_end(
    database_url: str, tmp_path: Path, fault: Fault
):
    """One failure after the other, in the same night."""
    async with bench_for(sleep, database_url, tmp_path) as bench:
        failed: set[str] = set()

        def is_new(_number: int, statement: str) -> bool:
            is_known = form_of(statement) in failed
            failed.add(form_of(statement))
            return not is_known

        stops = 0
        while True:
            error = await bench.fail(is_new, fault)
            if error is not None:
                stops += 1
                continue
            assert bench.is_complete()
            if not bench.wire.is_reached:
                break
            # It came to its end all the same, as without the statement that gives back its lock: another one.
            bench.tables.put_back()

        assert failed >= {form_of(each) for each in bench.statements}
        assert stops > len(failed) / 2


@pytest.mark.requirement("C-10")
async def test_a_night_that_stops_between_an_insight_and_the_story_about_it_gives_the_same_reasons(
    database_url: str, tmp_path: Path
):
    async with bench_for(sleep, database_url, tmp_path) as bench:
        listed = next(at for at, each in enumerate(bench.statements) if each.startswith("insert into night_item"))
        committed = bench.statements.index("COMMIT", listed)

        error = await bench.fail(nth(committed + 2), Fault.DISK_FULL)

        assert isinstance(error, StoreDown)
        assert len(bench.wire.statements) > committed
        await bench.act()
        assert bench.is_complete()
