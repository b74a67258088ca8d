"""The conversation as data: checks on input, records of turns, the history for prompts, transcripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    messages_from_dict,
    messages_to_dict,
)
from pydantic import ValidationError

from rag.errors import AskbookError, InvalidQuestionError, UsageError
from rag.prompt.prompts import estimate_tokens
from rag.system.process import program
from rag.text.counting import counted
from rag.text.sentences import without_markers
from rag.text.visible import visible, without_controls
from rag.types import UNCONFIRMED_MARK, AnsweredQuestion, ErrorInfo, Response, new_id

_REMEMBERED: Final = (
    "request_id", "turn_number", "status", "fallback_reason", "profile", "model", "plain_content", "citations",
    "retrieved_chunks", "retrievals", "tool_calls", "tokens_used", "metadata", "created_at", "error",
)  # fmt: skip
_WARN_BEFORE: Final = 2  # turns before the limit
_LONGEST_THREAD: Final = 255  # code points
_KEPT_LENGTH: Final = 4000  # code points of an answer that is kept without its markers; 512 of them take 4 MB at most


def check_question(text: str, longest: int) -> str:
    """The question without terminal control sequences and surrounding white space.

    Raises `InvalidQuestionError` if it is empty, longer than `longest` code points, or not text: bytes that are not
    UTF-8 arrive as lone surrogates, which can neither be embedded nor printed.
    """
    if not isinstance(text, str):  # from a Python program; a checker of types would have found it
        raise InvalidQuestionError("The question is not text.", code="not_text", hint="Give it as a string.")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidQuestionError("The question is not UTF-8 text.", code="not_text", hint="Send it as UTF-8.")
    question = without_controls(text).strip()
    if not visible(question).strip():
        raise InvalidQuestionError("The question is empty.", code="empty_question", hint="Ask something.")
    if len(question) > longest:
        raise InvalidQuestionError(
            f"The question has {len(question):,} characters; at most {longest:,} are allowed.",
            code="question_too_long",
            hint="Ask it in fewer words.",
        )
    return question


def check_thread_id(thread_id: str) -> str:
    """The id unchanged. Raises `UsageError` if it cannot be printed on one line or be in an address, or is too long."""
    if not isinstance(thread_id, str):
        raise UsageError(f"A conversation id is text, unlike {thread_id!r:.40}.", code="thread_id")
    if not thread_id.strip() or len(thread_id) > _LONGEST_THREAD or not thread_id.isprintable():
        raise UsageError(
            f"A conversation id must have 1 to {_LONGEST_THREAD} printable characters, unlike {thread_id[:40]!a}.",
            code="thread_id",
        )
    if thread_id in (".", ".."):  # browsers take these out of an address, also as %2e
        raise UsageError(f'"{thread_id}" cannot be the id of a conversation.', code="thread_id")
    return thread_id


def notices(number: int, messages: int, *, max_turns: int | None, max_messages: int | None) -> list[str]:
    """Notices for the user: the last turns before `max_turns`, and more messages than `max_messages`.

    `number` is the turn's number. `messages` counts those of the conversation after this turn, with the system message.
    """
    found = []
    if max_turns is not None and max_turns - number <= _WARN_BEFORE:
        left = max(0, max_turns - number)
        found.append(
            f"This conversation has {counted(left, 'turn') if left else 'no turns'} left; the limit is {max_turns:,}."
        )
    if max_messages is not None and messages > max_messages:
        found.append(
            f"This conversation has {messages:,} messages, more than the {max_messages:,} that are recommended; "
            "start a new one."
        )
    return found


def turn_limit(most: int) -> AskbookError:
    """The error for a question beyond the `most` turns of a conversation."""
    return AskbookError(
        "context_overflow",
        "turn_limit",
        f"This conversation has reached its limit of {counted(most, 'turn')}.",
        hint="Type 'clear' in the chat, or start a new conversation.",
    )


def unknown_thread(thread_id: str) -> UsageError:
    """The error for the id of a conversation that is not stored."""
    return UsageError(
        f'There is no conversation "{thread_id}".', code="unknown_thread", hint=f'See "{program()} threads list".'
    )


def response_metadata(response: Response, question: str, asked_at: str, collection: str = "") -> dict[str, Any]:
    """The record of a turn for its answer's `response_metadata`, as JSON data.

    `asked_at` is ISO 8601 in UTC; `collection` is the book.
    """
    record = response.model_dump(mode="json", include=set(_REMEMBERED))
    added = {"question": question, "asked_at": asked_at, "collection": collection or None}
    return record | added | {"model_name": response.model}


def failed_response(
    failure: AskbookError | ErrorInfo,
    *,
    profile: str,
    model: str = "",
    request_id: str | None = None,
    thread_id: str | None = None,
    turn_number: int = 1,
    metadata: Mapping[str, Any] | None = None,
) -> Response:
    """The response to a question that never reached the graph, or that the graph could not finish."""
    info = failure.info() if isinstance(failure, AskbookError) else failure
    return Response(
        request_id=request_id or new_id(),
        thread_id=thread_id or new_id(),
        turn_number=turn_number,
        status="error",
        processing_state="failed",
        metadata=metadata or {},
        profile=profile,
        model=model,
        content=info.user_message,
        plain_content=info.user_message,
        error=info,
    )


def turns(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """The records of the finished turns, oldest first: question, content, status, citations and so on."""
    found = []
    for message in messages:
        if is_recorded(message):
            data = message.response_metadata
            kept = {name: data.get(name) for name in (*_REMEMBERED, "asked_at", "collection")}
            found.append({"id": message.id, "question": data["question"], "content": message.text} | kept)
    return found


def stored_response(thread_id: str, turn: Mapping[str, Any]) -> Response:
    """The response of a finished turn from its record in `turns`, without checks and times, which are not stored.

    Raises `UsageError` for a record that another version wrote in another form.
    """
    known = {name: value for name, value in turn.items() if value is not None and name in Response.model_fields}
    try:
        return Response.model_validate(
            {"profile": "", "model": "", "plain_content": turn["content"]} | known | {"thread_id": thread_id}
        )
    except ValidationError as error:
        raise UsageError("The last answer was stored by another version, which this one cannot read.") from error


def next_number(messages: Sequence[BaseMessage], answered: object = 0) -> int:
    """The number of the next turn: one more than the last recorded turn, or than `answered` when none is recorded.

    A question that was never answered has no number. `answered` counts as 0 when it is no number.
    """
    numbers = [message.response_metadata.get("turn_number") for message in messages if is_recorded(message)]
    return 1 + max((number for number in numbers or [answered] if isinstance(number, int)), default=0)


def history(messages: Sequence[BaseMessage]) -> list[AnsweredQuestion]:
    """The answered questions, for later prompts and searches.

    Refusals and errors are left out because they say nothing about the book, and so are unanswered questions. Answers
    without a record, from callers that keep the conversation themselves, are paired with the question before them.
    """
    found: list[AnsweredQuestion] = []
    question: str | None = None
    for message in messages:
        if isinstance(message, HumanMessage):
            question = message.text
        elif isinstance(message, AIMessage) and question is not None:
            data = message.response_metadata
            if data.get("status", "success") == "success" and message.text:
                shown = (data.get("plain_content") or message.text).replace(f" {UNCONFIRMED_MARK}", "")
                bare = _bare if len(shown) <= _KEPT_LENGTH else without_markers
                found.append(AnsweredQuestion(question, bare(shown)))
            question = None
    return found


_bare: Final = lru_cache(maxsize=512)(without_markers)  # one turn after the other asks for the same answers


def messages_from_json(data: Any) -> list[AnyMessage]:
    """Messages from a JSON list of `{role, content}`. Raises `UsageError` for any other shape."""
    if not isinstance(data, list):
        raise UsageError("The history is not a JSON list of {role, content}.", code="history")
    found: list[AnyMessage] = []
    for position, item in enumerate(data, 1):
        if not isinstance(item, Mapping) or not isinstance(item.get("content"), str):
            raise UsageError(f"Message {position} of the history has no text in `content`.", code="history")
        role = item.get("role")
        if role == "user":
            found.append(HumanMessage(item["content"]))
        elif role in ("assistant", "agent"):
            found.append(AIMessage(item["content"]))
        elif role != "system":
            raise UsageError(f'Message {position} of the history has the role "{role}".', code="history")
    return found


def is_recorded(message: BaseMessage) -> bool:
    """Whether the message is an answer with the record of its turn, and so ends the turn."""
    return isinstance(message, AIMessage) and "request_id" in message.response_metadata


def set_aside(messages: Sequence[BaseMessage], request_id: str) -> list[dict[str, Any]] | None:
    """A question and what follows it, for a state to keep while the question is asked again; None without an answer."""
    if not any(is_recorded(message) for message in messages):
        return None
    question, *later = messages
    return messages_to_dict([question.model_copy(update={"id": request_id}), *later])


def with_aside(messages: Sequence[AnyMessage], aside: Sequence[dict[str, Any]] | None) -> list[AnyMessage]:
    """The messages with the answer that was set aside, if asking again never came to an answer.

    A process can end in the middle: then the conversation has the old answer again.
    """
    if not aside:
        return list(messages)
    kept: Any = messages_from_dict(aside)
    place = next((i for i, message in enumerate(messages) if message.id == kept[0].id), len(messages))
    if any(is_recorded(message) for message in messages[place:]):
        return list(messages)
    return [*messages[:place], *kept, *messages[place + 1 :]]


def transcript(thread_id: str, finished: Sequence[Mapping[str, Any]], updated_at: str) -> dict[str, Any]:
    """The transcript of a conversation from its `turns`.

    `started_at` is the time of the first question and `model` the last model that answered; both are None without
    turns. `total_tokens` estimates the texts of `messages`; `total_tokens_used` sums the tokens of the model calls.
    """
    all_messages = messages(finished)
    return {
        "thread_id": thread_id,
        "started_at": all_messages[0]["timestamp"] if all_messages else None,
        "updated_at": updated_at,
        "model": finished[-1]["model"] if finished else None,
        "total_tokens": sum(message["token_count"] for message in all_messages),
        "total_tokens_used": sum((turn.get("tokens_used") or {}).get("total", 0) for turn in finished),
        "turn_count": len(finished),
        "turns": [dict(turn) for turn in finished],
        "messages": all_messages,
        "retrieval_history": [dict(search) for turn in finished for search in turn.get("retrievals") or []],
        "last_retrieval": last_retrieval(finished),
    }


def messages(finished: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The question and the answer of each turn as messages, with id, time, citations and an estimated token count.

    There is no system message: it is not stored, because it comes from the profile.
    """
    found: list[dict[str, Any]] = []
    for turn in finished:
        asked_at = turn.get("asked_at") or turn["created_at"]  # earlier versions stored only the answer's time
        asked = {"id": turn["request_id"], "role": "user", "content": turn["question"], "timestamp": asked_at}
        answered = {"id": turn["id"], "role": "assistant", "content": turn["content"], "timestamp": turn["created_at"]}
        found.append(_counted(asked) | {"citations": [], "metadata": turn.get("metadata") or {}})
        found.append(_counted(answered) | {"citations": turn.get("citations") or [], "metadata": {}})
    return found


def last_retrieval(finished: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The newest search of the conversation with the chunks retrieved in its turn; None if there was no search."""
    for turn in reversed(finished):
        if searches := turn.get("retrievals"):
            return dict(searches[-1]) | {"results": turn.get("retrieved_chunks") or []}
    return None


def _counted(message: dict[str, Any]) -> dict[str, Any]:
    return message | {"token_count": estimate_tokens(message["content"])}
