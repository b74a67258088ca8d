"""The answerer that needs no model: it quotes the book's own sentences, word for word, or refuses.

To the rest of the program it is a chat model like any other: it is sent the same prompt, streams, and is replaced by a
real model without a change elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LangSmithParams
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import SkipValidation
from typing_extensions import override

from rag.ports import Embedder
from rag.prompt_format import NumberedPassage, parse_prompt
from rag.quotes.confidence import answers
from rag.quotes.excerpt import excerpt
from rag.quotes.relevance import read
from rag.terms import refers_back

REFUSAL = "The book does not answer this question."


class QuotingChatModel(BaseChatModel):
    """A chat model that answers from the passages in the last human message (see `rag.prompt_format`).

    The answer is the few sentences, list items, tables or code blocks that answer the question best, as they stand in
    the passages, each followed by its marker `[n]`; `refusal`, exactly, when none does. Without an `embedder` only
    words are compared. Deterministic; calls no service. Token usage is not reported, there are no tokens.
    """

    embedder: Annotated[Embedder | None, SkipValidation] = None
    refusal: str = REFUSAL

    @property
    def _llm_type(self) -> str:
        return "askbook-quoting"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"embedder": self.embedder.model_id if self.embedder else None}

    @override
    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return LangSmithParams(
            ls_provider="askbook", ls_model_name=kwargs.get("model", "quoting"), ls_model_type="chat"
        )

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        text = "".join(self._pieces(messages))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=text, response_metadata=_FINISHED))])

    @override
    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for piece in self._pieces(messages):
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=piece))
            if run_manager:
                run_manager.on_llm_new_token(piece, chunk=chunk)
            yield chunk
        yield ChatGenerationChunk(
            message=AIMessageChunk(content="", response_metadata=_FINISHED, chunk_position="last")
        )

    def _pieces(self, messages: Sequence[BaseMessage]) -> list[str]:
        passages, question, said = _asked(messages)
        reading = read(question, passages, self.embedder, said=said)
        if not answers(reading, words_only=self.embedder is None):
            return [self.refusal]
        return excerpt(reading) or [self.refusal]


_FINISHED = {"finish_reason": "stop"}


def _asked(messages: Sequence[BaseMessage]) -> tuple[list[NumberedPassage], str, str]:
    """The last human message's passages and question, and what was said before that need not be said again.

    A follow-up ("and on Windows?", "tell me more") is read with the questions before it, back to one that stands by
    itself, and wants what the answers so far have not quoted.
    """
    human = [str(message.text) for message in messages if isinstance(message, HumanMessage)]
    if not human:
        return [], "", ""
    passages, question = parse_prompt(human[-1])
    if len(human) == 1 or not refers_back(question):
        return passages, question, ""
    asked = [question]
    for earlier in reversed(human[:-1]):
        asked.insert(0, parse_prompt(earlier)[1])
        if not refers_back(asked[0]):
            break
    said = "\n".join(str(message.text) for message in messages if isinstance(message, AIMessage))
    return passages, " ".join(asked), said
