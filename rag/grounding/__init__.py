"""The support check: whether the cited passages say what a sentence of the answer says."""

from rag.grounding.verdict import Verdict, check

__all__ = ["Verdict", "check"]
