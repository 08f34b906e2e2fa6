"""sbeam: sequences without replacement from sequence models.

    draw                        draws from a model file, as the command `sbeam draw` makes them
    Decoder                     the search step by step, for hosts that compute their own logits
    sample_without_replacement  one call around a Python function that computes them
    gumbel_topk                 weighted sampling without replacement from a flat list
    estimate                    expectations from a draw
    sentence_bleu, corpus_bleu, ngram_diversity

Errors are subclasses of sbeam.Error, and of the built-in class that fits."""
from ._config import METHODS, Option, options
from ._errors import (ArgumentError, Error, FormatError, InputError, IOFailure, LimitError,
                      ModelError, OutOfMemoryError, StateError, StoppedError)
from ._library import __version__
from .decoder import Decoder
from .draw import draw
from .estimate import ESTIMATORS, Estimate, estimate
from .metric import Bleu, Diversity, corpus_bleu, ngram_diversity, sentence_bleu
from .model import Model, ModelInfo, Score
from .results import Draw, Sequence
from .swor import sample_without_replacement
from .topk import TopK, gumbel_topk

__all__ = [
    "ArgumentError", "Bleu", "Decoder", "Diversity", "Draw", "ESTIMATORS", "Error", "Estimate",
    "FormatError", "IOFailure", "InputError", "LimitError", "METHODS", "Model", "ModelError",
    "ModelInfo", "Option", "OutOfMemoryError", "Score", "Sequence", "StateError", "StoppedError",
    "TopK", "__version__", "corpus_bleu", "draw", "estimate", "gumbel_topk", "ngram_diversity",
    "options", "sample_without_replacement", "sentence_bleu",
]
