"""The agent as a server of the Model Context Protocol: three tools, and passages as resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from langchain_core.messages import HumanMessage
from mcp.server.mcpserver import Context, MCPServer
from mcp.types import CallToolResult, ContentBlock, ResourceLink, TextContent, ToolAnnotations
from pydantic import Field

from rag.errors import AskbookError, told
from rag.types import ErrorInfo, Response
from rag.web.api_keys import Person
from rag.web.hosting import Hosting
from rag.web.http_requests import options_of

PASSAGE: Final = "askbook://passage/"
_INSTRUCTIONS: Final = (
    "Answers questions about a book from the book alone, with citations. ask_book gives a checked answer; search_book "
    "gives the passages. A sentence that ends with [?] could not be confirmed from the book."
)
_READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ASKS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, open_world_hint=False
)  # stores a conversation

Question = Annotated[str, Field(description="The question, in the reader's words")]
Query = Annotated[str, Field(description="What to search for")]
Thread = Annotated[str | None, Field(description="A conversation to begin or to continue, any id; stored")]
Filter = Annotated[str | None, Field(description="Only pages whose address begins with this, or title:PREFIX")]
Count = Annotated[int | None, Field(description="Number of passages", ge=1, le=20)]


class BookTools:
    """The tools. A failure is a result with `is_error`, whose text says what happened and what to do."""

    def __init__(self, hosting: Hosting) -> None:
        self._hosting = hosting
        self._agent = hosting.agent

    async def ask_book(
        self, question: Question, ctx: Context, thread_id: Thread = None, filter: Filter = None, top_k: Count = None
    ) -> CallToolResult:
        """Ask the book a question. Returns an answer whose sentences were checked, with its citations."""
        person = _person(ctx)
        stored = person.stored(thread_id) if thread_id else None
        knobs = {name: value for name, value in (("filter", filter), ("top_k", top_k)) if value is not None}
        try:
            context = options_of(self._hosting, knobs)
            if stored is None:
                events = self._agent.stream_messages([HumanMessage(question)], context=context)
            else:
                events = self._agent.stream(question, thread_id=stored, context=context)
            responses = [event.response async for event in events if event.response is not None]
        except AskbookError as error:
            return _failed(error)
        return _answer(responses[-1], person)

    async def search_book(self, query: Query, filter: Filter = None, top_k: Count = None) -> CallToolResult:
        """Search the book. Returns passages with their text and address."""
        try:
            found = await self._agent.search(query, k=top_k, filter=filter)
        except AskbookError as error:
            return _failed(error)
        texts: list[ContentBlock] = [
            TextContent(text=f"[{one['rank']}] {one['breadcrumb'] or one['title']}\n{one['text']}")
            for one in found["results"]
        ]
        links = [_link(one) for one in found["results"]]
        return CallToolResult(content=[*texts, *links], structured_content=found)

    async def list_books(self) -> CallToolResult:
        """List the books that the tools answer from."""
        try:
            books = [await self._agent.book()]
        except AskbookError as error:
            return _failed(error)
        lines = "\n".join(f"{book['collection']}: {book['passages']} passages" for book in books)
        return CallToolResult(content=[TextContent(text=lines)], structured_content={"books": books})

    async def passage(self, chunk_id: str) -> str:
        """A stored passage, whole. Raises `ValueError` for an unknown id."""
        found = await self._agent.passages([chunk_id])
        if not found:
            raise ValueError("There is no such passage in the book.")
        return str(found[0]["text"])


def build_mcp(hosting: Hosting) -> MCPServer:
    """A server with the tools of `BookTools`, and passages as the resources `askbook://passage/ID`."""
    server: MCPServer = MCPServer("askbook", instructions=_INSTRUCTIONS, log_level="CRITICAL")
    tools = BookTools(hosting)
    server.add_tool(tools.ask_book, annotations=_ASKS)
    server.add_tool(tools.search_book, annotations=_READS)
    server.add_tool(tools.list_books, annotations=_READS)
    server.resource(f"{PASSAGE}{{chunk_id}}", title="A passage of the book", mime_type="text/markdown")(tools.passage)
    return server


def _person(ctx: Context) -> Person:
    """The person of a request over HTTP; over standard input there is only the user of this machine."""
    request = ctx.request_context.request
    person = getattr(getattr(request, "state", None), "person", None)
    return person if isinstance(person, Person) else Person()


def _answer(response: Response, person: Person) -> CallToolResult:
    if response.error is not None:
        return _failed(response.error)
    own = person.own(response.thread_id) or response.thread_id
    data = response.model_copy(update={"thread_id": own}).model_dump(mode="json")
    links = [_link(citation) for citation in data["citations"]]
    return CallToolResult(content=[TextContent(text=response.content), *links], structured_content=data)


def _link(record: Mapping[str, Any]) -> ResourceLink:
    title = record["breadcrumb"] or record["heading"] or record["title"]
    return ResourceLink(
        uri=f"{PASSAGE}{record['chunk_id']}", name=title, description=record["url"], mime_type="text/markdown"
    )


def _failed(failure: AskbookError | ErrorInfo) -> CallToolResult:
    info = failure.info() if isinstance(failure, AskbookError) else failure
    text = " ".join(filter(None, (told(info), info.message, info.hint)))
    error = {"error": info.model_dump(mode="json")}
    return CallToolResult(content=[TextContent(text=text)], structured_content=error, is_error=True)
