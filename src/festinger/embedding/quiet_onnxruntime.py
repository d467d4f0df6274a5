"""Imports onnxruntime with its telemetry turned off.

Official builds for Linux and macOS send telemetry and write a device id into the user's cache folder on
import; only this variable, set before, prevents both. So every other module imports the runtime from here.
Where an application imported it earlier, what can still be switched off is switched off.
"""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as faults

ort.disable_telemetry_events()

__all__ = ["faults", "ort"]
