"""The agents as a server of the Model Context Protocol: three tools, and passages as resources."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Annotated, Any, Final
from urllib.parse import quote

from langchain_core.messages import HumanMessage
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, ContentBlock, ResourceLink, TextContent, ToolAnnotations
from pydantic import BaseModel, Field, ValidationError
from starlette.requests import Request

from rag.errors import AskbookError, UsageError, told
from rag.types import ErrorInfo, Event, Response
from rag.validation import allowed
from rag.web.api_keys import Person
from rag.web.book_choice import choose, events_of, own_book, own_books
from rag.web.hosting import HostedAgent, Hosting
from rag.web.http_requests import options_of, person_of
from rag.web.running_turns import turns_of

PASSAGE: Final = "askbook://passage/"
_INSTRUCTIONS: Final = (
    "Answers questions about a book from the book alone, with citations. ask_book gives a checked answer; search_book "
    "gives the passages. A sentence that ends with [?] could not be confirmed from the book."
)
_READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ASKS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, open_world_hint=False
)  # stores a conversation

QuestionText = Annotated[str, Field(description="The question, in the reader's words")]
QueryText = Annotated[str, Field(description="What to search for")]
ThreadId = Annotated[str | None, Field(description="A conversation to begin or to continue, any id; stored")]
FilterText = Annotated[str | None, Field(description="Only pages whose address begins with this, or title:PREFIX")]
AskedBook = Annotated[
    str | None, Field(description="One of list_books; without it, the usual book or the conversation's")
]
Count = Annotated[int | None, Field(description="Number of passages", ge=1, le=20)]


class BookTools:
    """The tools. A failure is a result with `is_error`, whose text says what happened and what to do."""

    def __init__(self, hosting: Hosting) -> None:
        self._hosting = hosting

    async def ask_book(
        self,
        question: QuestionText,
        ctx: Context,
        thread_id: ThreadId = None,
        filter: FilterText = None,
        top_k: Count = None,
        book: AskedBook = None,
    ) -> CallToolResult:
        """Ask the book a question. Returns an answer whose sentences were checked, with its citations."""
        person = _person(ctx)
        stored = person.stored(thread_id) if thread_id else None
        overrides = {name: value for name, value in (("filter", filter), ("top_k", top_k)) if value is not None}
        try:
            chosen = await choose(self._hosting, person, stored, book=book)
            context = options_of(self._hosting, overrides | {"profile": chosen.profile})

            def asked(agent: HostedAgent) -> AsyncGenerator[Event, None]:
                if stored is None:
                    return agent.stream_messages([HumanMessage(question)], context=context)
                return agent.stream(question, thread_id=stored, context=context)

            events = events_of(self._hosting, chosen.book, asked)
            async with _begun(ctx, person, stored, events) as turn:
                responses = [event.response async for event in turn if event.response is not None]
        except AskbookError as error:
            return _failed(error)
        return _answer(responses[-1], person, self._named(person, chosen.book))

    def _named(self, person: Person, book: str) -> str:
        """The book for a link to a passage; empty for the one that is read without a name."""
        return "" if book == self._hosting.access.usual(person.name, self._hosting.books.usual) else book

    async def search_book(
        self, query: QueryText, ctx: Context, filter: FilterText = None, top_k: Count = None, book: AskedBook = None
    ) -> CallToolResult:
        """Search the book. Returns passages with their text and address."""
        person = _person(ctx)
        try:
            chosen = own_book(self._hosting, person, book)
            async with self._hosting.books.agent(chosen) as agent:
                found = await agent.search(query, k=top_k, filter=filter)
        except AskbookError as error:
            return _failed(error)
        texts: list[ContentBlock] = [
            TextContent(text=f"[{one['rank']}] {one['breadcrumb'] or one['title']}\n{one['text']}")
            for one in found["results"]
        ]
        links = [_link(one, self._named(person, chosen)) for one in found["results"]]
        return CallToolResult(content=[*texts, *links], structured_content=found)

    async def list_books(self, ctx: Context) -> CallToolResult:
        """List the books that the tools answer from; `current` marks the one that answers when none is named."""
        try:
            books = await own_books(self._hosting, _person(ctx))
        except AskbookError as error:
            return _failed(error)
        books = [book | {"collection": book["name"]} for book in books]
        lines = "\n".join(f"{book['name']}: {book.get('title') or book['name']}" for book in books)
        return CallToolResult(content=[TextContent(text=lines)], structured_content={"books": books})

    async def passage(self, chunk_id: str, ctx: Context, book: str = "") -> str:
        """A stored passage, whole. Raises `ValueError` for an unknown id or book."""
        try:
            async with self._hosting.books.agent(own_book(self._hosting, _person(ctx), book or None)) as agent:
                found = await agent.passages([chunk_id])
        except AskbookError as error:
            raise ValueError(error.message) from error
        if not found:
            raise ValueError("There is no such passage in the book.")
        return str(found[0]["text"])


def build_mcp(hosting: Hosting) -> MCPServer:
    """A server with the tools of `BookTools`, and passages as the resources `askbook://passage/ID?book=NAME`."""
    server: MCPServer = _Server("askbook", instructions=_INSTRUCTIONS, log_level="CRITICAL")
    tools = BookTools(hosting)
    server.add_tool(tools.ask_book, annotations=_ASKS)
    server.add_tool(tools.search_book, annotations=_READS)
    server.add_tool(tools.list_books, annotations=_READS)
    server.resource(f"{PASSAGE}{{chunk_id}}{{?book}}", title="A passage of the book", mime_type="text/markdown")(
        tools.passage
    )
    return server


class _Server(MCPServer):
    """Tells which argument of a call is wrong in one sentence, in place of pydantic's report."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context | None = None) -> Any:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            problem = error.__cause__.errors(include_url=False)[0]
            place = ".".join(str(part) for part in problem["loc"])
            message = f'The argument "{place}" of {name} is not valid: {allowed(problem, BaseModel)}.'
            return _failed(UsageError(message, code="invalid_option"))


