"""The chat model of an OpenAI-compatible endpoint: its dialects, its failures, and how long to wait for it."""
