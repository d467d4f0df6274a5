from pathlib import Path

from tests.cli.shell import Shell


def test_with_manual_migration_only_the_command_migrates(person: Path, empty_database_url: str):
    manual = {"FESTINGER_STORE__MIGRATE": "manual"}
    shell = Shell(home=person, database=empty_database_url, environment=manual)
    refused = shell("status")
    applied = shell("migrate", "--json").json["applied"]

    assert refused.code == 5
    assert "festinger migrate" in refused.err
    assert applied[0].startswith("0023")
    assert shell("migrate").out == "Nothing to do: the database has its present shape.\n"
    assert shell("status").code == 0
