"""Recollects what the world knows about a text: parses it, finds its claims, selects edges and formats them.

Reads memory alone and changes nothing. Secrets are removed first. One step deep: a parent has its own line
only if it occurs in the text. Claims are checked for collisions from memory, so that a prompt which
contradicts the world is already marked in its own recollection; writing decides again under the lock. One
line per concept: `token: [dim] parent [dim] parent`. Disputed edges are marked and come last, with the
current parent; the other is never shown. The same state gives the same bytes, and tokens hold no bracket,
quote or line break, so a line cannot break out.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain

from festinger.ids import Cause, Origin, least_trusted
from festinger.settings.memory_sections import WorldSettings
from festinger.text.cues import RelationCue, extract_cues, extract_retractions
from festinger.text.normalize import normalize_text
from festinger.text.secrets import remove_secrets
from festinger.text.tokens import Token, content_tokens, token_texts, tokenize
from festinger.text.vocabulary import may_be_vocabulary
from festinger.world.graph import Slot, World
from festinger.world.model import (
    STATED_MODEL_CUE,
    EdgeSource,
    SoasRow,
    UrdEdge,
    WorldStatement,
    decayed_saliency,
    edge_display_rank,
    effective_saliency,
    is_replaceable,
    is_spelling_variant,
)

VOUCHED = (Origin.PERSON, Origin.MODEL)
"""Origins whose claims are written at once; all others are quarantined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One triple that a text asserts or retracts."""

    concept: str
    parent: str
    dimension: str
    is_isa: bool
    confidence: float
    pattern: str
    origin: Origin
    is_retraction: bool = False


def effective_claim_origin(origin: Origin, claim: Claim, *, unvouched: Collection[str]) -> Origin:
    """Return the real origin of a claim: a model that repeats a page speaks for the page.

    `unvouched` are the words of tool and document texts of the same session.
    """
    if origin is Origin.MODEL and claim.concept in unvouched and claim.parent in unvouched:
        return least_trusted((Origin.MODEL, Origin.TOOL))
    return origin


def initial_confidence(claim: Claim) -> float:
    return min(claim.confidence, STATED_MODEL_CUE) if claim.origin is Origin.MODEL else claim.confidence


def claim_to_world_statement(claim: Claim, because: Cause, *, message: str | None) -> WorldStatement:
    return WorldStatement(
        concept=claim.concept,
        parent=claim.parent,
        dimension=claim.dimension,
        is_isa=claim.is_isa,
        confidence=initial_confidence(claim),
        source=EdgeSource.INFERRED,
        cause=because,
        message=message,
    )


def find_contradicted_slot(world: World, claim: Claim, *, now: datetime, terms: WorldSettings) -> Slot | None:
    """Return the slot whose edge the claim contradicts, if any."""
    concept, dim = world.row(claim.concept), world.row(claim.dimension)
    if concept is None or dim is None or (existing := world.slot(concept.id, dim.id)) is None:
        return None
    parent = world.row(claim.parent)
    if claim.is_retraction:
        is_this = parent is not None and parent.id == existing.parent_id and claim.origin is Origin.PERSON
        return existing.slot if is_this else None
    if parent is not None and (
        parent.id == existing.parent_id or world.is_recently_dismissed(*existing.slot, parent=parent.id, now=now)
    ):
        return None
    return None if _is_replaced_without_conflict(world, existing, claim, terms=terms) else existing.slot


def _is_replaced_without_conflict(world: World, existing: UrdEdge, claim: Claim, *, terms: WorldSettings) -> bool:
    """Whether the claim is another spelling of the current edge, or replaces it without a conflict."""
    return is_spelling_variant(world.soas_by_id[existing.parent_id], claim.parent) or is_replaceable(
        existing, confidence=initial_confidence(claim), origin=claim.origin, floor=terms.recollection_confidence_floor
    )


PENDING = " — conflict pending"
UNCONFIRMED = " (unconfirmed)"


def format_concept_line(world: World, row: SoasRow, edges: Sequence[UrdEdge], *, disputed: Collection[Slot]) -> str:
    shown = sorted(edges, key=lambda edge: (edge.slot in disputed, not edge.is_isa, edge.dim_id))
    parts = [_format_edge(world, edge, is_disputed=edge.slot in disputed) for edge in shown]
    ending = PENDING if any(edge.slot in disputed for edge in shown) else ""
    return f"{row.token}: {' '.join(parts)}{ending}"


def format_unknown_lines(token: str, *, command: str) -> Iterator[str]:
    """Yield the lines about a name that nothing is known about."""
    yield f"? {token}: no recollection (if it is a typo, pass over this; else say what it is)"
    yield f"  {command} '{token} -isa KIND'"
    yield f"  {command} '{token} -ispart WHOLE in context of DIMENSION'"


def _format_edge(world: World, edge: UrdEdge, *, is_disputed: bool) -> str:
    mark = "?" if is_disputed else ""
    ending = UNCONFIRMED if edge.unconfirmed else ""
    return f"[{world.soas_by_id[edge.dim_id]}{mark}] {world.soas_by_id[edge.parent_id]}{ending}"


EVERY_SOURCE = "all"
SPEAKERS = (Origin.PERSON, Origin.MODEL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedText:
    """A parsed text: its words, its claims, and who said it."""

    words: Sequence[str]
    origin: Origin
    claims: Sequence[Claim] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownEdge:
    """One edge that a line shows, in the state that it showed."""

    concept: str
    dimension: str
    parent: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """Lines about what is known, and the edges they show. No line means that nothing is relevant."""

    lines: tuple[str, ...] = ()
    notes: tuple[ShownEdge, ...] = ()
    zero_hits: tuple[str, ...] = ()
    """Salient names that nothing is known about."""
    zero_hit_lines: tuple[str, ...] = ()
    cut: int = 0
    """Concepts and edges that did not fit."""

    def __bool__(self) -> bool:
        return bool(self.lines or self.zero_hit_lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecollectionHistory:
    """What a session has shown so far."""

    first_seen: Mapping[str, datetime] = field(default_factory=dict)
    """When the text of a concept was first seen in it."""
    noted: Collection[str] = ()
    """Unknown names that it was already told about."""


def build_recollection(
    world: World,
    heard: Sequence[ParsedText],
    *,
    now: datetime,
    terms: WorldSettings,
    past: RecollectionHistory | None = None,
) -> Recollection:
    """Recollect what is known about these texts, newest first."""
    past = past or RecollectionHistory()
    rows = _salient_rows(world, heard, threshold=terms.saliency_read_threshold)
    is_audible = _build_edge_filter(now=now, terms=terms)
    known = [row for row in rows if any(map(is_audible, world.edges(row.id)))]
    zero_hits = _spoken_names_without_edges(world, rows, heard)
    chosen = _rank_rows(known, now=now, past=past, limit=terms.recollection_max_concepts)
    audible = {row: list(filter(is_audible, world.edges(row.id))) for row in chosen}
    disputed = _disputed_slots(world, heard, now=now, terms=terms)
    shown = {row: _freshest_edges(audible[row], now=now, limit=terms.recollection_max_edges) for row in chosen}
    return Recollection(
        lines=tuple(format_concept_line(world, row, edges, disputed=disputed) for row, edges in shown.items()),
        notes=tuple(_note(world, row, edge) for row, edges in shown.items() for edge in edges),
        zero_hits=zero_hits,
        zero_hit_lines=_format_unknown_name_lines(zero_hits, terms=terms, past=past),
        cut=len(known) - len(shown) + sum(len(audible[row]) - len(edges) for row, edges in shown.items()),
    )


def _salient_rows(world: World, heard: Iterable[ParsedText], *, threshold: float) -> list[SoasRow]:
    """Return the salient words once each, in the order in which they occur."""
    words = dict.fromkeys(chain.from_iterable(each.words for each in heard))
    return list(dict.fromkeys(row for row in world.rows(words) if effective_saliency(row) >= threshold))


def _build_edge_filter(*, now: datetime, terms: WorldSettings) -> Callable[[UrdEdge], bool]:
    """Build the filter for edges confident and recent enough to show."""
    oldest = now - timedelta(days=terms.recollection_recency_days)
    floor, fading = terms.recollection_confidence_floor, terms.recollection_recency_applies_to
    all_fade = EVERY_SOURCE in fading

    def is_audible(edge: UrdEdge) -> bool:
        if edge.confidence < floor:
            return False
        confirmed = edge.last_confirmed
        return confirmed is None or confirmed >= oldest or not (all_fade or edge.source in fading)

    return is_audible


def _rank_rows(rows: Iterable[SoasRow], *, now: datetime, past: RecollectionHistory, limit: int) -> list[SoasRow]:
    def rank(row: SoasRow) -> tuple[float, str]:
        since = past.first_seen.get(row.token)
        return -(effective_saliency(row) if since is None else decayed_saliency(row, now - since)), row.token

    return sorted(rows, key=rank)[:limit]


def _freshest_edges(edges: Sequence[UrdEdge], *, now: datetime, limit: int) -> Sequence[UrdEdge]:
    if len(edges) <= limit:
        return edges
    return sorted(edges, key=lambda edge: (-edge_display_rank(edge, now), edge.dim_id))[:limit]


def _disputed_slots(world: World, heard: Iterable[ParsedText], *, now: datetime, terms: WorldSettings) -> set[Slot]:
    """Return the disputed slots, and those that these texts collide with before anything is written."""
    claims = (claim for each in heard if each.origin in SPEAKERS for claim in each.claims)
    fresh = set(filter(None, (find_contradicted_slot(world, claim, now=now, terms=terms) for claim in claims)))
    return world.pending_slots | fresh if fresh else world.pending_slots


def _spoken_names_without_edges(world: World, rows: Iterable[SoasRow], heard: Iterable[ParsedText]) -> tuple[str, ...]:
    bare = [row.token for row in rows if not world.edges(row.id)]
    if not bare:
        return ()
    spoken = {word for each in heard if each.origin in SPEAKERS for word in each.words}
    return tuple(token for token in bare if token in spoken)


def _format_unknown_name_lines(
    zero_hits: Iterable[str], *, terms: WorldSettings, past: RecollectionHistory
) -> tuple[str, ...]:
    if not terms.zero_hit_notes:
        return ()
    fresh = [token for token in zero_hits if token not in past.noted][: terms.zero_hit_max]
    lines = (format_unknown_lines(token, command=terms.iknowthat_command) for token in fresh)
    return tuple(chain.from_iterable(lines))


def _note(world: World, row: SoasRow, edge: UrdEdge) -> ShownEdge:
    return ShownEdge(
        concept=row.token,
        dimension=world.soas_by_id[edge.dim_id],
        parent=world.soas_by_id[edge.parent_id],
        version=edge.version,
    )


CLAIMED_CHARS = 4096
"""How much of the newest text is scanned for claims within a request."""

LONGEST_SENTENCE = 300

_DENIAL = re.compile(r"not\b|n['’]t\b|no\s+longer\b", re.IGNORECASE)
"""Without one of these nothing is retracted, so most texts need no closer look."""

IsCommon = Callable[[str, float], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizedText:
    """A text, its tokens and who said it."""

    text: str
    """Without secrets."""
    tokens: Sequence[Token]
    origin: Origin

    @property
    def words(self) -> list[str]:
        return [token.text for token in self.tokens]


def tokenize_text(text: str, origin: Origin, world: World) -> TokenizedText:
    return _tokenize_without_secrets(remove_secrets(text), origin, world)


def _tokenize_without_secrets(plain: str, origin: Origin, world: World) -> TokenizedText:
    return TokenizedText(text=plain, tokens=tokenize(plain, world.knows), origin=origin)


def find_claims(read: TokenizedText, world: World, *, is_common: Callable[[str], bool]) -> list[Claim]:
    dimensions = world.dimension_names
    found = extract_cues(read.text, read.tokens, dimensions=dimensions, is_common=is_common)
    claims = [_claim_from_cue(read, cue) for cue in found]
    denied = []
    if _DENIAL.search(read.text):
        denials = extract_retractions(read.text, read.tokens, dimensions=dimensions, is_common=is_common)
        denied = [_claim_from_cue(read, cue, is_retraction=True) for cue in denials]
    return [
        claim
        for claim in (*claims, *denied)
        if all(map(may_be_vocabulary, (claim.concept, claim.parent, claim.dimension)))
    ]


def _claim_from_cue(read: TokenizedText, cue: RelationCue, *, is_retraction: bool = False) -> Claim:
    return Claim(
        concept=cue.subject,
        parent=cue.parent,
        dimension=cue.dimension,
        is_isa=cue.is_isa,
        confidence=cue.confidence,
        pattern=cue.pattern,
        origin=read.origin,
        is_retraction=is_retraction,
    )


def parse_text(
    text: str, origin: Origin, world: World, *, is_common: Callable[[str], bool], claim_chars: int
) -> ParsedText:
    """Parse a text for a recollection, with the claims of its last `claim_chars` characters."""
    plain = remove_secrets(text)
    if len(text) <= claim_chars:
        whole = _tokenize_without_secrets(plain, origin, world)
        return ParsedText(words=whole.words, origin=origin, claims=find_claims(whole, world, is_common=is_common))
    # Token positions are needed only for claims, and cost more than the words.
    words = token_texts(plain, world.knows)
    if claim_chars <= 0:
        return ParsedText(words=words, origin=origin)
    newest = _tokenize_without_secrets(plain[-claim_chars:], origin, world)
    return ParsedText(words=words, origin=origin, claims=find_claims(newest, world, is_common=is_common))


def countable_words_with_tokens(
    read: TokenizedText, world: World, *, terms: WorldSettings, is_common: IsCommon
) -> dict[str, Token]:
    """Return the words of a text that count, once each, with their first position."""
    found: dict[str, Token] = {}
    for token in content_tokens(read.tokens, min_chars=terms.token_min_chars):
        if is_common(token.text, terms.common_word_zipf) or not may_be_vocabulary(token.text):
            continue
        row = world.row(token.text) if token.text in world.aliases else None
        found.setdefault(row.token if row else token.text, token)
    return found


def extract_sentence_around(read: TokenizedText, token: Token) -> str:
    """Return the sentence around a token, cut if it is long."""
    plain = normalize_text(read.text)
    starts = [each.start for each in read.tokens if each.sentence_start]
    start = max((each for each in starts if each <= token.start), default=0)
    end = min((each for each in starts if each > token.start), default=len(plain))
    if end - start > LONGEST_SENTENCE:
        start = max(start, token.start - LONGEST_SENTENCE // 2)
    return plain[start : min(end, start + LONGEST_SENTENCE)].strip()
