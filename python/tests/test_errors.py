"""Errors: the message of the library in the class that fits, and never a crash."""
import math
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

from support import MODELS, environment

import sbeam

WEATHER = str(MODELS / "weather.json")


class Classes(unittest.TestCase):
    def test_built_in_classes(self):
        for error, base in ((sbeam.ArgumentError, ValueError),
                            (sbeam.OutOfMemoryError, MemoryError),
                            (sbeam.IOFailure, OSError), (sbeam.FormatError, ValueError),
                            (sbeam.InputError, ValueError), (sbeam.ModelError, ArithmeticError),
                            (sbeam.LimitError, RuntimeError), (sbeam.StateError, RuntimeError),
                            (sbeam.StoppedError, RuntimeError)):
            self.assertTrue(issubclass(error, sbeam.Error) and issubclass(error, base))
            self.assertNotEqual(error.status, sbeam.Error.status)
            self.assertEqual(str(error("a text")), "a text")
            self.assertEqual(str(pickle.loads(pickle.dumps(error("a text")))), "a text")


class Files(unittest.TestCase):
    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            with self.assertRaisesRegex(OSError, "model") as caught:
                sbeam.Model(path)
            self.assertEqual(caught.exception.status, "io")
            for text in (b"", b"{}", b'{"format":"sbeam-tree"}', b"\\data\\\nngram 1=", b"\0\1"):
                with open(path, "wb") as file:
                    file.write(text)
                with self.assertRaises((sbeam.FormatError, sbeam.ModelError)):
                    sbeam.Model(path)
            with self.assertRaises(OSError):
                sbeam.Model(folder)
        for bad in ("", b"", "a\0b"):
            with self.assertRaises(ValueError):
                sbeam.Model(bad)
        for bad in (3, 2.5, [WEATHER], object()):
            with self.assertRaises((TypeError, ValueError)):
                sbeam.draw(bad)


class Draws(unittest.TestCase):
    def test_settings(self):
        for keywords, text in (
                ({"k": 0}, "k is '0'"),
                ({"k": "5x"}, "k is '5x'"),
                ({"k": None}, "k is 'None'"),
                ({"temperature": -1}, "temperature"),
                ({"temperature": []}, "temperatures is empty"),
                ({"temperature": "hot"}, "temperature"),
                ({"temperature": [1, None]}, "temperature"),
                ({"method": "magic"}, "method"),
                ({"method": b"sbs"}, "method"),
                ({"length_penalty": 1}, "refuses"),
                ({"groups": 2}, "method sbs has no option groups"),
                ({"method": "diverse", "groups": 2}, "divisor"),
                ({"min_len": 9, "max_len": 3}, "min-len"),
                ({"top_p": 0}, "top-p"),
                ({"top_p": math.inf}, "top-p"),
                ({"seed": 1.5}, "seed"),
                ({"draws": 0}, "draws"),
                ({"threads": 0}, "threads"),
                ({"threads": 2**32 + 1}, "threads"),
                ({"batch": 4097}, "batch"),
                ({"cache": -1}, "cache"),
                ({"cache": 2**60}, "cache"),
                ({"stop": ""}, "stop"),
                ({"stop": "a\0"}, "zero byte"),
                ({"stop": [3]}, "stop"),
                ({"ban": "snow"}, "no token 'snow'"),
                ({"ban": [99]}, "ban"),
                ({"ban": [-1]}, "ban"),
                ({"ban": [1.5]}, "ban"),
                ({"streams": [1, 2]}, "streams"),
                ({"streams": -1}, "streams"),
                ({"streams": 2**64}, "streams"),
                ({"streams": ["x"]}, "streams"),
                ({"inputs": 3.5}, "inputs is 3.5"),
                ({"inputs": [None]}, "an input is of type NoneType"),
                ({"inputs": "nowhere"}, "input 0: .*nowhere"),
                ({"inputs": "\ud800"}, "UTF-8"),
                ({"bpe_marker": ""}, "bpe_marker"),
                ({"bpe_marker": "a\0"}, "zero byte"),
                ({"special": True}, "only GGUF models"),
                ({"ban": "\x1b[2J\u202e"}, r"no token '\\x1b\[2J\\u202e'$"),
                ({"inputs": "\x1b[2J\u202e"}, r"no token '\\x1b\[2J\\u202e'$"),
                ({"inputs": "sun\0"}, "byte 4 of the prefix is a zero byte")):
            with self.subTest(**keywords), self.assertRaisesRegex(ValueError, text):
                sbeam.draw(WEATHER, **keywords)
        with self.assertRaises(TypeError):
            sbeam.draw(WEATHER, no_such=1)
        with sbeam.Model(WEATHER) as model, self.assertRaisesRegex(ValueError, "open Model"):
            sbeam.draw(model, pretokenized=True)

    def test_temperatures(self):
        for bad in (10**400, True, [1, True], [1, "2"], {}):
            with self.assertRaisesRegex(sbeam.ArgumentError, "temperature"):
                sbeam.draw(WEATHER, temperature=bad)

    def test_inputs_that_fail(self):
        with self.assertRaisesRegex(sbeam.ModelError, "input 3: step 1"):
            sbeam.draw(MODELS / "greeting.json", ["", "hello", "", "good", ""], min_len=2)

    def test_limits(self):
        decoder = sbeam.Decoder(1100, method="explicit", max_len=2)
        decoder.advance(np.zeros((1, 1100)))
        with self.assertRaises(sbeam.LimitError):  # a tree of more than 10^6 nodes
            decoder.advance(np.zeros((1100, 1100)))
        with self.assertRaises(sbeam.LimitError):
            decoder.result()

    def test_zero_bytes_in_inputs(self):
        with self.assertRaises(sbeam.InputError):
            sbeam.draw(WEATHER, "sun\0rain")

    def test_in_other_threads(self):
        found = []

        def work():
            try:
                sbeam.draw(WEATHER, k=0)
            except sbeam.ArgumentError as error:
                found.append(str(error))
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        self.assertIn("k is '0'", found[0])


