"""The chat model of an OpenAI-compatible endpoint, and its errors in our terms."""
