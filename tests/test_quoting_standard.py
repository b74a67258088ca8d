"""The quoting model keeps LangChain's own rules for chat models."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_tests.unit_tests import ChatModelUnitTests

from rag.quoting.answerer import QuotingChatModel


class TestQuotingChatModel(ChatModelUnitTests):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return QuotingChatModel

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"refusal": "No answer."}
