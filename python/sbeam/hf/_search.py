"""Draws from a model that generate has prepared."""
from __future__ import annotations

import contextlib
import dataclasses
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np
import torch

from .._arrays import count
from .._config import is_many, to_floats, to_int, to_ints, to_list, to_seed
from .._errors import ArgumentError
from ..decoder import Decoder
from ..results import Draw
from ..trie import to_trie
from ._processors import Processors, end_tokens
from ._refusals import (check_criteria, check_method, check_model, check_padding, check_settings,
                        check_tokenizer)
from ._stepping import Stepper

_MOST_SLOTS = 4096  # the maximum of a decoder
# Several draws of an input are computed together while their logits have at most this number of
# elements: 256 MB of float32.
_MOST_LOGITS = 2**26


def draw_prepared(model: Any, input_ids: torch.Tensor, processors: Any, criteria: Any,
                  generation_config: Any, model_kwargs: Dict[str, Any], *, k: int, draws: int,
                  seed: Optional[int], streams: Any, temperature: Any, allow: Any, tokenizer: Any,
                  stop: Any, method: str, **settings: Any) -> List[Draw]:
    """Returns the draws of all inputs: those of the first input, then those of the second, ..."""
    n_inputs = len(input_ids)
    check_method(method)
    check_settings(model, generation_config)
    check_criteria(criteria)
    check_model(model, n_inputs)
    check_padding(model_kwargs.get("attention_mask"), model.config.is_encoder_decoder)
    k = to_int(k, "k", 1, 2**31 - 2)
    per_input = to_int(draws, "draws", 1, 2**31 - 1)
    streams = (list(range(n_inputs)) if streams is None
               else to_ints(streams, "streams", 0, 2**64 - 1))
    temperatures = to_floats(temperature, "temperature")
    for name, given in (("streams", streams), ("temperature", temperatures)):
        if len(given) not in ((n_inputs,) if name == "streams" else (1, n_inputs)):
            raise ArgumentError("%s has %s for %s" % (name, count(len(given), "number"),
                                                      count(n_inputs, "input")))
    length = generation_config.max_length - input_ids.shape[1]
    if length < 1:
        raise ArgumentError("max_length is %d, but the prompt has %d tokens; expected room for a "
                            "new one: use max_new_tokens"
                            % (generation_config.max_length, input_ids.shape[1]))
    ends = end_tokens(generation_config)
    changes = Processors(processors, ends, input_ids.shape[1], method in ("beam", "diverse"))
    common = changes.merge(dict(settings, temperature=temperature))
    temperatures = to_floats(common.pop("temperature"), "temperature")
    common.update(k=k, method=method, seed=to_seed(seed), eos=ends[0] if ends else None,
                  max_len=length, ban=changes.ban or None)
    common.update(_text_functions(tokenizer, stop))
    if allow is not None:  # built once for all groups of draws
        common["allow"] = to_trie(_allowed(allow, tokenizer, model.config.is_encoder_decoder))

    stepper = Stepper(model, input_ids, generation_config, model_kwargs)
    first = stepper.prefill()
    vocab_size = first.shape[1]
    end_tokens(generation_config, vocab_size)
    check_tokenizer(tokenizer, vocab_size)
    for end in ends[1:] if allow is not None else ():  # opening a decoder refuses lines with `eos`
        Decoder(vocab_size, 1, eos=end, allow=common["allow"], max_len=length).close()
    first = changes.apply(stepper.ids, first, stepper.prompts)

    # A slot is a draw of an input.
    slots = [(i, draw) for i in range(n_inputs) for draw in range(per_input)]
    together = min(_MOST_SLOTS, max(n_inputs, _MOST_LOGITS // (vocab_size * (k + 1))))
    optimised = getattr(model, "_optimize_model_for_decode", contextlib.nullcontext)
    found: List[Draw] = []
    for start in range(0, len(slots), together):
        group = slots[start:start + together]
        is_last = start + together >= len(slots)
        inputs = np.array([i for i, _ in group], dtype=np.int64)
        with Decoder(vocab_size, inputs=len(group), streams=[streams[i] for i in inputs],
                     draws=[draw for _, draw in group],
                     temperature=[temperatures[i % len(temperatures)] for i in inputs],
                     **common) as decoder:
            with optimised():  # for steps instead of prompts, on graphics cards
                _run(decoder, stepper if is_last else stepper.fork(), changes, first, inputs)
            found += decoder.results()
    more: Dict[str, Any] = {"end_tokens": ends} if len(ends) > 1 else {}
    if changes.names:
        more["processors"] = changes.names
    if not more:
        return found
    return [dataclasses.replace(draw, settings={**draw.settings, **more}) for draw in found]


def _run(decoder: Decoder, stepper: Stepper, changes: Processors, first: torch.Tensor,
         inputs: np.ndarray) -> None:
    """Runs a decoder to its end. Slot i of the decoder is a draw of input inputs[i], whose
    prompt has the logits first[inputs[i]]."""
    if len(inputs) != len(first) or (inputs != np.arange(len(first))).any():
        first = first.index_select(0, torch.from_numpy(inputs).to(first.device))
    decoder.advance(first)
    del first
    rows_before: Optional[np.ndarray] = inputs  # the first parents are slots, not rows
    while True:
        parent, token, slot = decoder.rows()
        if len(parent) == 0:
            return
        if rows_before is not None:
            parent, rows_before = rows_before[parent], None
        logits = stepper.step(parent, token, inputs[slot])
        decoder.advance(changes.apply(stepper.ids, logits, stepper.prompts))


# --- text ---

def _text_functions(tokenizer: Any, stop: Any) -> Dict[str, Callable[..., Any]]:
    """Returns the functions `decode` and `is_stop` of a decoder, if there is a tokenizer."""
    stops = to_list(stop, "stop")
    for text in stops:
        if not isinstance(text, str) or not text:
            raise ArgumentError("stop holds %r; expected texts of at least one character" % (text,))
    if tokenizer is None:
        if stops:
            raise ArgumentError("stop is %r, which needs a tokenizer to turn tokens into text; pass "
                                "tokenizer= (with custom_generate: functools.partial(sbeam.hf.sbs, "
                                "tokenizer=..., stop=...))" % (stop,))
        return {}

    def text_of(tokens: Tuple[int, ...]) -> str:
        return str(tokenizer.decode(list(tokens), skip_special_tokens=True))

    def decode(tokens: Tuple[int, ...]) -> str:
        text = text_of(tokens)
        return text[:min((at for at in map(text.find, stops) if at >= 0), default=len(text))]

    functions: Dict[str, Callable[..., Any]] = {"decode": decode}
    if stops:
        def is_stop(tokens: Tuple[int, ...]) -> bool:
            text = text_of(tokens)
            return any(stop in text for stop in stops)
        functions["is_stop"] = is_stop
    return functions


def _allowed(allow: Any, tokenizer: Any, is_encoder_decoder: bool) -> Any:
    """Returns the outputs as lists of token ids. The tokenizer splits texts."""
    if isinstance(allow, str):
        allow = [allow]
    if not is_many(allow) or isinstance(allow, (bytes, dict)):
        return allow  # the decoder accepts or refuses it
    items = list(allow)
    if not any(isinstance(item, str) for item in items):
        return items
    if tokenizer is None:
        raise ArgumentError("allow holds texts, which need a tokenizer; pass tokenizer=, or "
                            "lists of token ids")
    key = "text_target" if is_encoder_decoder else "text"
    return [_ids_of(tokenizer, key, item) if isinstance(item, str) else item for item in items]


def _ids_of(tokenizer: Any, key: str, text: str) -> Sequence[int]:
    ids: Sequence[int] = tokenizer(**{key: text}, add_special_tokens=False)["input_ids"]
    unknown = getattr(tokenizer, "unk_token", None)
    if unknown is not None and unknown not in text and tokenizer.unk_token_id in ids:
        raise ArgumentError("allow holds %r, which the tokenizer cannot spell: it reads a part as "
                            "the unknown token, %r" % (text, unknown))
    return ids
