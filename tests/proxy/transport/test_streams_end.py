"""How an answer ended, by its own words."""

import pytest

from festinger.proxy.transport.streams import DONE, StreamEndReason, StreamFrame, find_end_reason

STREAMED = [
    (StreamFrame(data={"done": False}), None),
    (StreamFrame(data={"done": True, "done_reason": "stop"}), StreamEndReason.WHOLE),
    (StreamFrame(data={"done": "yes"}), None),
    (StreamFrame(data={"error": "out of memory"}), StreamEndReason.ERROR),
    (StreamFrame(data={"error": None, "choices": []}), None),
    (StreamFrame(data=DONE), StreamEndReason.WHOLE),
    (StreamFrame(data={"choices": [{"finish_reason": "stop"}]}), None),
    (StreamFrame(data={"type": "message_stop"}, event="message_stop"), StreamEndReason.WHOLE),
    (StreamFrame(data={"type": "message_delta"}, event="message_delta"), None),
    (StreamFrame(data={"type": "error", "error": {"type": "overloaded_error"}}, event="error"), StreamEndReason.ERROR),
    (StreamFrame(data={"type": "response.completed"}), StreamEndReason.WHOLE),
    (StreamFrame(data={"type": "response.incomplete"}), StreamEndReason.WHOLE),
    (StreamFrame(data={"type": "response.failed"}), StreamEndReason.ERROR),
    (StreamFrame(data={"type": ["odd"]}), None),
    (StreamFrame(data=[1]), None),
    (StreamFrame(data=None), None),
]


@pytest.mark.requirement("P-18")
@pytest.mark.parametrize(("frame", "mark"), STREAMED)
def test_a_frame_of_a_stream_says_what_its_protocol_says(frame: StreamFrame, mark: StreamEndReason | None):
    assert find_end_reason(frame, streamed=True) is mark


@pytest.mark.requirement("P-18")
def test_a_document_ends_with_itself():
    assert find_end_reason(StreamFrame(data={"message": {}}), streamed=False) is StreamEndReason.WHOLE
    assert find_end_reason(StreamFrame(data={"error": "no"}), streamed=False) is StreamEndReason.ERROR
    assert find_end_reason(StreamFrame(data=[]), streamed=False) is StreamEndReason.WHOLE
