import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "festinger"


@pytest.mark.requirement("F-103")
def test_opening_the_runtime_leaves_no_device_id_behind(tmp_path: Path):
    home = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    env = {name: value for name, value in os.environ.items() if not name.startswith("ORT_")}
    program = "from festinger.embedding.quiet_onnxruntime import ort; print(ort.get_available_providers())"

    done = subprocess.run([sys.executable, "-c", program], env=env | home, capture_output=True, text=True, check=True)

    assert "CPUExecutionProvider" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("F-103")
def test_the_runtime_is_imported_in_one_place_only():
    importing = {path.name for path in SOURCE.rglob("*.py") if "import onnxruntime" in path.read_text()}

    assert importing == {"quiet_onnxruntime.py"}
