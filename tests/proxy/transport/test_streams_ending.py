"""How an answer ended, by its own words."""

import pytest

from festinger.proxy.transport.streams import DONE, Ended, Frame, mark_in

STREAMED = [
    (Frame(data={"done": False}), None),
    (Frame(data={"done": True, "done_reason": "stop"}), Ended.WHOLE),
    (Frame(data={"done": "yes"}), None),
    (Frame(data={"error": "out of memory"}), Ended.ERROR),
    (Frame(data={"error": None, "choices": []}), None),
    (Frame(data=DONE), Ended.WHOLE),
    (Frame(data={"choices": [{"finish_reason": "stop"}]}), None),
    (Frame(data={"type": "message_stop"}, event="message_stop"), Ended.WHOLE),
    (Frame(data={"type": "message_delta"}, event="message_delta"), None),
    (Frame(data={"type": "error", "error": {"type": "overloaded_error"}}, event="error"), Ended.ERROR),
    (Frame(data={"type": "response.completed"}), Ended.WHOLE),
    (Frame(data={"type": "response.incomplete"}), Ended.WHOLE),
    (Frame(data={"type": "response.failed"}), Ended.ERROR),
    (Frame(data={"type": ["odd"]}), None),
    (Frame(data=[1]), None),
    (Frame(data=None), None),
]


@pytest.mark.requirement("P-18")
@pytest.mark.parametrize(("frame", "mark"), STREAMED)
def test_a_frame_of_a_stream_says_what_its_protocol_says(frame: Frame, mark: Ended | None):
    assert mark_in(frame, streamed=True) is mark


@pytest.mark.requirement("P-18")
def test_a_document_ends_with_itself():
    assert mark_in(Frame(data={"message": {}}), streamed=False) is Ended.WHOLE
    assert mark_in(Frame(data={"error": "no"}), streamed=False) is Ended.ERROR
    assert mark_in(Frame(data=[]), streamed=False) is Ended.WHOLE
