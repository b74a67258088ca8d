"""Questions that the manual answers, for conversations of any length."""

from __future__ import annotations

from typing import Final

QUESTIONS: Final = (
    "How do I delete a conversation?",
    "What is the threshold?",
    "How do I use my own book?",
    "What does a citation show?",
    "How do I rerank passages?",
    "What happens to an answer that is interrupted?",
    "Does askbook work offline?",
    "What is a passage?",
    "How do I ask only about one chapter?",
    "What happens in the state ERROR?",
)
