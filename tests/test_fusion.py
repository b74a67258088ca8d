from __future__ import annotations

import itertools

import pytest

from rag.retrieval.fusion import reciprocal_rank_fusion


def test_the_score_is_the_sum_of_reciprocal_ranks() -> None:
    fused = dict(reciprocal_rank_fusion([["a", "b"], ["b", "c"]]))
    assert fused == {"b": pytest.approx(1 / 62 + 1 / 61), "a": pytest.approx(1 / 61), "c": pytest.approx(1 / 62)}


def test_two_good_places_beat_one_first_place() -> None:
    order = [name for name, _ in reciprocal_rank_fusion([["first", "good"], ["other", "good"]])]
    assert order[0] == "good"


def test_a_weight_multiplies_what_a_ranking_gives() -> None:
    assert [n for n, _ in reciprocal_rank_fusion([["a"], ["b"]], weights=[0.5, 1.0])] == ["b", "a"]


def test_a_smaller_k_favours_first_places() -> None:
    assert reciprocal_rank_fusion([["first", "x", "good"], ["y", "z", "good"]], k=0)[0][0] != "good"


def test_a_tie_goes_to_the_better_place_in_the_first_ranking_then_to_the_id() -> None:
    assert [n for n, _ in reciprocal_rank_fusion([["z", "m"], ["a", "m"]])] == ["m", "z", "a"]
    assert [n for n, _ in reciprocal_rank_fusion([[], ["z"], ["a"]])] == ["z", "a"]


def test_three_rankings_tie_whatever_their_order() -> None:
    rankings = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]
    for order in itertools.permutations(rankings):
        assert len({score for _, score in reciprocal_rank_fusion(order)}) == 1


def test_an_id_twice_in_a_ranking_counts_where_it_stands_first() -> None:
    assert reciprocal_rank_fusion([["a", "a", "b"]]) == reciprocal_rank_fusion([["a", "b"]])


def test_nothing_fuses_to_nothing() -> None:
    assert reciprocal_rank_fusion([]) == reciprocal_rank_fusion([[], []]) == []


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0]])
def test_every_ranking_needs_a_weight_of_its_own(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weights"):
        reciprocal_rank_fusion([["a"], ["b"]], weights=weights)
