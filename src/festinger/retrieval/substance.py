"""How much does a turn tell?

A short one says little by itself, and finds its words in those beside it; a long one says a little of everything, and is
somewhat near to every question. Where people talk with each other, one who ends by asking leaves the answer to the next;
a message to an assistant ends so too, and tells what it is about before. What a memory says was chosen already.
"""

import math
import re

from festinger.retrieval.candidate import Candidate

SHORT, LONG = 150, 800
"""Characters between which a turn is as long as one that answers something."""
FOR_LENGTH = 0.03
"""What a turn loses by each e-fold that it is shorter or longer. Chosen on the developers' half, as all of these: with it
recall@10 of LoCoMo rises from .749 to .761 and that of BEAM from .635 to .663."""
FOR_ASKING = 0.1
"""With it recall@10 of LoCoMo rises from .749 to .767."""

_ASKS = re.compile(r"\?[\s\"'”’)\]]*\Z")


def breadth(text: str) -> float:
    """How much longer a text is than one that is about one thing, in e-folds."""
    return math.log(max(len(text) / LONG, 1.0))


def substance(each: Candidate) -> float:
    """What speaks against a turn because it tells little: 0 or less."""
    if each.is_memory:
        return 0.0
    beyond = math.log(max(SHORT / max(1, len(each.content)), 1.0)) + breadth(each.content)
    leaves_it = each.speaker is not None and _ASKS.search(each.content) is not None
    return -FOR_LENGTH * beyond - (FOR_ASKING if leaves_it else 0.0)
