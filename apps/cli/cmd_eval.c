/* sbeam eval: BLEU of lines of text (eval_text.c), or BLEU and diversity of draws (eval_draws.c).
 */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/eval.h"
#include "common/cli.h"
#include "common/options.h"
#include "common/utf.h"

enum { EVAL_HYP, EVAL_REF, EVAL_SENTENCE };
enum { FORMAT_DEFAULT = -1, FORMAT_TEXT, FORMAT_JSONL };

static const option own_options[] = {
    [EVAL_HYP] = {"hyp", 0, "FILE", "score the lines of FILE, - for standard input, as a corpus"},
    [EVAL_REF] = {"ref", 0, "FILE",
                  "references: one line per segment or stream, with tabs between alternatives; may "
                  "be repeated"},
    [EVAL_SENTENCE] = {"sentence", 0, NULL, "with --hyp: score each line separately"},
    BLEU_OPTIONS,
    {0},
};

static const option_spec eval_spec = {
    .command = "eval",
    .synopsis = "[--ref FILE]... [OPTION...] < DRAWS\n"
                "       sbeam eval --hyp FILE --ref FILE... [OPTION...]",
    .about = "Reads draws (JSON lines of sbeam draw) from standard input and writes, for each\n"
             "method, k, temperature and strength, the least, mean and largest sentence BLEU\n"
             "and the n-gram diversity of the k sequences, averaged over inputs. A draw's\n"
             "references are line stream + 1 of each FILE; without --ref there is no BLEU.\n"
             "With --hyp it scores plain text, one segment per line, as sacreBLEU does.\n",
    .formats = "text|jsonl",
    .format_default = "jsonl, with --hyp text",
    .own = own_options,
};

/* The command line. */
typedef struct eval_command {
    const char **refs; /* (n_refs) */
    size_t n_refs;
    eval_options options;
} eval_command;

/* Reads and checks the command line. Returns the exit code, or -1 to continue. */
static int parse(options *parsed, eval_command *command)
{
    int i;
    sb_error err;
    eval_options *const eval = &command->options;
    while ((i = options_next(parsed)) >= 0) {
        if (i == EVAL_HYP) {
            eval->hypotheses = parsed->value;
        } else if (i == EVAL_REF) {
            command->refs[command->n_refs++] = parsed->value;
        } else {
            eval->is_sentence = true;
        }
    }
    eval->bleu = parsed->bleu;
    eval->bleu.effective_order = eval->is_sentence;
    if (i == OPTIONS_STOP)
        return parsed->exit_code;
    if (parsed->n_args > 0)
        return cli_usage("eval", "unexpected argument '%.*s'", utf_excerpt(parsed->argv[1]),
                         parsed->argv[1]);
    if (eval->hypotheses != NULL && command->n_refs == 0)
        return cli_usage("eval", "--hyp needs references: --ref FILE");
    if (eval->hypotheses == NULL && eval->is_sentence)
        return cli_usage("eval", "--sentence needs --hyp: draws are always scored by sentence");
    int n_readers = eval->hypotheses == NULL || strcmp(eval->hypotheses, "-") == 0;
    for (size_t r = 0; r < command->n_refs; r++)
        n_readers += strcmp(command->refs[r], "-") == 0;
    if (n_readers > 1)
        return cli_usage("eval", "standard input can be read only once: give --ref a file");
    /* Without references no other check would refuse a smooth-value that is too large. */
    if (sb_bleu_config_check(&eval->bleu, &err) != SB_OK)
        return cli_error("eval", &err);
    eval->is_text = parsed->format == FORMAT_TEXT ||
                    (parsed->format == FORMAT_DEFAULT && eval->hypotheses != NULL);
    return -1;
}

int cmd_eval(int argc, char **argv)
{
    options parsed;
    eval_command command = {.refs = cli_realloc(NULL, (size_t)argc, sizeof *command.refs)};
    reference_set *references = NULL;
    sb_error err;
    options_open(&parsed, &eval_spec, argc, argv);
    parsed.format = FORMAT_DEFAULT;
    int code = parse(&parsed, &command);
    if (code >= 0)
        goto end;
    command.options.n_references = command.n_refs;
    if (command.n_refs > 0 &&
        reference_set_open(&references, command.refs, command.n_refs, &err) != SB_OK) {
        code = cli_failure("eval", "%s", err.message);
        goto end;
    }
    command.options.references = references;
    code = command.options.hypotheses != NULL ? eval_text(&command.options)
                                              : eval_draws(&command.options);

end:
    reference_set_close(references);
    free(command.refs);
    return code;
}
