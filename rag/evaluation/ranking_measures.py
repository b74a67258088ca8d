"""Recall, nDCG and reciprocal rank of rankings, computed by ir-measures (Macavaney et al. 2022) with pytrec_eval.

A label may match several passages, such as all those of a page. In a ranking the first of them counts as the label; the
further ones are dropped, so that they are neither found twice nor count as wrong. A passage that matches several labels
takes as many ranks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rag.evaluation.grading import DEPTH

Ranking = Sequence[Sequence[int]]  # for each passage, best first, the positions of the labels that it matches


def measures(rankings: Mapping[str, tuple[Ranking, int]]) -> dict[str, dict[str, float]]:
    """Each question's recall@1 to recall@20, ndcg@5, ndcg@10 and mrr.

    `rankings` has for each question its ranking and how many labels there are, at least one. Gains are binary.
    """
    import ir_measures
    from ir_measures import RR, R, nDCG

    names = {R @ depth: f"recall@{depth}" for depth in range(1, DEPTH + 1)}
    names |= {nDCG @ 5: "ndcg@5", nDCG @ 10: "ndcg@10", RR: "mrr"}
    found: dict[str, dict[str, float]] = {key: dict.fromkeys(names.values(), 0.0) for key in rankings}
    qrels = {key: {f"label {label}": 1 for label in range(wanted)} for key, (_, wanted) in rankings.items()}
    run = {key: scored(ranking) for key, (ranking, _) in rankings.items() if ranking}
    if run:
        for measured in ir_measures.iter_calc(list(names), qrels, run):
            found[measured.query_id][names[measured.measure]] = measured.value
    return found


def scored(ranking: Ranking) -> dict[str, float]:
    """A ranking as scores of what counts in it: labels, and passages without one.

    >>> scored([[], [0], [0], [1, 0]])
    {'passage 0': 3.0, 'label 0': 2.0, 'label 1': 1.0}
    """
    names: dict[str, None] = {}
    for position, labels in enumerate(ranking):
        names |= dict.fromkeys([f"label {label}" for label in labels] or [f"passage {position}"])
    return {name: float(len(names) - rank) for rank, name in enumerate(names)}
