#!/usr/bin/env python3
"""Convert a convolutional model of fairseq (Gehring et al. 2017) to an sbeam model file.

    convert_fairseq.py checkpoint.pt --source-dict dict.en.txt --target-dict dict.fr.txt -o model.safetensors

Reads checkpoints of every fairseq version since the first fairseq-py of 2017, including those published with
papers. Needs numpy, but neither torch nor fairseq. Inputs and outputs of the model must be tokenised like its
training data (published models: Moses tokenizer and BPE), with spaces between tokens.
"""
import argparse
import ast
import os
import sys

try:
    import numpy as np
except ImportError:
    sys.exit('convert_fairseq: this Python has no numpy; install it (Debian: python3-numpy)')

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fairseq_files  # noqa: E402
import modelfile  # noqa: E402

LARGEST_NUMBER_OF_LAYERS = 1000
EOS, PAD, UNK = fairseq_files.EOS, fairseq_files.PAD, fairseq_files.UNK


class State:
    """The tensors of a checkpoint. Records which are used: one that is left over shows a misread model."""

    # Buffers that the network does not compute with.
    NO_WEIGHTS = {'decoder.version', 'encoder.embed_positions.range_buf', 'decoder.embed_positions.range_buf'}

    def __init__(self, arrays):
        self.arrays = arrays
        self.unused = set(arrays) - self.NO_WEIGHTS

    def __contains__(self, name):
        return any(name + end in self.arrays for end in ('.weight', '.weight_v'))

    def take(self, name):
        if name not in self.arrays:
            raise modelfile.FileError(f'the checkpoint has no tensor {name}')
        self.unused.discard(name)
        return self.arrays[name]

    def weight(self, name):
        """Returns a weight in double, weight norm folded in (its axis depends on the version; g shows it)."""
        if name + '.weight' in self.arrays:
            return np.asarray(self.take(name + '.weight'), np.float64)
        try:
            return modelfile.fold(self.take(name + '.weight_v'), self.take(name + '.weight_g'))
        except modelfile.FileError as error:
            raise modelfile.FileError(f'{name}: {error}') from None

    def shape(self, name):
        end = '.weight' if name + '.weight' in self.arrays else '.weight_v'
        return self.arrays[name + end].shape

    def linear(self, name):
        return {'weight': self.weight(name), 'bias': self.take(name + '.bias')}

    def convolution(self, name):
        """Turns the (kernel, in, out) of fairseq into the (out, kernel, in) of a model file."""
        return {'weight': self.weight(name).transpose(2, 0, 1), 'bias': self.take(name + '.bias')}


def evaluate(expression):
    """Evaluates "[(512, 3)] * 9 + [(1024, 3)]" and the like: lists, tuples, +, * and constants."""
    def value(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int)):
            return node.value
        if isinstance(node, ast.List):
            return [value(element) for element in node.elts]
        if isinstance(node, ast.Tuple):
            return tuple(value(element) for element in node.elts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mult)):
            left, right = value(node.left), value(node.right)
            if isinstance(node.op, ast.Add):
                return left + right
            times, repeated = (left, right) if isinstance(left, int) else (right, left)
            if not isinstance(repeated, int) and times * len(repeated) <= LARGEST_NUMBER_OF_LAYERS:
                return repeated * times
        raise ValueError
    try:
        return value(ast.parse(str(expression).strip(), mode='eval').body)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        raise modelfile.FileError(f'{str(expression)[:200]!r}: expected layers such as "[(512, 3)] * 9 + [(1024, 3)]"'
                                  ) from None


