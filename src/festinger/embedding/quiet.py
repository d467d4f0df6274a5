"""The runtime, kept from reporting home.

Official builds of onnxruntime for Linux and macOS send telemetry and write a device id into the user's cache
folder as soon as they are imported; only this variable, set before the import, prevents both. So every other
module takes the runtime from here. Where an application imported it earlier, what can still be switched off is.
"""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as faults

ort.disable_telemetry_events()

__all__ = ["faults", "ort"]
