"""sbeam.draw: the draws of the command, bit for bit."""
import inspect
import math
import pickle
import re
import subprocess
import threading
import unittest

import numpy as np

from support import COMMAND, MODELS, need, run_command

import sbeam

CASES = {  # keywords, and the same settings as options of the command
    "plain": ({}, []),
    "one": ({"k": 1}, ["-k1"]),
    "many": ({"k": 50}, ["-k50"]),
    "temperatures": ({"temperature": [0.3, 1, 2.5]}, ["-T0.3,1,2.5"]),
    "draws": ({"draws": 4, "k": 3}, ["--draws=4", "-k3"]),
    "no kappa": ({"kappa": False}, ["--no-kappa"]),
    "lengths": ({"max_len": 3, "min_len": 1}, ["--max-len=3", "--min-len=1"]),
    "filters": ({"top_k": 5, "top_p": 0.9, "min_p": 0.05},
                ["--top-k=5", "--top-p=0.9", "--min-p=0.05"]),
    "beam": ({"method": "beam"}, ["--method=beam"]),
    "beam, leaving": ({"method": "beam", "finished": "leave", "length_penalty": 0.7,
                       "early_stop": True},
                      ["--method=beam", "--finished=leave", "--length-penalty=0.7",
                       "--early-stop"]),
    "sample": ({"method": "sample", "draws": 2}, ["--method=sample", "--draws=2"]),
    "diverse": ({"method": "diverse", "k": 6}, ["--method=diverse", "-k6"]),
    "diverse, grouped": ({"method": "diverse", "k": 6, "groups": 3, "strength": 0.25,
                          "penalty": "step"},
                         ["--method=diverse", "-k6", "--groups=3", "--strength=0.25",
                          "--penalty=step"]),
    "reject": ({"method": "reject", "max_samples": 40}, ["--method=reject", "--max-samples=40"]),
    "resample": ({"method": "resample"}, ["--method=resample"]),
    "commit": ({"method": "commit"}, ["--method=commit"]),
    "beam-sample": ({"method": "beam-sample"}, ["--method=beam-sample"]),
    # Threads of the library call Python: they would wait for ever if a call kept Python's lock.
    "threads": ({"threads": 3, "batch": 2, "draws": 9, "cache": 1},
                ["--threads=3", "--batch=2", "--draws=9", "--cache=1"]),
}
BY_MODEL = {  # cases for one model
    "fig1.json": {
        "explicit": ({"method": "explicit", "k": 2}, ["--method=explicit", "-k2"]),
        "prefixes": ({"inputs": ["", "0", "0 1"]}, ["", "0", "0 1"]),
    },
    "weather.json": {
        "stop": ({"stop": "cloud", "k": 8}, ["--stop=cloud", "-k8"]),
        "stops": ({"stop": ["sun r", "loud", "cloud"], "k": 8},
                  ["--stop=sun r", "--stop=loud", "--stop=cloud", "-k8"]),
        "ban": ({"ban": ["rain"]}, ["--ban=rain"]),
        "inputs": ({"inputs": ["sun", "rain rain", ""], "draws": 2, "temperature": [1, 0.5]},
                   ["sun", "rain rain", "", "--draws=2", "-T1,0.5"]),
    },
    "rhymes.arpa": {
        "prefix": ({"inputs": "the", "k": 4}, ["the", "-k4"]),
        "short": ({"max_len": 4, "temperature": 0.01}, ["--max-len=4", "-T0.01"]),
    },
}


