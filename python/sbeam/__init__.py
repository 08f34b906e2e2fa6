"""sbeam draws k distinct sequences from a sequence model: a sample without replacement.

    draw                        draws from a model file, like the command `sbeam draw`
    sample_without_replacement  draws from a Python function that computes logits
    Decoder                     the same step by step: your loop, your model
    Cursor                      a draw without k: one sequence after the other, until you stop
    sbeam.hf                    draws from models of Hugging Face Transformers (import sbeam.hf)
    search                      draws leaves of trees whose states are any Python objects
    Search                      the same, round by round, until you stop
    Trie                        a list of permitted outputs, for `allow` of these functions
    gumbel_topk                 weighted sampling without replacement from a list
    estimate                    the expectation of a function, from a draw
    sentence_bleu, corpus_bleu, ngram_diversity    scores of texts
    shipped_model               the path of a model that comes with sbeam

Every error is a subclass of sbeam.Error and of the built-in class that fits. python/README.md in
the source tree explains the numbers of a draw: p, weight, kappa, stream."""
from ._config import METHODS, Option, options
from ._errors import (ArgumentError, Error, FormatError, InputError, IOFailure, LimitError,
                      ModelError, OutOfMemoryError, StateError, StoppedError)
from ._version import __version__
from .cursor import Cursor, CursorUse
from .decoder import Decoder
from .draw import draw
from .estimate import ESTIMATORS, Estimate, estimate
from .found import Found, Leaf, Result
from .metric import Bleu, Diversity, corpus_bleu, ngram_diversity, sentence_bleu
from .model import Model, ModelInfo, Score, shipped_model
from .results import Draw, Sequence
from .search import Search, search
from .swor import sample_without_replacement
from .topk import TopK, gumbel_topk
from .trie import Trie

__all__ = [
    "ArgumentError", "Bleu", "Cursor", "CursorUse", "Decoder", "Diversity", "Draw", "ESTIMATORS",
    "Error", "Estimate", "FormatError", "Found", "IOFailure", "InputError", "Leaf", "LimitError",
    "METHODS", "Model", "ModelError", "ModelInfo", "Option", "OutOfMemoryError", "Result", "Score",
    "Search", "Sequence", "StateError", "StoppedError", "TopK", "Trie", "__version__",
    "corpus_bleu", "draw", "estimate", "gumbel_topk", "ngram_diversity", "options",
    "sample_without_replacement", "search", "sentence_bleu", "shipped_model",
]
