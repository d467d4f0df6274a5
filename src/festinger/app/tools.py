"""What does a process take from the operating system?

Time, durations, chance, unguessable bytes and new ids, in one value, so that a test or a demo can hand in its
own. Nothing else in Festinger asks the system for these.
"""

import random
from dataclasses import dataclass, field

from festinger.clock import Clock, Stopwatch, system_clock, system_stopwatch
from festinger.ids import NewId, id_maker
from festinger.settings.master_key import Entropy, system_entropy


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    clock: Clock = system_clock
    stopwatch: Stopwatch = system_stopwatch
    chance: random.Random = field(default_factory=random.SystemRandom)
    entropy: Entropy = system_entropy
    new_id: NewId

    @classmethod
    def of_this_machine(cls) -> "Tools":
        return cls(new_id=id_maker(system_clock, random.SystemRandom()))
