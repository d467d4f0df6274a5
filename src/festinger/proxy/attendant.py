"""What becomes of a request before it is forwarded, and of its answer after it?

Understand it, ask the mind about what is new in it, put the notes in, keep the session; when the answer is over,
keep its words for the session and have the exchange learnt. Each of these stands in a file of its own; here is
their order. Whatever was not understood goes on as it came.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from festinger.clock import Clock
from festinger.ids import Origin
from festinger.proxy.attending import Attended
from festinger.proxy.ending import Ended
from festinger.proxy.exchange import Exchange, Listening
from festinger.proxy.guard import Visit
from festinger.proxy.headers import RawHeaders
from festinger.proxy.injection.block import Block
from festinger.proxy.injection.removal import without_blocks
from festinger.proxy.loops.message import Message, Role
from festinger.proxy.mind import Mind
from festinger.proxy.noting import Noted, noted
from festinger.proxy.requests.untouched import Untouched
from festinger.proxy.sessions.chain import content_of_reply
from festinger.proxy.sessions.keeping import Sessions
from festinger.proxy.sessions.session import Reply, latest
from festinger.proxy.telling import MemoryResult, MemoryTold
from festinger.proxy.understanding import NewId, Understanding, Understood
from festinger.settings.tree import ProxySettings
from festinger.world.recollector import Said


class Attendant:
    """Keeps the sessions of this door and attends to their requests."""

    def __init__(self, mind: Mind, *, clock: Clock, new_id: NewId, settings: ProxySettings) -> None:
        self._mind = mind
        self._clock = clock
        self._sessions = Sessions(most=settings.sessions_max, idle=timedelta(seconds=settings.session_idle))
        self._understanding = Understanding(self._sessions, clock=clock, new_id=new_id)

    async def attend(
        self, visit: Visit, headers: RawHeaders, body: bytes, *, settings: ProxySettings
    ) -> Attended:
        """The request with what it brings to mind; the original bytes where nothing is to be added."""
        understood = self._understanding.understand(visit, headers, body, settings=settings)
        if isinstance(understood, Untouched):
            return Attended(body=body, told=MemoryTold(result=MemoryResult.OFF, reason=understood))
        note = await self._noted(understood, settings)
        self._keep(understood, note.blocks)
        listener = Listening(understood, self._take, told=note.told, fresh=note.fresh)
        return Attended(body=note.body, told=note.told, listener=listener if understood.is_learnt else None)

    async def _noted(self, understood: Understood, settings: ProxySettings) -> Noted:
        if understood.never is not None:
            told = MemoryTold(result=MemoryResult.OFF, reason=understood.never)
            return Noted(body=understood.request.body, told=told, blocks=understood.session.blocks)
        found = await self._mind.recollect(understood.place, understood.new[::-1])
        return noted(understood, found, settings=settings)

    def _keep(self, understood: Understood, blocks: Mapping[bytes, Block]) -> None:
        chain = understood.chain
        recent = frozenset(
            content
            for turn, content in zip(understood.request.turns, chain.contents, strict=True)
            if turn.role is not Role.USER
        )
        self._sessions.keep(
            replace(
                understood.session,
                at=self._clock(),
                head=chain.head,
                links=chain.links,
                recent=recent,
                blocks=blocks,
            )
        )

    def _take(self, exchange: Exchange) -> None:
        """The answer is over: keep what it said for the session, and have both sides learnt."""
        if exchange.ended is Ended.ERROR:
            return
        understood, now = exchange.understood, self._clock()
        own = without_blocks(exchange.heard.text, understood.mark)
        reply = Reply(text=own, content=content_of_reply(Message(role=Role.ASSISTANT, text=own)), at=now)
        caller = understood.session.caller
        session = self._sessions.find(caller, understood.session.id, now=now) or understood.session
        self._sessions.keep(replace(session, at=now, replies=latest((*session.replies, reply))))
        if exchange.heard.id:
            self._sessions.remember_response(caller, exchange.heard.id, session.id)
        said = Said(text=own, origin=Origin.MODEL, message=f"{session.id}:{reply.content.hex()}")
        self._mind.learn(understood.place, [*understood.new, *([said] if own.strip() else [])])
