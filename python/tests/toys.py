"""Small models that a host computes: the tree and the chain of models/, and a PyTorch network."""
import json
import math

import numpy as np

from support import MODELS

import sbeam


def log(p):
    return math.log(p) if p > 0 else -math.inf


class TreeHost:
    """models/fig1.json, computed by a host: one row per node, and a function that knows leaves."""

    def __init__(self):
        with open(MODELS / "fig1.json", encoding="utf-8") as file:
            self.root = json.load(file)["tree"]
        with sbeam.Model(MODELS / "fig1.json") as model:
            self.vocab_size = model.info.vocab_size
            self.names = [model.token_text(i) for i in range(self.vocab_size)]
        self.nodes = []

    def step(self, parent, token, input, dtype=np.float64):
        return self.continue_states([None if p < 0 else self.nodes[p] for p in parent], token,
                                    dtype)[0]

    def continue_states(self, states, token, dtype=np.float64):
        """Returns the rows and the new states. A state is a node, or None before the root."""
        self.nodes = [self.root if node is None else node[self.names[t]][1]
                      for node, t in zip(states, token)]
        rows = [[log(node[name][0]) if name in node else -math.inf for name in self.names]
                for node in self.nodes]
        return np.array(rows, dtype=dtype), self.nodes

    def is_leaf(self, row, token):
        return self.nodes[row][self.names[token]][1] is None


class ChainHost:
    """models/weather.json, computed by a host: the state is the last token."""

    def __init__(self):
        with open(MODELS / "weather.json", encoding="utf-8") as file:
            chain = json.load(file)
        self.vocab_size = len(chain["vocab"])
        self.eos = chain["vocab"].index(chain["eos"])
        self.start = np.array([log(p) for p in chain["start"]])
        self.next = np.array([[log(p) for p in chain["next"].get(name, [0] * self.vocab_size)]
                              for name in chain["vocab"]])

    def step(self, parent, token, input, dtype=np.float64):
        rows = [self.start if t < 0 else self.next[t] for t in token]
        return np.array(rows, dtype=dtype)

    def continue_states(self, states, token):
        """Returns the rows and the new states. A state is the whole prefix, to check that the right
        one is continued: a row is computed from its last token."""
        prefixes = [() if state is None else state + (int(t),) for state, t in zip(states, token)]
        return self.step(None, [prefix[-1] if prefix else -1 for prefix in prefixes],
                         None), prefixes


def run(decoder, step):
    """Runs a decoder until it is done. Returns its results."""
    while not decoder.done:
        decoder.advance(step(*decoder.rows()))
    return decoder.results()


def run_with_states(decoder, continue_states):
    """Runs a decoder whose host keeps its states in a dictionary. Returns the results, the number
    of rows, and the states that were kept at the end."""
    kept, n_rows = {}, 0
    while not decoder.done:
        _, token, input = decoder.rows()
        from_, to, released = decoder.states()
        for number in released.tolist():
            del kept[number]
        rows, states = continue_states([kept[f] if f >= 0 else None for f in from_.tolist()], token)
        kept.update(zip(to.tolist(), states))
        n_rows += len(rows)
        decoder.advance(rows)
    return decoder.results(), n_rows, kept


def write_slow_chain(path, names=3):
    """Writes a chain that goes on for ever: its sequences end by max_len."""
    vocab = ["w%d" % i for i in range(names)] + ["</s>"]
    row = [1 / names] * names + [0]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"format": "sbeam-chain", "vocab": vocab, "eos": "</s>", "start": row,
                   "next": {name: row for name in vocab[:-1]}}, file)


def make_network(torch, vocab_size=3, width=5, seed=4):
    """Returns the step function, the initial state and the vocabulary size of a recurrent network.
    Its weights make an uneven distribution in which no sequence dominates."""
    generator = torch.Generator().manual_seed(seed)

    def random(*shape):
        return 0.6 * torch.randn(*shape, generator=generator, dtype=torch.float64)

    embedding, inner, outer = random(vocab_size + 1, width), random(width, width), random(
        width, vocab_size)

    def step(states, tokens):
        states = torch.tanh(states @ inner + embedding[tokens])
        return states @ outer, states

    return step, torch.zeros(1, width, dtype=torch.float64), vocab_size


def enumerate_law(torch, step, state, start, vocab_size, length):
    """Returns the probability of each sequence of `length` tokens, by the chain rule."""
    law = {}

    def walk(state, token, tokens, log_p):
        if len(tokens) == length:
            law[tokens] = math.exp(log_p)
            return
        logits, state = step(state, torch.tensor([token]))
        log_ps = torch.log_softmax(logits[0], 0)
        for child in range(vocab_size):
            walk(state, child, tokens + (child,), log_p + float(log_ps[child]))

    walk(state, start, (), 0.0)
    return law
