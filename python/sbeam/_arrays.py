"""Arrays of hosts: NumPy's, tensors of PyTorch, and what can be seen as an array.

PyTorch is never imported here: a tensor is what has detach() and cpu()."""
from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import ArgumentError


def is_tensor(x: Any) -> bool:
    return hasattr(x, "detach") and hasattr(x, "cpu") and hasattr(x, "numpy")


def _tensor_to_numpy(tensor: Any) -> np.ndarray:
    """Shares memory where NumPy has the type and the tensor is in main memory."""
    plain = tensor.detach().cpu()
    if str(plain.dtype).endswith("bfloat16"):  # NumPy has none; every one of them is a float32
        plain = plain.float()
    return plain.numpy()


def to_numpy(x: Any, what: str) -> np.ndarray:
    """An array, without a copy where that is possible."""
    if isinstance(x, np.ma.MaskedArray):  # NumPy would show what is under the mask
        raise ArgumentError("%s is a masked array; fill it first, with -inf for probability zero"
                            % what)
    try:
        array = _tensor_to_numpy(x) if is_tensor(x) else np.asarray(x)
    except (TypeError, ValueError, OverflowError, RuntimeError) as problem:
        raise ArgumentError("%s cannot be seen as an array: %s" % (what, problem)) from problem
    if array.dtype.name == "bfloat16":  # of packages that add it to NumPy
        array = array.astype(np.float32)
    return array


def to_scores(x: Any, what: str) -> np.ndarray:
    """float32 or float64 in native order: float16 and bfloat16 become float32, which holds them."""
    array = to_numpy(x, what)
    if array.dtype.kind != "f" or array.dtype.itemsize not in (2, 4, 8):
        raise ArgumentError("%s: the type of the elements is %s; expected float16, bfloat16, "
                            "float32 or float64" % (what, array.dtype))
    wanted = np.float64 if array.dtype.itemsize == 8 else np.float32
    return array if array.dtype == wanted and array.dtype.isnative else array.astype(wanted)


def to_rows(x: Any, n_rows: int, vocab_size: int) -> np.ndarray:
    """Rows as the decoder reads them: unit stride within a row, whole elements between rows. What
    is so already is not copied."""
    rows = to_scores(x, "logits")
    if rows.shape != (n_rows, vocab_size):
        raise ArgumentError("logits: the shape is %s; expected (%d, %d), a row for each that is "
                            "wanted" % (rows.shape, n_rows, vocab_size))
    size = rows.dtype.itemsize
    across, within = rows.strides
    fits = (within == size or vocab_size == 1) and (
        n_rows == 1 or (across >= vocab_size * size and across % size == 0))
    if not fits or not rows.flags.aligned:
        rows = np.array(rows, order="C")
    return rows


def to_doubles(x: Any, what: str, kinds: str = "fiu") -> np.ndarray:
    """A contiguous list of float64, from these kinds of elements."""
    array = to_numpy(x, what)
    if array.dtype.kind not in kinds or array.dtype.itemsize > 8:
        raise ArgumentError("%s: the type of the elements is %s; expected numbers"
                            % (what, array.dtype))
    if array.ndim != 1:
        raise ArgumentError("%s: the shape is %s; expected a list" % (what, array.shape))
    return np.ascontiguousarray(array, dtype=np.float64)
