"""OpenAI's wire format: chat completions, streamed or not, and the profiles as models."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from pydantic import BaseModel
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.responses import Response as HttpResponse
from starlette.routing import Route

from rag.conversation.turns import check_thread_id
from rag.errors import RetrievalError, UsageError
from rag.types import Event, Response, Tokens, new_id
from rag.web.api_keys import Person
from rag.web.book_choice import choose, events_of, own_books
from rag.web.client_tasks import TaskAnswer, task_answer
from rag.web.hosting import HostedAgent
from rag.web.http_errors import error_body, error_response, status_of
from rag.web.http_requests import hosting_of, json_object, metadata_of, options_of, person_of
from rag.web.model_names import ModelChoice, model_choice, model_names
from rag.web.running_turns import RunningTurn, Turns

_WITHDRAWN: Final = "\n\n(The text above was withdrawn.)\n\n"
_OLDEST: Final = 200  # messages of a request that count as its history
_PING_SECONDS: Final = 15


async def list_models(request: Request) -> HttpResponse:
    """The profiles, and where there are several books, one model for each of them."""
    hosting, books = hosting_of(request), []
    with suppress(RetrievalError):  # the profiles are known all the same
        books = [book["name"] for book in await own_books(hosting, person_of(request))]
    return JSONResponse({"object": "list", "data": [_model(name) for name in model_names(hosting.offer, books)]})


async def read_model(request: Request) -> HttpResponse:
    hosting = hosting_of(request)
    chosen = model_choice(hosting.offer, request.path_params["model"])
    if chosen.book:
        listed = await own_books(hosting, person_of(request))
        if chosen.book not in [book["name"] for book in listed]:
            raise chosen.missing(hosting.offer)
    return JSONResponse(_model(request.path_params["model"]))


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "askbook"}


async def complete(request: Request) -> HttpResponse:
    """A chat completion. Options that askbook does not know are ignored, as other servers of this format do."""
    hosting, data = hosting_of(request), await json_object(request)
    question, history = conversation_of(data.get("messages"))
    model = model_choice(hosting.offer, data.get("model"))
    if (done := task_answer(question, history, data)) is not None:
        return _chore(done, model.name or hosting.offer.usual, stream=bool(data.get("stream")))
    try:
        return await _turn(request, data, model, [*history, HumanMessage(question)])
    except UsageError as error:
        raise model.missing(hosting.offer) if model.book and error.code == "unknown_book" else error from None


async def _turn(
    request: Request, data: Mapping[str, Any], model: ModelChoice, messages: Sequence[AnyMessage]
) -> HttpResponse:
    hosting, person, metadata = hosting_of(request), person_of(request), metadata_of(data)
    stored = _stored_thread(metadata, person)
    options_of(hosting, _knobs(data))  # what is not valid is refused before anything is looked up
    chosen = await choose(hosting, person, stored, book=model.book, profile=model.profile)
    context = options_of(hosting, _knobs(data) | {"profile": chosen.profile})

    def asked(agent: HostedAgent) -> AsyncGenerator[Event, None]:
        if stored is None:
            return agent.stream_messages(messages, context=context, metadata=metadata)
        return agent.stream(messages[-1].text, thread_id=stored, context=context, metadata=metadata)

    events, name = events_of(hosting, chosen.book, asked), model.name if model.book else ""
    if data.get("stream"):
        counting = data.get("stream_options")
        with_usage = isinstance(counting, Mapping) and bool(counting.get("include_usage"))
        return await _stream(request, stored, events, _Form(person, context, name, with_usage=with_usage))
    turns: Turns = request.app.state.turns
    async with turns.begun(person, stored, events) as turn:
        response = [event.response async for event in turn if event.response is not None][-1]
    return _whole(_as_seen(response, person), name)


def _stored_thread(metadata: Mapping[str, Any], person: Person) -> str | None:
    thread_id = metadata.get("thread_id")
    if thread_id is None:
        return None
    if not isinstance(thread_id, str):
        raise UsageError("metadata.thread_id is not a string.", code="thread_id")
    return person.stored(check_thread_id(thread_id))


def _chore(done: TaskAnswer, model: str, *, stream: bool) -> HttpResponse:
    """A completion without a turn, for a task of the client."""
    body = _envelope(new_id(), "chat.completion.chunk" if stream else "chat.completion", model)
    message: dict[str, Any] = {"role": "assistant", "content": done.text}
    if done.tool:
        call = {"name": done.tool, "arguments": done.text}
        message = {"role": "assistant", "content": None}
        message["tool_calls"] = [{"index": 0, "id": f"call_{new_id()}", "type": "function", "function": call}]
    finish = "tool_calls" if done.tool else "stop"
    if not stream:
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        return JSONResponse(body | {"choices": [choice], "usage": _usage(Tokens())})
    choices = ({"index": 0, "delta": message}, {"index": 0, "delta": {}, "finish_reason": finish})
    chunks = [json.dumps(body | {"choices": [choice]}, ensure_ascii=False) for choice in choices]
    return HttpResponse("".join(f"data: {chunk}\n\n" for chunk in (*chunks, "[DONE]")), media_type="text/event-stream")


def conversation_of(messages: Any) -> tuple[str, list[AnyMessage]]:
    """The last user message as the question, and the questions and answers before it. Raises `UsageError`.

    Messages of other roles are left out: instructions belong to the profile, and tools to the caller.
    """
    if not isinstance(messages, list) or not messages:
        raise UsageError("messages is not a list of messages.", code="invalid_option")
    found: list[AnyMessage] = []
    for position, message in enumerate(messages, 1):
        if not isinstance(message, Mapping):
            raise UsageError(f"Message {position} is not an object.", code="invalid_option")
        text = _text(message.get("content"), position)
        if message.get("role") == "user":
            found.append(HumanMessage(text))
        elif message.get("role") == "assistant":
            found.append(AIMessage(text))
    while found and not isinstance(found[-1], HumanMessage):
        found.pop()
    if not found:
        raise UsageError("messages has no message of the role user.", code="invalid_option")
    return found[-1].text, found[-1 - _OLDEST : -1]


def _text(content: Any, position: int) -> str:
    """The text of a message; of a list of parts, the text parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
        return "\n".join(text for text in texts if isinstance(text, str))
    raise UsageError(f"Message {position} has no text in content.", code="invalid_option")


