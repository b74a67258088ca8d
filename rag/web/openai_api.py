"""OpenAI's wire format: chat completions, streamed or not, and the profiles as models."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from pydantic import BaseModel
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.responses import Response as HttpResponse
from starlette.routing import Route

from rag.conversation.turns import check_thread_id
from rag.errors import UsageError
from rag.types import Event, Response, Tokens, new_id
from rag.web.api_keys import Person
from rag.web.client_tasks import task_answer
from rag.web.hosting import Hosting
from rag.web.http_errors import RequestRefusedError, error_body, error_response, status_of
from rag.web.http_requests import hosting_of, json_object, metadata_of, options_of, person_of
from rag.web.running_turns import RunningTurn, Turns

_WITHDRAWN: Final = "\n\n(The text above was withdrawn.)\n\n"
_OLDEST: Final = 200  # messages of a request that count as its history
_PING_SECONDS: Final = 15


async def list_models(request: Request) -> HttpResponse:
    hosting = hosting_of(request)
    return JSONResponse({"object": "list", "data": [_model(name) for name in hosting.offer.names]})


async def read_model(request: Request) -> HttpResponse:
    return JSONResponse(_model(_profile(hosting_of(request), request.path_params["model"])))


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "askbook"}


def _profile(hosting: Hosting, model: Any) -> str:
    if model is not None and not isinstance(model, str):
        raise UsageError("model is not a string.", code="invalid_option")
    try:
        return hosting.offer.choose(model or None)
    except UsageError as error:
        hint = f"Models: {', '.join(hosting.offer.names)}."
        raise RequestRefusedError(
            404, "model_not_found", f'There is no model "{str(model)[:64]}".', hint=hint
        ) from error


async def complete(request: Request) -> HttpResponse:
    """A chat completion. Options that askbook does not know are ignored, as other servers of this format do."""
    hosting, person = hosting_of(request), person_of(request)
    data = await json_object(request)
    question, history = conversation_of(data.get("messages"))
    profile = _profile(hosting, data.get("model"))
    if (done := task_answer(question, history)) is not None:
        return _chore(done, profile, stream=bool(data.get("stream")))
    metadata = metadata_of(data)
    thread_id = metadata.get("thread_id")
    context = options_of(hosting, _knobs(data) | {"profile": profile})
    stored = None
    if thread_id is not None:
        if not isinstance(thread_id, str):
            raise UsageError("metadata.thread_id is not a string.", code="thread_id")
        stored = person.stored(check_thread_id(thread_id))
        events = hosting.agent.stream(question, thread_id=stored, context=context, metadata=metadata)
    else:
        messages = [*history, HumanMessage(question)]
        events = hosting.agent.stream_messages(messages, context=context, metadata=metadata)
    if data.get("stream"):
        counting = data.get("stream_options")
        with_usage = isinstance(counting, Mapping) and bool(counting.get("include_usage"))
        return await _stream(request, stored, events, _Form(person, context, with_usage=with_usage))
    turns: Turns = request.app.state.turns
    async with turns.begun(person, stored, events) as turn:
        response = [event.response async for event in turn if event.response is not None][-1]
    return _whole(_as_seen(response, person))


def _chore(text: str, profile: str, *, stream: bool) -> HttpResponse:
    """A completion that no turn made."""
    body = _envelope(new_id(), "chat.completion.chunk" if stream else "chat.completion", profile)
    message = {"role": "assistant", "content": text}
    if not stream:
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return JSONResponse(body | {"choices": [choice], "usage": _usage(Tokens())})
    choices = ({"index": 0, "delta": message}, {"index": 0, "delta": {}, "finish_reason": "stop"})
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


def _whole(response: Response) -> HttpResponse:
    if response.error is not None:
        return error_response(response.error, response)
    full = response.model_dump(mode="json")
    message = {"role": "assistant", "content": response.content, "refusal": None, "askbook": full}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    body = _envelope(response.id, "chat.completion", response.profile)
    return JSONResponse(body | {"choices": [choice], "usage": _usage(response.tokens_used)})


def _envelope(completion_id: str, kind: str, model: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{completion_id}", "object": kind, "created": int(time.time()), "model": model}


def _usage(tokens: Tokens) -> dict[str, int]:
    return {"prompt_tokens": tokens.input, "completion_tokens": tokens.output, "total_tokens": tokens.total}


class _Form:
    """How one streamed completion is written."""

    def __init__(self, person: Person, context: BaseModel, *, with_usage: bool) -> None:
        self.person = person
        self.with_usage = with_usage
        self._envelope = _envelope(new_id(), "chat.completion.chunk", str(getattr(context, "profile", "")))
        self._shown = ""

    def text(self, delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": dict(delta), "logprobs": None, "finish_reason": finish}
        return self._envelope | {"choices": [choice]}

    def of(self, event: Event) -> list[dict[str, Any]]:
        """The chunks of one event. What was sent cannot be withdrawn in this format, so a line says that it was."""
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
