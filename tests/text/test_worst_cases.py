"""No regular expression of the package takes more than linear time, whatever text it meets."""

import json
import re
import subprocess
import sys

import pytest
from tests.text.worst_cases import grows_too_fast

HANG_GUARD_S = 600


def test_every_pattern_of_the_package_is_linear_on_its_worst_texts():
    # A process of its own sees every pattern being compiled, and can be ended where one never comes back.
    tried = subprocess.run(
        [sys.executable, "-m", "tests.text.worst_cases"],
        check=True,
        capture_output=True,
        text=True,
        timeout=HANG_GUARD_S,
    )
    told = [json.loads(line) for line in tried.stdout.splitlines()]

    assert len([each for each in told if "trying" in each]) > 200, "patterns are found"
    assert [each for each in told if "where" in each] == []


@pytest.mark.parametrize(("pattern", "unit"), [(r"\w+n't", "a"), (r"\s+in\s+context", " ")])
def test_a_pattern_that_is_not_linear_is_noticed(pattern: str, unit: str):
    compiled = re.compile(pattern)

    assert grows_too_fast(lambda text: sum(1 for _ in compiled.finditer(text)), lambda size: unit * size)
