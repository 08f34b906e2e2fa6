"""Calls every public function with random arguments. Each call gives a result or a proper
exception, and never crashes.

A call begins as one that works, and some of its arguments are replaced by values of random types
and shapes. The check runs a fixed number of calls with a fixed seed. scripts/fuzz gives another
seed and a time: SBEAM_FUZZ_SEED, SBEAM_FUZZ_SECONDS. A failure prints the call."""
import math
import os
import pathlib
import random
import time
import unittest
import warnings

import numpy as np

from support import MODELS

import sbeam

SEED = int(os.environ.get("SBEAM_FUZZ_SEED", "1"))
SECONDS = float(os.environ.get("SBEAM_FUZZ_SECONDS", "0"))
CALLS = 600  # for each function, if no time is given

WEATHER, TREE = str(MODELS / "weather.json"), str(MODELS / "fig1.json")
CHAIN = np.log([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0.6, 0.2, 0.2]])
NUMBERS = (-1, 0, 1, 2, 3, 7, True, False, -2**31, 2**31, 2**32 + 1, 2**63, 2**64, -2**64, 10**400,
           0.0, -0.0, 0.5, 1.0, 2.5, -1.5, 1e-320, 1e300, -1e300, math.nan, math.inf, -math.inf, 1j)
TEXTS = ("", "sun", "sun rain", "snow", "0 1", "\0", "a\0b", "\ud800", "é\u2028", "x" * 70000, b"",
         b"sun", b"\xff\xfe", bytearray(b"sun"), "5", "-1", "nan", "sbs", "beam", "none", "13a")
TYPES = ("?", "b", "B", "i2", "u4", "i8", "u8", "f2", "f4", "f8", ">f4", "g", "c8", "O", "U3", "S2",
         "M8[s]")


