"""Tiny models of Transformers with random weights, made from their configs."""
import tempfile
import unittest

from support import need

torch = need("torch")
need("transformers")
import sbeam.hf  # noqa: E402
import transformers as t  # noqa: E402
from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: E402
from transformers import dynamic_module_utils  # noqa: E402

# Recipes are copied to a folder before they are imported; not to that of the user.
_modules = tempfile.TemporaryDirectory()
dynamic_module_utils.HF_MODULES_CACHE = _modules.name
torch.set_num_threads(1)  # these models are too small for more
t.logging.set_verbosity_error()

VOCAB, EOS, PAD, START = 61, 1, 0, 2
COMMON = dict(vocab_size=VOCAB, eos_token_id=EOS, pad_token_id=PAD, bos_token_id=START)
SMALL = dict(COMMON, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
             num_attention_heads=4, num_key_value_heads=2, head_dim=8, max_position_embeddings=128)
SEQ2SEQ = dict(COMMON, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
               decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48,
               max_position_embeddings=128, decoder_start_token_id=START,
               forced_eos_token_id=None)
T5 = dict(COMMON, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4,
          decoder_start_token_id=PAD)

# By name: the class, the config and its settings.
MODELS = {
    "GPT-2": (t.GPT2LMHeadModel, t.GPT2Config,
              dict(COMMON, n_positions=128, n_embd=32, n_layer=2, n_head=4)),
    "Llama": (t.LlamaForCausalLM, t.LlamaConfig, SMALL),
    "Mistral, window of 4": (t.MistralForCausalLM, t.MistralConfig, dict(SMALL, sliding_window=4)),
    "Qwen3": (t.Qwen3ForCausalLM, t.Qwen3Config, SMALL),
    "Gemma 3, window of 4": (t.Gemma3ForCausalLM, t.Gemma3TextConfig,
                             dict(SMALL, sliding_window=4, query_pre_attn_scalar=8,
                                  layer_types=["sliding_attention", "full_attention"])),
    "GPT-NeoX": (t.GPTNeoXForCausalLM, t.GPTNeoXConfig,
                 dict(COMMON, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                      num_attention_heads=4, max_position_embeddings=128)),
    "Mixtral": (t.MixtralForCausalLM, t.MixtralConfig,
                dict(SMALL, num_local_experts=4, num_experts_per_tok=2, sliding_window=None)),
    "Mamba": (t.MambaForCausalLM, t.MambaConfig,
              dict(COMMON, hidden_size=32, state_size=8, num_hidden_layers=2)),
    "T5": (t.T5ForConditionalGeneration, t.T5Config, T5),
    "BART": (t.BartForConditionalGeneration, t.BartConfig, SEQ2SEQ),
    "Marian": (t.MarianMTModel, t.MarianConfig, dict(SEQ2SEQ, decoder_start_token_id=PAD)),
    "M2M-100": (t.M2M100ForConditionalGeneration, t.M2M100Config, SEQ2SEQ),
}


def make_model(name, seed=11, dtype=None, scale=1.0, **settings):
    """Returns a model in evaluation mode. `scale` multiplies the weights of its output, so that its
    distributions are neither flat nor peaked."""
    kind, config, defaults = MODELS[name]
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = kind(config(**{**defaults, **settings})).eval()
        for weight in model.parameters():
            if weight.ndim > 1:  # the default is 0.02, with which the prefix hardly matters
                weight.data.normal_(0, 1 / weight.shape[-1] ** 0.5)
        output = model.get_output_embeddings().weight
        output.data.mul_(scale)
    if dtype == torch.float64:
        model.set_experts_implementation("eager")  # grouped products have no float64
    return model.to(dtype or torch.float32)


