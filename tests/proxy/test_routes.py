"""Which route a path is, and which space it names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.proxy.routes import Place, Protocol, Treatment, place_in, route_of


@pytest.mark.requirement("P-02")
@pytest.mark.parametrize(
    ("path", "protocol", "treatment"),
    [
        ("/api/chat", Protocol.NATIVE, Treatment.EDITED),
        ("/api/generate", Protocol.NATIVE, Treatment.EDITED),
        ("/v1/chat/completions", Protocol.OPENAI, Treatment.EDITED),
        ("/v1/responses", Protocol.OPENAI, Treatment.EDITED),
        ("/v1/messages", Protocol.ANTHROPIC, Treatment.EDITED),
        ("/v1/completions", Protocol.OPENAI, Treatment.WATCHED),
        ("/v1/messages/count_tokens", Protocol.ANTHROPIC, Treatment.PASSED),
        ("/v1/messages/batches", Protocol.ANTHROPIC, Treatment.PASSED),
        ("/v1/messagesx", Protocol.OPENAI, Treatment.PASSED),
        ("/api/delete", Protocol.NATIVE, Treatment.MANAGED),
        ("/api/blobs/sha256:1", Protocol.NATIVE, Treatment.MANAGED),
        ("/api/user/keys/1", Protocol.NATIVE, Treatment.MANAGED),
        ("/health", Protocol.NATIVE, Treatment.PASSED),
        ("/admin/readyz", Protocol.NATIVE, Treatment.OWN),
    ],
)
def test_a_path_has_its_protocol_and_treatment(path: str, protocol: Protocol, treatment: Treatment):
    route = route_of(path)

    assert (route.protocol, route.treatment) == (protocol, treatment)


@given(st.text())
def test_a_label_never_holds_what_somebody_typed(path: str):
    labels = {route_of(known).label for known in ("/x", "/v1/x", "/v1/messages/x")}

    assert route_of("/other/" + path).label in labels


@pytest.mark.requirement("P-88")
def test_json_is_limited_and_files_are_not():
    assert route_of("/api/chat").limited
    assert not route_of("/api/blobs/sha256:1").limited
    assert not route_of("/v1/audio/transcriptions").limited
    assert not route_of("/v1/files").limited


@pytest.mark.requirement("P-05")
@given(
    st.from_regex(r"[A-Za-z0-9._-]{1,63}", fullmatch=True),
    st.from_regex(r"[A-Za-z0-9._-]{1,63}", fullmatch=True),
)
def test_a_prefix_is_cut_exactly(space: str, agent: str):
    target = f"/@{space}/{agent}/api/chat?x=/@y".encode()

    assert place_in(target) == Place(target=b"/api/chat?x=/@y", space=space, agent=agent)


@pytest.mark.parametrize(
    "target", [b"/@", b"/@a", b"/@a/", b"/@a%20b/c/d", b"/@a//api/chat", b"/@" + b"a" * 64 + b"/b/c"]
)
def test_a_prefix_that_cannot_be_read_names_nothing(target: bytes):
    assert place_in(target) is None


def test_a_target_without_prefix_names_no_space():
    assert place_in(b"/api/@x/y") == Place(target=b"/api/@x/y")
