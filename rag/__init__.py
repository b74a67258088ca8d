"""The library below the machine: it knows nothing of LangGraph."""
