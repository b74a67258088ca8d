"""The parts of the support check: how a sentence and passages are read and compared. The check is `rag.grounding`."""
