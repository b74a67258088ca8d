"""askbook beside what a user would pick instead, on the same scripted model and the same passages."""
