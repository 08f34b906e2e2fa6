#!/usr/bin/env python3
"""Decode with PyTorch what `sbeam bench decode` decodes, as a peer to compare with.

    torch_decode.py MODEL.safetensors -k 20 --batch 1 --threads 1

The same model file, inputs, lengths and numbers of rows, printed under the same JSON keys. The model runs
incrementally: each layer keeps its last inputs, the attention's keys are computed once per input and shared by
its k rows. The search is the paper's Algorithm 1 with tensors: a Gumbel for each of the k V children,
conditioned on their maximum, and the k largest of them. Needs torch and numpy.
"""
import argparse
import json
import math
import os
import resource
import statistics
import sys
import time

import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
import modelfile  # noqa: E402

HALF = math.sqrt(0.5)


class Model:
    """A convolutional encoder and an incremental decoder (Gehring et al. 2017) from a model file."""

    def __init__(self, path):
        arrays, self.about = modelfile.read_model(path)
        self.w = {name: torch.from_numpy(array.astype('f4')) for name, array in arrays.items()
                  if array.dtype.kind == 'f'}
        self.w.setdefault('decoder.output.weight', self.w['decoder.tokens'])
        self.vocab = len(self.w['decoder.tokens'])
        self.offset = self.about.get('position_offset', 0)

    def linear(self, name, x):
        return F.linear(x, self.w[name + '.weight'], self.w[name + '.bias'])

    def residual(self, side, i, layer, outputs):
        residual = layer.get('residual', 1)
        if residual == 0:
            return None
        x = outputs[-residual]
        name = f'{side}.layers.{i}.residual'
        return self.linear(name, x) if name + '.weight' in self.w else x

    def encode(self, sources):
        """(inputs, n) ids, all of the same length -> keys, values: (inputs, n, e)"""
        n = sources.size(1)
        embedded = self.w['encoder.tokens'][sources] + self.w['encoder.positions'][self.offset:self.offset + n]
        x = self.linear('encoder.input', embedded)
        outputs = [x]
        for i, layer in enumerate(self.about['encoder']):
            kernel, name = layer['kernel'], f'encoder.layers.{i}.conv'
            padded = F.pad(x, (0, 0, (kernel - 1) // 2, kernel // 2))
            windows = torch.cat([padded[:, j:j + n] for j in range(kernel)], 2)
            x = F.glu(F.linear(windows, self.w[name + '.weight'].flatten(1), self.w[name + '.bias']), 2)
            residual = self.residual('encoder', i, layer, outputs)
            if residual is not None:
                x = (x + residual) * HALF
            outputs.append(x)
        keys = self.linear('encoder.output', x)
        return keys, (keys + embedded) * HALF

    def start(self, sources):
        """The state of a decoder that has read nothing, one row per input."""
        keys, values = self.encode(sources)
        widths = [self.w['decoder.input.weight'].size(0)] + [layer['width'] for layer in self.about['decoder']]
        return {'keys': keys.transpose(1, 2).contiguous(),
                'values': values * math.sqrt(sources.size(1)),
                'position': self.offset,
                'windows': [torch.zeros(len(sources), layer['kernel'] - 1, width)
                            for layer, width in zip(self.about['decoder'], widths)]}

    def attend(self, name, h, embedded, state):
        query = (self.linear(name + '.query', h) + embedded) * HALF
        by_input = query.view(len(state['keys']), -1, query.size(1))
        weights = torch.bmm(by_input, state['keys']).softmax(2)
        context = torch.bmm(weights, state['values'])
        return (self.linear(name + '.context', context.view(len(h), -1)) + h) * HALF

    def step(self, state, tokens):
        """(rows) ids, the rows of an input side by side -> logits: (rows, V); moves the state"""
        embedded = self.w['decoder.tokens'][tokens] + self.w['decoder.positions'][state['position']]
        state['position'] += 1
        x = self.linear('decoder.input', embedded)
        outputs = [x]
        for i, layer in enumerate(self.about['decoder']):
            name = f'decoder.layers.{i}'
            window = torch.cat([state['windows'][i], x.unsqueeze(1)], 1)
            state['windows'][i] = window[:, 1:]
            conv = self.w[name + '.conv.weight'].flatten(1)
            h = F.glu(F.linear(window.flatten(1), conv, self.w[name + '.conv.bias']), 1)
            if layer.get('attention'):
                h = self.attend(name, h, embedded, state)
            residual = self.residual('decoder', i, layer, outputs)
            x = h if residual is None else (h + residual) * HALF
            outputs.append(x)
        return self.linear('decoder.output', self.linear('decoder.hidden', x))

    @staticmethod
    def reorder(state, rows):
        state['windows'] = [window.index_select(0, rows) for window in state['windows']]


def gumbel_with_maximum(phi, maximum):
    """Gumbels of location phi whose largest along the last axis is `maximum` (the paper's appendix B.3)."""
    g_phi = phi - torch.empty_like(phi).exponential_().log_()
    z = g_phi.max(-1, keepdim=True)[0]
    v = maximum - g_phi + torch.log1p(-torch.exp(g_phi - z))
    return maximum - F.relu(v) - torch.log1p(torch.exp(-v.abs()))


class Search:
    """The beams of all inputs: phi and g are (inputs, rows)."""

    def __init__(self, method, k, n_inputs):
        self.method, self.k = method, k
        self.phi = torch.zeros(n_inputs, 1)
        self.g = torch.zeros(n_inputs, 1)

    def advance(self, logits):
        """(inputs * rows, V) -> parents and tokens of the next rows: (inputs * k)"""
        n_inputs, n_rows = self.phi.shape
        phi = logits.log_softmax(1).view(n_inputs, n_rows, -1) + self.phi.unsqueeze(2)
        score = gumbel_with_maximum(phi, self.g.unsqueeze(2)) if self.method == 'sbs' else phi
        vocab = phi.size(2)
        self.g, best = score.view(n_inputs, -1).topk(self.k)
        self.phi = phi.view(n_inputs, -1).gather(1, best)
        parents = torch.div(best, vocab, rounding_mode='floor')
        parents += torch.arange(n_inputs).unsqueeze(1) * n_rows
        return parents.flatten(), (best % vocab).flatten()


def make_sources(model, n_inputs, source_len):
    """The inputs of `sbeam bench decode`, by id."""
    span = model.vocab - 4
    ids = [[4 + (i * 7919 + j * 127) % span for j in range(source_len - 1)] + [model.about['source']['eos']]
           for i in range(n_inputs)]
    return torch.tensor(ids, dtype=torch.long)


def run_round(model, sources, method, k, options):
    """Seconds of beginning, of all steps, of the model's and of the search's part; rows."""
    target = model.about['target']
    banned = torch.tensor(sorted({target['eos'], *target.get('unused', [])}))
    start = time.perf_counter()
    state = model.start(sources)
    begun = time.perf_counter()
    search = Search(method, k, len(sources))
    tokens = torch.full((len(sources),), target['start'], dtype=torch.long)
    in_model, n_rows = 0.0, 0
    for i in range(options.len):
        before = time.perf_counter()
        if i > 0:
            model.reorder(state, parents)
        logits = model.step(state, tokens)
        in_model += time.perf_counter() - before
        n_rows += len(logits)
        logits /= options.temperature
        logits[:, banned] = -math.inf
        parents, tokens = search.advance(logits)
    steps = time.perf_counter() - begun
    return begun - start, steps, in_model, steps - in_model, n_rows


def measure(model, options, opened):
    """Interleaved repeats of every method with every k; a record for each."""
    sources = make_sources(model, options.batch * options.threads, options.source_len)
    cases = [(k, method) for k in options.k for method in options.method]
    rounds = {case: [] for case in cases}
    for repeat in range(options.repeats + 1):
        for k, method in cases:
            timed = run_round(model, sources, method, k, options)
            if repeat > 0:  # the first warms up
                rounds[k, method].append(timed)
    for k, method in cases:
        begin, steps, in_model, in_search, n_rows = min(rounds[k, method], key=lambda timed: timed[1])
        per_step = 1e3 / options.len
        yield {
            'program': 'torch', 'model': os.path.basename(options.model), 'method': method,
            'vocab': model.vocab, 'k': k, 'batch': options.batch, 'threads': options.threads,
            'source_len': options.source_len, 'len': options.len, 'temperature': options.temperature,
            'repeats': options.repeats, 'step_ms': per_step * steps,
            'step_ms_median': per_step * statistics.median(timed[1] for timed in rounds[k, method]),
            'model_ms': per_step * in_model, 'search_ms': per_step * in_search, 'begin_ms': 1e3 * begin,
            'rows_per_step': n_rows / options.len,
            'tokens_per_second': k * len(sources) * options.len / steps, 'open_ms': 1e3 * opened,
            'peak_mib': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('model', metavar='MODEL.safetensors')
    parser.add_argument('-k', type=lambda text: [int(n) for n in text.split(',')], default=[5], metavar='N,...')
    parser.add_argument('--method', type=lambda text: text.split(','), default=['sbs'], metavar='sbs,beam')
    parser.add_argument('--temperature', type=float, default=1, metavar='X', help='default: 1')
    for name, default in [('source-len', 20), ('len', 30), ('batch', 1), ('threads', 1), ('repeats', 5)]:
        parser.add_argument('--' + name, type=int, default=default, metavar='N', help='default: %(default)s')
    options = parser.parse_args()
    if not set(options.method) <= {'sbs', 'beam'}:
        parser.error('--method takes sbs, beam or both')
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    start = time.perf_counter()
    model = Model(options.model)
    opened = time.perf_counter() - start
    with torch.inference_mode():
        for record in measure(model, options, opened):
            print(json.dumps(record, separators=(',', ':')))


if __name__ == '__main__':
    main()
