"""The agent over HTTP: the page, an OpenAI-compatible endpoint, and the stored conversations."""
