from tests.cli.shell import Shell


def test_a_key_is_shown_once_and_can_be_revoked_by_its_beginning(shell: Shell):
    made = shell("keys", "make", "laptop", "--role", "admin", "--json").json
    listed = shell("keys", "--json").json

    assert made["key"].startswith("fst_")
    assert made["key"] not in str(listed)
    assert [(key["name"], key["role"], key["space"]) for key in listed] == [("laptop", "admin", "*")]
    assert shell("keys", "revoke", made["id"][:13]).code == 0
    assert shell("keys", "--json").json[0]["revoked_at"]
    assert shell("keys", "revoke", "ffffffff-ffff").code == 3


def test_making_a_key_says_its_role(shell: Shell):
    assert "`proxy`" in shell("keys", "make", "laptop").err
    assert "`reviewer`" in shell("keys", "make", "desk", "--role", "reviewer").err
