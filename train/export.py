#!/usr/bin/env python3
"""Export a checkpoint of train.py as a model file of sbeam.

    export.py run/checkpoint.pt --pieces enfr.model -o models/enfr-everyday.safetensors --dtype f16 \\
              --reference tests/data/enfr-everyday/reference.safetensors

The weight norm is folded in double, then the weights are rounded. The SentencePiece model goes into the file.
--reference writes the logits of the rounded weights by PyTorch for a few sentences, which tests/test_reference.c
compares with those of sbeam.
"""
import argparse
import os
import sys

import numpy as np
import sentencepiece
import torch
from torch.nn.utils import parametrize

from fconv import BOS, EOS, PAD, UNK, FConv

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
import modelfile  # noqa: E402
import torch_file  # noqa: E402

ABOUT = {
    'name': 'enfr-everyday',
    'languages': 'English to French',
    'licence': 'CC BY 2.0 FR',
    'attribution': 'tatoeba.org, manythings.org/anki, Tatoeba Challenge',
}
# What no translation may contain. The unknown mark is among them: it stands for nothing that could be printed. One
# target of 300 had it in training, mostly for rare letters of names and for digits.
UNUSED = [PAD, BOS, UNK]
SENTENCES = ['Good morning.', "I don't know where she lives.",
             'If it rains tomorrow, we will stay at home and read the books that Mary gave us last summer.']
LONGEST_REFERENCE = 6  # positions; each has as many logits as there are pieces


def fold_state(state):
    """The state of the same modules without weight norm, in double."""
    norm, direction = '.parametrizations.weight.original0', '.parametrizations.weight.original1'
    folded = {}
    for name, array in state.items():
        if name.endswith(direction):
            module = name[:-len(direction)]
            folded[module + '.weight'] = modelfile.fold(array, state[module + norm])
        elif not name.endswith(norm):
            folded[name] = array.astype(np.float64)
    return folded


def tensor_name(name):
    """The name of a parameter in a model file."""
    if name == 'bias':
        return 'decoder.output.bias'
    if name.startswith('decoder.output.'):
        return name.replace('.output.', '.hidden.')
    return name[:-len('.weight')] if name.endswith(('.tokens.weight', '.positions.weight')) else name


def tensor_of(name, array):
    """PyTorch's convolutions are (out, in, kernel), a model file's (out, kernel, in)."""
    return array.transpose(0, 2, 1) if name.endswith('.conv.weight') else array


def describe(sizes, about):
    def layers(n, **more):
        return [dict(width=sizes['width'], kernel=sizes['kernel'], residual=1, **more) for _ in range(n)]
    return {'architecture': 'fconv', 'version': 1, 'about': about, 'position_offset': 0,
            'source': {'eos': EOS, 'unknown': UNK},
            'target': {'start': BOS, 'eos': EOS, 'unknown': UNK, 'unused': UNUSED},
            'encoder': layers(sizes['encoder_layers']), 'decoder': layers(sizes['decoder_layers'], attention=True)}


def rounded_model(sizes, folded, dtype):
    """The network with the weights as the file has them."""
    model = FConv(**sizes)
    for module in model.modules():
        if parametrize.is_parametrized(module):
            parametrize.remove_parametrizations(module, 'weight')
    kind = modelfile.TYPES[dtype.upper()]
    model.load_state_dict({name: torch.from_numpy(array.astype(kind).astype('<f4')) for name, array in folded.items()})
    return model.eval()


@torch.no_grad()
def references(model, pieces):
    """Logits along the greedy translation of each sentence."""
    tensors = {}
    for i, sentence in enumerate(SENTENCES):
        source, previous = pieces.EncodeAsIds(sentence) + [EOS], [BOS]
        encoded = model.encode(torch.tensor([source]))
        while True:
            logits = model.decode(torch.tensor([previous]), encoded)[0]
            allowed = logits[-1].clone()
            allowed[UNUSED] = float('-inf')
            best = int(allowed.argmax())
            if best == EOS or len(previous) == LONGEST_REFERENCE:
                break
            previous.append(best)
        tensors[f's{i}.text'] = np.frombuffer(sentence.encode('utf-8'), np.uint8)
        tensors[f's{i}.source'], tensors[f's{i}.previous'] = np.array(source, '<i4'), np.array(previous, '<i4')
        tensors[f's{i}.logits'] = logits.numpy()
    return tensors


def load_pieces(path, vocab):
    pieces = sentencepiece.SentencePieceProcessor()
    pieces.Load(path)
    ids = pieces.pad_id(), pieces.bos_id(), pieces.eos_id(), pieces.unk_id()
    if pieces.GetPieceSize() != vocab or ids != (PAD, BOS, EOS, UNK):
        raise modelfile.FileError(f'{path}: {pieces.GetPieceSize()} pieces, pad, bos, eos, unk are {ids}; the '
                                  f'checkpoint wants {vocab} and {(PAD, BOS, EOS, UNK)}')
    return pieces


def export(args):
    state = torch_file.read(args.checkpoint)
    if not isinstance(state, dict) or not {'sizes', 'average'} <= set(state):
        raise modelfile.FileError(f'{args.checkpoint}: expected a checkpoint of train.py')
    sizes, folded = state['sizes'], fold_state(state['average'])
    pieces = load_pieces(args.pieces, sizes['vocab'])
    weights = {tensor_name(name): tensor_of(name, array) for name, array in folded.items()}
    with open(args.pieces, 'rb') as file:
        texts = {'sentencepiece': file.read()}
    modelfile.write_model(args.out, describe(sizes, dict(ABOUT, name=args.name)), weights, texts, args.dtype)
    print(f'{args.out}: {sum(array.size for array in weights.values()):,} weights, '
          f'{os.path.getsize(args.out) / 1e6:.1f} MB')
    if args.reference:
        os.makedirs(os.path.dirname(os.path.abspath(args.reference)), exist_ok=True)
        tensors = references(rounded_model(sizes, folded, args.dtype), pieces)
        modelfile.write(args.reference, tensors, {'sbeam-reference': '1'})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('checkpoint')
    parser.add_argument('--pieces', required=True, help='SentencePiece model')
    parser.add_argument('-o', '--out', required=True, help='model file to write')
    parser.add_argument('--dtype', choices=['f32', 'f16'], default='f16', help='of the weights (default %(default)s)')
    parser.add_argument('--name', default=ABOUT['name'], help='for `sbeam info` (default %(default)s)')
    parser.add_argument('--reference', metavar='FILE', help='write known answers for the tests')
    try:
        export(parser.parse_args())
    except (modelfile.FileError, OSError) as error:
        sys.exit(f'export: {error}')


if __name__ == '__main__':
    main()
