"""The public structs of include/sbeam for ctypes, with the same fields in the same order.

tests/test_layout.py compares every size and offset with those of the C compiler."""
from __future__ import annotations

from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_int,
                    c_int32, c_size_t, c_uint, c_uint64, c_void_p)

MESSAGE_SIZE = 512
NGRAM_ORDERS = 4

ROW_FLOAT = 0
ROW_DOUBLE = 1

OPTION_INT, OPTION_REAL, OPTION_FLAG, OPTION_CHOICE = range(4)

LAW_WITHOUT_REPLACEMENT, LAW_INDEPENDENT, LAW_BIASED, LAW_DETERMINISTIC = range(4)


class sb_error(Structure):
    _fields_ = [("status", c_int), ("message", c_char * MESSAGE_SIZE)]


class sb_config(Structure):
    _fields_ = [
        ("method", c_int),
        ("k", c_int32),
        ("temperature", c_double),
        ("seed", c_uint64),
        ("kappa", c_bool),
        ("max_len", c_int32),
        ("min_len", c_int32),
        ("top_k", c_int32),
        ("top_p", c_double),
        ("min_p", c_double),
        ("finished", c_int),
        ("length_penalty", c_double),
        ("early_stop", c_bool),
        ("groups", c_int32),
        ("strength", c_double),
        ("penalty", c_int),
        ("search", c_int),
        ("parallel", c_int32),
        ("until_mass", c_double),
        ("until_texts", c_int32),
        ("max_samples", c_uint64),
        ("ban", POINTER(c_int32)),
        ("n_ban", c_size_t),
        ("stop", POINTER(c_char_p)),
        ("n_stop", c_size_t),
        ("allow", c_void_p),
    ]


class sb_trie_info(Structure):
    _fields_ = [
        ("n_lines", c_size_t),
        ("n_prefixes", c_size_t),
        ("bytes", c_size_t),
        ("longest", c_int32),
        ("longest_line", c_size_t),
        ("largest_token", c_int32),
        ("largest_line", c_size_t),
        ("prefix_line", c_size_t),
        ("extended_line", c_size_t),
        ("id", c_char_p),
    ]


class sb_method_info(Structure):
    _fields_ = [
        ("law", c_int),
        ("has_g", c_bool),
        ("counts_samples", c_bool),
        ("has_repeats", c_bool),
        ("has_rounds", c_bool),
        ("why_no_estimate", c_char_p),
    ]


class sb_option(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_int),
        ("metavar", c_char_p),
        ("default_text", c_char_p),
        ("min", c_double),
        ("max", c_double),
        ("open_min", c_bool),
        ("methods", c_uint),
        ("help", c_char_p),
    ]


class sb_model_info(Structure):
    _fields_ = [
        ("kind", c_char_p),
        ("vocab_size", c_int32),
        ("eos", c_int32),
        ("row_type", c_int),
        ("needs_input", c_bool),
        ("max_rows", c_int32),
        ("max_len", c_int32),
        ("has_threads", c_bool),
        ("rows_depend_on_batch", c_bool),
        ("id", c_char_p),
    ]


class sb_sequence(Structure):
    _fields_ = [
        ("tokens", POINTER(c_int32)),
        ("n_tokens", c_int32),
        ("end", c_int),
        ("log_p", c_double),
        ("log_p_model", c_double),
        ("g", c_double),
        ("log_weight", c_double),
    ]


class sb_result(Structure):
    _fields_ = [
        ("stream", c_uint64),
        ("draw", c_uint64),
        ("seed", c_uint64),
        ("temperature", c_double),
        ("method", c_int),
        ("k", c_int32),
        ("n_sequences", c_int32),
        ("sequences", POINTER(sb_sequence)),
        ("kappa", c_double),
        ("exhausted", c_bool),
        ("stopped_by", c_int),
        ("log_p_draw", c_double),
        ("model_rows", c_uint64),
        ("complete", c_bool),
        ("samples", c_uint64),
        ("sampled_rows", c_uint64),
        ("token_pool", POINTER(c_int32)),
        ("token_capacity", c_size_t),
        ("sequence_capacity", c_size_t),
    ]


class sb_input(Structure):
    # The text is a plain pointer: a c_char_p would end at a zero byte.
    _fields_ = [("text", c_void_p), ("size", c_size_t), ("stream", c_uint64), ("user", c_void_p)]


class sb_cache_stats(Structure):
    _fields_ = [
        ("rows", c_uint64),
        ("evaluated", c_uint64),
        ("seconds", c_double),
        ("used", c_size_t),
    ]


