"""The image, the compose file and the service unit are text: read here, never built."""

import configparser
import re
from typing import Any

import pytest
import yaml
from pydantic import BaseModel
from tests.architecture.source import ROOT

from festinger.settings.tree import Settings

SHORT_FORMS = frozenset({"FESTINGER_CONFIG", "FESTINGER_SECRET_KEY", "FESTINGER_NO_BROWSER"})
SECRET_WORDS = re.compile(r"password|secret|token|api_?key", re.IGNORECASE)

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile as pairs of instruction and what it says, continued lines joined."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines if line.strip())]


def said(instruction: str) -> list[str]:
    return [rest for word, rest in instructions() if word == instruction]


def unit() -> configparser.ConfigParser:
    # Not strict: `Environment=` stands more than once in a unit, and is read below as text.
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.read(ROOT / "festinger.service")
    return parser


def known_variables(section: type[BaseModel] = Settings, prefix: str = "FESTINGER_") -> set[str]:
    names: set[str] = set()
    for name, field in section.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            names |= known_variables(kind, f"{prefix}{name.upper()}__")
        else:
            names.add(f"{prefix}{name.upper()}")
    return names | SHORT_FORMS


def test_the_base_is_a_slim_python_that_a_release_can_name_by_digest():
    assert said("ARG") == ["PYTHON=python:3.11-slim"]
    assert {line.split()[0] for line in said("FROM")} == {"${PYTHON}"}


def test_the_container_does_not_run_as_root():
    assert said("USER") == ["10001"]


def test_the_image_asks_for_its_health_without_the_database():
    (check,) = said("HEALTHCHECK")

    assert "/admin/healthz" in check


def test_data_and_key_lie_on_volumes_of_their_own():
    assert said("VOLUME") == ['["/config", "/data"]']
    assert "FESTINGER_HOME=/data" in said("ENV")[0]


def test_no_layer_holds_a_secret():
    assert [line for word, line in instructions() if word in ("ENV", "ARG") and SECRET_WORDS.search(line)] == []


def test_everything_in_the_image_comes_from_the_locks():
    installs = [part for line in said("RUN") for part in line.split("&&") if "pip install" in part]

    assert all("--require-hashes" in part or "--no-index" in part for part in installs)


def test_every_copied_path_is_in_the_tree_and_reaches_the_builder():
    copied = [path for line in said("COPY") if not line.startswith("--from") for path in line.split()[:-1]]
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}

    assert [path for path in copied if not (ROOT / path).exists()] == []
    assert set(copied) == let_in


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml", "festinger.service"])
def test_every_variable_is_a_setting(name: str):
    used = set(re.findall(r"\bFESTINGER_[A-Z0-9_]+", (ROOT / name).read_text()))

    assert used - known_variables() == set()


def test_the_services_are_reached_from_this_machine_only():
    ports = [port for service in COMPOSE["services"].values() for port in service.get("ports", [])]

    assert ports == ["127.0.0.1:11435:11435"]


def test_the_root_of_the_container_is_read_only():
    festinger = COMPOSE["services"]["festinger"]

    assert festinger["read_only"] is True
    assert festinger["cap_drop"] == ["ALL"]
    assert {volume.partition(":")[2] for volume in festinger["volumes"]} == {"/config", "/data"}


def test_the_upstream_is_the_machine_that_runs_the_container():
    festinger = COMPOSE["services"]["festinger"]

    assert festinger["environment"]["FESTINGER_PROXY__UPSTREAM"] == "http://host.docker.internal:11434"
    assert festinger["extra_hosts"] == ["host.docker.internal:host-gateway"]


def test_secrets_are_files():
    assert all(set(secret) == {"file"} for secret in COMPOSE["secrets"].values())
    plain = [
        name
        for service in COMPOSE["services"].values()
        for name, value in service["environment"].items()
        if SECRET_WORDS.search(name) and not str(value).startswith("/run/secrets/")
    ]
    assert plain == []


def test_the_database_is_a_postgres_with_pgvector():
    assert COMPOSE["services"]["postgres"]["image"].startswith("pgvector/pgvector:0.8")


def test_a_stop_waits_longer_than_running_requests_may_take():
    grace = int(COMPOSE["services"]["festinger"]["stop_grace_period"].removesuffix("s"))
    patience = int(unit()["Service"]["TimeoutStopSec"])

    assert min(grace, patience) > Settings().server.shutdown_seconds


def test_the_service_has_a_user_of_its_own_and_few_rights():
    service = unit()["Service"]

    assert service["User"] == "festinger"
    assert service["ExecStart"].endswith("/festinger serve")
    assert (service["NoNewPrivileges"], service["ProtectSystem"]) == ("true", "strict")


def test_the_service_keeps_its_key_out_of_its_data():
    lines = re.findall(r"^Environment=(\w+)=(\S+)$", (ROOT / "festinger.service").read_text(), re.MULTILINE)
    given = dict(lines)

    assert not f"{given['HOME']}/.config/".startswith(given["FESTINGER_HOME"])
