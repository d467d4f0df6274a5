"""`festinger consolidate` and `festinger nights`: run, preview, read and take back a night at the prompt."""

import json
from pathlib import Path

import pytest
from tests.cli.shell import Shell

LONG = "Ann told at length how the garden came to be and what she learned from it in all these years. " * 4
SHORT = "Ann told how the garden came to be"


def writer(folder: Path) -> dict[str, str]:
    """A model whose only answer is a short form."""
    file = folder / "answers.jsonl"
    file.write_text(json.dumps({"reasoning": "r", "short": SHORT}) + "\n")
    return {"FESTINGER_LLM__WRITE": f"scripted:{file}"}


@pytest.mark.requirement("C-14")
def test_a_night_is_previewed_run_read_and_taken_back(shell: Shell, tmp_path: Path):
    shell("learn", LONG)
    preview = shell("consolidate", "--dry-run", **writer(tmp_path))
    assert "A preview of 1 change; nothing was changed." in preview.out
    assert f'Would annotate the fact "{LONG[:100]}…"' in preview.out
    assert preview.lines[-1] == "`festinger consolidate` does this."
    run = shell("consolidate", "--step", "rewrite", "--json", **writer(tmp_path)).json
    listed = shell("nights", "--json").json
    told = shell("nights", run["id"][:13])

    assert [each["state"] for each in listed] == ["done", "done"]
    assert (run["items"][0]["kind"], run["items"][0]["after"]) == ("annotated", SHORT)
    assert f'Annotated the fact "{LONG[:100]}…"' in told.out
    assert f"`festinger nights {run['id'][:18]} --undo` takes it back" in told.out
    assert [line.split()[2:4] for line in shell("nights").lines[1:]] == [["done", "1"], ["preview", "0"]]
    undone = shell("nights", run["id"], "--item", run["items"][0]["change"])
    assert "(undone)" in undone.out
    assert "--undo" not in undone.out


@pytest.mark.requirement("C-14")
def test_an_unknown_step_or_night_is_refused(shell: Shell):
    assert shell("consolidate", "--step", "dance").code == 2
    assert shell("nights", "018f3a5e").code == 3
    assert "`festinger consolidate --dry-run` shows what one would do" in shell("nights").out
