"""Whether a document is what the docs say that a bench writes."""

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
from tests.architecture.source import ROOT

SCHEMA = json.loads((ROOT / "docs" / "reference" / "bench.schema.json").read_text())


def assert_fits_the_schema(document: Any) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
