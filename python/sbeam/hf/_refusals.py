"""Refuses arguments that would break the law of a draw or the cache of the model, and says why."""
from __future__ import annotations

from typing import Any, Optional, Tuple

import torch
from transformers import EosTokenCriteria, MaxLengthCriteria
from transformers import cache_utils

from .._errors import ArgumentError

METHODS = ("sbs", "beam", "sample", "diverse")
# A tokenizer may have fewer tokens than the logits have columns, because models pad their matrices
# to a multiple of 64 or 128. Below this share it belongs to another model.
_LEAST_SHARE = 0.9
_FIXED_LAYERS = tuple(getattr(cache_utils, name) for name in (
    "StaticLayer", "LinearAttentionAndStaticFullAttentionLayer") if hasattr(cache_utils, name))
_QUANTIZED_LAYERS = tuple(getattr(cache_utils, name) for name in (
    "BaseQuantizedLayer", "QuantizedLayer") if hasattr(cache_utils, name))

# Settings of generate, the value that means "not used", and the way out.
_UNUSED: Tuple[Tuple[str, Any, str], ...] = (
    ("num_beams", 1, "the prompt would be evaluated once per beam; pass num_beams=1 and k="),
    ("num_return_sequences", 1,
     "the prompt would be evaluated once per sequence; pass num_return_sequences=1 and k="),
    ("num_beam_groups", 1, "use method=\"diverse\" with groups="),
    ("max_time", None, "a draw that ends early has another law; use max_new_tokens"),
    ("token_healing", False, "it changes the prompt; heal it before the call"),
    ("guidance_scale", None, "its processor keeps a cache by row, which the search reorders"),
    ("prompt_lookup_num_tokens", None, "the search has no drafts"),
    ("penalty_alpha", None, "the search has no contrastive penalty"),
    ("dola_layers", None, "the search reads only the last layer"),
    ("force_words_ids", None, "use allow="),
    ("constraints", None, "use allow="),
)
# The same, but refused only if the call changes the generation config of the model: that config has
# them for beam search, and generate itself ignores them without num_beams.
_UNUSED_IF_GIVEN: Tuple[Tuple[str, Any, str], ...] = (
    ("early_stopping", False,
     "a draw that ends early has another law; method=\"beam\" has early_stop="),
    ("length_penalty", 1.0, "only method=\"beam\" has it; pass it as a keyword of sbeam.hf"),
    ("output_scores", False, "the rows of unfinished sequences are not kept"),
    ("output_logits", False, "the rows of unfinished sequences are not kept"),
    ("output_attentions", False, "they are not kept by sequence"),
    ("output_hidden_states", False, "they are not kept by sequence"),
)
_CACHES = {None, "dynamic"}


def _is_used(value: Any, unused: Any) -> bool:
    return value is not None and value != unused


def check_settings(model: Any, config: Any) -> None:
    """Refuses settings of a prepared generation config."""
    for name, unused, advice in _UNUSED:
        value = getattr(config, name, None)
        if _is_used(value, unused):
            raise ArgumentError("%s is %r, in the call or in the generation config; expected %r: %s"
                                % (name, value, unused, advice))
    own = getattr(model, "generation_config", None)
    for name, unused, advice in _UNUSED_IF_GIVEN:
        value = getattr(config, name, None)
        if _is_used(value, unused) and value != getattr(own, name, None):
            raise ArgumentError("%s is %r; expected %r: %s" % (name, value, unused, advice))
    if config.cache_implementation not in _CACHES:
        raise ArgumentError("cache_implementation is %r; expected 'dynamic', because rows are "
                            "reordered and their number changes" % config.cache_implementation)


def check_criteria(criteria: Any) -> None:
    """Refuses criteria other than the length and the end tokens."""
    for criterion in criteria or ():
        if type(criterion) not in (EosTokenCriteria, MaxLengthCriteria):
            raise ArgumentError("stopping_criteria holds a %s, which may end a draw before all its "
                                "sequences are certain; expected none. Use stop= for stop strings "
                                "and max_new_tokens= for the length" % type(criterion).__name__)


