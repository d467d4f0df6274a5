"""Which settings are there, and which one does a name mean?"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from festinger.errors import BadSetting, UnknownSetting
from festinger.settings.keys import BARE, KEYS, SettingKey, find_setting_key, format_value, nearest_name, parse_value
from festinger.settings.tree import Settings

ANY_KEY = st.sampled_from(list(KEYS.values()))


@pytest.mark.requirement("X-10")
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_every_key_has_a_one_line_meaning_and_every_number_has_bounds(key: SettingKey):
    assert key.meaning.endswith(".")
    assert "\n" not in key.meaning
    if "number" in key.allowed:
        assert " from " in key.allowed


@pytest.mark.requirement("X-10")
@pytest.mark.parametrize("name", KEYS)
def test_a_typo_in_any_key_names_the_key_that_was_meant(name: str):
    section, _, leaf = name.rpartition(".")
    swapped = leaf[:1] + leaf[2:3] + leaf[1:2] + leaf[3:] if leaf[1:2] != leaf[2:3] else leaf + "x"
    typo = f"{section}.{swapped}".lstrip(".")

    with pytest.raises(UnknownSetting) as refused:
        find_setting_key(typo)

    assert f"did you mean `{name}`?" in refused.value.message


@pytest.mark.requirement("X-10")
def test_a_name_like_nothing_known_is_refused_without_a_guess():
    with pytest.raises(UnknownSetting, match=r"`zzzzqqqq` is not a setting\.$"):
        find_setting_key("zzzzqqqq")


@pytest.mark.requirement("X-12")
def test_a_bare_name_means_its_key_where_it_is_unique():
    assert find_setting_key("pool_max").name == "store.pool_max"
    assert find_setting_key("openai").name == "proxy.upstreams.openai"


@pytest.mark.requirement("X-12")
def test_a_bare_name_of_several_sections_is_refused_with_all_of_them():
    assert len(BARE["timeout_s"]) > 1

    with pytest.raises(UnknownSetting) as refused:
        find_setting_key("timeout_s")

    assert all(f"`{name}`" in refused.value.message for name in BARE["timeout_s"])


@pytest.mark.requirement("X-12")
def test_names_of_the_first_design_live_on():
    assert find_setting_key("write_model_id").name == "llm.write"
    assert find_setting_key("resolve_model_id").name == "llm.resolve"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("store.pool_max", " 12 ", 12),
        ("store.stop_when_idle", "no", False),
        ("store.stop_when_idle", "1", True),
        ("llm.daily_limit_usd", "", None),
        ("llm.daily_limit_usd", "2.5", 2.5),
        ("server.hosts", "a.example, b.example,", ("a.example", "b.example")),
        ("server.hosts", "", ()),
        ("home", "123", "123"),
        ("proxy.upstream", "http://h:1/", "http://h:1"),
        ("proxy.upstreams.openai", "null", None),
        ("store.backup_schedule", "0 2 * * fri", "0 2 * * fri"),
    ],
)
def test_text_is_read_by_the_declared_type_of_its_key(name: str, text: str, value: object):
    assert parse_value(KEYS[name], text) == value


@pytest.mark.requirement("F-28")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("store.pool_max", "true"),
        ("store.pool_max", "٣٤"),
        ("store.pool_max", "1" * 5000),
        ("store.pool_max", "1e400"),
        ("store.stop_when_idle", "maybe"),
        ("llm.daily_limit_usd", "nan"),
        ("llm.daily_limit_usd", "inf"),
        ("llm.daily_limit_usd", "-1"),
        ("store.migrate", "Auto"),
        ("store.backup_schedule", "0 2 * *"),
        ("store.backup_schedule", "* * * * * *"),
        ("store.backup_schedule", "@daily"),
        ("store.backup_schedule", "R R * * *"),
        ("store.backup_schedule", "H * * * *"),
        ("store.backup_schedule", "99 2 * * *"),
        ("proxy.upstream", "ftp://h"),
        ("proxy.upstream", "http://"),
        ("proxy.upstream", "http://h:99999"),
        ("proxy.upstream", "http://user:pass@h"),
        ("proxy.upstream", "http://h/?a=b"),
        ("home", "a\x00b"),
        ("home", "a\nb"),
        ("home", "x" * 5000),
        ("home", "\ud800"),
        ("server.host", ""),
        ("server.hosts", ",".join(["h"] * 2000)),
        ("embedding.model", "minilm"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(name: str, text: str):
    with pytest.raises(BadSetting):
        parse_value(KEYS[name], text)


@pytest.mark.requirement("F-28")
@given(key=ANY_KEY, text=st.text(max_size=200))
def test_any_text_is_a_value_or_a_named_refusal(key: SettingKey, text: str):
    try:
        value = parse_value(key, text)
    except BadSetting:
        return
    assert value is None or key.adapter.validate_python(value) == value


@pytest.mark.requirement("F-28")
@pytest.mark.parametrize("key", [key for key in KEYS.values() if "number" in key.allowed], ids=lambda key: key.name)
@pytest.mark.parametrize("text", ["x", "-1000000000000", "1" * 30, "[]", "1,2", "0x10", "½"])
def test_every_number_refuses_what_is_no_number_in_its_bounds(key: SettingKey, text: str):
    # `daily_limit_usd` has no upper bound: any sum may be a limit.
    if key.name == "llm.daily_limit_usd" and text == "1" * 30:
        assert parse_value(key, text) > 0
        return
    with pytest.raises(BadSetting, match="must be"):
        parse_value(key, text)


@given(name=st.text(max_size=5000))
@settings(max_examples=30)
def test_looking_for_the_nearest_key_always_ends_in_a_key_or_none(name: str):
    assert nearest_name(name) is None or nearest_name(name) in KEYS


@pytest.mark.requirement("X-11")
def test_a_secret_shows_only_its_end_and_a_short_one_nothing():
    key = KEYS["database_url"]

    assert format_value(key, parse_value(key, "postgres://u:canary@h/festinger")) == "set (…nger)"
    assert format_value(key, parse_value(key, "postgres:x")) == "set"
    assert format_value(key, None) == ""


def test_defaults_of_the_tree_read_back_from_what_is_shown():
    tree = Settings()

    for key in KEYS.values():
        assert parse_value(key, format_value(key, key.default)) == key.default
    assert tree == Settings.model_validate(tree.model_dump())
