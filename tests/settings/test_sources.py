"""Where does each setting come from?"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.errors import BadInput, BadSetting, UnknownSetting
from festinger.ids import SpaceId
from festinger.settings.deployment import Deployment, capture_deployment
from festinger.settings.keys import KEYS
from festinger.settings.sources import ConfigTableRow, LoadedSettings, SourceKind, layer_from_environment, load_settings
from festinger.settings.tree import Settings

CANARY = "canary-5f1e6c"


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    """A process with no settings at all."""
    return Deployment(environment={}, folder=tmp_path, config_folder=tmp_path / "config")


def with_file(deployment: Deployment, text: str) -> Path:
    path = deployment.folder / "festinger.yaml"
    path.write_text(text)
    return path


def loaded(deployment: Deployment, *rows: ConfigTableRow, **changes: object) -> LoadedSettings:
    values = {name: getattr(deployment, name) for name in Deployment.__dataclass_fields__}
    return load_settings(Deployment(**(values | changes)), rows)


def row(key: str, value: str, space: str = "*") -> ConfigTableRow:
    return ConfigTableRow(space=SpaceId(space), key=key, value=value)


@pytest.mark.requirement("X-11")
def test_without_any_source_every_key_has_its_default(deployment: Deployment):
    assert loaded(deployment).tree == Settings()
    assert {setting.source.kind for setting in loaded(deployment).settings()} == {SourceKind.DEFAULT}


@pytest.mark.requirement("X-11")
def test_each_source_is_stronger_than_the_one_before(deployment: Deployment):
    key = "llm.max_parallel"
    environment = {"FESTINGER_LLM__MAX_PARALLEL": "7"}
    steps = [loaded(deployment)]
    with_file(deployment, "llm:\n  max_parallel: 5\n")
    steps.append(loaded(deployment))
    steps.append(loaded(deployment, row(key, "6")))
    steps.append(loaded(deployment, row(key, "6"), environment=environment))
    steps.append(loaded(deployment, row(key, "6"), environment=environment, command_line={key: 8}))

    assert [step.tree.llm.max_parallel for step in steps] == [4, 5, 6, 7, 8]
    assert [step.source(key).kind for step in steps] == list(SourceKind)


@pytest.mark.requirement("X-11")
def test_the_file_is_the_named_one_else_the_folder_s_else_the_user_s(deployment: Deployment, tmp_path: Path):
    deployment.config_folder.mkdir()
    (deployment.config_folder / "config.yaml").write_text("log: {level: debug}")
    assert loaded(deployment).tree.log.level == "debug"

    with_file(deployment, "log: {level: warning}")
    assert loaded(deployment).tree.log.level == "warning"

    (tmp_path / "named.yaml").write_text("log: {level: error}")
    environment = {"FESTINGER_CONFIG": str(tmp_path / "named.yaml")}
    assert loaded(deployment, environment=environment).tree.log.level == "error"

    (tmp_path / "option.yaml").write_text("log: {level: info}")
    option = tmp_path / "option.yaml"
    assert loaded(deployment, environment=environment, config=option).tree.log.level == "info"


@pytest.mark.requirement("X-11")
def test_a_named_file_that_is_missing_stops_the_start(deployment: Deployment, tmp_path: Path):
    with pytest.raises(BadSetting, match="is not a file"):
        loaded(deployment, config=tmp_path / "nowhere.yaml")


@pytest.mark.requirement("X-11")
def test_short_variables_are_known_and_those_outside_the_tree_are_left_alone(deployment: Deployment):
    environment = {
        "FESTINGER_DATABASE_URL": f"postgres://u:{CANARY}@h/db",
        "FESTINGER_HOME": "/srv/festinger",
        "FESTINGER_OFFLINE": "1",
        "FESTINGER_SECRET_KEY": "A" * 44,
        "FESTINGER_NO_BROWSER": "1",
        "FESTINGER_HOOK_SECONDS": "2",
        "HOME": "/home/somebody",
    }
    found = loaded(deployment, environment=environment)

    assert found.tree.home == "/srv/festinger"
    assert found.tree.offline
    assert found.tree.database_url is not None
    assert found.tree.database_url.get_secret_value().endswith("@h/db")
    assert set(found.sources) == {"database_url", "home", "offline"}


@pytest.mark.requirement("X-10", "X-11")
def test_any_other_variable_of_ours_is_refused_with_the_nearest_name(deployment: Deployment):
    with pytest.raises(UnknownSetting) as refused:
        loaded(deployment, environment={"FESTINGER_STORE__POOL_MXA": CANARY})

    assert refused.value.exit == 2
    assert "`store.pool_mxa`" in refused.value.message
    assert "did you mean `store.pool_max` (`FESTINGER_STORE__POOL_MAX`)?" in refused.value.message
    assert CANARY not in refused.value.message


@pytest.mark.parametrize("variable", ["FESTINGER_POOL_MAX", "FESTINGER_", "FESTINGER___", "FESTINGER_STORE"])
def test_a_variable_needs_the_whole_path(deployment: Deployment, variable: str):
    with pytest.raises(UnknownSetting):
        loaded(deployment, environment={variable: "3"})


@pytest.mark.requirement("X-10")
@pytest.mark.parametrize("text", ["stroe:\n  pool_max: 3\n", "\nstore: {pool_maxx: 3}", "\nstore.pool_mx: 3"])
def test_an_unknown_key_in_the_file_is_refused_with_its_line_and_the_nearest_name(deployment: Deployment, text: str):
    path = with_file(deployment, text)

    with pytest.raises(UnknownSetting, match=r"did you mean `store\.pool_max`") as refused:
        loaded(deployment)

    assert refused.value.details["line"] == 2
    assert f"{path}:2" in refused.value.message


@pytest.mark.requirement("X-10")
@pytest.mark.parametrize("text", ["nothing: {}", "nothing:\n", "store: {pool_max: {a: 1}}", "<<: {a: 1}"])
def test_an_unknown_section_is_refused(deployment: Deployment, text: str):
    with_file(deployment, text)

    with pytest.raises(UnknownSetting):
        loaded(deployment)


@pytest.mark.requirement("X-10", "F-28")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("store: {pool_max: many}", r"`store\.pool_max` must be a whole number from 2 to 1000, not `many`"),
        ("store: {pool_max: 1}", r"must be a whole number from 2 to 1000, not `1`"),
        ("store: {pool_max: [3]}", "is a list"),
        ("store: 3", "`store` is a section"),
        ("store: {pool_max: {}}", "is a section"),
        ("pool_max: 3\nstore: {pool_max: 4}", "is set twice"),
    ],
)
def test_an_unfit_value_in_the_file_is_refused_with_key_value_file_and_line(
    deployment: Deployment, text: str, words: str
):
    path = with_file(deployment, text)

    with pytest.raises(BadSetting, match=words) as refused:
        loaded(deployment)

    assert refused.value.details["source"] == "file"
    assert refused.value.details["file"] == str(path)
    assert refused.value.details["line"] in (1, 2)


def test_values_that_are_fit_alone_but_not_together_are_refused_with_both_places(deployment: Deployment):
    with_file(deployment, "store:\n  pool_max: 5\n")

    with pytest.raises(BadSetting, match="must not be above") as refused:
        loaded(deployment, environment={"FESTINGER_STORE__POOL_MIN": "9"})

    assert "festinger.yaml:2" in refused.value.message
    assert "FESTINGER_STORE__POOL_MIN" in refused.value.message


@pytest.mark.requirement("X-12")
def test_a_row_may_use_a_bare_name_and_only_rows_for_all_spaces_count_for_all(deployment: Deployment):
    found = loaded(deployment, row("max_parallel", "9"), row("llm.chat", "ollama:x", space="lab"))

    assert found.tree.llm.max_parallel == 9
    assert found.tree.llm.chat == ""


@pytest.mark.requirement("X-12")
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (row("store.pool_max", "9"), "before the database is open"),
        (row("proxy.upstream_key", CANARY), "is a secret"),
        (row("llm.max_parallel", "0"), "must be"),
    ],
)
def test_a_row_that_the_table_cannot_hold_is_refused_by_name(deployment: Deployment, bad: ConfigTableRow, words: str):
    with pytest.raises(BadSetting, match=words) as refused:
        loaded(deployment, bad)

    assert bad.key in refused.value.message
    assert CANARY not in refused.value.message + str(refused.value.details)


@pytest.mark.requirement("X-11")
def test_each_setting_says_value_default_source_meaning_and_whether_it_is_pinned(deployment: Deployment):
    environment = {"FESTINGER_SERVER__PORT": "4000", "FESTINGER_DATABASE_URL": f"postgres://u:{CANARY}@h/db"}
    found = loaded(deployment, environment=environment)

    port = found.setting("port")
    assert (port.value, port.default, port.pinned, port.key.when) == ("4000", "11435", True, "restart")
    assert str(port.source) == "environment FESTINGER_SERVER__PORT"
    assert port.key.meaning == KEYS["server.port"].meaning
    assert not found.setting("llm.chat").pinned
    assert CANARY not in repr(found.settings())


@pytest.mark.parametrize("raw", [CANARY, "[secret]"])
def test_a_bad_secret_is_refused_without_being_shown(deployment: Deployment, raw: str):
    with pytest.raises(BadSetting) as refused:
        loaded(deployment, environment={"FESTINGER_DATABASE_URL": raw + "\x00"})

    assert CANARY not in str(refused.value) + str(refused.value.details)


def test_options_that_were_not_given_set_nothing_and_others_are_read_like_text(deployment: Deployment):
    options = {"database_url": None, "port": 4000, "log.content": True, "server.hosts": ["a", "b"]}
    found = loaded(deployment, command_line=options)

    assert found.tree.database_url is None
    assert (found.tree.server.port, found.tree.log.content) == (4000, True)
    assert found.tree.server.hosts == ("a", "b")
    assert str(found.source("server.port")) == "command line port"


def test_a_command_loads_what_its_process_finds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "festinger.yaml").write_text("log: {level: debug}\n")

    found = load_settings(capture_deployment(flags={"server.port": 4001}))

    assert found.tree.log.level == "debug"
    assert found.tree.server.port == 4001
    assert found.tree.offline  # every test runs with FESTINGER_OFFLINE
    assert found.deployment == capture_deployment(flags={"server.port": 4001})


@given(
    st.dictionaries(
        st.one_of(
            st.sampled_from([key.variable for key in KEYS.values()]),
            st.text(alphabet="ABSTORE_0é", max_size=30).map("FESTINGER_".__add__),
        ),
        st.text(max_size=50),
        max_size=3,
    )
)
def test_any_environment_is_read_or_refused_by_name(environment: dict[str, str]):
    named: object
    try:
        named = [KEYS[name] for name in layer_from_environment(environment)]
    except BadInput as refused:
        named = refused.details["key"]
    assert named is not None
