"""Canaries in every secret that this room and its tables hold, and a look into everything that comes out."""

import base64
import json
import logging
import random
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from pydantic import SecretStr
from tests.conftest import MONDAY
from tests.llm.bench import QUESTION, Verdict
from tests.llm.stub import Stub, Turn

from festinger.clock import system_clock, system_stopwatch
from festinger.errors import FestingerError
from festinger.ids import MAIN_SPACE, id_maker
from festinger.llm.client import ModelRouter, ModelRouterDeps
from festinger.llm.endpoint import ProviderName
from festinger.llm.health import check_models
from festinger.llm.ledger import ModelCaller
from festinger.llm.model import ModelPurpose
from festinger.observability.logs import configure_logging
from festinger.settings.master_key import KEY_BYTES, VARIABLE, MasterKey, Vault, ensure_master_key, system_entropy
from festinger.settings.tree import LlmSettings, ProxySettings, Settings
from festinger.store.pool import Store
from festinger.store.queries import Query
from festinger.store.repositories.models import (
    NewModel,
    StoredCallLedger,
    add_model,
    load_model_endpoint,
    load_stored_models,
)
from festinger.store.secrets import recover_master_key, rotate_master_key

API_KEY = "sk-canary-api-0123456789"
UPSTREAM_KEY = "sk-canary-upstream-0123456789"
MASTER = b"canary master key of 32 bytes..!"


@pytest.fixture
def loud_log() -> Iterator[None]:
    """The real log, at its loudest and with no redaction to hide behind."""
    handlers, level = logging.getLogger().handlers[:], logging.getLogger().level
    configure_logging(level="debug", style="json", content=True, redact=lambda text: text)
    yield
    structlog.reset_defaults()
    logging.getLogger().handlers[:] = handlers
    logging.getLogger().setLevel(level)


def forms(secret: bytes) -> list[str]:
    """How a secret could look where it should not be."""
    return [
        secret.decode(),
        secret.hex(),
        base64.b64encode(secret).decode(),
        base64.urlsafe_b64encode(secret).decode().rstrip("="),
        repr(secret),
    ]


async def everything_stored(store: Store) -> str:
    tables = await store.all(
        Query(
            room="test", name="tables", purpose="x", sql="select tablename from pg_tables where schemaname = 'public'"
        )
    )
    said = []
    for table in tables:
        sql = f"select coalesce(string_agg(t::text, ' '), '') as all from {table['tablename']} t"
        said.append(str((await store.one(Query(room="test", name="all", purpose="x", sql=sql)))["all"]))
    return " ".join(said)


def shown(error: FestingerError) -> str:
    return "".join(traceback.format_exception(error)) + repr(error) + json.dumps(error.as_json(), default=str)


@pytest.mark.requirement("X-93", "W-60")
@pytest.mark.usefixtures("loud_log")
async def test_no_secret_comes_out_anywhere(
    store: Store, stub: Stub, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert len(MASTER) == KEY_BYTES
    out: list[str] = []
    file = tmp_path / "config" / "key"
    made = ensure_master_key({}, file, data=tmp_path / "data", entropy=lambda count: MASTER[:count])
    key = await recover_master_key(store, made)
    vault = Vault(key, system_entropy)
    new_id = id_maker(lambda: MONDAY, random.Random(3))
    new = NewModel(
        space=MAIN_SPACE,
        id=new_id(),
        provider=ProviderName.OPENAI,
        model_name="m",
        api_key=SecretStr(API_KEY),
        base_url=f"{stub.address}/v1",
        created_at=MONDAY,
    )
    async with store.transaction() as transaction:
        await add_model(transaction, new, vault=vault)
    asked = await load_model_endpoint(store, new.id, space=MAIN_SPACE, vault=vault)
    board = ModelRouter(
        ModelRouterDeps(
            ledger=StoredCallLedger(store),
            clock=system_clock,
            stopwatch=system_stopwatch,
            new_id=new_id,
            environment={"OPENAI_API_KEY": API_KEY},
            offline=True,
        )
    )
    model = board.at(asked, ModelPurpose.JUDGE, caller=ModelCaller(), settings=LlmSettings())
    out += [repr(item) for item in (key, vault, new, asked, board, model, VARIABLE)]
    out += [repr(await load_stored_models(store, space=MAIN_SPACE, vault=vault))]

    echo = json.dumps({"error": {"message": API_KEY, "code": API_KEY, "type": API_KEY}}).encode()
    for status in (400, 401, 404, 429, 500):
        stub.says(Turn(status=status, body=echo))
        with pytest.raises(FestingerError) as raised:
            await model.answer(QUESTION, Verdict)
        out.append(shown(raised.value))
    out += [repr(check.as_json()) for check in await check_models({ModelPurpose.JUDGE: model}, system_stopwatch)]

    with pytest.raises(FestingerError) as raised:
        await load_model_endpoint(
            store, new.id, space=MAIN_SPACE, vault=Vault(MasterKey(raw=bytes(32)), system_entropy)
        )
    out.append(shown(raised.value))
    file.chmod(0o644)
    with pytest.raises(FestingerError) as raised:
        ensure_master_key({}, file, data=tmp_path / "data", entropy=system_entropy)
    out.append(shown(raised.value))
    file.chmod(0o600)
    with pytest.raises(FestingerError) as raised:
        ensure_master_key({VARIABLE: API_KEY}, file, data=tmp_path / "data", entropy=system_entropy)
    out.append(shown(raised.value))

    out += [repr(await rotate_master_key(store, key, entropy=system_entropy)), await everything_stored(store)]
    await board.close()
    settings = Settings(proxy=ProxySettings(upstream_key=SecretStr(UPSTREAM_KEY)))
    out += [repr(settings), settings.model_dump_json(), str(settings.model_dump())]
    captured = capfd.readouterr()
    out += [captured.out, captured.err]

    assert API_KEY in str(stub.heard[0].headers), "the key was in use all the time"
    assert "master key rotated" in captured.err, "the log was really looked at"
    whole = "\n".join(out)
    leaked = [
        form for secret in (API_KEY.encode(), UPSTREAM_KEY.encode(), MASTER) for form in forms(secret) if form in whole
    ]
    assert leaked == []
