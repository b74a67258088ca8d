"""A chat: its agent and book, the current conversation, and the last answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from cli.terminal import in_line
from rag.conversation.turns import check_thread_id, stored_response
from rag.errors import UsageError
from rag.settings import Settings
from rag.text.counting import counted
from rag.types import Citation, Event, Response, new_id

if TYPE_CHECKING:
    from graph.agent import Agent
    from state import Context


class ChatSession:
    """One chat. `reopen` opens an agent for another book in place of the current one; None where the book is fixed."""

    def __init__(
        self,
        agent: Agent,
        settings: Settings,
        profile: str,
        where: str | None = None,
        reopen: Callable[[str], Awaitable[Agent]] | None = None,
    ) -> None:
        self.agent = agent
        self.settings = settings
        self.profile = profile
        self.where = where  # the filter of every search, as typed
        self.model: str | None = None  # the model chosen with /model
        self.thread_id = new_id()
        self.resumed = 0  # turns of the continued conversation
        self.last: Response | None = None  # of a turn of this chat
        self.trace: Mapping[str, Any] | None = None  # of the first search of the last turn
        self.failed = False  # whether any turn failed
        self.offered = False  # whether the user was just asked to finish an interrupted turn
        self._reopen = reopen

    def context(self) -> Context:
        from state import Context

        return Context(profile=self.profile, filter=self.where, model=self.model)

    @property
    def collection(self) -> str:
        """The name of the book."""
        return self.agent.services.index.collection

    async def resume(self, thread_id: str | None) -> None:
        """Continue a conversation, by default the newest; an unknown `thread_id` starts a new one with that id."""
        known = await self.agent.threads()
        self.thread_id = check_thread_id(thread_id) if thread_id is not None else next(iter(known), self.thread_id)
        self.last, self.trace, self.resumed = None, None, 0
        if self.thread_id in known:
            found = await self.agent.memory.summary(self.thread_id)
            self.resumed = found["turns"] if found else 0

    async def switch_book(self, name: str) -> None:
        """Ask another book from now on, in a new conversation. Raises `UsageError` if that cannot be."""
        if self._reopen is None:
            raise UsageError("The book of this chat cannot be changed.", code="fixed")
        self.agent = await self._reopen(name)
        self.thread_id, self.resumed, self.last, self.trace = new_id(), 0, None, None

    def choose_model(self, name: str) -> None:
        """Let this model of the profile's endpoint write the answers. Raises `UsageError` if no key is set."""
        from rag.services import LiveServices

        services = self.agent.services
        parts = services.parts(self.profile)
        if not isinstance(services, LiveServices):
            raise UsageError("The model of this chat cannot be changed.", code="fixed")
        if parts.quotes:
            message = "Without a key no model can answer."
            raise UsageError(message, code="no_key", hint=f"Set {parts.key_variable} to have answers written.")
        services.offer_model(name)
        self.model = name

    async def book(self) -> str:
        """The title and size of the book, for display."""
        from rag.books.book_settings import MANUAL
        from rag.books.stored_books import MANUAL_TITLE

        info = await self.agent.services.index.info()
        if self.collection == MANUAL:
            name = MANUAL_TITLE
        else:
            name = in_line(info.title if info else "") or f'"{self.collection}"'
        if info is None:
            return f"{name} (not indexed yet)"
        pages = [counted(info.pages, "page")] if info.pages else []
        return f"{name} ({', '.join([*pages, counted(info.chunks, 'passage')])})"

    async def asked_again(self) -> AsyncIterator[Event]:
        """The events of the last turn, asked again. Raises `UsageError` if there is none."""
        if self.thread_id not in await self.agent.threads():
            raise UsageError("There is no question to ask again.", code="nothing_to_retry")
        self.last = None
        return self.agent.stream_retry(self.thread_id, context=self.context())

    async def take_back(self) -> str:
        """Undo the last turn and return its question. Raises `UsageError` if there is none."""
        if self.thread_id not in await self.agent.threads():
            raise UsageError("There is no turn to undo.", code="nothing_to_undo")
        question = await self.agent.undo(self.thread_id)
        self.last, self.trace = None, None
        return question

    async def answer(self) -> Response:
        """The last answer, of this chat or as the conversation has stored it. Raises `UsageError` if there is none.

        A stored one has its citations and searches; checks and times are not stored.
        """
        if self.last is not None:
            return self.last
        stored = await self.agent.memory.conversation(self.thread_id)
        if stored is None or not stored["turns"]:
            raise UsageError("There is no answer yet.")
        return stored_response(self.thread_id, stored["turns"][-1])

    async def citations(self) -> list[Citation]:
        """The citations of the last answer, at least one. Raises `UsageError` if there are none."""
        if not (found := (await self.answer()).citations):
            raise UsageError("The last answer has no sources.")
        return found
