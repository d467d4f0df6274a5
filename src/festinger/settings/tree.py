"""Every setting there is: its default, its bounds and its meaning.

One section a room. A key is `live` (in force at once) unless it says `restart`. Keys marked per space may
have a row of their own for a space. A key that is read before the database is open is `early`: the config
table cannot hold it. Unknown keys are refused. Where values come from is `sources`' matter.
"""

import re
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from croniter import croniter
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator

CRON_FIELDS = 5
_CHANCE = re.compile(r"(?:^|[\s,])[rh]", re.IGNORECASE)


def key(
    default: Any,
    meaning: str,
    *,
    restart: bool = False,
    per_space: bool = False,
    early: bool = False,
    allowed: str = "",
    **bounds: Any,
) -> Any:
    """A setting with its one-line meaning. `allowed` says what may stand there where the type does not."""
    extra: dict[str, Any] = {
        "restart": restart or early,
        "per_space": per_space,
        "early": early,
        "allowed": allowed,
    }
    return Field(default, description=meaning, json_schema_extra=extra, **bounds)


CRON_WORDS = "a cron line of five fields such as `0 2 * * *`, or empty"
URL_WORDS = "an http address such as `http://127.0.0.1:11434`, without a password or a query"
MODEL_WORDS = "text of the form `provider:model`"


def _cron(line: str) -> str:
    # croniter also takes seconds, nicknames, and random or hashed fields; a minute's tick can keep none of them.
    is_plain = len(line.split()) == CRON_FIELDS and line.isascii() and not _CHANCE.search(line)
    if line and not (is_plain and croniter.is_valid(line)):
        raise ValueError(f"must be {CRON_WORDS}")
    return line


def _http_url(url: str) -> str:
    parts = urlsplit(url)
    is_plain = not (parts.query or parts.fragment or parts.username or parts.password)
    # Reading the port raises ValueError where it is none.
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0 or not is_plain:
        raise ValueError(f"must be {URL_WORDS}")
    return url.rstrip("/")


Cron = Annotated[str, AfterValidator(_cron)]
HttpUrl = Annotated[str, AfterValidator(_http_url)]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)


class StoreSettings(Section):
    pool_min: int = key(1, "Database connections kept open.", early=True, ge=1, le=100)
    pool_max: int = key(10, "Database connections at most.", early=True, ge=2, le=1000)
    statement_timeout_ms: int = key(30_000, "Longest a statement may run.", early=True, ge=100, le=3_600_000)
    hot_timeout_ms: int = key(
        250, "Longest a statement of the request path may run.", early=True, ge=10, le=60_000
    )
    start_timeout: int = key(
        120, "Seconds to wait for the embedded server to start.", early=True, ge=5, le=3600
    )
    stop_when_idle: bool = key(True, "Stop the embedded server when the last process leaves.", early=True)
    listen_url: SecretStr | None = key(
        None, "Direct database URL for LISTEN, behind a transaction pooler.", early=True
    )
    migrate: Literal["auto", "manual"] = key(
        "auto", "Whether a start migrates the schema by itself.", early=True
    )
    backup_schedule: Cron = key("", "Cron line of automatic backups; empty for none.", allowed=CRON_WORDS)
    backup_keep: int = key(7, "Automatic backups that are kept.", ge=1, le=1000)
    cache_mb: int = key(256, "Memory for all caches of a process.", ge=16, le=65_536)
    disk_warn_mb: int = key(1024, "Free disk space below which `doctor` warns.", ge=0, le=10_000_000)
    disk_stop_mb: int = key(256, "Free disk space below which growing work pauses.", ge=0, le=10_000_000)

    @model_validator(mode="after")
    def _pool_bounds_in_order(self) -> Self:
        if self.pool_min > self.pool_max:
            raise ValueError("`store.pool_min` must not be above `store.pool_max`")
        return self


class EventsSettings(Section):
    retention_days: int = key(30, "Days that delivered events are kept.", ge=1, le=3650)
    audit_days: int = key(365, "Days that events of who did what are kept.", ge=1, le=36_500)


class JobsSettings(Section):
    workers: int = key(
        2, "Jobs that one process runs at once beyond one per queue.", restart=True, ge=1, le=64
    )
    max_waiting: int = key(100_000, "Waiting jobs above which low-value work pauses.", ge=100, le=100_000_000)
    keep_done_days: int = key(7, "Days that finished jobs are kept.", ge=1, le=3650)


class EmbeddingSettings(Section):
    model: str = key(
        "onnx:all-minilm-l6-v2",
        "Embedder, as `provider:model`.",
        restart=True,
        pattern=r"^[a-z][a-z0-9_-]*:.*$",
        allowed=MODEL_WORDS,
    )
    base_url: HttpUrl | None = key(
        None, "Where the embedder's provider answers, if not at its usual address.", restart=True
    )
    api_key: SecretStr | None = key(None, "Key that the embedder's provider is sent.", restart=True)
    batch: int = key(100, "Texts in one embedding call.", restart=True, ge=1, le=1000)
    timeout_s: int = key(30, "Longest an embedding call may take.", restart=True, ge=1, le=600)


