"""Serves conversations: recollects what is known about their texts, and learns from them.

Recollecting reads memory alone and never waits: a space not loaded yet is distinguished from one with nothing
to say. Counting and claiming come after the request, in slices that block nothing else.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from cachetools import LRUCache

from festinger.ids import Origin, Scope, SessionId, SpaceId
from festinger.observability.metrics import WORLD_ZERO_HITS
from festinger.store.pool import Transaction
from festinger.world.counts import SENTENCES_FROM, EncounterBuffer, SampleSentence, hash_ignoring_numbers
from festinger.world.erase import WorldForgetResult, forget_session
from festinger.world.graph import World, WorldCache, load_partial_world
from festinger.world.learn import MessageClaims, save_claims
from festinger.world.model import WorldDeps
from festinger.world.recollection import (
    CLAIMED_CHARS,
    SPEAKERS,
    ParsedText,
    Recollection,
    TokenizedText,
    build_recollection,
    countable_words_with_tokens,
    effective_claim_origin,
    extract_sentence_around,
    find_claims,
    parse_text,
    tokenize_text,
)

TEXTS_KEPT = 500
SLICE_CHARS = 4096
"""Read at once where nobody waits: about a millisecond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceText:
    """A text and who said it, as the interface knows."""

    text: str
    origin: Origin
    message: str | None = None


class Recollector:
    """Recollects and learns for one process."""

    def __init__(self, deps: WorldDeps, worlds: WorldCache, encounters: EncounterBuffer) -> None:
        self.deps = deps
        self.worlds = worlds
        self.encounters = encounters
        self._read: LRUCache[tuple[SpaceId, int, Origin, str], TokenizedText] = LRUCache(TEXTS_KEPT)

    def recollect(self, scope: Scope, texts: Sequence[SourceText]) -> Recollection | None:
        """Return what is known about unseen texts, newest first; none while the space is not loaded."""
        world = self.worlds.find(scope.space)
        return None if world is None else self._recollect(scope, world, texts)

    async def recollect_from_database(self, scope: Scope, texts: Sequence[SourceText]) -> Recollection:
        """Recollect in a space too large to keep, querying the database for the words of the texts."""
        words = {word for source in texts for word in tokenize_text(source.text, source.origin, World()).words}
        world = await load_partial_world(self.deps.store, scope.space, words, now=self.deps.clock())
        return self._recollect(scope, world, texts)

    def _recollect(self, scope: Scope, world: World, texts: Sequence[SourceText]) -> Recollection:
        now, terms = self.deps.clock(), self.deps.terms(scope.space)
        heard = self._parse_texts(world, texts, chars=terms.recollect_max_chars, zipf=terms.common_word_zipf)
        past = self.encounters.past(scope.space, scope.session)
        found = build_recollection(world, heard, now=now, terms=terms, past=past)
        words = (word for each in heard for word in each.words if world.knows(word))
        self.encounters.see(scope.space, scope.session, words, now=now)
        WORLD_ZERO_HITS.inc(len(found.zero_hits))
        if found.zero_hit_lines:
            noted = [token for token in found.zero_hits if token not in past.noted][: terms.zero_hit_max]
            self.encounters.record_noted_names(scope.space, scope.session, noted)
        return found

    def _parse_texts(self, world: World, texts: Sequence[SourceText], *, chars: int, zipf: float) -> list[ParsedText]:
        """Parse as much of the texts as a request may read, and the claims of the newest spoken part."""
        heard, claimed, is_common = [], CLAIMED_CHARS, self._is_common(zipf)
        for source in texts:
            text = source.text[-chars:] if chars > 0 else ""
            chars -= len(text)
            may_claim = claimed if source.origin in SPEAKERS else 0
            heard.append(parse_text(text, source.origin, world, is_common=is_common, claim_chars=may_claim))
            claimed -= len(text) if may_claim else 0
        return heard

    async def count(self, scope: Scope, source: SourceText) -> bool:
        """Count the words of a text new to the session; false if seen or the space is not loaded."""
        world = self.worlds.find(scope.space)
        if world is None or not self.encounters.admit(scope.space, scope.session, source.text, origin=source.origin):
            return False
        counted: set[str] = set()
        for piece in split_between_words(source.text):
            self._count_words_of_slice(scope, world, source, piece=piece, counted=counted)
            await asyncio.sleep(0)
        return True

    def _count_words_of_slice(
        self, scope: Scope, world: World, source: SourceText, *, piece: str, counted: set[str]
    ) -> None:
        terms, now = self.deps.terms(scope.space), self.deps.clock()
        got = self._tokenize(scope.space, world, piece, source.origin)
        found = countable_words_with_tokens(got, world, terms=terms, is_common=self.deps.is_common)
        for word, token in found.items():
            if word in counted:
                continue
            counted.add(word)
            since = self.encounters.count(scope.space, word, origin=source.origin, now=now)
            row = world.row(word)
            if (row.encounter_count if row else 0) + since >= SENTENCES_FROM:
                text = extract_sentence_around(got, token)
                sentence = SampleSentence(text=text, origin=got.origin, session=scope.session, message=source.message)
                self.encounters.add_sample_sentence(scope.space, word, sentence)

    def spoken(self, scope: Scope, source: SourceText, *, unvouched: Collection[str] = ()) -> MessageClaims | None:
        """Return the claims of a message; none without any, or if the space is not loaded.

        `unvouched` are the words of tool and document texts of the same session.
        """
        world = self.worlds.find(scope.space)
        if world is None or source.message is None:
            return None
        is_common = self._is_common(self.deps.terms(scope.space).common_word_zipf)
        read = self._tokenize(scope.space, world, source.text, source.origin)
        found = find_claims(read, world, is_common=is_common)
        if not found:
            return None
        return MessageClaims(
            message=source.message,
            agent=scope.agent,
            session=scope.session,
            origin=source.origin,
            text_hash=hash_ignoring_numbers(source.text),
            claims=[
                replace(claim, origin=effective_claim_origin(source.origin, claim, unvouched=unvouched))
                for claim in found
            ],
        )

    def _tokenize(self, space: SpaceId, world: World, text: str, origin: Origin) -> TokenizedText:
        """Tokenize a text; its claims are found and its words are counted shortly after each other."""
        key = (space, world.version, origin, text)
        if (read := self._read.get(key)) is None:
            self._read[key] = read = tokenize_text(text, origin, world)
        return read

    async def learn(
        self, transaction: Transaction, scope: Scope, source: SourceText, *, unvouched: Collection[str] = ()
    ) -> bool:
        """Store the claims of a message and schedule the write job; false if there are none."""
        spoken = self.spoken(scope, source, unvouched=unvouched)
        if spoken is None or not await save_claims(self.deps, transaction, scope.space, spoken):
            return False
        await self.deps.ask_to_learn(transaction, scope.space, spoken.message)
        return True

    async def forget_session(self, space: SpaceId, session: SessionId, *, by: str) -> WorldForgetResult:
        """Erase everything that only this session said, including what is not written yet."""
        self.encounters.forget(space, session)
        return await forget_session(self.deps, space, session, by=by)

    def _is_common(self, zipf: float) -> Callable[[str], bool]:
        return lambda token: self.deps.is_common(token, zipf)


def split_between_words(text: str) -> Iterator[str]:
    """Split a text between words into slices that are quick to read."""
    start = 0
    while start < len(text):
        end = min(start + SLICE_CHARS, len(text))
        if end < len(text) and (space := text.rfind(" ", start, end)) > start:
            end = space
        yield text[start:end]
        start = end
