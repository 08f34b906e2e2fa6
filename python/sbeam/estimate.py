"""Expectations from a draw."""
from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping
from typing import Any, Callable, NamedTuple, Optional, Tuple, Union

import numpy as np

from . import _structs as s
from ._arrays import to_doubles
from ._errors import ArgumentError
from ._library import call, names_of
from .results import Draw, Sequence

ESTIMATORS: Tuple[str, ...] = tuple(names_of("sb_estimator_name"))

# What a draw is estimated from where the caller does not say.
_OF_METHOD = {"sbs": "sbs-normalised", "explicit": "sbs-normalised", "sample": "mc",
              "beam": "beam-normalised"}


class Estimate(NamedTuple):
    """An estimate of E[f]. What does not exist is NaN."""

    value: float
    se: float  #: standard error; none at one sequence unless exhausted, and none for beams
    ess: float  #: W^2 / sum w_i^2: how even the weights are, and no more
    mc_equivalent: float  #: Monte Carlo samples of equal variance
    weight_sum: float  #: W; 1 for mc; the mass found for beams
    estimator: str


def estimate(draw: Union[Draw, Mapping[str, Any]], f: Union[Callable[[Sequence], float], Any],
             estimator: Optional[str] = None, *, kappa: Optional[float] = None) -> Estimate:
    """Estimates the expectation of f under the distribution that was drawn from.

        sbeam.estimate(draw, lambda s: len(s.tokens))

    draw        a Draw, or a mapping of arrays: "log_p", and "kappa" unless it is given by keyword
    f           a function of a Sequence, or its values, one for each sequence: numbers, or True
                and False, whose expectation is a probability
    estimator   one of ESTIMATORS; by default "sbs-normalised" for sbs and explicit, "mc" for
                sample, "beam-normalised" for beam. Other methods have none

    The formulas are in sbeam/estimate.h, and doc/estimating.md says how far to trust each."""
    if isinstance(draw, Draw):
        if estimator is None and draw.method not in _OF_METHOD:
            raise ArgumentError("there is no estimator for method %s: its draws do not follow the "
                                "model's law, or have no kappa" % draw.method)
        estimator = estimator or _OF_METHOD[draw.method]
        log_p = np.array([sequence.log_p for sequence in draw], dtype=np.float64)
        kappa = draw.kappa if kappa is None else kappa
        values = [f(sequence) for sequence in draw] if callable(f) else f
    else:
        if callable(f):
            raise ArgumentError("a function needs a Draw; give its values beside arrays")
        if not isinstance(draw, Mapping) or "log_p" not in draw:
            raise ArgumentError("expected a Draw, or a mapping with \"log_p\"")
        estimator = estimator or "sbs-normalised"
        log_p = to_doubles(draw["log_p"], "log_p")
        kappa = draw.get("kappa") if kappa is None else kappa
        values = f
    if estimator not in ESTIMATORS:
        raise ArgumentError("estimator is %r; expected one of %s"
                            % (estimator, ", ".join(ESTIMATORS)))
    f_values = to_doubles(values, "f", kinds="fiub")
    if len(f_values) != len(log_p):
        raise ArgumentError("f has %d values for %d sequences" % (len(f_values), len(log_p)))
    if estimator.startswith("sbs") and (kappa is None or math.isnan(kappa)):
        raise ArgumentError("the draw has no kappa, which %s needs: draw with kappa=True"
                            % estimator)
    if not estimator.startswith("sbs"):
        kappa = math.nan
    found = s.sb_estimate()
    pointer = ctypes.POINTER(ctypes.c_double)
    call("sb_estimate_compute", ESTIMATORS.index(estimator), f_values.ctypes.data_as(pointer),
         log_p.ctypes.data_as(pointer), len(log_p), float(kappa), ctypes.byref(found))
    return Estimate(found.value, found.se, found.ess, found.mc_equivalent, found.weight_sum,
                    estimator)
