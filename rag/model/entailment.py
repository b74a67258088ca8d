"""An entailment model in a folder as the judge of answers: a cross-encoder on onnxruntime, inside the process.

The folder holds `model.onnx`, `tokenizer.json` and, for the names of its labels, `config.json`, as they are exported
from Hugging Face. The model reads a passage and a sentence together and gives a score for each label. Without
`config.json`, one score is the logit of "supported", two are "not supported, supported", and three are "contradiction,
entailment, neutral".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from rag.errors import AskbookError, UsageError
from rag.system.process import onnx_runtime

Meaning = Literal["yes", "no", "unknown"]

WINDOW: Final = 512  # tokens that the model reads at once, unless its config.json names fewer
OVERLAP: Final = 64  # tokens that two neighbouring windows of a long passage share
BATCH: Final = 8  # pairs of one run
SURE: Final = 0.5  # least probability with which a label counts
_USUAL: Final[dict[int, tuple[Meaning, ...]]] = {1: ("yes",), 2: ("no", "yes"), 3: ("no", "yes", "unknown")}
_NAMES: Final[dict[str, Meaning]] = {
    "entailment": "yes", "supported": "yes", "support": "yes", "supports": "yes", "consistent": "yes", "yes": "yes",
    "contradiction": "no", "not_entailment": "no", "unsupported": "no", "not_supported": "no", "refutes": "no",
    "inconsistent": "no", "no": "no", "neutral": "unknown", "not_enough_info": "unknown",
}  # fmt: skip
_HINT: Final = "Set ASKBOOK_JUDGE to a folder with model.onnx and tokenizer.json, to none, or unset it."


class EntailmentJudge:
    """A `rag.ports.Judge`. The files are looked for at once and loaded at the first call. Thread-safe.

    A sentence is confirmed if one of its passages entails it, or all of them joined do. A long passage is read in
    windows. With the label "neutral", a sentence that is neither entailed nor contradicted gets no verdict. Raises
    `UsageError` for a folder that is missing, lacks a file or has unknown labels.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise _unusable(f"ASKBOOK_JUDGE names no folder: {folder}.")
        self._folder = folder
        for name in ("model.onnx", "tokenizer.json"):
            if not (folder / name).is_file():
                raise _unusable(f"The judge has no {name} in {folder}.")
        config = _config(folder / "config.json")
        self._labels = _labels(folder, config)
        window = config.get("max_position_embeddings")
        self._window = min(WINDOW, window) if isinstance(window, int) and window > 2 * OVERLAP else WINDOW
        self.model_id = folder.resolve().name

    def judge(self, claims: Sequence[tuple[str, Sequence[str]]]) -> list[bool | None]:
        """One verdict for each sentence with the texts of its passages. Raises `AskbookError` if the model fails."""
        pairs = [
            (place, premise, claim)
            for place, (claim, passages) in enumerate(claims)
            for premise in [*passages, *(["\n\n".join(passages)] if len(passages) > 1 else [])]
        ]
        try:
            found = self._probabilities([(premise, claim) for _, premise, claim in pairs])
        except UsageError:
            raise
        except Exception as error:  # onnxruntime's and tokenizers' own exceptions have no common base class
            message = f"The judge {self.model_id} failed: {str(error).splitlines()[0] if str(error) else error!r}"
            raise AskbookError("api_error", "judge", message) from error
        scores: list[list[Mapping[Meaning, float]]] = [[] for _ in claims]
        for (place, _, _), windows in zip(pairs, found, strict=True):
            scores[place] += windows
        return [_verdict(one) for one in scores]

    @cached_property
    def _loaded(self) -> tuple[Any, Any, frozenset[str]]:
        """The tokenizer, the session and the names of its inputs."""
        from tokenizers import Tokenizer

        runtime = onnx_runtime()
        options = runtime.SessionOptions()
        options.log_severity_level = 3
        try:
            tokenizer: Any = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
            session = runtime.InferenceSession(
                str(self._folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # as above
            reason = (str(error).splitlines() or [repr(error)])[0]
            raise _unusable(f"The judge in {self._folder} could not be loaded: {reason}") from error
        tokenizer.enable_truncation(self._window, stride=OVERLAP, strategy="only_first")
        tokenizer.no_padding()
        return tokenizer, session, frozenset(field.name for field in session.get_inputs())

    def _probabilities(self, pairs: Sequence[tuple[str, str]]) -> list[list[Mapping[Meaning, float]]]:
        """For each pair of a premise and a claim, the probabilities of the labels in each window of the premise."""
        tokenizer, _, _ = self._loaded
        encoded = []
        for number, (premise, claim) in enumerate(pairs):
            whole = tokenizer.encode(premise, claim)
            encoded += [(number, one) for one in (whole, *whole.overflowing)]
        encoded.sort(key=lambda one: len(one[1].ids))  # texts of one length need little padding
        found: list[list[Mapping[Meaning, float]]] = [[] for _ in pairs]
        for begin in range(0, len(encoded), BATCH):
            batch = encoded[begin : begin + BATCH]
            for (number, _), scores in zip(batch, self._run([one for _, one in batch]), strict=True):
                found[number].append(scores)
        return found

    def _run(self, batch: Sequence[Any]) -> list[Mapping[Meaning, float]]:
        import numpy as np

        _, session, names = self._loaded
        width = max(len(one.ids) for one in batch)
        fields = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
        feed = {}
        for name in names:
            rows = [getattr(one, fields[name]) for one in batch]
            feed[name] = np.array([[*row, *[0] * (width - len(row))] for row in rows], dtype=np.int64)
        logits = np.asarray(session.run(None, feed)[0], dtype=np.float64).reshape(len(batch), -1)
        labels = self._labels or _USUAL[logits.shape[1]]
        if logits.shape[1] == 1:
            sure = 1 / (1 + np.exp(-logits[:, 0]))
            return [{"yes": float(one), "no": float(1 - one)} for one in sure]
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares = powers / powers.sum(axis=1, keepdims=True)
        return [{label: float(share) for label, share in zip(labels, row, strict=True)} for row in shares]


def _verdict(windows: Sequence[Mapping[Meaning, float]]) -> bool | None:
    """True if a window supports the claim. Else False, unless the model knows "neutral" and no window contradicts."""
    if any(one["yes"] >= SURE for one in windows):
        return True
    if any("unknown" in one for one in windows) and not any(one["no"] >= SURE for one in windows):
        return None
    return False if windows else None


def _config(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _unusable(f"{path} is not valid JSON.") from error
    if not isinstance(config, dict):
        raise _unusable(f"{path} is not a JSON object.")
    return config


def _labels(folder: Path, config: Mapping[str, Any]) -> tuple[Meaning, ...]:
    """What each score of the model means; empty if the configuration does not say."""
    names = config.get("id2label")
    if not isinstance(names, dict) or not names:
        return ()
    ordered = [str(names[key]) for key in sorted(names, key=lambda key: (len(str(key)), str(key)))]
    if all(name.upper().startswith("LABEL_") for name in ordered):  # names given by default
        return ()
    found = [_NAMES.get(name.lower().replace(" ", "_").replace("-", "_")) for name in ordered]
    if None in found or "yes" not in found or (len(found) > 1 and "no" not in found):
        raise _unusable(f"The judge in {folder} has labels that are not understood: {', '.join(ordered)}.")
    return tuple(meaning for meaning in found if meaning)


def _unusable(message: str) -> UsageError:
    return UsageError(message, code="judge", hint=_HINT)
