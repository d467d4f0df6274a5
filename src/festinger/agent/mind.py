"""The agent: it hears, attends to one thing at a time, answers from memory, and records how it got there.

`Agent.step` is one cycle: attention, context, the model, confidence, at most one retry, slow thought if needed,
the reply, and what became of the notes. Without a model it answers from memory alone. A fault of ours never
costs the reply; the cycle says what was missing.
"""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import structlog

from festinger.agent.actions import (
    AGREED,
    ASKED,
    LAST_SAID,
    NOT_ASKED,
    OWN,
    UNSURE,
    ActionVerdict,
    asked_call_keys,
    call_key,
    format_permission_request,
    is_asked_for,
    is_yes,
    judge_action,
)
from festinger.agent.attention import (
    INNER,
    AttentionResult,
    Stimulus,
    StimulusSource,
    Vector,
    choose_winner,
    describe_attention,
    nearest_similarity,
    shift_attention,
)
from festinger.agent.confidence import (
    FULL_MEMORY,
    EscalationReason,
    combine_confidence,
    doubt_threshold,
    estimate_reply_sureness,
    needs_system2,
)
from festinger.agent.context import (
    HEAVIEST,
    MOST_GOALS,
    ContextParts,
    build_context,
    load_history,
    sample_identity_memories,
)
from festinger.agent.cycle import (
    AgentCycle,
    AgentDeps,
    HearResult,
    System2Answer,
    answer_from_memory,
    count_known_memories,
    find_escalation_reasons,
    load_corrections,
    measure_memory_evidence,
    names_subject,
)
from festinger.agent.goals import list_open, update_goals_from_message
from festinger.agent.gut import (
    FELT,
    JUMP,
    KEPT,
    blend_recent_vectors,
    describe_gut,
    distance_z_score,
    embed_messages,
    load_usual_vector,
    load_values,
    load_vectors,
    measure_gut_distance,
)
from festinger.agent.idle import (
    MOST_WAITING,
    GoalAndValueVectors,
    IdleCandidate,
    IdlePick,
    ThoughtReason,
    find_reached_goal,
    is_empty_thought,
    pick_idle_memory,
    save_thought,
    tell_thought,
)
from festinger.agent.reminders import Reminder, deliver_due_reminders, set_requested_reminders
from festinger.agent.tools import FAILED, AgentTool, OnText, ToolEffect, answer_with_tools, build_goal_reminder_tools
from festinger.errors import AlreadyRunning, BadInput, FestingerError
from festinger.ids import MemoryId, Origin, Scope
from festinger.llm.model import MessageRole, Model, ModelPurpose, ModelToolCall
from festinger.llm.prompts import load_prompt
from festinger.memory.confidence import FRESH
from festinger.memory.episodes.episode import EpisodeState, EpisodeTurn, TurnRole
from festinger.memory.episodes.lessons import summarize_episode_within
from festinger.memory.episodes.store import (
    TurnInput,
    append_turn,
    append_turn_in_transaction,
    close_episode,
    load_page_of_episodes,
)
from festinger.memory.extract.forget_request import find_forget_topic
from festinger.memory.extract.turns import PersonTurn, learn_turn
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import Kind, Memory
from festinger.memory.query import load_brief_sections
from festinger.store.queries import load_queries

log = structlog.get_logger(room="agent")

Q = load_queries("festinger.agent")

IDENTITY_SECTIONS = ("decision", "preference", "rule")
"""Preferences and rules hold whatever is talked about; a decision counts by how near it is to that."""
SOUNDS_SURE = 0.7
SEED_BITS = 63
SPOKEN = ("said", "remembered", "stopped")
"""Actions that a person hears."""


