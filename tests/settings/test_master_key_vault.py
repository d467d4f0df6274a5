import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from festinger.errors import SecretUnreadable
from festinger.settings.master_key import (
    AT_REST,
    KEY_BYTES,
    NONCE_BYTES,
    PREFIX,
    TAG_BYTES,
    MasterKey,
    SecretLocation,
    Vault,
    derive_key,
    key_id,
    mask_secret,
    system_entropy,
)

MASTER = MasterKey(raw=bytes(range(KEY_BYTES)))
OTHER = MasterKey(raw=bytes(KEY_BYTES))
HERE = SecretLocation(table="models", column="api_key", space="main", row="7")
SECRET = SecretStr("sk-canary-0123456789")


def vault(master: MasterKey = MASTER) -> Vault:
    return Vault(master, system_entropy)


@pytest.mark.requirement("X-90", "W-60")
def test_a_sealed_secret_opens_at_its_place_and_has_the_written_form() -> None:
    sealed = vault().seal(SECRET, HERE)

    assert vault().open(sealed, HERE) == SECRET
    assert sealed.startswith("v1:gcm:")
    box = base64.b64decode(sealed.removeprefix(PREFIX), validate=True)
    assert len(box) == NONCE_BYTES + len(SECRET.get_secret_value()) + TAG_BYTES


@pytest.mark.requirement("X-90", "W-60")
@pytest.mark.parametrize(
    "there",
    [
        SecretLocation(table="config", column="api_key", space="main", row="7"),
        SecretLocation(table="models", column="base_url", space="main", row="7"),
        SecretLocation(table="models", column="api_key", space="other", row="7"),
        SecretLocation(table="models", column="api_key", space="main", row="8"),
    ],
)
def test_a_box_moved_to_another_place_does_not_open(there: SecretLocation) -> None:
    sealed = vault().seal(SECRET, HERE)

    with pytest.raises(SecretUnreadable):
        vault().open(sealed, there)


@pytest.mark.requirement("X-90")
def test_places_that_read_alike_when_joined_stay_apart() -> None:
    one = SecretLocation(table="a", column="b", space="c", row="d")
    two = SecretLocation(table="a", column='b", "c', space="d", row="")

    assert one.bound != two.bound
    with pytest.raises(SecretUnreadable):
        vault().open(vault().seal(SECRET, one), two)


@pytest.mark.requirement("X-90", "W-60")
def test_every_sealing_has_a_nonce_of_its_own() -> None:
    boxes = {vault().seal(SECRET, HERE) for _ in range(200)}

    nonces = {base64.b64decode(box.removeprefix(PREFIX))[:NONCE_BYTES] for box in boxes}
    assert len(nonces) == 200


@pytest.mark.requirement("X-03")
def test_the_nonce_comes_from_the_injected_randomness() -> None:
    asked: list[int] = []

    def entropy(count: int) -> bytes:
        asked.append(count)
        return b"n" * count

    sealed = Vault(MASTER, entropy).seal(SECRET, HERE)

    assert asked == [NONCE_BYTES]
    assert base64.b64decode(sealed.removeprefix(PREFIX))[:NONCE_BYTES] == b"n" * NONCE_BYTES


@pytest.mark.requirement("X-90")
def test_keys_of_two_purposes_share_nothing() -> None:
    assert derive_key(MASTER, AT_REST) != derive_key(MASTER, "another purpose")
    assert MASTER.raw not in (derive_key(MASTER, AT_REST), derive_key(MASTER, "another purpose"))


@pytest.mark.requirement("X-91")
def test_another_master_key_opens_nothing() -> None:
    sealed = vault().seal(SECRET, HERE)

    with pytest.raises(SecretUnreadable) as raised:
        vault(OTHER).open(sealed, HERE)
    assert "Set it again" in raised.value.hint


@pytest.mark.parametrize("text", ["", "v1:gcm:", "v1:gcm:!!!", "sk-plain", "v1:gcm:AAAA", "v2:gcm:" + "A" * 64])
def test_what_is_no_box_is_unreadable_and_not_a_fault(text: str) -> None:
    with pytest.raises(SecretUnreadable):
        vault().open(text, HERE)


@given(secret=st.text(), flip=st.integers(min_value=0), bit=st.integers(0, 7))
def test_one_changed_bit_anywhere_closes_the_box(secret: str, flip: int, bit: int) -> None:
    box = bytearray(base64.b64decode(vault().seal(SecretStr(secret), HERE).removeprefix(PREFIX)))
    box[flip % len(box)] ^= 1 << bit

    with pytest.raises(SecretUnreadable):
        vault().open(PREFIX + base64.b64encode(bytes(box)).decode(), HERE)


@given(secret=st.text())
def test_any_text_comes_back_as_it_was(secret: str) -> None:
    assert vault().open(vault().seal(SecretStr(secret), HERE), HERE).get_secret_value() == secret


def test_the_name_of_a_key_tells_keys_apart_without_showing_them() -> None:
    assert key_id(MASTER) != key_id(OTHER)
    assert key_id(MASTER) == vault().key_id
    assert key_id(MASTER) not in MASTER.raw.hex()


@pytest.mark.requirement("X-81", "X-93")
def test_only_the_last_four_characters_of_a_long_secret_are_shown() -> None:
    assert mask_secret(SecretStr("sk-abcdefgh-wxyz")) == "set (…wxyz)"
    assert mask_secret(SecretStr("short-one")) == "set"


@pytest.mark.requirement("X-93")
def test_neither_key_nor_secret_shows_in_a_repr() -> None:
    seen = repr(MASTER) + str(MASTER) + repr(vault()) + repr(SECRET)

    assert "canary" not in seen
    assert MASTER.raw.hex() not in seen
    assert repr(MASTER.raw) not in seen
