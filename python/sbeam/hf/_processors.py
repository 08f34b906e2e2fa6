"""Divides the logits processors of generate: those that the core applies, and the others.

The core applies suppressed tokens, the minimum length, temperature, top-k, top-p and min-p, in this
order, and reports them. All other processors change the model before that. Each must be a function
of one row: of its tokens and of its logits. Processors of Transformers that are not such
functions are refused. Other processors are tried on rows in another order in the first steps."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

import numpy as np
import torch
import transformers.generation.logits_process as lp

from .._errors import ArgumentError

# The processors that the core applies: the class, our keyword, which is also the name of the
# attribute, and the value that means "not used".
_WARPERS = ((lp.TemperatureLogitsWarper, "temperature", 1.0), (lp.TopKLogitsWarper, "top_k", 0),
            (lp.TopPLogitsWarper, "top_p", 1.0), (lp.MinPLogitsWarper, "min_p", 0.0))
# Each of these changes a row as a function of only this row.
_BY_ROW = (lp.RepetitionPenaltyLogitsProcessor, lp.NoRepeatNGramLogitsProcessor,
           lp.SequenceBiasLogitsProcessor, lp.NoBadWordsLogitsProcessor,
           lp.ForcedBOSTokenLogitsProcessor, lp.ForcedEOSTokenLogitsProcessor,
           lp.InfNanRemoveLogitsProcessor, lp.ExponentialDecayLengthPenalty,
           lp.SuppressTokensAtBeginLogitsProcessor, lp.SuppressTokensLogitsProcessor)
_WRONG_BY_NAME = {
    "EncoderRepetitionPenaltyLogitsProcessor": "it has one row for each input",
    "EncoderNoRepeatNGramLogitsProcessor": "it has the same number of rows for each input",
    "ClassifierFreeGuidanceLogitsProcessor": "it looks at other rows",
    "UnbatchedClassifierFreeGuidanceLogitsProcessor": "it keeps a cache by row",
    "SynthIDTextWatermarkLogitsProcessor": "it keeps a state by row",
    "TopHLogitsWarper": "use temperature, top_k, top_p and min_p",
    "TypicalLogitsWarper": "use temperature, top_k, top_p and min_p",
    "EpsilonLogitsWarper": "use temperature, top_k, top_p and min_p",
    "EtaLogitsWarper": "use temperature, top_k, top_p and min_p",
}
_TRIED_STEPS = 4  # a processor that counts its calls, or remembers rows, differs by then


class Processors:
    """The changes of the model. `settings` are for the core; apply() makes the other changes."""

    def __init__(self, processors: Sequence[Any], ends: Sequence[int], prompt_length: int,
                 is_normalised: bool) -> None:
        """ends: the end tokens, which become one leaf. is_normalised: processors get
        log-probabilities, as in beam search of generate, instead of logits."""
        self.settings: Dict[str, Any] = {}
        self.ban: List[int] = []
        self._others: List[Any] = []
        self._ends = list(ends)
        self._is_normalised = is_normalised
        self._n_tried = 0
        for processor in processors or ():
            self._add(processor, prompt_length)

    @property
    def names(self) -> List[str]:
        """The names of the processors that the core does not apply."""
        return [type(processor).__name__ for processor in self._others]

    def _add(self, processor: Any, prompt_length: int) -> None:
        kind = type(processor)
        if kind is lp.LogitNormalization:  # the core normalises every row
            return
        for warper, name, _ in _WARPERS:
            if kind is warper:
                self._add_warper(name, getattr(processor, name), processor)
                return
        reason = _why_refused(kind)
        if reason is not None:
            raise ArgumentError("logits_processor holds a %s, which the search cannot use: %s"
                                % (kind.__name__, reason))
        if any(name in self.settings for _, name, _ in _WARPERS):
            raise ArgumentError("logits_processor holds a %s after a %s; expected it before, "
                                "because temperature, top_k, top_p and min_p are applied last"
                                % (kind.__name__, self._last_warper))
        # The shortest length: generate sets both from min_new_tokens.
        if kind is lp.MinLengthLogitsProcessor:
            self._add_min_len(processor.min_length - prompt_length, processor)
        elif kind is lp.MinNewTokensLengthLogitsProcessor:
            self._add_min_len(processor.min_new_tokens
                              + processor.prompt_length_to_skip - prompt_length, processor)
        elif kind is lp.SuppressTokensLogitsProcessor and not (
                set(processor.suppress_tokens.tolist()) & set(self._ends)):
            self.ban += processor.suppress_tokens.tolist()
        else:
            self._others.append(processor)

    def _add_warper(self, name: str, value: Any, processor: Any) -> None:
        if name in self.settings:
            raise ArgumentError("logits_processor holds two of %s; expected one"
                                % type(processor).__name__)
        self._last_warper = type(processor).__name__
        self.settings[name] = value

    def _add_min_len(self, min_len: int, processor: Any) -> None:
        if set(processor.eos_token_id.tolist()) != set(self._ends):
            self._others.append(processor)
        elif min_len > self.settings.get("min_len", 0):
            self.settings["min_len"] = min_len

    def merge(self, given: Dict[str, Any]) -> Dict[str, Any]:
        """Returns the settings of the core: those of the call. If a setting has its default in the
        call, the setting of the processors is used."""
        merged = dict(given)
        for _, name, unused in _WARPERS:
            if np.ndim(given[name]) == 0 and given[name] == unused:
                merged[name] = self.settings.get(name, unused)
        if self.settings.get("min_len"):
            merged["min_len"] = self.settings["min_len"]
        return merged

    def apply(self, ids: torch.Tensor, logits: torch.Tensor, prompts: np.ndarray) -> torch.Tensor:
        """Returns the logits of rows with these tokens and prompts as the core gets them."""
        if not self._others and len(self._ends) <= 1:
            return logits
        # The processors of generate get float32 on the device of the ids. float64 is kept.
        dtype = torch.float64 if logits.dtype == torch.float64 else torch.float32
        scores = logits.to(dtype=dtype, device=ids.device)
        if self._others and self._is_normalised:
            scores = torch.log_softmax(scores, dim=-1)
        for processor in self._others:
            scores = self._apply_one(processor, ids, scores, prompts)
        self._n_tried += 1
        if len(self._ends) > 1:
            scores = merge_ends(scores, self._ends)
        return scores

    def _apply_one(self, processor: Any, ids: torch.Tensor, scores: torch.Tensor,
                   prompts: np.ndarray) -> torch.Tensor:
        if type(processor) is lp.PrefixConstrainedLogitsProcessor:
            return _constrain(processor._prefix_allowed_tokens_fn, ids, scores, prompts)
        if type(processor) in _BY_ROW:
            return processor(ids, scores.clone())  # the model may own the rows
        changed = processor(ids, scores.clone())
        if self._n_tried < _TRIED_STEPS:
            backwards = torch.arange(len(ids) - 1, -1, -1, device=ids.device)
            again = processor(ids[backwards], scores[backwards])
            if again.shape != changed.shape or not torch.allclose(
                    changed[backwards], again, rtol=1e-4, atol=1e-4, equal_nan=True):
                raise ArgumentError("the logits processor %s gave another answer for the same rows "
                                    "in another order; expected a function of each row, without a "
                                    "state, because the search moves rows. For lists use allow="
                                    % type(processor).__name__)
        return changed


def _why_refused(kind: type) -> Optional[str]:
    """Returns why a class of processors is refused, or None."""
    known = (*_BY_ROW, lp.PrefixConstrainedLogitsProcessor, lp.MinLengthLogitsProcessor,
             lp.MinNewTokensLengthLogitsProcessor)
    if kind.__module__ == lp.__name__ and kind not in known:
        return _WRONG_BY_NAME.get(kind.__name__, "it is made for other models")
    return None


def _constrain(allowed_tokens: Any, ids: torch.Tensor, scores: torch.Tensor,
               prompts: np.ndarray) -> torch.Tensor:
    """Applies generate's prefix_allowed_tokens_fn(input, tokens) to each row with its input."""
    mask = torch.full_like(scores, -torch.inf)
    for row, (prompt, tokens) in enumerate(zip(prompts.tolist(), ids)):
        allowed = allowed_tokens(prompt, tokens)
        if len(allowed) == 0:
            raise ArgumentError("prefix_allowed_tokens_fn allows no token after %s of input %d; "
                                "expected at least one" % (tokens.tolist(), prompt))
        mask[row, allowed] = 0
    return scores + mask


def merge_ends(scores: torch.Tensor, ends: Sequence[int]) -> torch.Tensor:
    """Returns rows in which the first end token has the probability of all of them."""
    merged = scores.clone()
    merged[:, ends[0]] = torch.logsumexp(scores[:, list(ends)], dim=-1)
    merged[:, list(ends[1:])] = -torch.inf
    return merged


def end_tokens(generation_config: Any, vocab_size: Optional[int] = None) -> List[int]:
    """Returns the end tokens of a prepared generation config, without repetitions."""
    tensor = getattr(generation_config, "_eos_token_tensor", None)
    ends = [] if tensor is None else list(dict.fromkeys(tensor.flatten().tolist()))
    for end in ends:
        if vocab_size is not None and not 0 <= end < vocab_size:
            raise ArgumentError("eos_token_id is %d; expected a token from 0 to %d"
                                % (end, vocab_size - 1))
    return ends
