from tests.cli.shell import Shell


def test_a_model_is_kept_with_its_key_unseen_and_cannot_go_while_it_is_used(shell: Shell):
    secret = "sk-abcdefghijklmnopqrstuvwx1234"
    made = shell("models", "add", "openai", "tiny", "--key", typed=f"{secret}\n").out.strip()
    shell("settings", "set", "llm.judge", made)

    assert secret not in shell("models").out + shell("models", "--json").out
    assert "…1234" in shell("models").out
    assert shell("models", "remove", made).code == 4
    shell("settings", "reset", "llm.judge")
    assert shell("models", "remove", made).code == 0
    assert shell("models", "--json").json == []


def test_a_model_that_cannot_be_reached_is_unavailable(shell: Shell):
    made = shell("models", "add", "ollama", "tiny", "--base-url", "http://127.0.0.1:1", "--json").json["id"]
    said = shell("models", "test", made, "--json")

    assert said.code == 5
    assert said.json["error"]
    assert shell("models", "test", "ffffffff-ffff-4fff-8fff-ffffffffffff").code == 3
    assert shell("models", "add", "nobody", "tiny").code == 2
    assert shell("models", "add", "openai", "tiny", "--key", typed="\n").code == 2
