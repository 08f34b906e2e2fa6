"""Weighted sampling without replacement from a flat list."""
from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional

import numpy as np

from . import _structs as s
from ._arrays import to_doubles
from ._config import to_int, to_seed
from ._library import call, lib


class TopK(NamedTuple):
    """A sample in the order drawn: (n,) arrays, n at most k."""

    indices: np.ndarray  #: int64, places in the list
    g: np.ndarray  #: log_p plus Gumbel noise: items are ordered by it
    log_p: np.ndarray  #: log of the item's share of the total weight
    log_weight: np.ndarray  #: log p / q at the threshold kappa
    kappa: float  #: the threshold: -inf when every item with weight is here
    seed: int


def gumbel_topk(log_weights: Any, k: int, seed: Optional[int] = None) -> TopK:
    """Draws k items of a list by their log-weights, without replacement.

    The first is item i with probability proportional to its weight, the second likewise among the
    rest, and so on. -inf is a weight of zero: never drawn. The same seed gives the lines that
    `sbeam shuf` draws. sum(exp(log_weight) * f[indices]) estimates the sum of p f without bias."""
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
