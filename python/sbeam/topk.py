"""Weighted sampling without replacement from a list."""
from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional

import numpy as np

from . import _structs as s
from ._arrays import to_doubles
from ._config import to_int, to_seed
from ._library import call, lib


class TopK(NamedTuple):
    """The drawn items, in the order drawn: arrays of shape (n,), where n is at most k."""

    indices: np.ndarray  #: int64, positions in the list
    g: np.ndarray  #: log_p plus Gumbel noise; falls along the list
    log_p: np.ndarray  #: log of the item's share of the total weight
    log_weight: np.ndarray  #: log(p / q), where q is the probability that g exceeds kappa
    kappa: float  #: threshold, the g of the next item; -inf if all items with weight are here
    seed: int


def gumbel_topk(log_weights: Any, k: int, seed: Optional[int] = None) -> TopK:
    """Draws k distinct items of a list by their log-weights.

    The first item is drawn with probabilities proportional to the weights, the second likewise from
    the rest, and so on. An item of log-weight -inf is never drawn. `sbeam shuf` draws the same
    items for the same seed. sum(exp(log_weight) * f[indices]) is an unbiased estimate of the sum
    of p f.

    In a loop, use a new seed for each call: the same seed gives the same noise."""
    weights = to_doubles(log_weights, "log_weights")
    k = to_int(k, "k", 1, 2**31 - 2)
    seed = to_seed(seed)
    handle = ctypes.c_void_p()
    call("sb_topk_open", ctypes.byref(handle), k, seed)
    try:
        call("sb_topk_push_all", handle, weights.ctypes.data_as(ctypes.POINTER(ctypes.c_double)),
             len(weights))
        items = ctypes.POINTER(s.sb_topk_item)()
        n = ctypes.c_int32()
        kappa = ctypes.c_double()
        call("sb_topk_items", handle, ctypes.byref(items), ctypes.byref(n), ctypes.byref(kappa))
        table = np.array([tuple(getattr(item, name) for name, _ in item._fields_)
                          for item in items[:n.value]], dtype=np.dtype(s.sb_topk_item))
        return TopK(table["index"].astype(np.int64), table["g"].copy(), table["log_p"].copy(),
                    table["log_weight"].copy(), kappa.value, seed)
    finally:
        lib.sb_topk_close(handle)
