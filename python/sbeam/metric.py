"""Scores texts: BLEU with the numbers of sacreBLEU, and n-gram diversity."""
from __future__ import annotations

import ctypes
import math
from typing import Any, Iterable, List, NamedTuple, Optional, Sequence as Items, Tuple, Union

from . import _structs as s
from ._config import to_float, to_list
from ._errors import ArgumentError
from ._library import call, lib, names_of
from ._text import Text, to_bytes

TOKENIZERS: Tuple[str, ...] = tuple(names_of("sb_tokenizer_name"))
SMOOTHINGS: Tuple[str, ...] = tuple(names_of("sb_smoothing_name"))


class Bleu(NamedTuple):
    """A BLEU score and its parts."""

    score: float  #: 0 to 100
    brevity_penalty: float
    precisions: Tuple[float, ...]  #: of 1- to 4-grams, in percent, smoothed
    signature: str  #: the settings, in the form of sacreBLEU's signature


class Diversity(NamedTuple):
    """The share of distinct n-grams in a set of texts."""

    d: Tuple[float, ...]  #: distinct 1- to 4-grams divided by all of them; NaN if there are none
    mean: float  #: of the elements of d that are not NaN


def _index(names: Items[str], name: str, what: str) -> int:
    if not isinstance(name, str) or name not in names:
        raise ArgumentError("%s is %r; expected one of %s" % (what, name, ", ".join(names)))
    return names.index(name)


def _make_config(tokenizer: str, smoothing: str, smooth_value: Optional[float],
                 effective_order: bool) -> s.sb_bleu_config:
    config = s.sb_bleu_config()
    lib.sb_bleu_config_default(ctypes.byref(config))
    config.tokenizer = _index(TOKENIZERS, tokenizer, "tokenizer")
    config.smoothing = _index(SMOOTHINGS, smoothing, "smoothing")
    config.smooth_value = (math.nan if smooth_value is None
                           else to_float(smooth_value, "smooth_value"))
    config.effective_order = bool(effective_order)
    call("sb_bleu_config_check", ctypes.byref(config))
    return config


def _to_texts(texts: Iterable[Text], what: str) -> Tuple[Any, List[bytes]]:
    """Returns an array of sb_text, and the memory that it points to."""
    data = [to_bytes(text, what) for text in texts]
    array = (s.sb_text * max(len(data), 1))()
    for entry, text in zip(array, data):
        entry.data = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p)
        entry.size = len(text)
    return array, data


class _References:
    """The references of one segment, in the library's memory."""

    def __init__(self, config: s.sb_bleu_config, references: Union[Text, Iterable[Text]]) -> None:
        self.handle = ctypes.c_void_p()
        texts, data = _to_texts(to_list(references, "references"), "a reference")
        self.n = len(data)
        call("sb_bleu_references_open", ctypes.byref(self.handle), ctypes.byref(config), texts,
             self.n)

    def __enter__(self) -> "_References":
        return self

    def __exit__(self, *_: object) -> None:
        lib.sb_bleu_references_close(self.handle)


def _to_bleu(bleu: s.sb_bleu, config: s.sb_bleu_config, n_references: int) -> Bleu:
    line = ctypes.create_string_buffer(256)
    lib.sb_bleu_signature(ctypes.byref(config), n_references, line, len(line))
    return Bleu(bleu.score, bleu.brevity_penalty, tuple(bleu.precisions), line.value.decode())


def sentence_bleu(hypothesis: Text, references: Union[Text, Iterable[Text]], *,
                  tokenizer: str = "13a", smoothing: str = "exp",
                  smooth_value: Optional[float] = None) -> Bleu:
    """Returns the BLEU of one text against one reference or several. Effective order is on, as in
    sacreBLEU: orders that are longer than the text do not count."""
    config = _make_config(tokenizer, smoothing, smooth_value, True)
    data = to_bytes(hypothesis, "the hypothesis")
    bleu = s.sb_bleu()
    with _References(config, references) as segment:
        call("sb_bleu_sentence", segment.handle, data, len(data), ctypes.byref(bleu))
        return _to_bleu(bleu, config, segment.n)


def corpus_bleu(hypotheses: Iterable[Text], references: Iterable[Union[Text, Iterable[Text]]], *,
                tokenizer: str = "13a", smoothing: str = "exp",
                smooth_value: Optional[float] = None, effective_order: bool = False) -> Bleu:
    """Returns the BLEU of a corpus. references[i] is the reference of hypotheses[i], or a list of
    several."""
    config = _make_config(tokenizer, smoothing, smooth_value, effective_order)
    texts = to_list(hypotheses, "hypotheses")
    segments = to_list(references, "references")
    if len(texts) != len(segments) or not texts:
        raise ArgumentError("there are %d hypotheses and %d references; expected the same number, "
                            "at least one" % (len(texts), len(segments)))
    total, counts, bleu = s.sb_bleu_counts(), s.sb_bleu_counts(), s.sb_bleu()
    numbers = set()
    for text, of_segment in zip(texts, segments):
        data = to_bytes(text, "a hypothesis")
        with _References(config, of_segment) as segment:
            numbers.add(segment.n)
            call("sb_bleu_count", segment.handle, data, len(data), ctypes.byref(counts))
        lib.sb_bleu_counts_add(ctypes.byref(total), ctypes.byref(counts))
    lib.sb_bleu_score(ctypes.byref(total), ctypes.byref(config), ctypes.byref(bleu))
    return _to_bleu(bleu, config, numbers.pop() if len(numbers) == 1 else 0)


def ngram_diversity(texts: Iterable[Text], *, tokenizer: str = "13a") -> Diversity:
    """Returns the share of distinct n-grams among all n-grams of a set of texts."""
    array, data = _to_texts(to_list(texts, "texts"), "a text")
    found = s.sb_diversity()
    call("sb_diversity_compute", _index(TOKENIZERS, tokenizer, "tokenizer"), array, len(data),
         ctypes.byref(found))
    return Diversity(tuple(found.d), found.mean)