class Odd:
    """Values of random types and shapes."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def __call__(self, depth=0):
        r = self.random
        makers = [self.number, self.number, self.text, self.array, self.thing]
        if depth < 2:
            makers += [self.nest, self.nest]
        return r.choice(makers)(depth)

    def number(self, _=0):
        value = self.random.choice(NUMBERS)
        kinds = (np.float32, np.float64, np.int64, np.uint8, np.bool_)
        if self.random.random() < 0.2:
            try:
                with np.errstate(all="ignore"):
                    return self.random.choice(kinds)(value)
            except (OverflowError, TypeError, ValueError):
                pass
        return value

    def text(self, _=0):
        return self.random.choice(TEXTS)

    def thing(self, _=0):
        return self.random.choice((None, Ellipsis, object(), object, len, Odd, range(3), slice(1),
                                   iter([1, 2]), (x for x in "ab"), lambda: 1, lambda *a: 1,
                                   lambda *a: None, pathlib.Path("nowhere"), np, memoryview(b"sun"),
                                   {1, 2}, frozenset(), self))

    def shape(self):
        return tuple(self.random.choice((0, 1, 2, 3, 3, 5))
                     for _ in range(self.random.choice((0, 1, 1, 2, 2, 3))))

    def array(self, _=0):
        r = self.random
        shape, kind = self.shape(), r.choice(TYPES)
        try:
            with np.errstate(all="ignore"):
                numbers = [r.choice((-2.0, -0.5, 0, 1, 2, 1e30, -math.inf, math.nan))
                           for _ in range(math.prod(shape))]
                values = np.array(numbers).reshape(shape).astype(kind)
        except (OverflowError, TypeError, ValueError):
            values = np.zeros(shape, "f8")
        change = r.randrange(6)
        if change == 0:
            return values.T
        if change == 1:
            return values[::-1] if values.ndim else values
        if change == 2:
            return np.asfortranarray(values)
        if change == 3 and values.dtype.kind == "f":
            return np.ma.masked_array(values, mask=r.random() < 0.5)
        if change == 4:
            values.setflags(write=False)
        return values

    def nest(self, depth=0):
        r = self.random
        items = [self(depth + 1) for _ in range(r.choice((0, 1, 1, 2, 3, 5)))]
        kind = r.choice((list, tuple, dict, iter))
        if kind is dict:
            return dict(zip(("log_p", "kappa", "method", 3, None), items))
        return kind(items)


class Function:
    """A public function, and for each of its arguments a function that makes good values."""

    def __init__(self, call, positional=(), **keywords):
        self.call, self.positional, self.keywords = call, positional, keywords

    def arguments(self, odd, small):
        """Returns random arguments. Numbers of the keywords in `small` stay small: large ones would
        be allowed, and only take long."""
        r = odd.random
        count = max(0, len(self.positional) - (r.random() < 0.03))
        given = [make(r) for make in self.positional[:count]]
        named = {name: make(r) for name, make in self.keywords.items() if r.random() < 0.1}
        for _ in range(r.choice((0, 1, 1, 2, 3))):
            unknown = ["no_such"] if r.random() < 0.05 else []
            name = r.choice([*range(len(given)), *self.keywords, *unknown] or [0])
            value = odd()
            if name in small:
                value = r.choice((0, 1, 2, -1, 1.5, None, "1", [1], math.nan, "x", "", b"2"))
            if isinstance(name, int):
                given[name:name + 1] = [value]
            else:
                named[name] = value
        return given, named


def step(states, tokens):
    return CHAIN[np.asarray(tokens) % 3], states


def decode_all(vocab_size, logits, **keywords):
    """A loop over a decoder with these logits at every step, or with zeros of the right shape."""
    with sbeam.Decoder(vocab_size, **keywords) as decoder:
        for _ in range(20):
            if decoder.done:
                return decoder.results()
            n = len(decoder.rows().parent)
            if keywords.get("keeps_states") is True:
                decoder.states()
            decoder.advance(np.zeros((n, 3)) if isinstance(logits, str) else logits)
        return decoder.errors


def take_some(*arguments, **keywords):
    """A cursor, of which a few sequences are taken."""
    with sbeam.Cursor(*arguments, **keywords) as cursor:
        return [s for _, s in zip(range(3), cursor)], cursor.draw(), cursor.threshold, cursor.use


def choice(*values):
    return lambda r: r.choice(values)


SETTINGS = dict(k=choice(1, 2, 5), temperature=choice(1, 0.5, [1, 2]), seed=choice(1, 2, None),
                method=choice("sbs", "beam", "sample", "diverse", "resample", "reject", "explicit"),
                max_len=choice(1, 3, 5), min_len=choice(0, 1), top_k=choice(1, 2),
                top_p=choice(0.5, 1), min_p=choice(0.1), kappa=choice(True, False),
                finished=choice("stay", "leave"), groups=choice(1, 5), penalty=choice("step"),
                strength=choice(0.5), length_penalty=choice(1), early_stop=choice(True, False),
                max_samples=choice(100), ban=choice([], [1], 1), streams=choice(None, 3, [2]),
                search=choice("level", "best-first"), parallel=choice(None, 1, 3),
                until_mass=choice(None, 0.5), until_texts=choice(None, 2),
                allow=choice(None, [[0], [1, 0]], [[0, 1]], [[0], []]))
CURSOR_SETTINGS = {name: SETTINGS[name] for name in ("seed", "max_len", "min_len", "top_k", "top_p",
                                                     "min_p", "ban", "allow", "search", "parallel",
                                                     "until_mass", "k", "method")}
SMALL = ("draws", "threads", "batch", "cache", "max_len", "max_samples", "inputs", "k",
         "vocab_size")


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = sbeam.Model(WEATHER)
        cls.drawn = sbeam.draw(WEATHER, k=3, seed=1)[0]

    @classmethod
    def tearDownClass(cls):
        cls.model.close()

    def setUp(self):
        # Older versions of NumPy warn about what they refuse today.
        quiet = warnings.catch_warnings()
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)
        warnings.simplefilter("ignore", DeprecationWarning)

    def try_all(self, function, *others):
        """Calls a function with random arguments. Proper exceptions are those of sbeam, TypeError,
        which Python raises for unknown keywords and for objects that cannot be called, and `others`
        if this function has more."""
        name = self.id().split(".")[-1]
        odd = Odd("%d %s" % (SEED, name))
        n_calls = n_results = 0
        end = time.monotonic() + SECONDS / N_FUNCTIONS
        while time.monotonic() < end if SECONDS else n_calls < CALLS:
            given, named = function.arguments(odd, SMALL)
            n_calls += 1
            before = repr((given, named))[:2000]
            try:
                function.call(*given, **named)
                n_results += 1
            except (sbeam.Error, TypeError, *others) as error:
                self.assertTrue(str(error), before)
            except Exception as error:
                raise AssertionError("call %d, seed %d: %s%s"
                                     % (n_calls, SEED, name, before)) from error
        print("# %d calls of %s, %d with a result" % (n_calls, name, n_results), flush=True)
        self.assertGreater(n_results, 0)

    def test_draw(self):
        models = choice(WEATHER, TREE, self.model, pathlib.Path(WEATHER))
        self.try_all(Function(sbeam.draw, [models], inputs=choice(None, "", ["", ""]),
                              draws=choice(1, 2), stop=choice(None, "sun", ["a", "b"]),
                              pretokenized=choice(False, True), bpe_marker=choice(None, "@@"),
                              threads=choice(1, 2), batch=choice(1, 4), cache=choice(0, 1),
                              **SETTINGS))

    def test_cursor(self):
        models = choice(WEATHER, TREE, self.model, pathlib.Path(WEATHER))
        self.try_all(Function(take_some, [models], input=choice(None, "", b""), stream=choice(0, 3),
                              draw=choice(0, 2**64 - 1), temperature=choice(1, 0.5),
                              stop=choice(None, "sun", ["a", "b"]), pretokenized=choice(False),
                              **CURSOR_SETTINGS))

    def test_sample_without_replacement(self):
        states = choice(None, np.zeros((1, 2)), {"a": [np.zeros(1)]})
        self.try_all(Function(sbeam.sample_without_replacement, [choice(step), states],
                              eos=choice(0, None), vocab_size=choice(None, 3),
                              start_token=choice(None, 0, [0]), inputs=choice(None, 1),
                              draws=choice(None, 1, [2]),
                              is_leaf=choice(None, lambda row, token: False),
                              is_stop=choice(None, lambda tokens: True), decode=choice(None, str),
                              **{**SETTINGS, "max_len": choice(3, 5)}))

    def test_decoder(self):
        self.try_all(Function(decode_all, [choice(3, 3, 4), choice("zeros", "zeros", CHAIN[:1])],
                              eos=choice(0, None), inputs=choice(1, 2), draws=choice(None, 1),
                              is_leaf=choice(None, lambda row, token: True),
                              is_stop=choice(None, lambda tokens: len(tokens) > 1),
                              decode=choice(None, str), keeps_states=choice(True, False),
                              **{**SETTINGS, "max_len": choice(2, 3)}))

    def test_gumbel_topk(self):
        weights = choice([0.0, -1.0, 2.0], np.zeros(7), np.zeros(3, "f4"))
        self.try_all(Function(sbeam.gumbel_topk, [weights, choice(1, 2, 9)], seed=choice(None, 1)))

    def test_estimate(self):
        draws = choice(self.drawn, {"log_p": [-1.0, -2.0], "kappa": -3.0})
        values = choice([1.0, 2.0], [1.0, 2.0, 3.0], len, lambda s: len(s.tokens))
        self.try_all(Function(sbeam.estimate, [draws, values],
                              estimator=choice(None, *sbeam.ESTIMATORS)))

    def test_metrics(self):
        keywords = dict(tokenizer=choice("13a", "none", "char"),
                        smoothing=choice("exp", "floor", "add-k", "none"),
                        smooth_value=choice(None, 0.1))
        self.try_all(Function(sbeam.sentence_bleu, [choice("a cat", b"a dog"),
                                                    choice("a cat", ["a", "b c"])], **keywords))
        self.try_all(Function(sbeam.corpus_bleu, [choice(["a cat", "b"]),
                                                  choice(["a cat", ["b", "c"]])], **keywords))
        self.try_all(Function(sbeam.ngram_diversity, [choice(["a cat", "b"], [])],
                              tokenizer=choice("13a", "none")))

    def test_models(self):
        def open_and_close(path, **keywords):
            with sbeam.Model(path, **keywords) as model:
                return model.describe()
        self.try_all(Function(open_and_close, [choice(WEATHER, TREE)],
                              pretokenized=choice(True, False), bpe_marker=choice(None, "@@")))
        for name in "encode", "decode", "token_text", "find_token":
            self.try_all(Function(getattr(self.model, name),
                                  [choice("sun", "sun rain", [0, 1], 0, 2)]))
        self.try_all(Function(self.model.score, [choice(None, "", "sun"), choice("sun", [0, 1])],
                              eos=choice(True, False), max_len=choice(1, 5)))

    def test_results(self):
        self.try_all(Function(self.drawn.__getitem__, [choice(0, -1, slice(1))]), IndexError)
        self.try_all(Function(lambda: (self.drawn.arrays(), self.drawn.to_dict(),
                                       sbeam.options())))


N_FUNCTIONS = 17  # calls of try_all, which share the time

if __name__ == "__main__":
    unittest.main()
