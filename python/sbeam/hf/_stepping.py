"""Evaluates the rows of a model of Transformers and keeps its cache in the order of the rows.

The loop is that of GenerationMixin: _prefill, _update_model_kwargs_for_generation,
prepare_inputs_for_generation. Between two steps the cache is reordered by parent, after which the
number of rows may differ. All other arguments of the model depend only on the prompt and on the
number of steps: they are selected again only if the prompts of the rows change. The same holds for
the cache of cross-attention, which generate reorders in every step."""
from __future__ import annotations

import copy
from typing import Any, Dict

import numpy as np
import torch
from transformers.cache_utils import EncoderDecoderCache
from transformers.generation.utils import ALL_CACHE_NAMES

from .._errors import ArgumentError
from ._refusals import check_cache

# These arguments have one row per prompt on the last axis but one; mRoPE has axes before it.
_POSITIONS = ("position_ids", "decoder_position_ids")


class Stepper:
    """The rows of one search. The first rows are the prompts, each evaluated once."""

    def __init__(self, model: Any, input_ids: torch.Tensor, generation_config: Any,
                 model_kwargs: Dict[str, Any]) -> None:
        self._model = model
        self._config = generation_config
        self._ids = input_ids
        self._kwargs = model_kwargs
        self._prompts = np.arange(len(input_ids), dtype=np.int64)

    @property
    def ids(self) -> torch.Tensor:
        """The tokens of each row, with the prompt: (n_rows, length)."""
        return self._ids

    @property
    def prompts(self) -> np.ndarray:
        """The number of each row's prompt."""
        return self._prompts

    def fork(self) -> "Stepper":
        """Returns a copy that can step on its own."""
        other = copy.copy(self)
        # A cache is changed in place; the other arguments are replaced.
        other._kwargs = {name: copy.deepcopy(value) if name in ALL_CACHE_NAMES else value
                         for name, value in self._kwargs.items()}
        return other

    def prefill(self) -> torch.Tensor:
        """Evaluates the prompts. Returns their logits, (n_prompts, vocab_size)."""
        outputs = self._model._prefill(self._ids, self._config, self._kwargs)
        logits = self._finish(outputs)
        self._kwargs.pop("inputs_embeds", None)  # only the prompts have them
        if self._kwargs.get("use_cache", True):
            check_cache(self._model, self._cache())
        return logits

    def step(self, parent: np.ndarray, token: np.ndarray, prompts: np.ndarray) -> torch.Tensor:
        """Evaluates rows that continue the rows `parent` with these tokens. Returns their logits,
        (n_rows, vocab_size)."""
        self._reorder(parent, prompts)
        tokens = torch.from_numpy(token.astype(np.int64)).to(self._ids.device)
        self._ids = torch.cat([self._ids, tokens[:, None]], dim=1)
        inputs = self._model.prepare_inputs_for_generation(
            self._ids, next_sequence_length=1 if self._kwargs.get("use_cache", True) else None,
            **self._kwargs)
        return self._finish(self._model(**inputs, return_dict=True))

    def _finish(self, outputs: Any) -> torch.Tensor:
        self._kwargs = self._model._update_model_kwargs_for_generation(
            outputs, self._kwargs, is_encoder_decoder=self._model.config.is_encoder_decoder)
        logits = outputs.logits
        if logits.ndim != 3 or logits.shape[0] != len(self._ids):
            raise ArgumentError("the model %s returned logits of the shape %s; expected (%d, "
                                "length, vocab_size): one token per row and step"
                                % (type(self._model).__name__, tuple(logits.shape),
                                   len(self._ids)))
        return logits[:, -1]

    def _cache(self) -> Any:
        return next((self._kwargs[name] for name in ALL_CACHE_NAMES
                     if self._kwargs.get(name) is not None), None)

    # --- the order of the rows ---

    def _reorder(self, parent: np.ndarray, prompts: np.ndarray) -> None:
        n_before = len(self._prompts)
        if len(parent) == n_before and (parent == np.arange(n_before)).all():
            return
        index = torch.from_numpy(parent.astype(np.int64)).to(self._ids.device)
        self._ids = self._ids.index_select(0, index)
        has_same_prompts = np.array_equal(prompts, self._prompts)
        self._prompts = prompts
        cache = self._cache()
        if cache is not None:
            if has_same_prompts and isinstance(cache, EncoderDecoderCache):
                cache = cache.self_attention_cache
            cache.reorder_cache(index)
        if not has_same_prompts:
            self._kwargs = {
                name: value if name in ALL_CACHE_NAMES
                else _select(value, index, n_before, name) for name, value in self._kwargs.items()}


def _select(value: Any, index: torch.Tensor, n_before: int, name: str) -> Any:
    """Returns the rows `index` of an argument of the model: of a tensor, or of each tensor in a
    tuple or in an output of the encoder. An argument with one row for all prompts stays."""
    if isinstance(value, torch.Tensor):
        axis = value.ndim - 2 if name in _POSITIONS else 0
        if value.ndim == 0 or axis < 0:
            return value
        if value.shape[axis] == n_before:
            return value.index_select(axis, index.to(value.device))
        if value.shape[axis] == 1:
            return value
        raise ArgumentError("the argument %s of the model has the shape %s; expected %d rows, one "
                            "for each input" % (name, tuple(value.shape), n_before))
    if isinstance(value, dict):  # a ModelOutput is one, too
        selected = copy.copy(value)
        for key, item in value.items():
            selected[key] = _select(item, index, n_before, name)
        return selected
    if isinstance(value, (tuple, list)):
        return type(value)(_select(item, index, n_before, name) for item in value)
    return value
