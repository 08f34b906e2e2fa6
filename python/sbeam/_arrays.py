"""Converts the arrays of a host: NumPy arrays, PyTorch tensors, lists of numbers.

PyTorch is never imported here. Any object with detach(), cpu() and numpy() counts as a tensor."""
from __future__ import annotations

from typing import Any, Sequence as Items

import numpy as np

from ._errors import ArgumentError


def is_tensor(x: Any) -> bool:
    """Returns whether x looks like a PyTorch tensor."""
    return hasattr(x, "detach") and hasattr(x, "cpu") and hasattr(x, "numpy")


def count(n: int, noun: str) -> str:
    """Returns "1 row", "2 rows", ..."""
    return "%d %s%s" % (n, noun, "" if n == 1 else "s")


def _tensor_to_numpy(tensor: Any) -> np.ndarray:
    """Shares the tensor's memory if that is main memory and NumPy has its type."""
    plain = tensor.detach().cpu()
    if str(plain.dtype).endswith("bfloat16"):  # NumPy has no bfloat16; float32 holds its values
        plain = plain.float()
    shared: np.ndarray = plain.numpy()
    return shared


def to_numpy(x: Any, what: str) -> np.ndarray:
    """Returns x as an array, without a copy if possible. `what` names it in error messages."""
    parts = x if isinstance(x, (list, tuple)) else (x,)
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):  # NumPy would ignore the mask
        raise ArgumentError("%s is a masked array; fill it first, with -inf for probability zero"
                            % what)
    try:
        array = _tensor_to_numpy(x) if is_tensor(x) else np.asarray(x)
    except (TypeError, ValueError, OverflowError, RuntimeError) as problem:
        raise ArgumentError("%s cannot be seen as an array: %s" % (what, problem)) from problem
    if array.dtype.name == "bfloat16":  # some packages add this type to NumPy
        array = array.astype(np.float32)
    return array


def to_scores(x: Any, what: str) -> np.ndarray:
    """Returns float32 or float64 in native byte order. float16 and bfloat16 become float32, which
    holds their values exactly."""
    array = to_numpy(x, what)
    if array.dtype.kind != "f" or array.dtype.itemsize not in (2, 4, 8):
        raise ArgumentError("%s: the elements are of type %s; expected float16, bfloat16, float32 "
                            "or float64" % (what, array.dtype))
    wanted = np.float64 if array.dtype.itemsize == 8 else np.float32
    return array if array.dtype == wanted and array.dtype.isnative else array.astype(wanted)


def to_rows(x: Any, n_rows: int, vocab_size: int, is_first_of_one: bool = False) -> np.ndarray:
    """Returns logits in the layout that the decoder reads: unit stride inside a row, and a whole
    number of elements between rows. An array that has this layout is not copied.

    is_first_of_one: these are the first rows of a decoder with one input. Several rows then
    probably belong to several inputs, and the error message says so."""
    rows = to_scores(x, "logits")
    if rows.shape != (n_rows, vocab_size):
        raise ArgumentError("logits: the shape is %s; expected (%d, %d): %s of vocab_size logits%s"
                            % (rows.shape, n_rows, vocab_size, count(n_rows, "row"),
                               advise_inputs(rows.shape) if is_first_of_one else ""))
    size = rows.dtype.itemsize
    across, within = rows.strides
    fits = (within == size or vocab_size == 1) and (
        n_rows == 1 or (across >= vocab_size * size and across % size == 0))
    if not fits or not rows.flags.aligned:
        rows = np.array(rows, order="C")
    return rows


def advise_inputs(shape: Items[int]) -> str:
    """Returns advice if an array with the rows of one input has several rows, else nothing."""
    return ("; for a batch of %d inputs use inputs=%d" % (shape[0], shape[0])
            if len(shape) > 1 and shape[0] > 1 else "")


def to_doubles(x: Any, what: str, kinds: str = "fiu") -> np.ndarray:
    """Returns a contiguous list of float64. `kinds` are NumPy's letters for the accepted types."""
    array = to_numpy(x, what)
    if array.dtype.kind not in kinds or array.dtype.itemsize > 8:
        raise ArgumentError("%s: the elements are of type %s; expected numbers"
                            % (what, array.dtype))
    if array.ndim != 1:
        raise ArgumentError("%s: the shape is %s; expected a list" % (what, array.shape))
    return np.ascontiguousarray(array, dtype=np.float64)


def refuse_graph(x: Any, what: str) -> None:
    """Raises an ArgumentError if x is a tensor that is part of a graph."""
    if getattr(x, "requires_grad", False) is True:
        raise ArgumentError(
            "%s is a tensor that requires grad; expected plain numbers: an estimate has no graph. "
            "Use detach() to estimate the number. To differentiate, sum exp(log_weight) * f * "
            "log_p yourself; let your network compute log_p again with the same temperature and "
            "bans"
            % what)


def to_values(values: Any, what: str) -> np.ndarray:
    """Returns the values of a function as float64: a list, an array or a tensor of numbers or of
    booleans. Refuses tensors that are part of a graph, whose gradient would be lost silently."""
    refuse_graph(values, what)
    if isinstance(values, (list, tuple)):
        for i, value in enumerate(values):
            refuse_graph(value, "%s[%d]" % (what, i))
        values = [to_numpy(value, what) if is_tensor(value) else value for value in values]
    return to_doubles(values, what, kinds="fiub")
