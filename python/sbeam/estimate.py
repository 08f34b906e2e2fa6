"""Estimates expectations from a draw."""
from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping
from typing import Any, Callable, NamedTuple, Optional, Tuple, Union, cast

import numpy as np

from . import _structs as s
from ._arrays import count, refuse_graph, to_doubles, to_values
from ._config import method_info, to_float
from ._errors import ArgumentError
from ._library import call, names_of
from .found import Found, Result
from .results import Draw, Sequence

ESTIMATORS: Tuple[str, ...] = tuple(names_of("sb_estimator_name"))

# The default estimator for each law of a method.
_OF_LAW = {s.LAW_WITHOUT_REPLACEMENT: "sbs-normalised", s.LAW_INDEPENDENT: "mc",
           s.LAW_DETERMINISTIC: "beam-normalised"}


class Estimate(NamedTuple):
    """An estimate of the expectation of f, from weights w_i with the sum W. Numbers that do not
    exist are NaN."""

    value: float
    se: float  #: standard error; NaN for beams, and for one sequence unless it is the only one
    ess: float  #: W^2 / sum w_i^2: says only how even the weights are
    mc_equivalent: float  #: number of independent samples with the same variance
    weight_sum: float  #: W; 1 for mc; the probability of all sequences found for beams
    estimator: str


def estimate(draw: Union[Draw, Found, Mapping[str, Any]],
             f: Union[Callable[[Sequence], float], Callable[[Result], float], Any],
             estimator: Optional[str] = None, *, kappa: Optional[float] = None) -> Estimate:
    """Estimates the expectation of f under the distribution that was drawn from.

        sbeam.estimate(draw, lambda s: len(s.tokens))

    draw        a Draw, the Found of a search, or a mapping with the array "log_p", and "kappa"
                unless given by keyword. A Draw that ended by a rule (until_mass, until_texts) is
                refused: it has no weights
    f           a function of a Sequence, or of a Result for a Found; or its values, one for each. A
                value is a number, or True or False: the estimate is then a probability
    estimator   one of ESTIMATORS. The default is "sbs-normalised" for the methods sbs and explicit,
                "mc" for sample, "beam-normalised" for beam; other methods have none

    The estimate is a number without a graph, so values that require grad are refused: detach them,
    or compute the gradient yourself (python/README.md shows how).

    include/sbeam/estimate.h has the formulas; doc/estimating.md says how far to trust each."""
    if isinstance(draw, (Draw, Found)):
        estimator = _default_estimator(draw.method) if estimator is None else estimator
        if draw.stopped_by is not None and str(estimator).startswith("sbs"):
            raise ArgumentError(
                "the draw ended by a rule (until_mass or until_texts), so it has no weights: at a "
                "number of sequences that depends on the sample they would be biased. Choose k "
                "with this draw, and estimate from another one: draw(..., k=%d) with other streams "
                "or another seed" % len(draw))
        log_p = np.array([sequence.log_p for sequence in draw], dtype=np.float64)
        kappa = draw.kappa if kappa is None else kappa
        values = [cast(Any, f)(sequence) for sequence in draw] if callable(f) else f
    else:
        if callable(f):
            raise ArgumentError("f is a function, which needs a Draw; for arrays, give its values")
        if not isinstance(draw, Mapping) or "log_p" not in draw:
            raise ArgumentError("draw is of type %s; expected a Draw, or a mapping with \"log_p\""
                                % type(draw).__name__)
        estimator = "sbs-normalised" if estimator is None else estimator
        refuse_graph(draw["log_p"], "log_p")
        log_p = to_doubles(draw["log_p"], "log_p")
        kappa = draw.get("kappa") if kappa is None else kappa
        values = f
    if not isinstance(estimator, str) or estimator not in ESTIMATORS:
        raise ArgumentError("estimator is %r; expected one of %s"
                            % (estimator, ", ".join(ESTIMATORS)))
    f_values = to_values(values, "f")
    if len(f_values) != len(log_p):
        raise ArgumentError("f has %s for %s" % (count(len(f_values), "value"),
                                                 count(len(log_p), "sequence")))
    threshold = math.nan
    if estimator.startswith("sbs") and kappa is not None:
        threshold = to_float(kappa, "kappa")
    if estimator.startswith("sbs") and math.isnan(threshold):
        raise ArgumentError("the draw has no kappa, which %s needs: draw with kappa=True"
                            % estimator)
    found = s.sb_estimate()
    pointer = ctypes.POINTER(ctypes.c_double)
    call("sb_estimate_compute", ESTIMATORS.index(estimator), f_values.ctypes.data_as(pointer),
         log_p.ctypes.data_as(pointer), len(log_p), threshold, ctypes.byref(found))
    return Estimate(found.value, found.se, found.ess, found.mc_equivalent, found.weight_sum,
                    estimator)


def _default_estimator(method: str) -> str:
    info = method_info(method)
    if info is None or info.why_no_estimate is not None:
        raise ArgumentError("there is no estimator for method %s: its draws are biased or have no "
                            "kappa" % method)
    return _OF_LAW[info.law]
