import asyncio
import json

import pytest
from tests.cli.shell import PATIENCE_S, Shell

from festinger.jobs.dead_letters import list_jobs
from festinger.settings.tree import StoreSettings
from festinger.store.pool import open_store


def kill_job(shell: Shell, job: int) -> None:
    """Let a job have failed for good, as its last attempt would have left it."""

    async def fail() -> None:
        assert shell.database
        async with open_store(shell.database, StoreSettings(), door="test") as store:
            async with store.transaction() as transaction:
                await transaction.connection.execute(
                    "update procrastinate_jobs set status = 'failed', attempts = 6 where id = %s", (job,)
                )
            assert await list_jobs(store)

    asyncio.run(fail())


@pytest.mark.requirement("X-52")
def test_dead_jobs_are_listed_retried_and_dropped_by_command(shell: Shell):
    job = shell("jobs", "run", "prune_events", "--json").json["job"]
    kill_job(shell, job)
    listed = shell("jobs", "--dead", "--json").json

    assert [(one["id"], one["name"], one["attempts"], one["state"]) for one in listed] == [
        (job, "prune_events", 6, "dead")
    ]
    assert {"ids", "error", "first_failed_at", "last_failed_at"} <= listed[0].keys()
    assert "prune_events" in shell("jobs", "--dead").out
    assert shell("jobs", "list", "--dead", "--json").json == listed
    assert shell("jobs", "--state", "dead", "--json").json == listed

    assert shell("jobs", "retry", str(job), "--json").json == {"retried": [job]}
    assert shell("jobs", "--dead", "--json").json == []
    kill_job(shell, job)
    assert shell("jobs", "drop", str(job), "--note", "not needed", "--json").json == {"dropped": job}
    assert shell("jobs", "--dead", "--json").json == []
    assert shell("jobs", "--state", "dropped", "--json").json[0]["drop_note"] == "not needed"


@pytest.mark.requirement("X-52")
def test_a_dead_job_that_is_not_there_is_not_found(shell: Shell):
    assert shell("jobs", "retry", "42").code == 3
    assert shell("jobs", "drop", "42", "--note", "x").code == 3
    assert shell("jobs", "retry").code == 2
    assert shell("jobs", "--dead", "--state", "running").code == 2


@pytest.mark.requirement("X-57", "X-105")
def test_a_job_that_is_waited_for_is_followed_to_its_end_while_a_worker_does_it(shell: Shell):
    worker = shell.process("worker")
    try:
        ended = shell("jobs", "run", "prune_events", "--wait", "--json")
    finally:
        worker.terminate()
        out, err = worker.communicate(timeout=PATIENCE_S)

    assert ended.code == 0, ended.err
    assert ended.json["state"] == "done"
    assert (worker.returncode, out) == (0, "")
    assert all(json.loads(line) for line in err.splitlines() if line.startswith("{"))
    assert shell("status", "--json").json["life"]["crashes"] == 0