class AsTheCommand(unittest.TestCase):
    def compare(self, model, keywords, options, seed=17):
        expected = run_command("draw", "-m", MODELS / model, "--seed", seed, "-f", "jsonl",
                               *options)
        found = [d.to_dict() for d in sbeam.draw(MODELS / model, seed=seed, **keywords)]
        self.assertEqual(found, expected)
        self.assertEqual([list(d) for d in found], [list(d) for d in expected])  # order of keys

    def test_every_model(self):
        for model in BY_MODEL:
            for name, (keywords, options) in {**CASES, **BY_MODEL[model]}.items():
                with self.subTest(model=model, case=name):
                    self.compare(model, keywords, options)

    def test_seeds(self):
        for seed in (0, 1, 2**53, 2**64 - 1):
            self.compare("weather.json", {}, [], seed)

    def test_neural(self):
        model = MODELS / "enfr-everyday.safetensors"
        keywords, options = {"k": 3, "temperature": 0.4, "draws": 2}, ["-k3", "-T0.4", "--draws=2"]
        try:
            found = sbeam.draw(model, ["Hello!", "Where is it?"], seed=3, **keywords)
        except sbeam.FormatError as error:
            self.skipTest("this build has no neural models: %s" % error)
        expected = run_command("draw", "-m", model, "--seed=3", "-f", "jsonl", *options, "Hello!",
                               "Where is it?")
        self.assertEqual([d.to_dict() for d in found], expected)
        self.assertEqual(sbeam.draw(None, "Hello!", seed=3, **keywords)[0].to_dict(), expected[0])
        with self.assertRaisesRegex(ValueError, "needs inputs"):
            sbeam.draw(model)

    def test_bytes(self):
        data = b"sun \xe2\x98 \xff"  # not UTF-8, and no token of the model
        with self.assertRaisesRegex(sbeam.InputError, "input 0"):
            sbeam.draw(MODELS / "weather.json", data)
        self.assertEqual(sbeam.draw(MODELS / "weather.json", b"sun", seed=1)[0].to_dict(),
                         sbeam.draw(MODELS / "weather.json", "sun", seed=1)[0].to_dict())

    def test_streams(self):
        lines = b'{"input":"sun","stream":7}\n{"input":"sun","stream":3}\n'
        expected = run_command("draw", "-m", MODELS / "weather.json", "--seed=5", "-f", "jsonl",
                               "--input=jsonl", stdin=lines)
        found = sbeam.draw(MODELS / "weather.json", ["sun", "sun"], seed=5, streams=[7, 3])
        self.assertEqual([d.to_dict() for d in found], expected)
        found = sbeam.draw(MODELS / "weather.json", ["sun"] * 5, seed=5, streams=3)
        self.assertEqual([d.stream for d in found], [3, 4, 5, 6, 7])
        self.assertEqual([found[4].to_dict(), found[0].to_dict()], expected)

    def test_scores(self):
        prefixes = {"weather.json": "sun", "fig1.json": "0", "rhymes.arpa": "the"}
        for model, prefix in prefixes.items():
            opened = sbeam.Model(MODELS / model)
            outputs = [s.text for s in sbeam.draw(opened, prefix, k=4, seed=1, max_len=9)[0]]
            lines = "".join("%s\t%s\n" % (prefix, output) for output in outputs)
            for options, keywords in (([], {}), (["--no-eos"], {"eos": False}),
                                      (["--max-len=9"], {"max_len": 9})):
                expected = run_command("score", "-m", MODELS / model, *options,
                                       stdin=lines.encode())
                self.assertEqual(len(expected), len(outputs))
                for output, record in zip(outputs, expected):
                    score = opened.score(prefix, output, **keywords)
                    self.assertEqual(score.log_p, record["log_p"])
                    self.assertEqual(list(score.token_log_p), record["token_log_p"])
                    self.assertEqual(list(score.tokens), record["tokens"])
                    self.assertEqual(opened.score(prefix, score.tokens, **keywords).log_p,
                                     score.log_p)