def pad(prompts, side="left"):
    """Returns the input ids and the attention mask of prompts."""
    width = max(map(len, prompts))
    ids, mask = [], []
    for prompt in prompts:
        filler = [0] * (width - len(prompt))
        ids.append([PAD] * len(filler) + prompt if side == "left" else prompt + [PAD] * len(filler))
        mask.append(filler + [1] * len(prompt) if side == "left" else [1] * len(prompt) + filler)
    return torch.tensor(ids), torch.tensor(mask)


@torch.no_grad()
def teacher_rows(model, prompt, tokens):
    """Returns the log-probabilities after each prefix of tokens, (len(tokens) + 1, vocab_size), by
    one pass without a cache."""
    if model.config.is_encoder_decoder:
        start = [model.generation_config.decoder_start_token_id]
        logits = model(input_ids=torch.tensor([prompt]), use_cache=False,
                       decoder_input_ids=torch.tensor([start + list(tokens)])).logits[0]
    else:
        logits = model(input_ids=torch.tensor([prompt + list(tokens)]),
                       use_cache=False).logits[0, len(prompt) - 1:]
    return torch.log_softmax(logits.double(), dim=-1)


def teacher_log_p(model, prompt, sequence, eos=EOS):
    """Returns the log-probability of a sequence of a draw."""
    rows = teacher_rows(model, prompt, sequence.tokens)
    total = sum(rows[i, token].item() for i, token in enumerate(sequence.tokens))
    return total + (rows[-1, eos].item() if sequence.end == "eos" else 0.0)


def enumerate_sequences(model, prompt, max_len, temperature=1.0, ends=(EOS,), allow=None):
    """Returns the probability of every sequence of at most max_len tokens: those that end, and
    those of max_len tokens that do not. Several end tokens are one, before the temperature. `allow`
    are the tuples of tokens permitted."""
    law, nodes = {}, [((), 1.0)]
    while nodes:
        tokens, p = nodes.pop()
        if len(tokens) == max_len:
            law[tokens, "max-len"] = p
            continue
        row = teacher_rows(model, prompt, tokens)[-1]
        row[ends[0]] = torch.logsumexp(row[list(ends)], 0)
        row[list(ends[1:])] = -torch.inf
        if allow is not None:
            allowed = {a[len(tokens)] if len(a) > len(tokens) else ends[0]
                       for a in allow if a[:len(tokens)] == tokens}
            row[[token for token in range(len(row)) if token not in allowed]] = -torch.inf
        for token, q in enumerate(torch.softmax(row / temperature, 0).tolist()):
            if token == ends[0] and q > 0:
                law[tokens, "eos"] = p * q
            elif q > 0:
                nodes.append((tokens + (token,), p * q))
    return law


def make_tokenizer(size=VOCAB):
    """Returns a tokenizer whose tokens are the words t0, t1, ..., and "." for t7."""
    words = {"." if i == 7 else "t%d" % i: i for i in range(size)}
    plain = Tokenizer(models.WordLevel(words, unk_token="t3"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    return t.PreTrainedTokenizerFast(tokenizer_object=plain, eos_token="t1",
                                                pad_token="t0")


def tokens_of(draw):
    return [s.tokens for s in draw]


# --- shared by the tests of the interface ---

PROMPT = [5, 9, 33]
IDS = torch.tensor([PROMPT])


class Case(unittest.TestCase):
    """Has a language model, a translation model, and both ways to draw from them."""

    @classmethod
    def setUpClass(cls):
        cls.model = make_model("Llama", dtype=torch.float64)
        cls.translator = make_model("Marian", dtype=torch.float64)

    def generate(self, ids=IDS, *args, model=None, **settings):
        settings = {"k": 4, "max_new_tokens": 6, "seed": 1, **settings}
        return sbeam.hf.generate(self.model if model is None else model, ids, *args, **settings)

    def custom(self, ids=IDS, model=None, **settings):
        settings = {"k": 4, "max_new_tokens": 6, "seed": 1, "custom_generate": sbeam.hf.sbs,
                    "return_dict_in_generate": True, **settings}
        return (self.model if model is None else model).generate(ids, **settings)
