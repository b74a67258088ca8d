"""A search on a Qdrant server: what each leg finds, and the score in each leg of what the others found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rag.book import Leg, Matches, SparseVector, Where
from rag.index.collection_schema import CollectionSchema
from rag.index.points import TIE_SLACK, Scores, best, cosines, is_empty, prose_of, server_ids
from rag.index.server_requests import Hit, gives_cosines, hits, request, rescoring, unmapped

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient

DEEPEST: Final = 1000  # limit from which on a query that finds points without text is not repeated


class ServerHits(NamedTuple):
    """The scores of everything that the legs found, and the hits by id."""

    scores: Scores[str]
    known: Mapping[str, Hit]

    def matches(self, schema: CollectionSchema, legs: Sequence[Leg]) -> Matches:
        """The hits as `Matches`. A dense leg's scores become cosines, whatever its distance."""
        scores, found = self.scores, [self.known[id] for id in self.scores.ids]
        dense = {column: leg for column, leg in enumerate(legs) if not isinstance(leg, SparseVector)}
        if not gives_cosines(schema):
            scores.matrix[:, list(dense)] = cosines([hit.dense for hit in found], list(dense.values()))
        prose = prose_of([hit.chunk for hit in found])
        return Matches(legs, scores.matrix, scores.rankings, prose, lambda rows: [found[row].chunk for row in rows])


@dataclass(frozen=True, slots=True)
class ServerSearch:
    """One search. All of its requests go to `collection`; its methods raise what the client raises."""

    client: AsyncQdrantClient
    collection: str
    schema: CollectionSchema
    legs: Sequence[Leg]

    async def hits(self, limit: int, where: Where | None) -> ServerHits:
        """The best `limit` points of each leg."""
        known: dict[str, Hit] = {}
        scores = Scores(await self._rankings(limit, where, known))
        await self._complete(scores)
        return ServerHits(scores, known)

    async def _rankings(self, limit: int, where: Where | None, known: dict[str, Hit]) -> list[list[tuple[str, float]]]:
        """The scored ids of each leg. The hits are added to `known`, by id."""
        found: list[list[tuple[str, float]]] = [[] for _ in self.legs]
        unread: Any = None  # a point of a foreign collection in which no text was found
        asked = {i: limit + TIE_SLACK for i, leg in enumerate(self.legs) if limit > 0 and self._finds(leg)}
        while asked:
            requests = [request(self.schema, self.legs[i], size, where) for i, size in asked.items()]
            answers = await self.client.query_batch_points(self.collection, requests=requests)
            deeper = {}
            for (i, size), answer in zip(asked.items(), answers, strict=True):
                points = answer.points
                read = hits(self.schema, self.legs[i], points, self.legs)
                unread = unread or (points[0] if points and not read else None)
                scored = [(hit.chunk.id, hit.score) for hit in read]
                ranking = best(scored, limit=limit, asked=size - len(points) + len(read))
                crowded = len(read) < min(limit, len(points)) and len(points) >= size < DEEPEST
                if ranking is None or crowded:
                    deeper[i] = size * 4
                else:
                    found[i] = ranking
                    known.update((hit.chunk.id, hit) for hit in read)
            asked = deeper
        if unread is not None and self.schema.fields is not None and not any(found):
            raise unmapped(self.collection, self.schema.fields, unread.payload)
        return found

    async def _complete(self, scores: Scores[str]) -> None:
        """Ask for the scores of what other legs found; for those of dense legs only where they are cosines."""
        lacking = {
            leg: ids
            for leg, vector in enumerate(self.legs)
            if (gives_cosines(self.schema) or isinstance(vector, SparseVector))
            and self._finds(vector)
            and (ids := scores.lacking(leg))
        }
        if lacking:
            requests = [rescoring(self.schema, self.legs[leg], server_ids(ids)) for leg, ids in lacking.items()]
            answers = await self.client.query_batch_points(self.collection, requests=requests)
            for leg, answer in zip(lacking, answers, strict=True):
                scores.add(leg, [(str(point.id), point.score) for point in answer.points])

    def _finds(self, leg: Leg) -> bool:
        """Whether a leg can find something: it is not empty, and the collection has vectors of its kind."""
        return not is_empty(leg) and not (isinstance(leg, SparseVector) and self.schema.sparse is None)