class sb_plan(Structure):
    _fields_ = [
        ("temperatures", POINTER(c_double)),
        ("n_temperatures", c_size_t),
        ("first_draw", c_uint64),
        ("n_draws", c_uint64),
        ("threads", c_int32),
        ("batch", c_int32),
        ("cache_size", c_size_t),
        ("cache_stats", POINTER(sb_cache_stats)),
        ("interrupt", c_void_p),
        ("one_input", c_bool),
    ]


class sb_certain(Structure):
    _fields_ = [
        ("stream", c_uint64),
        ("draw", c_uint64),
        ("temperature", c_double),
        ("rank", c_int32),
        ("sequence", sb_sequence),
    ]


DESCRIBE_FN = CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)
SOURCE_FN = CFUNCTYPE(c_int, c_void_p, POINTER(sb_input), POINTER(sb_error))
SINK_FN = CFUNCTYPE(c_int, c_void_p, POINTER(sb_input), POINTER(sb_result), POINTER(sb_error))
DONE_FN = CFUNCTYPE(None, c_void_p, POINTER(sb_input))
READY_FN = CFUNCTYPE(c_bool, c_void_p, c_int)
FLUSH_FN = CFUNCTYPE(c_int, c_void_p, POINTER(sb_error))
CERTAIN_FN = CFUNCTYPE(c_int, c_void_p, POINTER(sb_input), POINTER(sb_certain), POINTER(sb_error))
LEAF_FN = CFUNCTYPE(c_bool, c_void_p, c_int32, c_int32)
STOP_FN = CFUNCTYPE(c_int, c_void_p, POINTER(c_int32), c_int32)
NEW_TEXT_FN = CFUNCTYPE(c_int, c_void_p, c_int32, c_int32, POINTER(sb_sequence))


class sb_pipe(Structure):
    _fields_ = [
        ("user", c_void_p),
        ("source", SOURCE_FN),
        ("sink", SINK_FN),
        ("done", DONE_FN),
        ("ready", READY_FN),
        ("flush", FLUSH_FN),
        ("certain", CERTAIN_FN),
    ]


class sb_decoder_spec(Structure):
    _fields_ = [
        ("vocab_size", c_int32),
        ("eos", c_int32),
        ("row_type", c_int),
        ("max_slots", c_int32),
        ("max_rows", c_int32),
        ("keeps_states", c_bool),
        ("continues", c_bool),
        ("stop_window", c_int32),
        ("user", c_void_p),
        ("is_leaf", LEAF_FN),
        ("is_stop", STOP_FN),
        ("is_new_text", NEW_TEXT_FN),
    ]


class sb_cursor_spec(Structure):
    _fields_ = [("text", c_void_p), ("size", c_size_t), ("stream", c_uint64), ("draw", c_uint64)]


class sb_cursor_use(Structure):
    _fields_ = [
        ("sequences", c_uint64),
        ("model_rows", c_uint64),
        ("entries", c_size_t),
        ("bytes", c_size_t),
    ]


class sb_job(Structure):
    _fields_ = [("stream", c_uint64), ("draw", c_uint64), ("temperature", c_double)]


class sb_topk_item(Structure):
    _fields_ = [
        ("index", c_uint64),
        ("slot", c_int32),
        ("log_p", c_double),
        ("g", c_double),
        ("log_weight", c_double),
    ]


class sb_estimate(Structure):
    _fields_ = [
        ("value", c_double),
        ("se", c_double),
        ("ess", c_double),
        ("mc_equivalent", c_double),
        ("weight_sum", c_double),
    ]


class sb_bleu_config(Structure):
    _fields_ = [
        ("tokenizer", c_int),
        ("smoothing", c_int),
        ("smooth_value", c_double),
        ("effective_order", c_bool),
    ]


class sb_text(Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]


class sb_bleu_counts(Structure):
    _fields_ = [
        ("matches", c_uint64 * NGRAM_ORDERS),
        ("totals", c_uint64 * NGRAM_ORDERS),
        ("hypothesis_size", c_uint64),
        ("reference_size", c_uint64),
    ]


class sb_bleu(Structure):
    _fields_ = [
        ("score", c_double),
        ("brevity_penalty", c_double),
        ("precisions", c_double * NGRAM_ORDERS),
    ]


class sb_diversity(Structure):
    _fields_ = [("d", c_double * NGRAM_ORDERS), ("mean", c_double)]


MIRRORED = (sb_error, sb_config, sb_trie_info, sb_method_info, sb_option, sb_model_info,
            sb_sequence, sb_result, sb_input, sb_cache_stats, sb_plan, sb_certain, sb_pipe,
            sb_decoder_spec, sb_cursor_spec, sb_cursor_use, sb_job, sb_topk_item, sb_estimate,
            sb_bleu_config, sb_text, sb_bleu_counts, sb_bleu, sb_diversity)
