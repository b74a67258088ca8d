"""The support check: do the passages say what a sentence of the answer says?"""

from rag.evidence.verdict import Verdict, check

__all__ = ["Verdict", "check"]