def _knobs(data: Mapping[str, Any]) -> dict[str, Any]:
    """The sampling options that a turn has too. OpenAI's temperature goes up to 2, a turn's up to 1."""
    knobs: dict[str, Any] = {}
    temperature, length = data.get("temperature"), data.get("max_completion_tokens") or data.get("max_tokens")
    if temperature is not None:
        bounded = isinstance(temperature, int | float) and 1 < temperature <= 2
        knobs["temperature"] = 1.0 if bounded else temperature
    if length is not None:
        knobs["max_tokens"] = length
    if data.get("n") not in (None, 1):
        raise UsageError("n must be 1.", code="invalid_option")
    return knobs


def _as_seen(response: Response, person: Person) -> Response:
    """The response with the id of the conversation as this person knows it."""
    return response.model_copy(update={"thread_id": person.own(response.thread_id) or response.thread_id})


def _whole(response: Response, model: str) -> HttpResponse:
    if response.error is not None:
        return error_response(response.error, response)
    full = response.model_dump(mode="json")
    message = {"role": "assistant", "content": response.content, "refusal": None, "askbook": full}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    body = _envelope(response.id, "chat.completion", model or response.profile)
    return JSONResponse(body | {"choices": [choice], "usage": _usage(response.tokens_used)})


def _envelope(completion_id: str, kind: str, model: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{completion_id}", "object": kind, "created": int(time.time()), "model": model}


def _usage(tokens: Tokens) -> dict[str, int]:
    return {"prompt_tokens": tokens.input, "completion_tokens": tokens.output, "total_tokens": tokens.total}


class _Form:
    """How one streamed completion is written."""

    def __init__(self, person: Person, context: BaseModel, model: str, *, with_usage: bool) -> None:
        self.person = person
        self.with_usage = with_usage
        name = model or str(getattr(context, "profile", ""))
        self._envelope = _envelope(new_id(), "chat.completion.chunk", name)
        self._shown = ""

    def text(self, delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": dict(delta), "logprobs": None, "finish_reason": finish}
        return self._envelope | {"choices": [choice]}

    def of(self, event: Event) -> list[dict[str, Any]]:
        """The chunks of one event. This format cannot withdraw what was sent, so a line says that it is withdrawn."""
        if event.type == "sentence":
            self._shown += event.data["text"]
            return [self.text({"content": event.data["text"]})]
        if event.type == "retract" and self._shown:
            self._shown = ""
            return [self.text({"content": _WITHDRAWN})]
        return self._end(_as_seen(event.response, self.person)) if event.response is not None else []

    def _end(self, response: Response) -> list[dict[str, Any]]:
        full = response.model_dump(mode="json")
        if response.error is not None:
            error = error_body(response.error, status_of(response.error))
            return [{"error": error, "askbook": full}]
        rest = response.content.removeprefix(self._shown) if response.content.startswith(self._shown) else ""
        chunks = [self.text({"content": rest})] if rest else []
        chunks.append(self.text({}, "stop") | {"askbook": full})
        if self.with_usage:
            chunks.append(self._envelope | {"choices": [], "usage": _usage(response.tokens_used), "askbook": full})
        return chunks


async def _stream(
    request: Request, stored: str | None, events: AsyncGenerator[Event, None], form: _Form
) -> HttpResponse:
    """Server-sent chunks. They begin with the first sentence, so that an earlier failure has its HTTP status."""
    turns: Turns = request.app.state.turns
    begun = turns.begun(form.person, stored, events)
    turn = await begun.__aenter__()
    try:
        reading, early = await _until_shown(turn)
    except BaseException:
        await begun.__aexit__(None, None, None)
        raise
    if (last := early[-1].response) is not None and last.error is not None:
        await begun.__aexit__(None, None, None)
        return error_response(last.error, _as_seen(last, form.person))

    async def sent() -> AsyncIterator[ServerSentEvent]:
        try:
            yield _sent(form.text({"role": "assistant", "content": ""}))
            for event in early:
                for chunk in form.of(event):
                    yield _sent(chunk)
            async for event in reading:
                for chunk in form.of(event):
                    yield _sent(chunk)
            yield ServerSentEvent("[DONE]")
        finally:
            await begun.__aexit__(None, None, None)

    return EventSourceResponse(sent(), ping=_PING_SECONDS, headers={"X-Accel-Buffering": "no"})


async def _until_shown(turn: RunningTurn) -> tuple[AsyncGenerator[Event, None], Sequence[Event]]:
    """The events up to the first sentence or the response, and the generator of those that follow."""
    reading, early = aiter(turn), []
    async for event in reading:
        early.append(event)
        if event.type in ("sentence", "response"):
            break
    return reading, early


def _sent(chunk: Mapping[str, Any]) -> ServerSentEvent:
    return ServerSentEvent(json.dumps(chunk, ensure_ascii=False))


ROUTES: Final = [
    Route("/v1/chat/completions", complete, methods=["POST"]),
    Route("/v1/models", list_models),
    Route("/v1/models/{model:path}", read_model),
]
