"""Renders the reference pages on metrics and errors.

They come from the list of metrics and the error tree, so they cannot lag behind the code; tests compare them
with `docs/reference`.
"""

from collections.abc import Iterator

from festinger.errors import FestingerError
from festinger.observability.metrics import LISTED, MetricInfo


def metrics_page() -> str:
    """Render every metric under its scraped name."""
    rows = sorted(_metric_row(metric) for metric in LISTED)
    return (
        "# Metrics\n\n`/admin/metrics` shows them in the Prometheus text format. Histograms reach from 1 ms to 10 s.\n\n"
        "| name | type | labels | meaning |\n|---|---|---|---|\n" + "".join(rows)
    )


def _metric_row(metric: MetricInfo) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "–"
    return f"| `{metric.scraped_name}` | {metric.kind} | {labels} | {metric.meaning} |\n"


def errors_page() -> str:
    """Render every error as a caller sees it."""
    rows = [_error_row(error) for error in walk_errors()]
    return (
        '# Errors\n\nOver HTTP an error is `{"error": {"name", "message", "hint", "request_id"}}` with the status below; '
        "a command ends with the exit code.\n\n| name | status | exit | message | hint |\n|---|---|---|---|---|\n"
        + "".join(rows)
    )


def walk_errors(root: type[FestingerError] = FestingerError) -> Iterator[type[FestingerError]]:
    """Walk the error tree, parents first."""
    yield root
    for below in sorted(root.__subclasses__(), key=lambda error: error.__name__):
        if below.__module__ == FestingerError.__module__:
            yield from walk_errors(below)


def _error_row(error: type[FestingerError]) -> str:
    cells = [f"`{error.class_name()}`", str(error.http), str(error.exit), error.default_message(), error.default_hint]
    return f"| {' | '.join(cells)} |\n"
