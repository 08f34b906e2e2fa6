"""One call around a Python function that computes logits."""
from __future__ import annotations

import copy
import sys
from typing import Any, Callable, Iterable, List, Optional, Tuple, Union

import numpy as np

from ._arrays import is_tensor, to_numpy
from ._config import is_many, to_int, to_ints, to_seed
from ._errors import ArgumentError
from .decoder import Decoder, number_jobs
from .results import Draw

StepFunction = Callable[[Any, Any], Tuple[Any, Any]]


def sample_without_replacement(
        step_fn: StepFunction, init_state: Any, k: int = 5, *, vocab_size: Optional[int] = None,
        eos: Optional[int] = None, start_token: Union[None, int, Iterable[int]] = None,
        max_len: int = 200, temperature: Union[float, Iterable[float]] = 1.0,
        seed: Optional[int] = None, method: str = "sbs", inputs: Optional[int] = None,
        streams: Optional[Iterable[int]] = None, draws: Union[None, int, Iterable[int]] = None,
        is_leaf: Optional[Callable[[int, int], bool]] = None,
        is_stop: Optional[Callable[[Tuple[int, ...]], bool]] = None,
        decode: Optional[Callable[[Tuple[int, ...]], str]] = None,
        ban: Optional[Iterable[int]] = None, **settings: Any) -> Union[Draw, List[Draw]]:
    """Draws k distinct sequences from the model that `step_fn` computes.

        def step_fn(states, tokens):        # (n, ...) and (n,)
            ...
            return logits, states           # (n, vocab_size) and (n, ...)

    The states are arrays or tensors whose first axis is the row, or tuples, lists, dictionaries or
    named tuples of such, nested as you like; None where there are none. Between two calls they are
    put in order for you: the rows of a call continue rows of the one before, some of them several
    times, some not at all.

    init_state   has a first axis of 1, or of `inputs` for a batch of that many
    start_token  the tokens of the first call: a number, or one for each input. By default `eos`,
                 which is what many models begin with, or 0 where there is none
    vocab_size   columns of the logits; by default those of the first call

    The tokens are int64: a tensor on the device of the states where these hold a tensor, else a
    NumPy array. The other keywords, and what is refused, are those of Decoder. Returns a Draw,
    or, with `inputs`, a list of them. What step_fn raises comes through as it is."""
    n = 1 if inputs is None else to_int(inputs, "inputs", 1, 4096)
    starts = _start_tokens(start_token, eos, n)
    _check_rows(init_state, n, "init_state")
    common = dict(settings, k=k, eos=eos, max_len=max_len, method=method, seed=to_seed(seed),
                  is_leaf=is_leaf, is_stop=is_stop, decode=decode, ban=ban)
    temperatures, numbers, rounds = number_jobs(n, temperature, streams, draws)
    if method == "reject" and n > 1:
        # It begins anew after each round of samples, an input here and another there: one at a time
        # they stay in step, so that the rows of a call have states of one length.
        found = [_run(step_fn, _reorder(init_state, np.array([i])), starts[i:i + 1], vocab_size,
                      dict(common, streams=[numbers[i]], temperature=temperatures[i],
                           draws=rounds[i]))[0] for i in range(n)]
    else:
        found = _run(step_fn, init_state, starts, vocab_size,
                     dict(common, inputs=n, streams=numbers, temperature=temperatures,
                          draws=rounds))
    return found[0] if inputs is None else found


def _start_tokens(start: Any, eos: Optional[int], n: int) -> np.ndarray:
    if start is None:
        start = 0 if eos is None else eos
    if is_many(start):
        tokens = to_ints(start, "start_token", -2**31, 2**31 - 1)
    else:
        tokens = [to_int(start, "start_token", -2**31, 2**31 - 1)] * n
    if len(tokens) != n:
        raise ArgumentError("start_token has %d tokens for %d inputs" % (len(tokens), n))
    return np.array(tokens, dtype=np.int64)


def _run(step_fn: StepFunction, init_state: Any, starts: np.ndarray, vocab_size: Optional[int],
         keywords: Any) -> List[Draw]:
    logits, states = _step(step_fn, init_state, starts)
    if vocab_size is None:
        shape = tuple(logits.shape if is_tensor(logits) else to_numpy(logits, "logits").shape)
        if len(shape) != 2:
            raise ArgumentError("logits: the shape is %s; expected (%d, vocab_size)"
                                % (shape, len(starts)))
        vocab_size = shape[1]
    with Decoder(vocab_size, **keywords) as decoder:
        decoder.advance(logits)
        while not decoder.done:
            parent, token, input = decoder.rows()
            if parent[0] < 0:  # reject begins anew
                logits, states = _step(step_fn, init_state, starts)
            else:
                logits, states = _step(step_fn, _reorder(states, parent), token.astype(np.int64))
            decoder.advance(logits)
        return decoder.results()


def _step(step_fn: StepFunction, states: Any, tokens: np.ndarray) -> Tuple[Any, Any]:
    tensor = _find_tensor(states)
    if tensor is not None:
        # The host has imported it, or there would be no tensor.
        tokens = sys.modules["torch"].as_tensor(tokens, device=tensor.device)
    answer = step_fn(states, tokens)
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        raise ArgumentError("step_fn returned %s; expected (logits, states)"
                            % type(answer).__name__)
    _check_rows(answer[1], len(tokens), "the states of step_fn")
    return answer[0], answer[1]


# --- nests of arrays ---

def _is_array(x: Any) -> bool:
    return hasattr(x, "shape") and hasattr(x, "__getitem__")


def _children(nest: Any) -> Optional[List[Any]]:
    if isinstance(nest, dict):
        return list(nest.values())
    return list(nest) if isinstance(nest, (tuple, list)) else None


def _find_tensor(nest: Any) -> Any:
    if is_tensor(nest) and "torch" in sys.modules:
        return nest
    for child in _children(nest) or []:
        found = _find_tensor(child)
        if found is not None:
            return found
    return None


def _check_rows(nest: Any, n: int, what: str) -> None:
    children = _children(nest)
    for child in children or []:
        _check_rows(child, n, what)
    if children is not None or nest is None:
        return
    if not _is_array(nest):
        raise ArgumentError("%s holds a %s; expected arrays or tensors, nested in tuples, lists or "
                            "dictionaries" % (what, type(nest).__name__))
    if len(nest.shape) == 0 or nest.shape[0] != n:
        raise ArgumentError("%s: an array has the shape %s; expected %d rows"
                            % (what, tuple(nest.shape), n))


def _reorder(nest: Any, parent: np.ndarray) -> Any:
    """The rows `parent` of every array of a nest."""
    if nest is None:
        return None
    if isinstance(nest, dict):
        moved = copy.copy(nest)  # of its own class, whatever that is made from
        for key, value in nest.items():
            moved[key] = _reorder(value, parent)
        return moved
    if isinstance(nest, tuple) and hasattr(nest, "_fields"):
        return type(nest)(*(_reorder(child, parent) for child in nest))
    if isinstance(nest, (tuple, list)):
        return type(nest)(_reorder(child, parent) for child in nest)
    if is_tensor(nest) and "torch" in sys.modules:
        index = sys.modules["torch"].as_tensor(parent.astype(np.int64), device=nest.device)
        return nest.index_select(0, index)
    return nest[parent]
