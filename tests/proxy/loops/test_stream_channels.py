import pytest
from tests.proxy.protocols.wire import request_of, user
from tests.runtime.server import Hands

from festinger.proxy.loops.stream import ReplyChannel, ReplyMonitor, StreamRule, StreamSeverity
from festinger.proxy.protocols.messages import RequestKind
from festinger.proxy.protocols.replies import ReplyDelta, build_reply_parser
from festinger.proxy.transport.streams import StreamFrame
from festinger.settings.tree import LoopSettings

SENTENCE = "I should check the configuration file once more before I answer. "
FRAME = StreamFrame(data={})


def reply() -> ReplyMonitor:
    request = request_of({"messages": [user("Well?")]}, RequestKind.CHAT)
    return ReplyMonitor(request, build_reply_parser(RequestKind.CHAT), settings=LoopSettings(), clock=Hands().clock)


@pytest.mark.requirement("P-66")
def test_a_loop_in_thinking_alone_ends_the_reply_and_is_named():
    monitor = reply()
    endings = [monitor.feed(FRAME, ReplyDelta(thinking=SENTENCE)) for _ in range(90)]
    ending = next(each for each in endings if each is not None)

    assert ending() != b""
    assert monitor.cut is not None
    assert monitor.cut.channel is ReplyChannel.THINKING
    assert monitor.cut.finding.rule is StreamRule.STALE
    assert monitor.cut.finding.severity is StreamSeverity.CUT


@pytest.mark.requirement("P-66")
def test_channels_that_take_turns_do_not_add_up():
    monitor = reply()
    for _ in range(25):
        assert monitor.feed(FRAME, ReplyDelta(text=SENTENCE)) is None
        assert monitor.feed(FRAME, ReplyDelta(thinking=SENTENCE)) is None

    assert {found.finding.severity for found in monitor.finish()} == {StreamSeverity.NOTICE}


def test_what_does_not_repeat_is_not_told():
    monitor = reply()
    monitor.feed(FRAME, ReplyDelta(text="All is well, and nothing is said twice here."))

    assert monitor.finish() == ()
