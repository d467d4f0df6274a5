"""What does a run say about the requirements? A pytest plugin, loaded by `conftest.py`.

At the end of every run it prints `carried N, open M`. At the end of a full run it also fails when a requirement
was carried by skipped tests alone: a skip must not pass for a proof. It works the same with and without
workers, because each test's ids travel with its report.
"""

from collections import defaultdict

import pytest

from tests.requirements import read_manifest, skipped_only

PROPERTY = "requirement"
WHOLE_SUITE = ("", "not live", "not live and not reference")
"""Mark expressions under which a run still counts as the whole offline suite."""


def is_full_run(config: pytest.Config) -> bool:
    option = config.option
    return (
        config.args_source is pytest.Config.ArgsSource.TESTPATHS
        and option.markexpr in WHOLE_SUITE
        and not any((option.keyword, option.deselect, option.ignore, option.ignore_glob))
        and not any((option.lf, option.collectonly, option.stepwise))
    )


class Proofs:
    def __init__(self) -> None:
        self._outcomes: dict[str, set[str]] = defaultdict(set)
        self._found: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.outcome == "passed":
            return
        for name, needed in report.user_properties:
            if name == PROPERTY:
                self._outcomes[str(needed)].add(report.outcome)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus == pytest.ExitCode.OK and is_full_run(session.config):
            self._found = skipped_only(read_manifest(), self._outcomes)
            if self._found:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in self._found:
            terminalreporter.write_line(line, red=True)
        terminalreporter.write_line(f"requirements: {read_manifest().summary()}")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Proofs(), "festinger-proofs")


def pytest_itemcollected(item: pytest.Item) -> None:
    for mark in item.iter_markers("requirement"):
        item.user_properties.extend((PROPERTY, needed) for needed in mark.args)
