"""The parts of the answerer that quotes: which sentences answer a question. The answerer is `rag.quoting`."""
