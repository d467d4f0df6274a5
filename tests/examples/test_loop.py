"""The demo of an agent that repeats itself: told, warmed, pruned, stopped, let go."""

from pathlib import Path

import pytest
from examples.ground import open_environment
from examples.loop import RESULT, play_loop


@pytest.mark.requirement("P-70", "P-75")
async def test_each_repeat_is_met_by_one_step_more_until_a_person_speaks(database_url: str, tmp_path: Path):
    async with open_environment(tmp_path, say=lambda _: None, database_url=database_url) as ground:
        watched, noticed, warmed, pruned, broken, released = [scene async for scene in play_loop(ground)]
        received = len(ground.model.received)

    assert watched.got == RESULT
    assert noticed.got.startswith(f"{RESULT}\n\n[Loop guard]")
    assert "ran 4 times" in noticed.got
    assert "temperature: 1.0" in warmed.got
    assert pruned.got.startswith("5 messages instead of 17")
    assert "16 times" in broken.got
    assert "has got 16 requests" in broken.why
    assert released.got == "All right."
    assert received == 17
