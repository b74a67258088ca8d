"""Whether the passages answer is one probability from plain features."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rag.prompt.passage_format import NumberedPassage
from rag.quoting.answerer import THRESHOLD, Features, answers, features, probability
from rag.quoting.relevance import read

NOTHING = Features(cosine=0.0, joint=0.0, covered=0.0, topic=0.0, spread=0.0, missing=1.0)
EVERYTHING = Features(cosine=0.8, joint=1.8, covered=1.0, topic=1.0, spread=1.0, missing=0.0)


@pytest.mark.parametrize("words_only", [False, True])
def test_all_for_it_answers_and_nothing_refuses(words_only: bool) -> None:
    assert probability(EVERYTHING, words_only=words_only) > 0.9
    assert probability(NOTHING, words_only=words_only) < 0.05


@pytest.mark.parametrize("name", ["cosine", "joint", "covered", "topic", "spread"])
def test_more_of_a_feature_is_more_likely(name: str) -> None:
    middle = Features(0.4, 0.9, 0.6, 0.3, 0.4, 0.5)
    more = replace(middle, **{name: getattr(middle, name) + 0.2})
    assert probability(more) > probability(middle)


def test_a_rare_word_that_is_missing_speaks_against() -> None:
    assert probability(replace(EVERYTHING, missing=1.0)) < probability(EVERYTHING)


def test_features_of_a_reading_are_shares() -> None:
    passages = [
        NumberedPassage(1, "ROS2 > Nodes", "p.md", "A node computes."),
        NumberedPassage(2, "Other", "q.md", "Nothing of it."),
    ]
    seen = features(read("What is a node of Kubernetes?", passages, None))
    assert seen.cosine == 0.0
    assert 0 < seen.covered < 1
    assert 0 < seen.topic < 1
    assert seen.spread == pytest.approx(seen.covered / 2)
    assert seen.missing == 1.0


def test_no_passage_is_never_answered() -> None:
    reading = read("What is a node?", [], None)
    assert features(reading).covered == 0.0
    assert not answers(reading, words_only=True)
    assert 0 < THRESHOLD < 1
