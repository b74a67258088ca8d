"""For tests of your own nodes, profiles and programs: a scripted model, an index in memory, and the state of a turn.

Nothing here needs a network, a file or a test framework. The nodes, the prompts, the citations and the checks of
sentences are the real ones.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from typing import Any, cast
from uuid import NAMESPACE_URL, uuid5

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langgraph.runtime import Runtime
from pydantic import Field

from nodes.error import error
from nodes.generate import generate
from nodes.idle import idle
from nodes.retrieve import retrieve
from nodes.rewrite import rewrite
from nodes.tools import tools
from rag.book import SearchFilter, SearchQuery, SearchResult, Trace
from rag.errors import AskbookError, UsageError
from rag.ports import ChunkIndex, Parts
from rag.profiles.profile import Profile, load_profile
from rag.quoting.terms import Term, keys, terms
from rag.search.langchain_retriever import SeenChunkIndex
from rag.types import AnsweredQuestion, Passage, Retrieval
from state import AgentState, Context, Turn

__all__ = [
    "MemoryIndex", "Recorder", "ScriptEndedError", "ScriptedModel", "ScriptedServices", "node", "open_state", "passage",
    "tool_call",
]  # fmt: skip

# What a model says to one call: a text, the chunks of a stream, or an exception.
Reply = str | Exception | Sequence[AIMessageChunk | str | Exception]

_NODES: dict[str, Callable[..., Any]] = {
    "IDLE": idle,
    "RETRIEVING": retrieve,
    "GENERATING": generate,
    "ERROR": error,
    "rewrite": rewrite,
    "tools": tools,
}


class ScriptEndedError(AskbookError, AssertionError):
    """A scripted model was called once more than its script foresees. Ends a turn as an error that says so."""

    def __init__(self, asked: str) -> None:
        message = f"The script of the model has no more answers. It was asked: {asked}"
        super().__init__("api_error", "model", message, hint="Give the model one more reply.")


class ScriptedModel(BaseChatModel):
    """A chat model that answers with its script, one reply a call. `prompts` and `options` are what it was given.

    A call beyond the script raises `ScriptEndedError`, which is an `AssertionError`. `assert_complete` raises
    `AssertionError` for replies that were never asked for.
    """

    script: list[Any] = Field(default_factory=list)
    prompts: list[list[BaseMessage]] = Field(default_factory=list)
    options: list[dict[str, Any]] = Field(default_factory=list)

    def __init__(self, *script: Reply, **fields: Any) -> None:
        super().__init__(**({"script": list(script)} | fields))

    def assert_complete(self) -> None:
        if self.script:
            raise AssertionError(f"{len(self.script)} replies were never asked for")

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        return self.bind(tools=list(tools), **options)

    def unforeseen(self, prompt: Sequence[BaseMessage]) -> None:
        """Called for a call beyond the script. Raises `ScriptEndedError`."""
        raise ScriptEndedError(prompt[-1].text[:200])

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _chunks(self, prompt: list[BaseMessage], options: dict[str, Any]) -> Iterator[ChatGenerationChunk]:
        self.prompts.append(prompt)
        self.options.append(options)
        if not self.script:
            self.unforeseen(prompt)
        for part in self._parts_of(self.script.pop(0), prompt):
            if isinstance(part, Exception):
                raise part
            yield self._chunk_of(part)
        yield ChatGenerationChunk(message=AIMessageChunk(content="", response_metadata={"finish_reason": "stop"}))

    def _parts_of(self, reply: Any, _prompt: list[BaseMessage]) -> list[Any]:
        return [reply] if isinstance(reply, str | Exception) else list(reply)

    def _chunk_of(self, part: Any) -> Any:
        message = part if isinstance(part, AIMessageChunk) else AIMessageChunk(content=part)
        return ChatGenerationChunk(message=message)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("answers are streamed")

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._chunks(messages, kwargs):
            yield chunk


def tool_call(query: str, call_id: str = "call-1", name: str = "search_book") -> AIMessageChunk:
    """The chunk of a stream in which the model asks for a search."""
    call: Any = {"type": "tool_call_chunk", "name": name, "args": json.dumps({"query": query})}
    return AIMessageChunk(content="", tool_call_chunks=[call | {"id": call_id, "index": 0}])


def passage(text: str, number: int = 1, **fields: Any) -> Passage:
    """A passage as a search finds it; `fields` are those of `Passage`. Two passages of the same text have one id."""
    values: dict[str, Any] = {
        "score": 0.9,
        "chunk_id": str(uuid5(NAMESPACE_URL, text)),
        "title": f"Page {number}",
        "url": f"https://book.example/page-{number}",
        "link": f"https://book.example/page-{number}",
        "chunk_sha256": hashlib.sha256(text.encode()).hexdigest(),
    }
    return Passage(number=number, text=text, **(values | fields))


class MemoryIndex:
    """A search over passages in memory. A passage's score is the share of the question's words that it has.

    `asked` are the questions that were searched for. Small words do not count.
    """

    def __init__(self, *passages: Passage | str) -> None:
        self.passages = [passage(one, n) if isinstance(one, str) else one for n, one in enumerate(passages, start=1)]
        self.asked: list[str] = []

    async def words(self) -> Collection[str]:
        """Empty: no word of a question is corrected."""
        return ()

    async def retrieve(
        self,
        question: str,
        *,
        k: int,
        threshold: float,
        where: SearchFilter | None = None,
        history: Sequence[AnsweredQuestion] = (),  # noqa: ARG002
        rewrite: str = "",  # noqa: ARG002
        neighbours: int = 0,  # noqa: ARG002
    ) -> SearchResult:
        """As `rag.ports.Retriever.retrieve`, without contexts, rewrites and neighbours."""
        self.asked.append(question)
        wanted = terms(question)
        scored = [
            (_share(wanted, keys(f"{one.title} {one.text}")), one)
            for one in self.passages
            if where is None or one.url.startswith(where.url_prefix)
        ]
        best = sorted((pair for pair in scored if pair[0] >= threshold), key=lambda pair: -pair[0])[:k]
        found = [one.model_copy(update={"number": n, "score": score}) for n, (score, one) in enumerate(best, start=1)]
        retrieval = Retrieval(
            tool_name="search_book",
            query=question,
            filter_applied=str(where) if where else None,
            results_count=len(found),
            total_chunks_found=len(scored),
            avg_similarity=sum(one.score for one in found) / len(found) if found else 0.0,
            retrieval_time_ms=0.0,
        )
        return SearchResult(found, retrieval, Trace((SearchQuery("question", question),), ("words",), threshold, ()))


def _share(wanted: Sequence[Term], found: frozenset[str]) -> float:
    """The share of the terms that the keys of a text hold."""
    return sum(term.within(found) for term in wanted) / max(1, len(wanted))


class ScriptedServices:
    """The services of `build_graph`, over a scripted model and an index in memory."""

    def __init__(
        self, model: BaseChatModel | None = None, index: MemoryIndex | None = None, profile: Profile | None = None
    ) -> None:
        self._parts = Parts(
            profile or load_profile("default"), model or ScriptedModel(), "scripted", None, index or MemoryIndex()
        )

    @property
    def index(self) -> ChunkIndex:
        return SeenChunkIndex("book")

    def parts(self, profile: str | None) -> Parts:  # noqa: ARG002
        """The same parts for every name."""
        return self._parts


class Recorder:
    """A runtime for a node that is called outside a graph; `events` is what the node has written to the stream."""

    def __init__(self, context: Context | None = None) -> None:
        self.events: list[dict[str, Any]] = []
        self.runtime: Runtime[Context] = Runtime(context=context or Context(), stream_writer=self.events.append)

    @property
    def text(self) -> str:
        """The pieces of the answer that were shown, joined."""
        return "".join(event["text"] for event in self.events if event["type"] == "sentence")


def node(
    name: str,
    model: BaseChatModel | None = None,
    index: MemoryIndex | None = None,
    *,
    profile: Profile | None = None,
    recorder: Recorder | None = None,
) -> Callable[[AgentState], Awaitable[dict[str, Any]]]:
    """A node of the graph as a function from a state to an update.

    `name` is `IDLE`, `RETRIEVING`, `GENERATING`, `ERROR`, `rewrite` or `tools`. Raises `UsageError` for any other.
    """
    if name not in _NODES:
        raise UsageError(f'There is no node "{name}".', code="usage", hint=f"Nodes: {', '.join(_NODES)}.")
    bound = {} if name == "ERROR" else {"parts_of": ScriptedServices(model, index, profile).parts}
    runtime = (recorder or Recorder()).runtime

    async def call(state: AgentState) -> dict[str, Any]:
        update = _NODES[name](state, runtime, **bound)
        return dict(await update if inspect.isawaitable(update) else update)

    return call


def open_state(question: str, *passages: Passage | str, **state: Any) -> AgentState:
    """The state of a turn that has been opened for the question and has found the passages."""
    found = [passage(one, n) if isinstance(one, str) else one for n, one in enumerate(passages, start=1)]
    turn = Turn(
        request_id="question-1",
        question=question,
        metadata={},
        number=1,
        began=time.time(),
        profile="default",
        model="scripted",
    )
    opened: dict[str, Any] = {
        "messages": [HumanMessage(question, id="question-1")],
        "turn": turn,
        "passages": [one.model_dump(mode="json") for one in found],
    }
    return cast("AgentState", opened | state)
