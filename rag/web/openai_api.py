"""OpenAI's wire format: chat completions, streamed or not, and the profiles as models."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from pydantic import BaseModel
from sse_starlette import ServerSentEvent
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.responses import Response as HttpResponse
from starlette.routing import Route

from rag.conversation.turns import check_thread_id
from rag.errors import RetrievalError, UsageError
from rag.types import CUT_OFF, Event, Response, Tokens, new_id
from rag.web.api_keys import Person
from rag.web.book_choice import ModelChoice, choose, events_of, model_choice, model_names, own_books
from rag.web.client_tasks import TaskAnswer, task_answer
from rag.web.hosting import HostedAgent
from rag.web.http_requests import (
    RequestRefusedError,
    error_body,
    error_response,
    hosting_of,
    json_object,
    metadata_of,
    options_of,
    person_of,
    status_of,
)
from rag.web.running_turns import RunningTurn, streamed, turns_of, while_connected

_WITHDRAWN: Final = "\n\n(The text above was withdrawn.)\n\n"
_OLDEST: Final = 200  # messages of a request that count as its history


async def list_models(request: Request) -> HttpResponse:
    """The profiles, and where there are several books, one model for each of them."""
    hosting, books = hosting_of(request), []
    with suppress(RetrievalError):  # the profiles are known all the same
        books = [book["name"] for book in await own_books(hosting, person_of(request))]
    return JSONResponse({"object": "list", "data": [_model(name) for name in model_names(hosting.offer, books)]})


async def read_model(request: Request) -> HttpResponse:
    hosting = hosting_of(request)
    name = request.path_params["model"]
    if not name:
        raise RequestRefusedError(404, "model_not_found", "The path names no model.")
    chosen = model_choice(hosting.offer, name)
    if chosen.book:
        listed = await own_books(hosting, person_of(request))
        if chosen.book not in [book["name"] for book in listed]:
            raise chosen.missing()
    return JSONResponse(_model(name))


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "askbook"}


async def complete(request: Request) -> HttpResponse:
    """A chat completion. Options that askbook does not know are ignored, as other servers of this format do."""
    hosting, data = hosting_of(request), await json_object(request)
    question, history = conversation_of(data.get("messages"))
    model = model_choice(hosting.offer, data.get("model"))
    if not isinstance(data.get("stream"), bool | None):
        raise UsageError("stream is neither true nor false.", code="invalid_option")
    if (done := task_answer(question, history, data)) is not None:
        return _chore(done, model.name or hosting.offer.usual, stream=bool(data.get("stream")))
    try:
        return await _turn(request, data, model, [*history, HumanMessage(question)])
    except UsageError as error:
        raise model.missing() if model.book and error.code == "unknown_book" else error from None


async def _turn(
    request: Request, data: Mapping[str, Any], model: ModelChoice, messages: Sequence[AnyMessage]
) -> HttpResponse:
    hosting, person, metadata = hosting_of(request), person_of(request), metadata_of(data)
    stored = _stored_thread(metadata, person)
    options_of(hosting, _overrides(data))  # what is not valid is refused before anything is looked up
    chosen = await choose(hosting, person, stored, book=model.book, profile=model.profile)
    context = options_of(hosting, _overrides(data) | {"profile": chosen.profile})

    def asked(agent: HostedAgent) -> AsyncGenerator[Event, None]:
        if stored is None:
            return agent.stream_messages(messages, context=context, metadata=metadata)
        return agent.stream(messages[-1].text, thread_id=stored, context=context, metadata=metadata)

    events, name = events_of(hosting, chosen.book, asked), model.name if model.book else ""
    if data.get("stream"):
        counting = data.get("stream_options")
        with_usage = isinstance(counting, Mapping) and bool(counting.get("include_usage"))
        form = _Form(person, context, name, with_usage=with_usage)
        return await streamed(request, stored, events, lambda event: event.type == "sentence", form.sent)
    async with turns_of(request).begun(person, stored, events) as turn:
        response = await while_connected(request, _response_of(turn))
    return _whole(person.seen(response), name)


async def _response_of(turn: RunningTurn) -> Response:
    return [event.response async for event in turn if event.response is not None][-1]


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
    """The last user message, and the questions and answers before it. Raises `UsageError`."""
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


def _overrides(data: Mapping[str, Any]) -> dict[str, Any]:
    """The sampling options that a turn has too. OpenAI's temperature goes up to 2, a turn's up to 1."""
    overrides: dict[str, Any] = {}
    temperature, length = data.get("temperature"), data.get("max_completion_tokens") or data.get("max_tokens")
    if temperature is not None:
        bounded = isinstance(temperature, int | float) and 1 < temperature <= 2
        overrides["temperature"] = 1.0 if bounded else temperature
    if length is not None:
        overrides["max_tokens"] = length
    if data.get("n") not in (None, 1):
        raise UsageError("n must be 1.", code="invalid_option")
    return overrides


def _whole(response: Response, model: str) -> HttpResponse:
    if response.error is not None:
        return error_response(response.error, response)
    full = response.model_dump(mode="json")
    message = {"role": "assistant", "content": response.content, "refusal": None, "askbook": full}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(response)}
    body = _envelope(response.id, "chat.completion", model or response.profile)
    return JSONResponse(body | {"choices": [choice], "usage": _usage(response.tokens_used)})


def _finish(response: Response) -> str:
    """Why the answer ended, in OpenAI's words."""
    return "length" if CUT_OFF in response.notices else "stop"


