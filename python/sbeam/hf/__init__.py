"""Draws from models of Hugging Face Transformers.

    generate     draws k distinct sequences for each prompt: a list of sbeam.Draw
    sbs          the same inside model.generate(..., custom_generate=sbeam.hf.sbs, k=8)

Needs transformers 5.3 or later, and PyTorch. doc/transformers.md shows how to use it, and what
the numbers mean."""
from __future__ import annotations

import inspect
from typing import Any, Dict, Iterable, List, Optional, Union

import transformers
from transformers.generation import GenerationMixin

if not hasattr(GenerationMixin, "_prefill"):
    raise ImportError("sbeam.hf needs transformers >= 5.3; this is %s" % transformers.__version__)

from .._config import options  # noqa: E402
from .._errors import ArgumentError  # noqa: E402
from ..results import Draw  # noqa: E402
from ._output import SbsOutput, make_output  # noqa: E402
from ._processors import end_tokens  # noqa: E402
from ._refusals import check_inputs  # noqa: E402
from ._search import draw_prepared  # noqa: E402

__all__ = ["SbsOutput", "generate", "sbs"]

_DEFAULT_LENGTH = 200
# The options of the core that have another name here.
_RENAMED = {"max_len": "max_new_tokens", "min_len": "min_new_tokens"}
_NAMED = ("method", "k", "temperature", "seed", "top_k", "top_p", "min_p", *_RENAMED)
#: Other options of the core, by keyword: `kappa`, `finished`, `groups`, ...
_MORE = {option.keyword: option for option in options()
         if not option.is_plan and option.keyword not in _NAMED}


def sbs(model: Any, input_ids: Any, logits_processor: Any = None, stopping_criteria: Any = None,
        generation_config: Any = None, *, k: int = 5, method: str = "sbs",
        temperature: Union[float, Iterable[float]] = 1.0, top_k: int = 0, top_p: float = 1.0,
        min_p: float = 0.0, seed: Optional[int] = None, streams: Optional[Iterable[int]] = None,
        draws: int = 1, allow: Any = None, tokenizer: Any = None, stop: Any = None,
        **model_kwargs: Any) -> Any:
    """Draws k distinct sequences inside generate of Transformers:

        model.generate(**inputs, custom_generate=sbeam.hf.sbs, k=8, max_new_tokens=50, seed=1)

    Returns the sequences as a tensor, k rows for each input (`draws` times k if there are several
    draws), or an SbsOutput with return_dict_in_generate=True. The keywords are those of
    sbeam.hf.generate. The lengths are those of generate itself. Temperature, top_k, top_p and min_p
    that do_sample=True brings from the generation config are used unless the call has its own.

    generate does not pass on its `tokenizer`. To pass one, for stop strings, texts in `allow` and
    texts in the draws, bind it: functools.partial(sbeam.hf.sbs, tokenizer=tokenizer)."""
    if generation_config is None or not hasattr(generation_config, "_eos_token_tensor"):
        raise ArgumentError("sbeam.hf.sbs is for model.generate(..., custom_generate=sbeam.hf.sbs);"
                            " to call a function yourself, use sbeam.hf.generate")
    settings = {name: model_kwargs.pop(name) for name in _MORE if name in model_kwargs}
    found = draw_prepared(
        model, input_ids, logits_processor, stopping_criteria, generation_config, model_kwargs,
        k=k, draws=draws, seed=seed, streams=streams, temperature=temperature, allow=allow,
        tokenizer=tokenizer, stop=stop, method=method, top_k=top_k, top_p=top_p, min_p=min_p,
        **{name: value for name, value in settings.items() if value is not None})
    ends = end_tokens(generation_config)
    return make_output(found, k, input_ids, ends[0] if ends else None, generation_config)


def _with_options(function: Any) -> inspect.Signature:
    """Returns the signature with the other options of the core. generate reads it to know which
    keywords are ours."""
    signature = inspect.signature(function)
    *parameters, rest = signature.parameters.values()
    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
            for name in _MORE]
    return signature.replace(parameters=[*parameters, *more, rest])


sbs.__signature__ = _with_options(sbs)  # type: ignore[attr-defined]


