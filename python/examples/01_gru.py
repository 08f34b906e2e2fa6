"""Draws words from a network of your own: a small GRU in PyTorch.

    PYTHONPATH=python python3 python/examples/01_gru.py

The program trains the GRU to spell the English words of experiments/data/everyday.en, letter by
letter. It draws words with and without replacement, and estimates their mean length from 50 words.
It takes about 10 seconds; with --quick it trains less and takes 5.

sbeam knows only the function `step` of the network. It gets the hidden states and the last letters
of the unfinished words, and returns the logits of the next letters and the new states. sbeam
decides which words to continue, and passes the states that belong to them.
"""
import argparse
import math
import re
import textwrap
import time
from collections import Counter
from pathlib import Path

import torch
from torch import nn

import sbeam

TEXT = Path(__file__).resolve().parents[2] / "experiments" / "data" / "everyday.en"
LETTERS = ".'abcdefghijklmnopqrstuvwxyz"  # the first one begins and ends a word
END = 0
MAX_LEN = 16


def spell(tokens):
    return "".join(LETTERS[t] for t in tokens)


class Speller(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.width = width
        self.embed = nn.Embedding(len(LETTERS), width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.output = nn.Linear(width, len(LETTERS))

    def forward(self, letters, hidden):
        """Maps (n, length) letters and (n, width) states to (n, length, letters) logits and new
        states."""
        found, hidden = self.gru(self.embed(letters), hidden[None])
        return self.output(found), hidden[0]

    def initial_state(self, n):
        return torch.zeros(n, self.width)


def read_words():
    """Returns the words of the text and how often each occurs."""
    words = re.findall(r"[a-z]+(?:'[a-z]+)*", TEXT.read_text(encoding="utf-8").lower())
    return Counter(word for word in words if len(word) < MAX_LEN)


def train(model, words, epochs):
    """Maximises the likelihood. Returns the mean loss of the last epoch, in nats per word."""
    rows = torch.full((len(words), MAX_LEN + 1), END)
    weights = torch.zeros(len(words), MAX_LEN)  # the frequency of the word, up to its end
    for row, weight, (word, count) in zip(rows, weights, words.items()):
        row[1:len(word) + 1] = torch.tensor([LETTERS.index(letter) for letter in word])
        weight[:len(word) + 1] = count / sum(words.values())
    optimiser = torch.optim.Adam(model.parameters(), lr=0.005)
    for _ in range(epochs):
        total = 0.0
        for batch in torch.randperm(len(words)).split(128):
            logits, _ = model(rows[batch, :-1], model.initial_state(len(batch)))
            losses = nn.functional.cross_entropy(logits.transpose(1, 2), rows[batch, 1:],
                                                 reduction="none")
            loss = (losses * weights[batch]).sum()
            optimiser.zero_grad()
            (loss * len(words) / len(batch)).backward()
            optimiser.step()
            total += loss.item()
    return total


def say(words):
    print(textwrap.fill(", ".join(words), 96, initial_indent="    ", subsequent_indent="    "))


def main():
    parser = argparse.ArgumentParser(description="draws words from a GRU in PyTorch")
    parser.add_argument("--quick", action="store_true", help="train less and sample less")
    quick = parser.parse_args().quick
    torch.manual_seed(1)
    torch.set_num_threads(1)  # more threads are slower for such a small network

    words = read_words()
    model = Speller()
    start = time.time()
    loss = train(model, words, epochs=10 if quick else 40)
    print("trained on %d words, %d of them different, in %.1f s: %.2f nats per word"
          % (sum(words.values()), len(words), time.time() - start, loss))

    def step(hidden, letters):  # sbeam calls this
        logits, hidden = model(letters[:, None], hidden)
        return logits[:, 0], hidden

    def draw(k, **settings):
        with torch.no_grad():  # a draw consists of numbers and needs no graph
            return sbeam.sample_without_replacement(step, model.initial_state(1), k, eos=END,
                                                    max_len=MAX_LEN, decode=spell, **settings)

    k = 50
    for temperature in (1.0, 0.5):
        print("\n--- temperature %g ---" % temperature)
        samples = draw(k, method="sample", temperature=temperature, seed=1)
        counted = Counter(s.text for s in samples)
        print("%d independent samples, and their counts: %d different ones" % (k, len(counted)))
        say("%s (%d)" % item if item[1] > 1 else item[0] for item in counted.most_common())

        distinct = draw(k, temperature=temperature, seed=1)
        mass = sum(math.exp(s.log_p) for s in distinct)
        print("%d words without replacement, in the order drawn: %d different ones. Together they\n"
              "have %.0f%% of the probability; the network computed %d rows"
              % (k, len({s.text for s in distinct}), 100 * mass, distinct.model_rows))
        say(s.text for s in distinct)

        n = 5000 if quick else 50000
        many = draw(n, method="sample", temperature=temperature, seed=2)
        print("the mean length of a word, in letters:")
        for name, found in (("%d independent samples" % k, samples),
                            ("%d without replacement" % k, distinct),
                            ("%d independent samples" % n, many)):
            mean = sbeam.estimate(found, lambda s: len(s.tokens))
            print("    %-26s %.3f +- %.3f" % (name, mean.value, mean.se))


if __name__ == "__main__":
    main()
