"""What is remembered of a conversation: its turns, its transcript, its citations checked again."""
