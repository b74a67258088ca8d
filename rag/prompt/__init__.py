"""What the model is sent: prompts, the search tool, and the token budget."""