class ModelCalls(unittest.TestCase):
    def test_calls(self):
        model = sbeam.Model(WEATHER)
        for call in (lambda: model.decode([99]), lambda: model.decode([-1]),
                     lambda: model.decode([1.5]), lambda: model.decode(7),
                     lambda: model.token_text(99), lambda: model.token_text(-1),
                     lambda: model.encode("nowhere"), lambda: model.encode(3),
                     lambda: model.find_token(None), lambda: model.score("", "nowhere"),
                     lambda: model.score("nowhere", "sun"), lambda: model.score("", [99]),
                     lambda: model.score("", "sun sun", max_len=1), lambda: model.score(3, "sun")):
            with self.assertRaises(ValueError):
                call()
        self.assertEqual(model.encode(""), ())
        self.assertEqual(model.decode([]), "")
        with sbeam.Model(MODELS / "fig1.json") as tree, self.assertRaises(sbeam.InputError):
            tree.score("", "0 1 1 1")
        model.close()
        model.close()
        for call in (lambda: sbeam.draw(model), lambda: model.decode([0]), model.describe,
                     lambda: model.encode("sun"), lambda: model.score("", "sun")):
            with self.assertRaisesRegex(sbeam.StateError, "closed"):
                call()

    def test_never_opened(self):
        with self.assertRaises(OSError):
            sbeam.Model("/no/such/file")
        broken = sbeam.Model.__new__(sbeam.Model)  # as if __init__ had failed early
        del broken


class Numbers(unittest.TestCase):
    def test_topk(self):
        for weights, k in (([math.nan], 1), ([math.inf], 1), ([1e13], 1), ([0.0], 0),
                           ([0.0], 2**31), ([[0.0]], 1), (["a"], 1), (0.0, 1), ([1j], 1),
                           ([0.0], None)):
            with self.subTest(weights=weights, k=k), self.assertRaises(ValueError):
                sbeam.gumbel_topk(weights, k)

    def test_estimates(self):
        [draw] = sbeam.draw(WEATHER, seed=1)
        for arguments, text in (((draw, [1, 2]), "2 values for 5"),
                                ((draw, [math.nan] * 5), "value"),
                                ((draw, len, "best"), "estimator"),
                                (({"log_p": [-1.0]}, [1.0]), "kappa"),
                                (({"log_p": [0.5], "kappa": -1}, [1.0]), "log"),
                                (({"log_p": [], "kappa": -1}, []), ""),
                                (({"log_p": [-1.0], "kappa": -1}, len), "needs a Draw"),
                                ((sbeam.draw(WEATHER, method="reject")[0], len), "no estimator"),
                                ((sbeam.draw(WEATHER, kappa=False)[0], len), "no kappa")):
            with self.subTest(text=text), self.assertRaisesRegex(ValueError, text):
                sbeam.estimate(*arguments)

        def fail(_):
            raise KeyError("mine")
        with self.assertRaises(KeyError):
            sbeam.estimate(draw, fail)

    def test_metrics(self):
        for call in (lambda: sbeam.sentence_bleu("a", []), lambda: sbeam.sentence_bleu(3, "a"),
                     lambda: sbeam.sentence_bleu("a", ["b", 3]),
                     lambda: sbeam.sentence_bleu("a", "a", tokenizer="best"),
                     lambda: sbeam.sentence_bleu("a", "a", smoothing="best"),
                     lambda: sbeam.sentence_bleu("a", "a", smoothing="floor", smooth_value=-1),
                     lambda: sbeam.corpus_bleu(["a", "b"], ["a"]),
                     lambda: sbeam.corpus_bleu([], []),
                     lambda: sbeam.ngram_diversity([1]),
                     lambda: sbeam.ngram_diversity(["a"], tokenizer="best")):
            with self.assertRaises(ValueError):
                call()

    def test_values_that_are_not_numbers(self):
        masked = np.ma.masked_array([1.0, 2.0], mask=[True, False])
        for call, text in (
                (lambda: sbeam.sentence_bleu("a", "a", smooth_value="x"), "smooth_value is 'x'"),
                (lambda: sbeam.sentence_bleu("a", "a", smooth_value=10**400), "expected a number"),
                (lambda: sbeam.estimate({"kappa": 0.0}, [1.0]), "log_p"),
                (lambda: sbeam.estimate(None, [1.0]), "expected a Draw"),
                (lambda: sbeam.gumbel_topk([1.0, masked[0]], 1), "masked array"),
                (lambda: sbeam.gumbel_topk(masked, 1), "masked array")):
            with self.subTest(text=text), self.assertRaisesRegex(sbeam.ArgumentError, text):
                call()