def generate(model: Any, input_ids: Any, attention_mask: Any = None, k: int = 5, *,
             method: str = "sbs", tokenizer: Any = None, allow: Any = None,
             temperature: Union[float, Iterable[float]] = 1.0, top_k: int = 0, top_p: float = 1.0,
             min_p: float = 0.0, max_new_tokens: Optional[int] = None,
             min_new_tokens: Optional[int] = None, stop: Any = None, seed: Optional[int] = None,
             streams: Optional[Iterable[int]] = None, draws: int = 1, **more: Any) -> List[Draw]:
    """Draws k distinct sequences for each row of input_ids from a model of Transformers.

        inputs = tokenizer(["Once upon a time"], return_tensors="pt")
        [draw] = sbeam.hf.generate(model, **inputs, k=8, tokenizer=tokenizer, seed=1)

    input_ids, attention_mask    the prompts, (n_inputs, length); padded on the left. For an
                                 encoder-decoder the source texts
    method           "sbs", "beam", "sample" or "diverse"
    tokenizer        gives the sequences their text; required for `stop` and for texts in `allow`
    allow            the permitted outputs: lists of token ids without an end token, or texts
    temperature, top_k, top_p, min_p    change the model, in this order. The temperature is one
                     number, or one for each input
    max_new_tokens   default: that of the generation config, else 200
    stop             strings that end a sequence
    seed             the key of all noise; None: random
    streams          the number of each input, which keys its noise; default 0, 1, ...
    draws            number of draws for each input
    more             other options of sbeam (sbeam.options(): finished, groups, kappa, ...), and
                     arguments of model.generate: logits_processor, bad_words_ids, eos_token_id, ...

    Returns the draws: those of the first input, then those of the second. The tokens of a sequence
    are the new ones, without prompt, start and end tokens. The prompt is evaluated once.

    Sampling settings of the model's generation config are not used, unless you pass
    do_sample=True. Raises an ArgumentError if an argument would change the law of the draw."""
    is_encoder_decoder = bool(getattr(model.config, "is_encoder_decoder", False))
    if input_ids is not None or "inputs_embeds" not in more:
        check_inputs(input_ids, attention_mask, is_encoder_decoder)
    for name in ("streamer", "assistant_model", "custom_generate"):
        if more.pop(name, None) is not None:
            raise ArgumentError("%s is given; expected none: sbeam.hf.generate runs its own "
                                "search, whose sequences are certain only at its end" % name)
    own: Dict[str, Any] = {name: more.pop(name) for name in list(more) if name in _MORE}
    found: List[Draw] = []

    def search(model: Any, input_ids: Any, logits_processor: Any, stopping_criteria: Any,
               generation_config: Any, **model_kwargs: Any) -> List[Draw]:
        return draw_prepared(
            model, input_ids, logits_processor, stopping_criteria, generation_config,
            model_kwargs, k=k, draws=draws, seed=seed, streams=streams, temperature=temperature,
            allow=allow, tokenizer=tokenizer, stop=stop, method=method, top_k=top_k, top_p=top_p,
            min_p=min_p, **own)

    if attention_mask is not None:
        more["attention_mask"] = attention_mask
    if min_new_tokens is not None:
        more["min_new_tokens"] = min_new_tokens
    length = max_new_tokens if max_new_tokens is not None else _length(model, input_ids, more)
    if length is not None:
        more["max_new_tokens"] = length
    # The generation config of many models asks for beams or for sampling; here only keywords can.
    for name, value in (("do_sample", False), ("num_beams", 1), ("num_return_sequences", 1)):
        more.setdefault(name, value)
    found = model.generate(input_ids, custom_generate=search, **more)
    return found


def _length(model: Any, input_ids: Any, more: Dict[str, Any]) -> Optional[int]:
    """Returns the default of max_new_tokens, or None if generate finds a length itself."""
    config = more.get("generation_config") or model.generation_config
    if (more.get("max_length") is not None or config.max_new_tokens is not None
            or config.max_length is not None):
        return None
    most = getattr(model.config, "max_position_embeddings", None)
    if most is None or input_ids is None:
        return _DEFAULT_LENGTH
    used: int = 1 if model.config.is_encoder_decoder else input_ids.shape[1]
    return max(1, min(_DEFAULT_LENGTH, int(most) - used))
