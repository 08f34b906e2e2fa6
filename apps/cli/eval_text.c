/* BLEU of a file of hypotheses, as a corpus or line by line. Nothing is written before all lines
 * are read, because only then is it known that the files have the same number of lines. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/eval.h"
#include "common/cli.h"
#include "common/line_reader.h"
#include "common/output.h"

typedef struct text_work {
    const eval_options *options;
    line_reader reader;
    sb_bleu_counts corpus;
    size_t n_references; /* of each segment; 0 if it varies */
    output out;
} text_work;

static void put_sentence(text_work *work, double score)
{
    if (work->options->is_text) {
        output_format(&work->out, "%.2f\n", score);
        return;
    }
    output_text(&work->out, "{\"bleu\":");
    output_json_number(&work->out, score);
    output_text(&work->out, "}\n");
}

/* Scores the line that was read last. */
static sb_status score_line(text_work *work, sb_error *err)
{
    const eval_options *const options = work->options;
    const uint64_t segment = work->reader.number - 1;
    const sb_text *texts;
    size_t n;
    sb_status status = reference_set_get(options->references, segment, &texts, &n, err);
    if (status != SB_OK)
        return status;
    sb_bleu_references *references;
    status = sb_bleu_references_open(&references, &options->bleu, texts, n, err);
    if (status != SB_OK)
        return status;
    sb_bleu_counts counts;
    status = sb_bleu_count(references, work->reader.line, work->reader.size, &counts, err);
    sb_bleu_references_close(references);
    if (status != SB_OK)
        return status;
    sb_bleu_counts_add(&work->corpus, &counts);
    if (segment == 0)
        work->n_references = n;
    else if (n != work->n_references)
        work->n_references = 0;
    if (options->is_sentence) {
        sb_bleu bleu;
        sb_bleu_score(&counts, &options->bleu, &bleu);
        put_sentence(work, bleu.score);
    }
    return SB_OK;
}

static bool has_references(const text_work *work, uint64_t segment)
{
    for (size_t i = 0; i < work->options->n_references; i++)
        if (segment >= reference_set_lines(work->options->references, i))
            return false;
    return true;
}

/* Scores all lines. Returns the exit code. */
static int score_lines(text_work *work)
{
    sb_error err;
    int more;
    while ((more = line_reader_next(&work->reader, &err)) > 0) {
        if (has_references(work, work->reader.number - 1) && score_line(work, &err) != SB_OK)
            return cli_failure("eval", "%s", err.message);
    }
    if (more < 0)
        return cli_error("eval", &err);
    for (size_t i = 0; i < work->options->n_references; i++) {
        const uint64_t n = reference_set_lines(work->options->references, i);
        if (n != work->reader.number)
            return cli_failure("eval", "%s has %" PRIu64 " lines, but %s has %" PRIu64,
                               work->reader.name, work->reader.number,
                               reference_set_name(work->options->references, i), n);
    }
    return EXIT_FINE;
}

static void put_corpus(text_work *work)
{
    const sb_bleu_counts *const counts = &work->corpus;
    char signature[160];
    sb_bleu bleu;
    sb_bleu_score(counts, &work->options->bleu, &bleu);
    sb_bleu_signature(&work->options->bleu, work->n_references, signature, sizeof signature);
    output *const out = &work->out;
    if (!work->options->is_text) {
        output_text(out, "{\"bleu\":");
        output_json_number(out, bleu.score);
        output_key_number(out, "bp", bleu.brevity_penalty);
        output_format(out, ",\"signature\":\"%s\"}\n", signature);
        return;
    }
    const uint64_t c = counts->hypothesis_size, r = counts->reference_size;
    output_format(out, "BLEU|%s = %.2f %.1f/%.1f/%.1f/%.1f ", signature, bleu.score,
                  bleu.precisions[0], bleu.precisions[1], bleu.precisions[2], bleu.precisions[3]);
    output_format(out, "(BP = %.3f ratio = %.3f hyp_len = %" PRIu64 " ref_len = %" PRIu64 ")\n",
                  bleu.brevity_penalty, r > 0 ? (double)c / (double)r : 0, c, r);
}

int eval_text(const eval_options *options)
{
    text_work work = {.options = options};
    sb_error err;
    if (line_reader_open(&work.reader, options->hypotheses, &err) != SB_OK)
        return cli_failure("eval", "%s", err.message);
    int code = score_lines(&work);
    if (code == EXIT_FINE && !options->is_sentence) {
        if (work.reader.number == 0)
            code = cli_failure("eval", "%s: there is no line to score", work.reader.name);
        else
            put_corpus(&work);
    }
    if (code == EXIT_FINE && !output_flush(&work.out))
        code = EXIT_FAILED;
    output_free(&work.out);
    line_reader_close(&work.reader);
    return code;
}
