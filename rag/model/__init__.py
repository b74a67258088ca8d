"""The chat model of an OpenAI-compatible endpoint, and the translation of its errors."""