def _envelope(completion_id: str, kind: str, model: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{completion_id}", "object": kind, "created": int(time.time()), "model": model}


def _usage(tokens: Tokens) -> dict[str, int]:
    return {"prompt_tokens": tokens.input, "completion_tokens": tokens.output, "total_tokens": tokens.total}


class _Form:
    """How one streamed completion is written."""

    def __init__(self, person: Person, context: BaseModel, model: str, *, with_usage: bool) -> None:
        self._person = person
        self._with_usage = with_usage
        self._envelope = _envelope(new_id(), "chat.completion.chunk", model or str(getattr(context, "profile", "")))
        self._shown = ""
        self._begun = False

    def sent(self, event: Event) -> Iterator[ServerSentEvent]:
        """The messages of one event; before those of the first, the one that begins the answer."""
        begin = [] if self._begun else [self._text({"role": "assistant", "content": ""})]
        self._begun = True
        for chunk in [*begin, *self._chunks(event)]:
            yield ServerSentEvent(json.dumps(chunk, ensure_ascii=False))
        if event.response is not None:
            yield ServerSentEvent("[DONE]")

    def _text(self, delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": dict(delta), "logprobs": None, "finish_reason": finish}
        return self._envelope | {"choices": [choice]}

    def _chunks(self, event: Event) -> list[dict[str, Any]]:
        """The chunks of one event. This format cannot withdraw what was sent, so a line says that it is withdrawn."""
        if event.type == "sentence":
            self._shown += event.data["text"]
            return [self._text({"content": event.data["text"]})]
        if event.type == "retract" and self._shown:
            self._shown = ""
            return [self._text({"content": _WITHDRAWN})]
        return self._end(self._person.seen(event.response)) if event.response is not None else []

    def _end(self, response: Response) -> list[dict[str, Any]]:
        full = response.model_dump(mode="json")
        if response.error is not None:
            return [{"error": error_body(response.error, status_of(response.error)), "askbook": full}]
        rest = response.content.removeprefix(self._shown) if response.content.startswith(self._shown) else ""
        chunks = [self._text({"content": rest})] if rest else []
        chunks.append(self._text({}, _finish(response)) | {"askbook": full})
        if self._with_usage:
            chunks.append(self._envelope | {"choices": [], "usage": _usage(response.tokens_used), "askbook": full})
        return chunks


ROUTES: Final = [
    Route("/v1/chat/completions", complete, methods=["POST"]),
    Route("/v1/models", list_models),
    Route("/v1/models/{model:path}", read_model),
]