class Arrays(unittest.TestCase):
    """Arrays as values of arguments that are names, numbers or truth values."""

    def test_names(self):
        def step(states, tokens):
            return np.zeros((1, 3)), states

        array = np.zeros(2)
        [draw] = sbeam.draw(WEATHER, seed=1)
        for call, text in (
                (lambda: sbeam.sentence_bleu("a", "a", tokenizer=array), "tokenizer is array"),
                (lambda: sbeam.corpus_bleu("a", "a", smoothing=array), "smoothing is array"),
                (lambda: sbeam.ngram_diversity(["a"], tokenizer=array), "tokenizer is array"),
                (lambda: sbeam.estimate(draw, len, array), "estimator is array"),
                (lambda: sbeam.estimate(draw, len, ""), "estimator is ''"),
                (lambda: sbeam.sample_without_replacement(step, None, method=array), "method")):
            with self.subTest(text=text), self.assertRaisesRegex(sbeam.ArgumentError, text):
                call()

    def test_truth_values(self):
        array = np.zeros(2)
        with sbeam.Model(WEATHER) as model:
            for call, text in (
                    (lambda: sbeam.draw(WEATHER, pretokenized=array), "pretokenized is array"),
                    (lambda: sbeam.draw(model, pretokenized=array), "pretokenized is array"),
                    (lambda: model.score("", "sun", eos=array), "eos is array")):
                with self.subTest(text=text), self.assertRaisesRegex(sbeam.ArgumentError, text):
                    call()

    def test_numbers(self):
        masked = np.ma.masked_array([1.0], mask=[True])
        with sbeam.Model(WEATHER) as model:
            for call, text in (
                    (lambda: model.score("", "sun", max_len="x"), "max_len is 'x'"),
                    (lambda: model.score("", "sun", max_len=1.5), "max_len is 1.5"),
                    (lambda: sbeam.estimate({"log_p": [-1.0], "kappa": "x"}, [1.0]),
                     "kappa is 'x'; expected a number"),
                    (lambda: sbeam.estimate({"log_p": [-1.0], "kappa": [1.0]}, [1.0]),
                     "kappa is .*; expected a number"),
                    (lambda: sbeam.draw(model, temperature=masked), "temperature is"),
                    (lambda: sbeam.draw(model, temperature=np.complex64(1)), "temperature is"),
                    (lambda: sbeam.draw(model, top_p=np.complex64(1)), "top-p is"),
                    (lambda: sbeam.sentence_bleu("a", "a", smooth_value=masked),
                     "smooth_value is")):
                with self.subTest(text=text), self.assertRaisesRegex(sbeam.ArgumentError, text):
                    call()

    def test_paths_that_are_not_text(self):
        with self.assertRaisesRegex(sbeam.ArgumentError, "is not text"):
            sbeam.Model("\ud800")


class Memory(unittest.TestCase):
    def test_no_memory(self):
        """Runs in a process of its own, because sanitizers need more than this limit on memory."""
        program = """
import resource, sbeam
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
try:
    sbeam.Decoder(2**31 - 1, 2)
except MemoryError as error:
    print(isinstance(error, sbeam.Error), error)
"""
        done = subprocess.run([sys.executable, "-c", program], env=environment(), text=True,
                              stdout=subprocess.PIPE)
        self.assertEqual(done.stdout, "True not enough memory\n")


if __name__ == "__main__":
    unittest.main()