def _person(ctx: Context) -> Person:
    """The person of a request over HTTP; over standard input there is only the user of this machine."""
    request = ctx.request_context.request
    return person_of(request) if isinstance(request, Request) else Person()


@asynccontextmanager
async def _begun(
    ctx: Context, person: Person, stored: str | None, events: AsyncGenerator[Event, None]
) -> AsyncIterator[AsyncIterable[Event]]:
    """The events of a turn, within the limits of its key where it came over HTTP. Raises `RequestRefusedError`."""
    request = ctx.request_context.request
    if not isinstance(request, Request):  # over standard input there is one user, who needs no limits
        async with aclosing(events):
            yield events
        return
    async with turns_of(request).begun(person, stored, events) as turn:
        yield turn


def _answer(response: Response, person: Person, book: str) -> CallToolResult:
    if response.error is not None:
        return _failed(response.error)
    data = person.seen(response).model_dump(mode="json")
    links = [_link(citation, book) for citation in data["citations"]]
    return CallToolResult(content=[TextContent(text=response.content), *links], structured_content=data)


def _link(record: Mapping[str, Any], book: str) -> ResourceLink:
    title = record["breadcrumb"] or record["heading"] or record["title"]
    address = f"{PASSAGE}{record['chunk_id']}" + (f"?book={quote(book, safe='')}" if book else "")
    return ResourceLink(uri=address, name=title, description=record["url"], mime_type="text/markdown")


def _failed(failure: AskbookError | ErrorInfo) -> CallToolResult:
    info = failure.info() if isinstance(failure, AskbookError) else failure
    text = " ".join(filter(None, (told(info), info.message, info.hint)))
    error = {"error": info.model_dump(mode="json")}
    return CallToolResult(content=[TextContent(text=text)], structured_content=error, is_error=True)
