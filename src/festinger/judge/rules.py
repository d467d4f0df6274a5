"""What do the rules say of two statements?

Pure and fast: no clock, no store, no model. The first rule that fits decides, the surest first; what no rule fits
is `unsure` and left to the judges behind. Reading is done by `reading`, guarding by `guards`; what slots say stands
in `filling`, what opposes in `opposing`.
"""

from dataclasses import replace

from festinger.judge.case import LIKELY, NAME, Case, Rule
from festinger.judge.filling import other_slot, other_subject, same_slot
from festinger.judge.guards import compare
from festinger.judge.judgement import Guard, Judgement, Relation, unsure
from festinger.judge.opposing import counted, denied, identified, numbered, swapped
from festinger.judge.reading import Reading, read
from festinger.judge.statement import NOTHING_KNOWN, Features, Statement
from festinger.judge.stems import stem

__all__ = ["NAME", "RULES", "judge"]


def judge(old: Statement, new: Statement, features: Features = NOTHING_KNOWN) -> Judgement:
    """How `new` stands to `old`, as far as rules can tell."""
    compared = compare(_read(old), _read(new), statements=(old, new))
    case = Case(old=old, new=new, features=features, compared=compared)
    for rule in RULES:
        found = rule(case)
        if found is not None:
            return replace(found, tentative=rule in TENTATIVE)
    return unsure(NAME, "No rule fits this pair.", guards=case.compared.guards)


def _read(statement: Statement) -> Reading:
    """The reading of a statement, with the slot that the caller knows where the words give none of that place."""
    reading = read(statement.text, said_at=statement.said_at)
    known = statement.slot
    if known is None or any(slot.place == known.place for slot in reading.slots):
        return reading
    return replace(reading, slots=(*reading.slots, known))


def _same_words(case: Case) -> Judgement | None:
    one, other = case.compared.old, case.compared.new
    if Guard.DATE in case.compared.guards:
        return None
    if one.fold == other.fold:
        return case.verdict(Relation.SAME, 1.0, "Both are the same words.")
    if one.gist and one.gist == other.gist and _nothing_parts(case):
        return case.verdict(Relation.SAME, 0.95, "Both say the same words but for those that say nothing.")
    return None


def _nothing_parts(case: Case) -> bool:
    return not case.compared.fired and case.compared.old.whole and case.compared.new.whole


def _dated(case: Case) -> Judgement | None:
    if Guard.DATE not in case.compared.guards:
        return None
    days = case.compared.old.amounts.days, case.compared.new.amounts.days
    happened = case.old.event_time, case.new.event_time
    if all(days) or (all(happened) and days[0] == days[1]):
        return case.verdict(Relation.UNRELATED, 0.9, case.compared.why(Guard.DATE))
    return None


def _refined(case: Case) -> Judgement | None:
    if case.compared.fired or case.compared.difference.only_old or len(case.compared.difference.only_new) < 2:
        return None
    return case.verdict(Relation.REFINES, LIKELY, "The new one says all that the old one says, and more.")


def _near(case: Case) -> Judgement | None:
    """Nothing in the words decides, so how near they are does, at its ends."""
    similarity, bars = case.features.similarity, case.features.bars
    if similarity is None:
        return None
    if _opposes(case):
        return None
    is_same = bars.same is not None and similarity >= bars.same
    if is_same and _nothing_parts(case) and not _swapped(case):
        return case.verdict(
            Relation.SAME, 0.9, f"They are near enough ({similarity:.2f}) and nothing parts them."
        )
    if bars.check is not None and similarity < bars.check:
        return case.verdict(Relation.UNRELATED, 0.9, f"They are too far apart ({similarity:.2f}).")
    return None


def _opposes(case: Case) -> bool:
    """Whether the vectors hint at a negation that the words do not show: the next judge is to look."""
    bar, found = case.features.bars.opposition, case.features.opposition
    near = case.features.similarity is not None and case.features.similarity >= OPPOSING_FROM
    return bar is not None and found is not None and abs(found) >= bar and near


OPPOSING_FROM = 0.7


def _swapped(case: Case) -> bool:
    """Whether one phrase stands for another: vectors cannot tell a synonym from an opposite."""
    found = case.compared.difference
    return found.swapped and set(map(stem, found.old)) != set(map(stem, found.new))


RULES: tuple[Rule, ...] = (
    _same_words,
    other_subject,
    same_slot,
    numbered,
    identified,
    denied,
    other_slot,
    _dated,
    swapped,
    counted,
    _refined,
    _near,
)

TENTATIVE: frozenset[Rule] = frozenset({other_subject, other_slot})
"""Rules that take subjects for what the first words say: `Mara took search over` is about search, too."""
