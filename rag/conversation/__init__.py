"""Conversations: their turns, their transcript, and the check of stored citations."""
