"""Continues a prompt with a language model in a GGUF file.

    PYTHONPATH=python python3 python/examples/04_gguf.py MODEL.gguf 'Once upon a time' --word dog

The program prints k different continuations, and estimates from them the probability that a
continuation contains a word. Without a path it opens the file that the environment variable
SBEAM_GGUF names. It needs a build with llama.cpp (scripts/setup --with llama). A model of one
megabyte takes 3 seconds. A larger one takes as long as its forward passes: at most k + 1 rows for
each token.
"""
import argparse
import math
import os
import re
import statistics
import sys

import sbeam


def main():
    parser = argparse.ArgumentParser(description="continues a prompt with a GGUF model")
    parser.add_argument("model", nargs="?", default=os.environ.get("SBEAM_GGUF"))
    parser.add_argument("prompt", nargs="?", default="Once upon a time, there was a")
    parser.add_argument("--word", default="girl", help="the word to look for (%(default)s)")
    parser.add_argument("-k", type=int, default=16, help="number of continuations (%(default)s)")
    parser.add_argument("-T", type=float, default=0.7, dest="temperature",
                        help="temperature (%(default)s)")
    parser.add_argument("--max-len", type=int, default=24, help="most tokens (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if not given.model:
        parser.error("no model: give the path of a GGUF file, or set SBEAM_GGUF")

    try:
        model = sbeam.Model(given.model)
        settings = dict(temperature=given.temperature, max_len=given.max_len, stop=".")
        [draw] = sbeam.draw(model, given.prompt, k=given.k, seed=given.seed, **settings)
    except sbeam.Error as error:  # a missing file, a build without llama.cpp, a long prompt
        sys.exit("04_gguf: %s" % error)

    print("%s ...  (%s, temperature %g)" % (given.prompt, os.path.basename(given.model),
                                            given.temperature))
    for s in draw:
        print("%10.2g  %s" % (math.exp(s.log_p), s.text.strip()))
    print("%d different continuations of %d; the model computed %d rows"
          % (len({s.tokens for s in draw}), len(draw), draw.model_rows))

    def has_word(s):  # the estimate of a True or False is a probability
        return re.search(r"\b%s\b" % re.escape(given.word), s.text) is not None

    found = sbeam.estimate(draw, has_word)
    print("\nP(a continuation contains '%s') = %.3f +- %.3f" % (given.word, found.value, found.se))
    # The standard error comes from the same few sequences. More draws show how good it is.
    n = 20
    for method, name in (("sbs", "without replacement"), ("sample", "independent samples")):
        draws = sbeam.draw(model, given.prompt, k=given.k, seed=given.seed + 1, draws=n,
                           method=method, **settings)
        values = [sbeam.estimate(d, has_word).value for d in draws]
        scatter = statistics.stdev(values)
        print("    %d more draws, %-20s mean %.3f +- %.3f, scatter of a draw %.3f"
              % (n, name + ":", statistics.mean(values), scatter / n ** 0.5, scatter))


if __name__ == "__main__":
    main()
