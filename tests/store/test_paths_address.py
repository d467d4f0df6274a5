import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from festinger.errors import BadSetting
from festinger.store.paths import check_database_url, redact_password


@pytest.mark.requirement("X-27")
@pytest.mark.parametrize("url", ["postgresql:/ann:s3cret@host", "postgresql://ann:s3cret@host/x?nonsense=1"])
def test_a_url_that_cannot_be_read_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(BadSetting) as caught:
        check_database_url(url)

    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.requirement("X-27")
def test_an_at_sign_in_a_password_must_be_written_in_its_escaped_form() -> None:
    with pytest.raises(BadSetting) as caught:
        check_database_url("postgresql://ann:s3c@ret@host/notes")

    assert "ret" not in str(caught.value)
    assert check_database_url("postgresql://ann:s3c%40ret@host/notes")


@example(password="00000%")
@given(password=st.text(alphabet=st.characters(codec="ascii", categories=["L", "N", "P"]), min_size=6))
def test_a_password_is_taken_out_of_any_text_in_plain_and_escaped_form(password: str) -> None:
    from urllib.parse import quote

    escaped = quote(password, safe="")
    url = f"postgresql://ann:{escaped}@host/notes"
    said = redact_password(f"plain <{password}> and escaped <{escaped}>", url)

    assert said == "plain <…> and escaped <…>"
