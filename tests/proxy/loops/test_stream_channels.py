import pytest

from festinger.proxy.loops.stream import ChannelDetectors, RepetitionAllowance, ReplyChannel, StreamRule, StreamSeverity
from festinger.settings.tree import StreamLoopSettings

SENTENCE = "I should check the configuration file once more before I answer. "


def reply() -> ChannelDetectors:
    return ChannelDetectors(StreamLoopSettings(), RepetitionAllowance())


@pytest.mark.requirement("P-66")
def test_a_loop_in_thinking_alone_ends_the_reply_and_is_named():
    channels = reply()
    heard = [channels.feed(ReplyChannel.THINKING, SENTENCE) for _ in range(90)]
    cut = next(found for found in heard if found)

    assert cut.channel is ReplyChannel.THINKING
    assert cut.finding.rule is StreamRule.STALE
    assert cut.finding.severity is StreamSeverity.CUT


@pytest.mark.requirement("P-66")
def test_channels_that_take_turns_do_not_add_up():
    channels = reply()
    for _ in range(25):
        assert channels.feed(ReplyChannel.TEXT, SENTENCE) is None
        assert channels.feed(ReplyChannel.THINKING, SENTENCE) is None

    assert {found.finding.severity for found in channels.finish()} == {StreamSeverity.NOTICE}


def test_what_does_not_repeat_is_not_told():
    channels = reply()
    channels.feed(ReplyChannel.TEXT, "All is well, and nothing is said twice here.")

    assert channels.finish() == ()