def check_model(model: Any, n_inputs: int) -> None:
    """Refuses models whose rows are random or cannot be moved."""
    if model.training:
        raise ArgumentError("the model is in training mode, in which dropout makes its logits "
                            "random; call model.eval() first")
    if n_inputs > 1 and any(hasattr(part, "rope_deltas") for part in model.modules()):
        raise ArgumentError("%s keeps rope_deltas by input, which do not follow the rows; expected "
                            "1 input, got %d: call it once for each input"
                            % (type(model).__name__, n_inputs))


def check_cache(model: Any, cache: Any) -> None:
    """Refuses caches that cannot be reordered by row."""
    name = type(model).__name__
    if not hasattr(cache, "reorder_cache"):
        raise ArgumentError("%s gave %s; expected a Cache of transformers with reorder_cache(). "
                            "With use_cache=False the model needs no cache, but is slow"
                            % (name, "no cache" if cache is None
                               else "a cache of type %s" % type(cache).__name__))
    parts = ([cache.self_attention_cache, cache.cross_attention_cache]
             if isinstance(cache, cache_utils.EncoderDecoderCache) else [cache])
    for part in parts:
        layers = getattr(part, "layers", ())
        kind: Optional[str] = None
        if any(isinstance(layer, _FIXED_LAYERS) for layer in layers):
            kind = "a static cache, whose number of rows is fixed"
        elif any(isinstance(layer, _QUANTIZED_LAYERS) for layer in layers):
            kind = "a quantised cache, whose numbers depend on when its rows were reordered"
        elif getattr(part, "offloading", False):
            kind = "an offloaded cache, which is moved while its rows are reordered"
        if kind is not None:
            raise ArgumentError("%s has %s; expected a DynamicCache" % (name, kind))


def check_inputs(input_ids: Any, attention_mask: Any, is_encoder_decoder: bool) -> None:
    """Refuses input ids and masks of the wrong shape, and prompts that are padded at the end."""
    if not isinstance(input_ids, torch.Tensor) or input_ids.ndim != 2 or len(input_ids) == 0 or (
            input_ids.is_floating_point()):
        raise ArgumentError("input_ids is %s; expected a tensor of token ids of the shape "
                            "(n_inputs, length), as tokenizer(..., return_tensors=\"pt\") gives"
                            % _describe(input_ids))
    if input_ids.shape[1] == 0:
        raise ArgumentError("input_ids has no tokens; expected at least one, such as the start "
                            "token of the model")
    if attention_mask is None:
        return
    if not isinstance(attention_mask, torch.Tensor) or attention_mask.shape != input_ids.shape:
        raise ArgumentError("attention_mask is %s; expected the shape of input_ids, %s"
                            % (_describe(attention_mask), tuple(input_ids.shape)))
    check_padding(attention_mask, is_encoder_decoder)


def check_padding(mask: Optional[torch.Tensor], is_encoder_decoder: bool) -> None:
    """Refuses prompts that are padded at the end, and empty ones."""
    if is_encoder_decoder or mask is None or mask.ndim != 2 or mask.shape[1] == 0:
        return
    padded = (mask[:, -1] == 0).nonzero().flatten().tolist()
    if padded:
        raise ArgumentError("input %d is padded at its end, so its next token would continue a pad "
                            "token; expected padding on the left: padding_side=\"left\" of the "
                            "tokenizer. If the pad token is part of the prompt, pass attention_mask"
                            % padded[0])


def check_tokenizer(tokenizer: Any, vocab_size: int) -> None:
    """Refuses the tokenizer of another model, as far as its size shows it."""
    if tokenizer is None:
        return
    size = len(tokenizer)
    if not _LEAST_SHARE * vocab_size <= size <= vocab_size:
        raise ArgumentError("the tokenizer has %d tokens, but the model has logits for %d; "
                            "expected the tokenizer of this model" % (size, vocab_size))


def check_method(method: Any) -> None:
    """Refuses methods that this loop cannot run."""
    if method not in METHODS:
        raise ArgumentError("method is %r; expected one of %s" % (method, ", ".join(METHODS)))


def _describe(x: Any) -> str:
    return ("a %s tensor of the shape %s" % (str(x.dtype).replace("torch.", ""), tuple(x.shape))
            if isinstance(x, torch.Tensor) else "of type %s" % type(x).__name__)
