"""From the model's tokens to what a reader is shown."""
