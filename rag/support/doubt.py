"""When a fact or a turn of the sentence is in doubt: its fit to the passages, its rival's, and how the rest fits.

The weights are those of a logistic regression over two thirds of the conversations of MTRAG's ClapNQ and over
paraphrases of three technical books, true sentences against the same with one thing changed; `bench.grounding_fit`
gives them. Above zero it is too likely changed for a reader to be shown it.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Standing:
    """Fits of one place of the sentence, 0..1 each (`rag.support.slots`): `own` where the passages have the same,
    `rival` where they have another of its kind, `usual` of the words around it at their own best places. `titled`:
    a heading of the passages names it."""

    own: float
    rival: float
    usual: float
    titled: bool = False

    def features(self) -> tuple[float, ...]:
        """1, then what the weights are for, in the order of `Weights`."""
        ahead = self.rival - self.own
        return (1.0, self.own, self.rival, max(0.0, ahead), self.usual, max(0.0, self.usual - self.own), self.titled)


@dataclass(frozen=True, slots=True)
class Weights:
    constant: float
    own: float
    rival: float
    ahead: float
    usual: float
    short: float
    titled: float


NAME: Final = Weights(-1.27, -4.84, 4.69, 3.19, -1.39, 5.08, -0.81)
NUMBER: Final = Weights(-1.57, -5.88, 3.85, 3.86, -0.07, 4.68, 0.0)
TURNED: Final = Weights(-0.48, -2.7, 1.44, 3.48, -0.7, 2.73, 0.0)  # an opposite stands there
AFFIRMED: Final = Weights(-1.88, -2.57, 1.62, 2.67, 0.35, 2.62, 0.0)  # the passages deny it
DENIED: Final = Weights(1.69, -5.84, 3.84, 0.94, -0.12, 3.82, 0.0)  # the sentence denies it


def doubt(standing: Standing, weights: Weights) -> float:
    """The log odds that it was changed."""
    weighed = zip(standing.features(), astuple(weights), strict=True)
    return float(sum(feature * weight for feature, weight in weighed))
