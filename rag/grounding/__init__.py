"""The proof of an answer, and the check of one sentence: plain strings in, no model, no network."""

from rag.grounding.proof import Proof, ProvedSentence, Verdict, check, prove

__all__ = ["Proof", "ProvedSentence", "Verdict", "check", "prove"]
