#!/usr/bin/env python3
"""Write a convolutional translation model with random weights, to measure decoding with.

    random_fconv.py OUT.safetensors --vocab 8000

Speed does not depend on what a model has learned, but search does depend a little on how peaked its rows
are: the output layer is scaled so that logits have a standard deviation of about 3, as in `sbeam bench
search`. Tokens 0 to 3 are specials as fairseq has them (bos, pad, eos, unk), the others are called w4, w5,
... on both sides. Needs numpy.
"""
import argparse
import math
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
import modelfile  # noqa: E402

EOS, UNK = 2, 3
SPECIALS = ['<s>', '<pad>', '</s>', '<unk>']
POSITIONS = 1024
OUTPUT_SCALE = 20  # for the default sizes


def make_weights(options):
    """Initialised as fairseq does before training: what a layer gives is about as large as what it gets."""
    noise = np.random.default_rng(options.seed)
    weights = {}

    def add(name, *shape, std):
        weights[name] = (std * noise.standard_normal(shape, np.float32)).astype(np.float32)

    def linear(name, n_out, n_in, scale=1.0):
        add(name + '.weight', n_out, n_in, std=scale / math.sqrt(n_in))
        add(name + '.bias', n_out, std=0.01)

    width, embedding = options.width, options.embedding
    for side in 'encoder', 'decoder':
        add(side + '.tokens', options.vocab, embedding, std=0.1)
        add(side + '.positions', POSITIONS, embedding, std=0.1)
        linear(side + '.input', width, embedding)
        for i in range(options.layers):
            layer = f'{side}.layers.{i}'
            add(layer + '.conv.weight', 2 * width, options.kernel, width,
                std=math.sqrt(4 / (options.kernel * width)))
            add(layer + '.conv.bias', 2 * width, std=0.01)
            if side == 'decoder':
                linear(layer + '.query', embedding, width)
                linear(layer + '.context', width, embedding)
    linear('encoder.output', embedding, width)
    linear('decoder.hidden', options.output_embedding, width)
    linear('decoder.output', options.vocab, options.output_embedding, OUTPUT_SCALE)
    return weights


def describe(options):
    layer = {'width': options.width, 'kernel': options.kernel, 'residual': 1}
    return {
        'architecture': 'fconv', 'version': 1,
        'about': {'name': f'random weights, seed {options.seed}'},
        'position_offset': 2,
        'source': {'eos': EOS, 'unknown': UNK},
        'target': {'start': EOS, 'eos': EOS, 'unknown': UNK, 'unused': [0, 1]},
        'encoder': [layer] * options.layers,
        'decoder': [{**layer, 'attention': True}] * options.layers,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('out', metavar='OUT.safetensors')
    for name, default in [('vocab', 8000), ('width', 256), ('layers', 5), ('kernel', 3), ('embedding', 256),
                          ('output-embedding', 256), ('seed', 1)]:
        parser.add_argument('--' + name, type=int, default=default, metavar='N', help='default: %(default)s')
    options = parser.parse_args()
    if options.vocab <= len(SPECIALS):
        parser.error(f'--vocab is {options.vocab}; expected more than the {len(SPECIALS)} specials')
    for name in 'width', 'layers', 'kernel', 'embedding', 'output_embedding':
        if getattr(options, name) < 1:
            parser.error(f'--{name.replace("_", "-")} is {getattr(options, name)}; expected 1 or more')
    words = SPECIALS + [f'w{i}' for i in range(len(SPECIALS), options.vocab)]
    text = ''.join(word + '\n' for word in words).encode()
    modelfile.write_model(options.out, describe(options), make_weights(options),
                          {'source.dictionary': text, 'target.dictionary': text}, 'f32')


if __name__ == '__main__':
    main()
