"""Draws from a Python function that computes logits, in one call."""
from __future__ import annotations

import copy
import sys
from typing import Any, Callable, Iterable, List, Optional, Tuple, Union

import numpy as np

from ._arrays import advise_inputs, count, is_tensor, to_numpy
from ._config import is_many, method_info, to_int, to_ints, to_seed
from ._errors import ArgumentError
from .decoder import Decoder, number_inputs
from .results import Draw
from .trie import Trie, to_trie

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
        ban: Optional[Iterable[int]] = None,
        allow: Union[None, Trie, Iterable[Iterable[int]]] = None,
        **settings: Any) -> Union[Draw, List[Draw]]:
    """Draws k distinct sequences from the model that `step_fn` computes.

        def step_fn(states, tokens):        # (n, ...) and (n,)
            ...
            return logits, states           # (n, vocab_size) and (n, ...)

    The states are arrays or tensors whose first axis is the row. They may be nested in tuples,
    named tuples, lists and dictionaries; a model without states uses None. Between two calls sbeam
    puts them in order for you: several rows of the next call may continue a row, or none.

    init_state   the states of the first call: 1 row, or `inputs` rows for a batch
    inputs       number of inputs that are decoded together; None: one
    start_token  the tokens of the first call: a number, or one for each input. The default is
                 `eos`, which starts many models, or 0 if there is no `eos`
    vocab_size   number of columns of the logits; by default that of the first call

    The tokens are int64: a tensor on the device of the states if these hold a tensor, otherwise a
    NumPy array. The other keywords and the errors are those of Decoder. Exceptions of step_fn pass
    through unchanged. Returns a Draw, or a list of them if `inputs` is given.

    Seed, stream and draw determine the noise. In a loop with a fixed seed, pass draws=step, or
    every step has the same noise.

    The log_p of a sequence is a number, not a tensor with a graph, so call this function under
    torch.no_grad(). To differentiate, let your model compute log_p again from the tokens, with the
    same temperature and bans (python/README.md shows how)."""
    n = 1 if inputs is None else to_int(inputs, "inputs", 1, 4096)
    starts = _start_tokens(start_token, eos, n)
    _check_rows(init_state, n, "init_state", is_one=inputs is None)
    common = dict(settings, k=k, eos=eos, max_len=max_len, method=method, seed=to_seed(seed),
                  is_leaf=is_leaf, is_stop=is_stop, decode=decode, ban=ban,
                  allow=to_trie(allow))
    temperatures, numbers, rounds = number_inputs(n, temperature, streams, draws)
    info = method_info(method)
    if info is not None and info.has_rounds and n > 1:
        # Inputs start again after each round of samples, and they do so at different times.
        # One input at a time, all rows of a call have the same length, and so have their states.
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
        raise ArgumentError("start_token has %s for %s%s" % (
            count(len(tokens), "token"), count(n, "input"),
            "; for a batch use inputs=%d" % len(tokens) if n == 1 and len(tokens) > 1 else ""))
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
            if parent[0] < 0:  # a new round
                logits, states = _step(step_fn, init_state, starts)
            else:
                logits, states = _step(step_fn, _reorder(states, parent), token.astype(np.int64))
            decoder.advance(logits)
        return decoder.results()


def _step(step_fn: StepFunction, states: Any, tokens: np.ndarray) -> Tuple[Any, Any]:
    tensor = _find_tensor(states)
    if tensor is not None:
        # PyTorch is imported already, because there is a tensor.
        tokens = sys.modules["torch"].as_tensor(tokens, device=tensor.device)
    answer = step_fn(states, tokens)
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        raise ArgumentError("step_fn returned an object of type %s; expected (logits, states)"
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


def _check_rows(nest: Any, n: int, what: str, is_one: bool = False) -> None:
    """Raises an ArgumentError unless every array has n rows. `is_one`: the caller did not say how
    many inputs there are, and may have forgotten to."""
    children = _children(nest)
    for child in children or []:
        _check_rows(child, n, what, is_one)
    if children is not None or nest is None:
        return
    if not _is_array(nest):
        raise ArgumentError("%s holds a %s; expected None, or arrays or tensors, which may be "
                            "nested in tuples, lists and dictionaries"
                            % (what, type(nest).__name__))
    if len(nest.shape) == 0 or nest.shape[0] != n:
        raise ArgumentError("%s: an array has the shape %s; expected %s%s"
                            % (what, tuple(nest.shape), count(n, "row"),
                               advise_inputs(nest.shape) if is_one else ""))


def _reorder(nest: Any, parent: np.ndarray) -> Any:
    """Returns the rows `parent` of every array, nested like before."""
    if nest is None:
        return None
    if isinstance(nest, dict):
        moved = copy.copy(nest)  # keeps the class
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