class RerankSettings(Section):
    model: str = key("", "Reranker, as `provider:model`; empty for none.", restart=True)


class LlmSettings(Section):
    write: str = key(
        "",
        "Model that turns text into facts, as `provider:model` or a model id; empty for none.",
        per_space=True,
    )
    resolve: str = key("", "Model that resolves conflicts.", per_space=True)
    judge: str = key("", "Model that judges two statements.", per_space=True)
    chat: str = key("", "Model that the agent talks with.", per_space=True)
    system2: str = key("", "Model for slow, careful thought.", per_space=True)
    timeout_s: int = key(120, "Longest a model call may take.", ge=1, le=3600)
    max_parallel: int = key(4, "Model calls at once, per provider.", ge=1, le=256)
    max_calls_per_hour: int = key(1000, "Model calls an hour, per purpose.", ge=0, le=1_000_000)
    daily_limit_usd: float | None = key(
        None, "Money that model calls may cost in 24 hours; empty for no limit.", ge=0
    )


class SecretsSettings(Section):
    key_file: str = key("~/.config/festinger/key", "File with the master key.", early=True, min_length=1)


class LogSettings(Section):
    level: Literal["debug", "info", "warning", "error"] = key(
        "info", "Least severe log line that is written.", early=True
    )
    format: Literal["auto", "json", "console"] = key(
        "auto", "Form of a log line; `auto` is JSON unless on a terminal.", early=True
    )
    content: bool = key(False, "Whether log lines may hold texts of people and models.", early=True)


class MetricsSettings(Section):
    enabled: bool = key(True, "Whether `/admin/metrics` answers.")
    space_label: bool = key(False, "Whether metrics carry the space as a label.", restart=True)


class ServerSettings(Section):
    host: str = key("127.0.0.1", "Address that the server listens on.", early=True, min_length=1)
    port: int = key(11435, "Port that the server listens on.", early=True, ge=1, le=65_535)
    hosts: tuple[str, ...] = key((), "Further names that the Host header may give.")
    origins: tuple[str, ...] = key((), "Further origins that a browser may send from.")
    shutdown_seconds: int = key(30, "Seconds that running requests get at a stop.", ge=0, le=3600)


class AuthSettings(Section):
    loopback: Literal["open", "strict"] = key("open", "Whether callers on this machine need a key too.")


class UpstreamSettings(Section):
    ollama: HttpUrl | None = key(None, "Where `/api/…` goes, if not to `proxy.upstream`.", allowed=URL_WORDS)
    openai: HttpUrl | None = key(None, "Where `/v1/…` goes, if not to `proxy.upstream`.", allowed=URL_WORDS)
    anthropic: HttpUrl | None = key(
        None, "Where `/v1/messages…` goes, if not to `proxy.upstream`.", allowed=URL_WORDS
    )


class ProxySettings(Section):
    upstream: HttpUrl = key("http://127.0.0.1:11434", "Where requests are forwarded to.", allowed=URL_WORDS)
    upstreams: UpstreamSettings = key(UpstreamSettings(), "Upstreams by protocol.")
    upstream_key: SecretStr | None = key(None, "Key that the upstream is sent in place of ours.")
    body_max_bytes: int = key(64 * 2**20, "Largest JSON body that is forwarded.", ge=1024, le=2**32)
    headers: bool = key(True, "Whether answers carry `X-Festinger-…` headers.")
    allow_management: bool = key(False, "Whether callers beyond this machine may pull and delete models.")


class BenchSettings(Section):
    repeat: int = key(3, "Runs of a timing suite.", ge=1, le=100)


class Settings(Section):
    """All settings of one process, as they are in force."""

    database_url: SecretStr | None = key(None, "Any Postgres by URL; empty for the embedded one.", early=True)
    home: str = key("", "Folder for data and backups; empty for the usual place of this user.", early=True)
    offline: bool = key(False, "Refuse every provider beyond this machine.", early=True)
    store: StoreSettings = StoreSettings()
    events: EventsSettings = EventsSettings()
    jobs: JobsSettings = JobsSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    rerank: RerankSettings = RerankSettings()
    llm: LlmSettings = LlmSettings()
    secrets: SecretsSettings = SecretsSettings()
    log: LogSettings = LogSettings()
    metrics: MetricsSettings = MetricsSettings()
    server: ServerSettings = ServerSettings()
    auth: AuthSettings = AuthSettings()
    proxy: ProxySettings = ProxySettings()
    bench: BenchSettings = BenchSettings()
