"""Stochastic Beam Search for generate of Transformers: see README.md."""
import functools

import sbeam.hf


def generate(model, *, inputs=None, tokenizer=None, stop=None, **arguments):
    """Calls model.generate with sbeam.hf.sbs. `arguments` are those of both."""
    search = functools.partial(sbeam.hf.sbs, tokenizer=tokenizer, stop=stop)
    return model.generate(inputs, custom_generate=search, **arguments)
