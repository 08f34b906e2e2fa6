/* Markov chains written as JSON:
 *
 *     {"format":"sbeam-chain","vocab":["a","b","</s>"],"eos":"</s>",
 *      "start":[0.5,0.4,0.1],"next":{"a":[..],"b":[..]}}
 *
 * "start" is the distribution of the first token. "next" holds the distribution of the token that
 * follows each token except eos. All lists are in the order of "vocab". State 0 is the start, and
 * the other states follow in the order of their tokens. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/utf8.h"
#include "model/automaton.h"
#include "model/backend.h"

static sb_status fail_at(const json_doc *doc, const json_value *container, sb_error *err,
                         const char *what, const char *about)
{
    const int shown = utf8_excerpt(about, strlen(about));
    return status_fail(err, SB_ERR_FORMAT, "%s:%zu: %s '%.*s'", doc->name, json_line(container),
                       what, shown, about);
}

static sb_status read_vocab(const json_doc *doc, automaton *machine, sb_error *err)
{
    const json_value *const list = json_get(doc->root, "vocab");
    if (!json_is_array(list))
        return fail_at(doc, doc->root, err, "expected a list of tokens in", "vocab");
    for (size_t i = 0; i < json_n_items(list); i++) {
        const char *const token = json_text(json_item(list, i));
        if (token == NULL)
            return fail_at(doc, list, err, "expected only strings in", "vocab");
        if (!utf8_is_token(token, strlen(token)))
            return fail_at(doc, list, err,
                           "expected tokens that are not empty and have no white space, found",
                           token);
        int32_t id;
        bool is_new;
        if (vocab_add(&machine->words, token, strlen(token), &id, &is_new) != SB_OK)
            return status_no_memory(err);
        if (!is_new)
            return fail_at(doc, list, err, "vocab has a duplicate token", token);
    }
    const char *const eos = json_text(json_get(doc->root, "eos"));
    if (eos == NULL)
        return fail_at(doc, doc->root, err, "expected a token of the vocab in", "eos");
    machine->eos = vocab_find(&machine->words, eos, strlen(eos));
    if (machine->eos < 0)
        return fail_at(doc, doc->root, err, "expected a token of the vocab in eos, found", eos);
    return SB_OK;
}

/* Adds the state whose tokens have the probabilities in `row`. `owner` names it in messages, and
 * `outer` is the object that should contain the row. */
static sb_status read_row(const json_doc *doc, automaton *machine, const json_value *outer,
                          const json_value *row, const char *owner, sb_error *err)
{
    const int32_t n = machine->words.n;
    if (!json_is_array(row))
        return fail_at(doc, outer, err, "expected a list of probabilities for", owner);
    if (json_n_items(row) != (size_t)n)
        return status_fail(
            err, SB_ERR_FORMAT, "%s:%zu: '%.*s': expected %d probabilities, found %zu", doc->name,
            json_line(row), utf8_excerpt(owner, strlen(owner)), owner, (int)n, json_n_items(row));
    int32_t state;
    size_t first;
    const sb_status status = automaton_add_state(machine, (size_t)n, &state, &first, err);
    if (status != SB_OK)
        return status;
    long double sum = 0;
    for (int32_t t = 0; t < n; t++) {
        const json_value *const value = json_item(row, (size_t)t);
        const double p = json_number(value);
        if (!json_is_number(value) || !(p >= 0))
            return fail_at(doc, row, err, "expected probabilities of at least 0 for", owner);
        sum += p;
        const int32_t next = t < machine->eos ? t + 1 : t; /* eos has no state */
        machine->edges[first + (size_t)t] = (automaton_edge){
            .token = t, .next = t == machine->eos ? AUTOMATON_LEAF : next, .log_p = log(p)};
    }
    if (!automaton_is_one(sum))
        return status_fail(err, SB_ERR_FORMAT,
                           "%s:%zu: '%.*s': the probabilities sum to %.9Lg, expected 1", doc->name,
                           json_line(row), utf8_excerpt(owner, strlen(owner)), owner, sum);
    return SB_OK;
}

static sb_status read_next(const json_doc *doc, automaton *machine, sb_error *err)
{
    const json_value *const next = json_get(doc->root, "next");
    if (!json_is_object(next))
        return fail_at(doc, doc->root, err, "expected an object of rows in", "next");
    for (size_t i = 0; i < json_n_members(next); i++) {
        const char *const token = json_key(next, i);
        const int32_t id = vocab_find(&machine->words, token, strlen(token));
        if (id < 0)
            return fail_at(doc, next, err, "next has a row for an unknown token,", token);
        if (id == machine->eos)
            return fail_at(doc, next, err, "nothing follows the end token, but next has a row for",
                           token);
    }
    for (int32_t t = 0; t < machine->words.n; t++) {
        const char *const token = vocab_text(&machine->words, t);
        if (t == machine->eos)
            continue;
        const json_value *const row = json_get(next, token);
        if (row == NULL)
            return fail_at(doc, next, err, "next lacks a row for", token);
        const sb_status status = read_row(doc, machine, next, row, token, err);
        if (status != SB_OK)
            return status;
    }
    return SB_OK;
}

static sb_status open_chain(sb_model **model, const model_source *source, sb_error *err)
{
    static const char *const keys[] = {"format", "vocab", "eos", "start", "next", NULL};
    const json_doc *const doc = source->doc;
    automaton *machine;
    sb_status status = json_doc_check_keys(doc, keys, err);
    if (status == SB_OK)
        status = automaton_open(&machine, chain_backend.kind, err);
    if (status != SB_OK)
        return status;
    status = read_vocab(doc, machine, err);
    if (status == SB_OK)
        status = read_row(doc, machine, doc->root, json_get(doc->root, "start"), "start", err);
    if (status == SB_OK)
        status = read_next(doc, machine, err);
    if (status == SB_OK)
        status = automaton_finish(machine, model, err);
    if (status != SB_OK)
        automaton_close(machine);
    return status;
}

const model_backend chain_backend = {.kind = "chain",
                                     .expected = "a JSON chain (\"format\":\"sbeam-chain\")",
                                     .json_format = "sbeam-chain",
                                     .open = open_chain};