def find_layers(state, half, expression):
    """Returns (width, kernel, residual) of each layer, the residuals by the arguments, the rest by the tensors."""
    found = []
    while f'{half}.convolutions.{len(found)}' in state:
        shape = state.shape(f'{half}.convolutions.{len(found)}')
        if len(shape) != 3 or shape[2] % 2 != 0:
            raise modelfile.FileError(f'{half}.convolutions.{len(found)}: the weight has shape {shape}; '
                                      'expected (kernel, in, 2 * out)')
        found.append((shape[2] // 2, shape[0]))
    if expression is None:  # the first checkpoints have the name of an architecture instead
        return [(width, kernel, 1) for width, kernel in found]
    named = evaluate(expression)
    try:
        layers = [(*layer, 1)[:3] for layer in named]
        agree = [layer[:2] for layer in layers] == found
    except TypeError:
        agree = False
    if not agree:
        raise modelfile.FileError(f'{half} layers: the arguments say {expression}, but the tensors are (width, '
                                  f'kernel) {found}')
    for i, (_, _, residual) in enumerate(layers):
        if not 0 <= residual <= i + 1:
            raise modelfile.FileError(f'{half} layer {i}: residual is {residual}; expected 0 to {i + 1}')
    return layers


def put(weights, name, parts):
    weights.update((f'{name}.{part}', array) for part, array in parts.items())


def convert_half(state, half, layers, weights):
    """Converts the parts that encoder and decoder have in common; returns the description of the layers."""
    weights[half + '.tokens'] = state.take(half + '.embed_tokens.weight')
    weights[half + '.positions'] = state.take(half + '.embed_positions.weight')
    put(weights, half + '.input', state.linear(half + '.fc1'))
    description, widths = [], [len(weights[half + '.input.bias'])]
    for i, (width, kernel, residual) in enumerate(layers):
        layer = f'{half}.layers.{i}'
        put(weights, layer + '.conv', state.convolution(f'{half}.convolutions.{i}'))
        if residual > 0 and widths[-residual] != width:
            put(weights, layer + '.residual', state.linear(f'{half}.projections.{i}'))
        widths.append(width)
        description.append({'width': int(width), 'kernel': int(kernel), 'residual': int(residual)})
    return description


def convert_attention(state, layers, expression, weights):
    """Converts the attention; returns for each decoder layer whether it attends to the source."""
    attends = [f'decoder.attention.{i}.in_projection' in state for i in range(len(layers))]
    named = attends if expression is None else evaluate(expression)
    if (named if isinstance(named, list) else [named] * len(layers)) != attends:
        raise modelfile.FileError(f'decoder attention: the arguments say {expression}, but the tensors say {attends}')
    for i in (i for i, attention in enumerate(attends) if attention):
        put(weights, f'decoder.layers.{i}.query', state.linear(f'decoder.attention.{i}.in_projection'))
        put(weights, f'decoder.layers.{i}.context', state.linear(f'decoder.attention.{i}.out_projection'))
    return attends


def check_architecture(state, args):
    name = getattr(args, 'arch', 'without a name')
    if 'encoder.convolutions.0' not in state or 'decoder.convolutions.0' not in state:
        raise modelfile.FileError(f'architecture {name}; expected fconv, whose encoder and decoder have convolutions')
    if 'decoder.embed_positions' not in state or 'decoder.fc3' not in state:
        raise modelfile.FileError(f'architecture {name}; expected fconv with positions and a full softmax')


def convert(arrays, args):
    """Returns the weights and the description of a model, from a checkpoint's tensors and arguments."""
    state, weights = State(arrays), {}
    check_architecture(state, args)
    encoder = find_layers(state, 'encoder', getattr(args, 'encoder_layers', None))
    decoder = find_layers(state, 'decoder', getattr(args, 'decoder_layers', None))
    description = {'architecture': 'fconv', 'version': 1, 'about': {}, 'position_offset': PAD + 1,
                   'source': {'eos': EOS, 'unknown': UNK},
                   'target': {'start': EOS, 'eos': EOS, 'unknown': UNK, 'unused': list(fairseq_files.UNUSED)},
                   'encoder': convert_half(state, 'encoder', encoder, weights),
                   'decoder': convert_half(state, 'decoder', decoder, weights)}
    put(weights, 'encoder.output', state.linear('encoder.fc2'))
    attends = convert_attention(state, decoder, getattr(args, 'decoder_attention', None), weights)
    for layer, attention in zip(description['decoder'], attends):
        layer['attention'] = attention
    put(weights, 'decoder.hidden', state.linear('decoder.fc2'))
    put(weights, 'decoder.output', state.linear('decoder.fc3'))
    if np.array_equal(weights['decoder.output.weight'], weights['decoder.tokens']):
        del weights['decoder.output.weight']  # --share-input-output-embed
    if state.unused:
        raise modelfile.FileError(f'architecture {getattr(args, "arch", "without a name")}; expected fconv, which has '
                                  'no tensors such as ' + ', '.join(sorted(state.unused)[:3]))
    return weights, description


def check_vocabulary(words, path, weights, half):
    n = len(weights[half + '.tokens'])
    if len(words) != n:
        raise modelfile.FileError(f'{path}: {len(words)} types (including {len(fairseq_files.SPECIAL)} special ones), '
                                  f'but the checkpoint has {n} in {half}.embed_tokens')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('checkpoint', help='checkpoint of fairseq, such as model.pt or checkpoint_best.pt')
    parser.add_argument('--source-dict', required=True, help='dict.LANG.txt of the source')
    parser.add_argument('--target-dict', required=True, help='dict.LANG.txt of the target')
    parser.add_argument('-o', '--out', required=True, help='model file to write')
    parser.add_argument('--dtype', choices=['f32', 'f16'], default='f32',
                        help='type of the weights (default %(default)s)')
    parser.add_argument('--name', help='name that `sbeam info` shows (default: the name of the checkpoint)')
    options = parser.parse_args()
    try:
        arrays, args = fairseq_files.read_checkpoint(options.checkpoint)
        weights, description = convert(arrays, args)
        source = fairseq_files.read_dictionary(options.source_dict)
        target = fairseq_files.read_dictionary(options.target_dict)
        check_vocabulary(source, options.source_dict, weights, 'encoder')
        check_vocabulary(target, options.target_dict, weights, 'decoder')
        languages = [getattr(args, side + '_lang', None) for side in ('source', 'target')]
        description['about'] = {'name': options.name or os.path.basename(options.checkpoint),
                                'origin': 'converted from fairseq'}
        if all(languages):
            description['about']['languages'] = ' to '.join(languages)
        texts = {'source.dictionary': fairseq_files.lines(source), 'target.dictionary': fairseq_files.lines(target)}
        modelfile.write_model(options.out, description, weights, texts, options.dtype)
    except (modelfile.FileError, OSError) as error:
        sys.exit(f'convert_fairseq: {error}')
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
        # A damaged checkpoint can fail in any way; the message says what was missing or wrong.
        sys.exit(f'convert_fairseq: {options.checkpoint}: not a checkpoint of fairseq, or damaged: '
                 f'{type(error).__name__}: {error}')
    print(f'{options.out}: {len(source)} source types, {len(target)} target types, '
          f'{len(description["encoder"])} + {len(description["decoder"])} layers, '
          f'{sum(array.size for array in weights.values()):,} weights')


if __name__ == '__main__':
    main()
