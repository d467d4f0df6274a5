import pytest

from festinger.proxy.loops.stream import Allowance, Channel, Channels, Severity, StreamRule
from festinger.settings.tree import StreamLoopSettings

SENTENCE = "I should check the configuration file once more before I answer. "


def reply() -> Channels:
    return Channels(StreamLoopSettings(), Allowance())


@pytest.mark.requirement("P-66")
def test_a_loop_in_thinking_alone_ends_the_reply_and_is_named():
    channels = reply()
    heard = [channels.hear(Channel.THINKING, SENTENCE) for _ in range(90)]
    cut = next(found for found in heard if found)

    assert cut.channel is Channel.THINKING
    assert cut.finding.rule is StreamRule.STALE
    assert cut.finding.severity is Severity.CUT


@pytest.mark.requirement("P-66")
def test_channels_that_take_turns_do_not_add_up():
    channels = reply()
    for _ in range(25):
        assert channels.hear(Channel.TEXT, SENTENCE) is None
        assert channels.hear(Channel.THINKING, SENTENCE) is None

    assert {found.finding.severity for found in channels.finish()} == {Severity.NOTICE}


def test_what_does_not_repeat_is_not_told():
    channels = reply()
    channels.hear(Channel.TEXT, "All is well, and nothing is said twice here.")

    assert channels.finish() == ()