@dataclass(slots=True, kw_only=True)
class Agent:
    """One agent's mind in one session. Made by `open_agent`."""

    deps: AgentDeps
    scope: Scope
    waiting: list[Stimulus] = field(default_factory=list)
    recent: list[Vector] = field(default_factory=list)
    attention: Vector | None = None
    cycles: int = 0
    learned: dict[UUID, list[UUID]] = field(default_factory=dict)
    """Memories that a message taught, by its turn: what was just said is no recollection."""
    goals: Sequence[Memory] | None = None
    """The open goals as the last message left them, until they are used; none where they must be listed."""
    reminders: Sequence[Reminder] = ()
    """Those that the last message set."""
    picks: dict[UUID, IdlePick] = field(default_factory=dict)
    """What idle thoughts that wait are about."""
    distances: list[float] = field(default_factory=list)
    """How far talks were from what usually matters, oldest first."""
    unusual: IdlePick | None = None
    """The last message, if it was far off and was not thought about."""
    asked: Sequence[str] = ()
    """Calls that the last cycle asked about, by key."""
    notes: str = ""
    """What was remembered about the last message."""
    agreed: Sequence[str] = ()
    """Those that the person said yes to, and the thought that they were just told."""

    async def hear(self, text: str) -> HearResult:
        """Take in a message: keep it, learn from it, and let it wait for attention. Raises `StoreDown`."""
        memory = self.deps.memory
        due = await deliver_due_reminders(memory, self.scope)
        source = StimulusSource.USER
        if (topic := find_forget_topic(text)) is not None:
            self.waiting.append(
                Stimulus(id=memory.new_uuid(), source=source, text=topic, at=memory.clock(), is_forget_request=True)
            )
            return HearResult(learned=(), goals=(), due=due, reminders=())
        turn = (await append_turn(memory, self.scope, TurnRole.USER, text)).turn
        if turn is None:
            raise BadInput("There are no words of yours in this message.", hint="Write something to answer.")
        learned = await learn_turn(memory, self.scope, PersonTurn(id=turn.turn_id, text=turn.content))
        wanted = await list_open(memory, self.scope)
        goals = await update_goals_from_message(memory, self.scope, turn.content, learned, wanted)
        self.goals = None if goals else wanted
        self.learned[turn.turn_id] = [each.memory.id for each in learned if each.memory is not None]
        self.reminders = await set_requested_reminders(memory, self.scope, turn.content)
        self.agreed = self.asked if is_yes(turn.content) else ()
        vector = next(iter(await embed_messages(self.deps.memory, [text] if names_subject(text) else [])), None)
        self.waiting.append(Stimulus(id=turn.turn_id, source=source, text=turn.content, at=turn.at, vector=vector))
        return HearResult(learned=learned, goals=goals, due=due, reminders=self.reminders)

    async def idle(self) -> Stimulus | None:
        """Come upon a memory and let it wait for attention; none where there is nothing to think about."""
        memory = self.deps.memory
        if len(self.picks) >= MOST_WAITING:
            return None
        goals = await load_vectors(memory, self.scope, await list_open(memory, self.scope))
        values = await load_vectors(memory, self.scope, await load_values(memory, self.scope))
        selves = GoalAndValueVectors(goals=list(goals.values()), values=list(values.values()))
        pick = self.unusual or await find_reached_goal(memory, self.scope)
        pick = pick or await pick_idle_memory(memory, self.scope, selves, self.deps.chance)
        if pick is None:
            return None
        self.unusual = None
        is_gut = pick.channel is ThoughtReason.GUT
        made = Stimulus(
            id=memory.new_uuid(),
            source=StimulusSource.GUT if is_gut else StimulusSource.IDLE,
            charge=float(is_gut),
            text=pick.candidate.text,
            prompt=pick.prompt,
            at=memory.clock(),
            vector=pick.candidate.vector,
        )
        self.picks[made.id] = pick
        self.learned[made.id] = pick.memories
        self.waiting.append(made)
        return made

    async def tell_thought(self) -> str | None:
        """Tell the person what was thought while nobody talked; none if there is nothing new. Raises `StoreDown`."""
        told = await tell_thought(self.deps.memory, self.scope)
        if told is None:
            return None
        thought, text = told
        here, store = self.scope, self.deps.memory.store
        found = await store.maybe(Q["asked_in_thought"], space=here.space, agent=here.agent, id=thought)
        self.asked = [*asked_call_keys(found["tools"] if found else ()), f"thought {thought}"]
        return text

    async def step(self, on_text: OnText = lambda _text: None) -> AgentCycle | None:
        """Attend to what matters most and answer it; none if nothing waits. Raises `StoreDown`."""
        goals = await list_open(self.deps.memory, self.scope) if self.goals is None else self.goals
        self.goals = None
        wanted = await load_vectors(self.deps.memory, self.scope, goals)
        winner = choose_winner(self.waiting, recent=self.recent, goals=list(wanted.values()))
        if winner is None:
            return None
        cycle = self._begin(winner, on_text)
        chance = random.Random(cycle.seed)  # noqa: S311 - draws that can be repeated, not secrets
        # Together they take as long as the slowest of them.
        usual, corrections, heaviest, history, about = await asyncio.gather(
            load_usual_vector(self.deps, self.scope),
            self._recollect(cycle),
            load_brief_sections(self.deps.memory, self.scope, limit=HEAVIEST, known=False),
            load_history(self.deps.memory, self.scope, before=winner.stimulus.id),
            self.deps.about(self.scope),
        )
        self.notes = cycle.notes
        moved = self._record_gut_z_score(cycle, usual)
        near = await self._weigh(heaviest.get("decision", ()))
        weighty = [
            (each.content, each.weight, near.get(each.id, 1.0))
            for name in IDENTITY_SECTIONS
            for each in heaviest.get(name, ())
        ]
        tools = self._select_tools(cycle, history)
        parts = ContextParts(
            name=self.scope.agent,
            boundaries=[each.content for each in heaviest.get("boundary", ())],
            identity=sample_identity_memories(weighty, chance),
            goals=self._choose_goal_lines(cycle, goals, wanted),
            corrections=corrections,
            about=(
                describe_attention(winner),
                describe_gut(moved),
                *about,
                load_prompt("festinger.agent", "tools").text.strip() if tools else "",
                *(f"You just noted a reminder for {each}" for each in self.reminders),
            ),
            history=history,
            message=cycle.prompt,
            notes=cycle.notes,
        )
        cycle.said, cycle.tokens = build_context(parts, window=self.deps.window())
        try:
            await self._answer(cycle, tools)
        except asyncio.CancelledError:
            await self._keep_stopped(cycle)
            raise
        for each in cycle.asks:
            cycle.add(f"\n\n{each}")
        cycle.tools += [f"{AGREED} {each}" for each in self.agreed if each.startswith("thought ")]
        self.asked = asked_call_keys(cycle.tools)
        await self._finish(cycle)
        return cycle

    def _select_tools(self, cycle: AgentCycle, history: Sequence[EpisodeTurn]) -> list[AgentTool]:
        """The tools of a cycle; a thought of its own changes nothing that is remembered."""
        if self.deps.tools is None:
            return []
        if cycle.source in INNER:
            return [each for each in self.deps.tools if each.effect is not ToolEffect.INNER]
        said = [*(turn.content for turn in history if turn.role is TurnRole.USER), cycle.message]
        cycle.wishes = said[-LAST_SAID:]
        return [*self.deps.tools, *build_goal_reminder_tools(self.deps.memory, self.scope, said, noted=self.reminders)]

    def _choose_goal_lines(
        self, cycle: AgentCycle, goals: Sequence[Memory], vectors: Mapping[UUID, Vector]
    ) -> list[str]:
        """The open goals nearest to what the agent attends to, without those among the notes.

        Where nearness is not known the newer ones come first.
        """

        def distance(goal: Memory) -> float:
            return -nearest_similarity(self.attention, [vectors[goal.id]]) if goal.id in vectors else 0.0

        nearest = sorted(goals, key=distance)[:MOST_GOALS]
        chosen = [goal for goal in nearest if str(goal.id) not in cycle.injected]
        cycle.goals = [each.id for each in chosen]
        return [f"{each.content} (since {each.created_at:%Y-%m-%d})" for each in chosen]

    def _record_gut_z_score(self, cycle: AgentCycle, usual: Vector | None) -> float:
        """Measure how far a talk is from what usually matters; by how many deviations that is unusual."""
        if (
            cycle.source in INNER
            or (distance := measure_gut_distance(blend_recent_vectors(self.recent), usual)) is None
        ):
            return 0.0
        moved = distance_z_score(distance, self.distances)
        cycle.gut = distance
        self.distances = [*self.distances, distance][-KEPT:]
        return moved

    async def _weigh(self, memories: Sequence[Memory]) -> dict[UUID, float]:
        """How near memories are to what the agent attends to; without those that have no vector."""
        vectors = await load_vectors(self.deps.memory, self.scope, memories) if self.attention is not None else {}
        return {id_: nearest_similarity(self.attention, [vector]) for id_, vector in vectors.items()}

    def _begin(self, winner: AttentionResult, tell: OnText) -> AgentCycle:
        stimulus = winner.stimulus
        self.waiting.remove(stimulus)
        for each in self.waiting:
            each.waited += 1
        self.attention = shift_attention(self.attention, stimulus.vector)
        if stimulus.vector is not None:
            self.recent = [*self.recent, stimulus.vector][-FELT:]
        self.cycles += 1
        told: list[str] = []

        def tell_and_keep(piece: str) -> None:
            told.append(piece)
            tell(piece)

        return AgentCycle(
            space_id=self.scope.space,
            id=self.deps.memory.new_uuid(),
            agent_id=self.scope.agent,
            session_id=self.scope.session,
            n=self.cycles,
            at=self.deps.memory.clock(),
            source=stimulus.source,
            winner=stimulus.id,
            message=stimulus.text,
            prompt=stimulus.prompt or stimulus.text,
            is_forget_request=stimulus.is_forget_request,
            tell=tell_and_keep,
            told=told,
            reason=winner.reason,
            candidates=[
                {"id": str(each.id), "source": each.source, "salience": round(score, 4)}
                for each, score in winner.saliences
            ],
            seed=self.deps.chance.getrandbits(SEED_BITS),
        )

    async def _answer(self, cycle: AgentCycle, tools: Sequence[AgentTool]) -> None:
        """Ask the model, once more if it is in doubt, and think slowly if that is not enough."""
        # A model would say that it has forgotten, and what is to be erased would be sent to it once more.
        model = None if cycle.is_forget_request else await self.deps.model(ModelPurpose.CHAT, self.scope)
        if model is None and cycle.source in INNER:
            return
        if model is None:
            answer_from_memory(cycle, self.reminders, has_learned=bool(self.learned.get(cycle.winner)))
            return
        try:
            cycle.reply = await self._ask(cycle, model, tools, cycle.tell)
        except FestingerError:
            await self._keep_failed(cycle)
            raise
        if cycle.source not in INNER:  # what nobody hears needs no second asking
            await self._reconsider_reply(cycle, model, tools)

    async def _keep_failed(self, cycle: AgentCycle) -> None:
        """Keep a cycle whose model did not answer, with what was heard of a reply that broke off."""
        cycle.degraded.append("model")
        if await self._keep_stopped(cycle):
            return
        cycle.action = "failed"
        if cycle.source in INNER:  # it counts, so that a model that is away is not asked all the time
            await self._save_idle_thought(cycle)
        await self._record(cycle)

    async def _ask(self, cycle: AgentCycle, model: Model, tools: Sequence[AgentTool], tell: OnText) -> str:
        """Ask the model what it says to all that was said; it may call tools before."""

        async def permit(tool: AgentTool, call: ModelToolCall, text: str) -> str:
            return await self._refuse(cycle, tool, call, text)

        said = await answer_with_tools(model, cycle.said, tools, tell, permit=permit, window=self.deps.window())
        cycle.said += said
        done = [each for each in said if each.role is MessageRole.TOOL and each.text not in (NOT_ASKED, UNSURE)]
        cycle.tools += [each.calls[0].name for each in done]
        kept = {call_key(each.calls[0]) for each in done if not each.text.startswith(FAILED)}
        cycle.tools += [f"{why} {key}" for key, why in cycle.granted.items() if key in kept]
        cycle.granted.clear()
        return "\n\n".join(each.text for each in said if each.role is MessageRole.ASSISTANT and each.text)

    async def _refuse(self, cycle: AgentCycle, tool: AgentTool, call: ModelToolCall, text: str) -> str:
        """Why a call is refused, given what was said before it; empty if it may be made."""
        if tool.effect is not ToolEffect.NOTHING and (blocked := await self._check_censors(call)):
            return blocked
        is_outside = tool.effect is ToolEffect.OUTSIDE
        asked = is_asked_for(call, cycle.wishes) if is_outside else bool(cycle.wishes)
        verdict = judge_action(
            tool.effect,
            asked=asked,
            confidence=combine_confidence(
                objective=estimate_reply_sureness(text), knowing=measure_memory_evidence(cycle)
            ),
            trust=await self.deps.trust(),
        )
        key = call_key(call)
        if verdict is ActionVerdict.GO or key in self.agreed:
            if key in self.agreed:
                cycle.granted[key] = AGREED
            elif is_outside and not asked:
                cycle.granted[key] = OWN
            self.agreed = [each for each in self.agreed if each != key]  # a yes is for one call
            return ""
        if verdict is ActionVerdict.UNSURE:
            return UNSURE
        if f"{ASKED} {key}" not in cycle.tools:
            cycle.tools.append(f"{ASKED} {key}")
            cycle.asks.append(format_permission_request(call))
        return NOT_ASKED

    async def _check_censors(self, call: ModelToolCall) -> str:
        why = await self.deps.check_tool(self.scope, f"{call.name} {json.dumps(dict(call.arguments), default=str)}")
        return f"Refused: {why}" if why else ""

    async def _reconsider_reply(self, cycle: AgentCycle, model: Model, tools: Sequence[AgentTool]) -> None:
        """Weigh how sure the reply is; ask again or think slowly where doubt is high."""
        sounds, knowing = estimate_reply_sureness(cycle.reply), measure_memory_evidence(cycle)
        cycle.confidence = combine_confidence(objective=sounds, knowing=knowing)
        # A plain reply is not asked again only because nothing was remembered.
        if sounds >= SOUNDS_SURE:
            return
        memories = await count_known_memories(self.deps.memory.store, self.scope, limit=FULL_MEMORY)
        bar = doubt_threshold(memories=memories, density=cycle.evidence)
        if 1.0 - cycle.confidence < bar:
            return
        try:
            cycle.said.append(load_prompt("festinger.agent", "again").message(doubt=cycle.reply[:200]))
            again = await self._ask(cycle, model, tools, lambda _text: None)
            cycle.retried = True
            confidence = combine_confidence(objective=estimate_reply_sureness(again), knowing=knowing)
            if confidence > cycle.confidence:
                cycle.confidence = confidence
                cycle.append_second_thought(again)
            reasons = find_escalation_reasons(cycle, bar=bar, unknown=knowing == 0.0)
            cycle.triggers = [reason.value for reason in reasons]
            if needs_system2(reasons):
                await self._ask_system2_model(cycle, reasons)
        except FestingerError as error:
            # The first answer stands.
            cycle.degraded.append("second thought")
            log.warning("no second thought", why=error.message)

    async def _ask_system2_model(self, cycle: AgentCycle, reasons: Sequence[EscalationReason]) -> None:
        model = await self.deps.model(ModelPurpose.SYSTEM2, self.scope)
        if model is None:
            return
        asked = load_prompt("festinger.agent", "think").message(
            message=cycle.message, notes=cycle.notes or "nothing", draft=cycle.reply, reasons=", ".join(reasons)
        )
        thought = (await model.answer([asked], System2Answer)).value
        cycle.escalated = True
        cycle.append_second_thought(thought.answer)
        if (lesson := thought.correction) is not None:
            text = f"When {lesson.trigger}: {lesson.correction}"
            request = LearnRequest(text=text, kind=Kind.CORRECTION, origin=Origin.MODEL, source=f"agent:{model.name}")
            await learn(self.deps.memory, self.scope, request)

    async def _finish(self, cycle: AgentCycle) -> None:
        """Keep what came of a cycle, and the cycle; infer what became of the notes. Never costs the reply."""
        shown = [MemoryId(UUID(each)) for each in cycle.injected if " " not in each]
        try:
            if cycle.source in INNER:
                await self._save_idle_thought(cycle)
            await asyncio.gather(self._record(cycle, surfaced=shown), self._observe(cycle, shown))
        except FestingerError as error:
            cycle.degraded.append("record")
            log.warning("the reply was not kept", why=error.message)

    async def _keep_stopped(self, cycle: AgentCycle) -> bool:
        """Keep what a person heard of a reply before it ended, so that what they say next can refer to it."""
        heard = "".join(cycle.told).strip()
        if not heard or cycle.source in INNER:
            return False
        cycle.action, cycle.reply = "stopped", f"{heard} …"
        with suppress(FestingerError):
            await self._record(cycle)
        return True

    async def _observe(self, cycle: AgentCycle, shown: Sequence[MemoryId]) -> None:
        """Infer what became of the notes."""
        if shown and cycle.recall and cycle.action == "said":
            await self.deps.observe_reply(self.scope, UUID(cycle.recall), cycle.message, cycle.reply)

    async def _record(self, cycle: AgentCycle, *, surfaced: Sequence[MemoryId] = ()) -> None:
        """Keep a cycle with what was said, and say to those who watch that it is over."""
        memory = self.deps.memory
        async with memory.store.transaction() as transaction:
            if cycle.action in SPOKEN:
                turn = TurnInput(
                    role=TurnRole.ASSISTANT,
                    content=cycle.reply,
                    origin=Origin.MODEL,
                    at=memory.clock(),
                    turn_id=memory.new_uuid(),
                    surfaced=tuple(surfaced),
                )
                await append_turn_in_transaction(memory, transaction, self.scope, turn, is_new=True)
            await transaction.run(Q["put_cycle"], **cycle.row())
            await memory.outbox.emit(
                transaction,
                "cycle_finished",
                space=self.scope.space,
                subject=f"agent:{self.scope.agent}",
                payload={"cycle": str(cycle.id), "n": cycle.n, "source": cycle.source.value, "action": cycle.action},
                agent=self.scope.agent,
                session=self.scope.session,
            )

    async def _save_idle_thought(self, cycle: AgentCycle) -> None:
        """Keep what was thought as a turn that nobody is told at once, and that is never evidence."""
        cycle.reply = "" if is_empty_thought(cycle.reply) else cycle.reply
        if cycle.action != "failed":
            cycle.action = "thought" if cycle.reply else "nothing"
        if (pick := self.picks.pop(cycle.winner, None)) is not None:
            await save_thought(self.deps.memory, self.scope, cycle.winner, pick, cycle.reply)

    async def close(self) -> None:
        """End the conversation: its episode is closed and summarized. Idempotent."""
        deps, space = self.deps.memory, self.scope.space
        for each in await load_page_of_episodes(deps, space, session=self.scope.session, state=EpisodeState.OPEN):
            closed = await close_episode(deps, space, each.id)
            await summarize_episode_within(deps, space, closed.id, seconds=deps.terms(space).episodes.model_wait_s)

    async def restore_last_cycle(self, last: Mapping[str, Any]) -> None:
        """Take up the last cycle: what it asked about, if the person read that, and whether it was unusual."""
        if last["session_id"] == self.scope.session or last["was_told"]:
            self.asked = asked_call_keys(last["tools"])
        memory = self.deps.memory
        rows = await memory.store.all(Q["gut_distances"], space=self.scope.space, agent=self.scope.agent, limit=KEPT)
        self.distances = [row["gut"] for row in reversed(rows)]
        if last["source"] != StimulusSource.USER or not last["message"] or not self.distances:
            return
        if abs(distance_z_score(self.distances[-1], self.distances[:-1])) >= JUMP:
            said = IdleCandidate(id=last["winner"], text=last["message"], weight=FRESH, touched=memory.clock())
            self.unusual = IdlePick(candidate=said, channel=ThoughtReason.GUT)

    async def resume(self) -> None:
        """Attend to what was talked about last in this session."""
        said = [turn.content for turn in await load_history(self.deps.memory, self.scope) if turn.role is TurnRole.USER]
        self.recent = await embed_messages(self.deps.memory, [text for text in said if names_subject(text)][-FELT:])
        for vector in self.recent:
            self.attention = shift_attention(self.attention, vector)

    async def _recollect(self, cycle: AgentCycle) -> list[str]:
        """Load the notes for a message; return the lessons from mistakes among them, whole."""
        try:
            notes = await self.deps.recollect(self.scope, cycle.message, self.learned.get(cycle.winner, ()))
        except FestingerError as error:
            cycle.degraded.append("memory")
            log.warning("answering without memory", why=error.message)
            return []
        cycle.injected, cycle.recall = list(notes.ids), notes.recall
        cycle.notes, cycle.evidence = notes.text, notes.evidence
        return await load_corrections(self.deps.memory, self.scope, cycle) if notes.ids else []


@asynccontextmanager
async def open_agent(deps: AgentDeps, scope: Scope, *, closes: bool = True) -> AsyncIterator[Agent]:
    """Open an agent's mind; only one process thinks for it at a time. Raises `AlreadyRunning`.

    Unless it `closes`, the conversation stays open at the end and is closed when it has been silent long enough.
    """
    async with deps.memory.store.locked(Q["try_lock_mind"], space=scope.space, agent=scope.agent) as held:
        if not held:
            raise AlreadyRunning(
                f"The agent `{scope.agent}` is talking elsewhere.", hint="End that chat, or name another `--agent`."
            )
        last = await deps.memory.store.maybe(Q["last_cycle"], space=scope.space, agent=scope.agent)
        agent = Agent(deps=deps, scope=scope, cycles=last["n"] if last else 0)
        if last is not None:
            await agent.restore_last_cycle(last)
        await agent.resume()
        try:
            yield agent
        finally:
            if closes:
                await agent.close()
