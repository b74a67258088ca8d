"""The one place where prompts are put together."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage

from rag.citations import without_markers
from rag.conversation import Exchange
from rag.profiles import Profile
from rag.prompt_format import format_passages, format_question, new_boundary
from rag.types import Passage


def system_prompt(profile: Profile) -> str:
    """The profile's instructions, with its refusal sentence where they say `{refusal}`."""
    return profile.instructions.strip().replace("{refusal}", profile.answer.refusal)


def build_prompt(
    profile: Profile,
    question: str,
    passages: Sequence[Passage],
    history: Sequence[Exchange] = (),
    exchange: Sequence[AnyMessage] = (),
) -> list[BaseMessage]:
    """System prompt, earlier turns, passages and question, then this turn's tool calls with their results.

    Earlier answers go without their markers, which counted the passages of their own turn.
    """
    messages: list[BaseMessage] = [SystemMessage(system_prompt(profile))]
    for past in history:
        messages += [HumanMessage(past.question), AIMessage(without_markers(past.answer))]
    block = format_passages(passages, new_boundary())
    return [*messages, HumanMessage(f"{block}\n\n{format_question(question)}"), *exchange]