class Interface(unittest.TestCase):
    def test_keywords_are_the_table(self):
        parameters = inspect.signature(sbeam.draw).parameters
        for option in sbeam.options():
            self.assertIn(option.keyword, parameters)
            if option.keyword != "seed":
                self.assertEqual(parameters[option.keyword].default, option.default, option.keyword)
            self.assertIn(option.kind, ("int", "float", "bool", "choice"))
            self.assertIn("\n%s " % option.keyword, sbeam.draw.__doc__)
        self.assertEqual({option.keyword for option in sbeam.options() if option.is_plan},
                         {"draws", "threads", "batch", "cache"})
        self.assertIsNone(parameters["seed"].default)

    def test_keywords_that_do_not_exist(self):
        with self.assertRaisesRegex(TypeError, "unexpected keyword 'no_such'"):
            sbeam.draw(MODELS / "weather.json", no_such=1)
        with self.assertRaisesRegex(TypeError, "unexpected keyword 'threads'"):
            sbeam.Decoder(5, threads=2)

    def test_keywords_are_the_options(self):
        page = subprocess.run([str(COMMAND), "draw", "--help"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        names = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", page, re.M))
        # Only the command has these. In Python --until is two keywords.
        names -= {"cache-stats", "each", "file", "input", "format", "help", "until"}
        keywords = {name.replace("no-", "", 1).replace("-", "_") for name in names}
        extra = {"inputs", "streams", "until_mass", "until_texts"}
        self.assertEqual(keywords | extra, set(inspect.signature(sbeam.draw).parameters))

    def test_seed_is_random_and_told(self):
        a, b = (sbeam.draw(MODELS / "weather.json") for _ in range(2))
        self.assertNotEqual(a[0].seed, b[0].seed)
        self.assertLess(a[0].seed, 2**53)
        again = sbeam.draw(MODELS / "weather.json", seed=a[0].seed)
        self.assertEqual(a[0].to_dict(), again[0].to_dict())
        copy = pickle.loads(pickle.dumps(a[0]))
        self.assertEqual((copy, copy.to_dict()), (a[0], a[0].to_dict()))

    def test_nothing_to_do(self):
        self.assertEqual(sbeam.draw(MODELS / "weather.json", []), [])

    def test_arrays(self):
        [draw] = sbeam.draw(MODELS / "fig1.json", k=4, seed=2)
        arrays = draw.arrays()
        self.assertEqual(list(arrays), list(sbeam.Sequence._fields))
        self.assertEqual({a.shape for a in arrays.values()}, {(4,)})
        self.assertEqual(arrays["g"].dtype, np.float64)
        self.assertEqual(arrays["tokens"][0], draw[0].tokens)
        self.assertEqual(list(arrays["g"]), sorted(arrays["g"], reverse=True))
        self.assertEqual((len(draw), draw[1], list(draw)),
                         (4, draw.sequences[1], list(draw.sequences)))
        [beam] = sbeam.draw(MODELS / "fig1.json", method="beam")
        self.assertTrue(math.isnan(beam.kappa) and np.isnan(beam.arrays()["g"]).all())
        [all_] = sbeam.draw(MODELS / "fig1.json", k=50)
        self.assertTrue(all_.exhausted and all_.kappa == -math.inf)
        self.assertIsNone(all_.to_dict()["kappa"])

    def test_pandas(self):
        pandas = need("pandas")
        draws = sbeam.draw(MODELS / "weather.json", k=4, seed=2, draws=3)
        table = pandas.DataFrame(draws[0].arrays())
        self.assertEqual(table.shape, (4, 7))
        self.assertEqual(table["tokens"][1], draws[0][1].tokens)
        pandas.testing.assert_frame_equal(table, pandas.DataFrame(draws[0].sequences),
                                          check_dtype=False)
        self.assertEqual(list(pandas.DataFrame([d.to_dict() for d in draws])["draw"]), [0, 1, 2])


class Models(unittest.TestCase):
    def test_model(self):
        with sbeam.Model(MODELS / "weather.json") as model:
            self.assertEqual(model.info.kind, "chain")
            self.assertEqual(model.info.vocab_size, len(
                [model.token_text(i) for i in range(model.info.vocab_size)]))
            self.assertEqual(model.describe()["kind"], "chain")
            tokens = model.encode("sun rain")
            self.assertEqual(model.decode(tokens), "sun rain")
            self.assertEqual(model.find_token("sun"), tokens[0])
            self.assertIsNone(model.find_token("nowhere"))
            again = sbeam.draw(model, seed=4)
            self.assertEqual(again, sbeam.draw(MODELS / "weather.json", seed=4))
            copy = pickle.loads(pickle.dumps(model))
            self.assertEqual(again, sbeam.draw(copy, seed=4))
        self.assertTrue(model.closed)
        self.assertIn("closed", repr(model))

    def test_markers(self):
        with sbeam.Model(MODELS / "weather.json", bpe_marker="n") as model:
            self.assertEqual(model.decode(model.encode("sun rain")), "surai")
        found = sbeam.draw(MODELS / "weather.json", seed=1, bpe_marker="n")
        expected = run_command("draw", "-m", MODELS / "weather.json", "--seed=1", "-f", "jsonl",
                               "--bpe-marker=n")
        self.assertEqual([d.to_dict() for d in found], expected)

    def test_shared_by_threads(self):
        model = sbeam.Model(MODELS / "rhymes.arpa")
        expected = [sbeam.draw(model, seed=i, k=10) for i in range(8)]
        found = [None] * 8

        def work(i):
            found[i] = sbeam.draw(model, seed=i, k=10)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, expected)

    def test_closed_while_in_use(self):
        model = sbeam.Model(MODELS / "weather.json")
        found = []
        thread = threading.Thread(
            target=lambda: found.append(len(sbeam.draw(model, seed=1, k=20, draws=3000))))
        thread.start()
        while model._n_uses == 0 and thread.is_alive():
            pass
        model.close()
        with self.assertRaisesRegex(sbeam.StateError, "closed"):
            sbeam.draw(model)
        thread.join()
        self.assertEqual(found, [3000])
        self.assertIsNone(model._handle)


if __name__ == "__main__":
    unittest.main()
