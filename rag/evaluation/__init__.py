"""How good answers are: datasets of questions, what counts as right, figures with intervals, and the report page."""
