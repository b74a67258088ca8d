"""From a model's tokens to what a reader is shown: markers, links, citations and sentences, each checked first."""
