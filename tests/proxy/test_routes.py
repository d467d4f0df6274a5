"""Which route a path is, and which space it names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.proxy.routes import ApiProtocol, RouteTreatment, find_route, split_scope_prefix


@pytest.mark.requirement("P-02")
@pytest.mark.parametrize(
    ("path", "protocol", "treatment"),
    [
        ("/api/chat", ApiProtocol.NATIVE, RouteTreatment.EDITED),
        ("/api/generate", ApiProtocol.NATIVE, RouteTreatment.EDITED),
        ("/v1/chat/completions", ApiProtocol.OPENAI, RouteTreatment.EDITED),
        ("/v1/responses", ApiProtocol.OPENAI, RouteTreatment.EDITED),
        ("/v1/messages", ApiProtocol.ANTHROPIC, RouteTreatment.EDITED),
        ("/v1/completions", ApiProtocol.OPENAI, RouteTreatment.WATCHED),
        ("/v1/messages/count_tokens", ApiProtocol.ANTHROPIC, RouteTreatment.PASSED),
        ("/v1/messages/batches", ApiProtocol.ANTHROPIC, RouteTreatment.PASSED),
        ("/v1/messagesx", ApiProtocol.OPENAI, RouteTreatment.PASSED),
        ("/api/delete", ApiProtocol.NATIVE, RouteTreatment.MANAGED),
        ("/api/blobs/sha256:1", ApiProtocol.NATIVE, RouteTreatment.MANAGED),
        ("/api/user/keys/1", ApiProtocol.NATIVE, RouteTreatment.MANAGED),
        ("/health", ApiProtocol.NATIVE, RouteTreatment.PASSED),
        ("/admin/readyz", ApiProtocol.NATIVE, RouteTreatment.OWN),
    ],
)
def test_a_path_has_its_protocol_and_treatment(path: str, protocol: ApiProtocol, treatment: RouteTreatment):
    route = find_route(path)

    assert (route.protocol, route.treatment) == (protocol, treatment)


@given(st.text())
def test_a_label_never_holds_what_somebody_typed(path: str):
    labels = {find_route(known).label for known in ("/x", "/v1/x", "/v1/messages/x")}

    assert find_route("/other/" + path).label in labels


@pytest.mark.requirement("P-88")
def test_json_is_limited_and_files_are_not():
    assert find_route("/api/chat").limited
    assert not find_route("/api/blobs/sha256:1").limited
    assert not find_route("/v1/audio/transcriptions").limited
    assert not find_route("/v1/files").limited


@pytest.mark.requirement("P-05")
@given(st.from_regex(r"[A-Za-z0-9._-]{1,63}", fullmatch=True), st.from_regex(r"[A-Za-z0-9._-]{1,63}", fullmatch=True))
def test_a_prefix_is_cut_exactly(space: str, agent: str):
    target = f"/@{space}/{agent}/api/chat?x=/@y".encode()

    assert split_scope_prefix(target) == (b"/api/chat?x=/@y", space, agent)


@pytest.mark.parametrize(
    "target", [b"/@", b"/@a", b"/@a/", b"/@a%20b/c/d", b"/@a//api/chat", b"/@" + b"a" * 64 + b"/b/c"]
)
def test_a_prefix_that_cannot_be_read_names_nothing(target: bytes):
    assert split_scope_prefix(target) is None


def test_a_target_without_prefix_names_no_space():
    assert split_scope_prefix(b"/api/@x/y") == (b"/api/@x/y", None, None)
