/* sbeam info: shows the properties of a model. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "common/cli.h"
#include "common/options.h"
#include "common/output.h"
#include "common/utf.h"

static const option info_options[] = {{0}};

static const option_spec info_spec = {
    .command = "info",
    .synopsis = "[-m FILE | FILE] [-f text|jsonl]",
    .about = "Shows what a model file holds. Without FILE it is the default model. The options\n"
             "of commands that use a model are accepted, so that you can reuse a command line.\n",
    .formats = "text|jsonl",
    .own = info_options,
    .takes_model = true,
    .takes = options_takes_max_len,
};

typedef struct fact {
    char *name, *value;
} fact;

typedef struct fact_list {
    fact *facts;
    size_t n_facts;
} fact_list;

static void add_fact(void *user, const char *name, const char *value)
{
    fact_list *const list = user;
    list->facts = cli_realloc(list->facts, list->n_facts + 1, sizeof *list->facts);
    list->facts[list->n_facts++] = (fact){cli_copy_text(name), cli_copy_text(value)};
}

/* Returns whether the text is a whole number in JSON, as all the numbers of models are. */
static bool is_json_number(const char *text)
{
    const size_t n = strspn(text, "0123456789");
    return n > 0 && text[n] == '\0' && (n == 1 || text[0] != '0');
}

/* Writes a line for each fact. Names and values may come from the model file, so both are escaped.
 */
static void put_text(output *out, const fact_list *list)
{
    const bool unicode = utf_is_locale();
    size_t widest = 0;
    for (size_t i = 0; i < list->n_facts; i++) {
        const char *const name = list->facts[i].name;
        const size_t width = utf_text_width(name, strlen(name));
        widest = width > widest ? width : widest;
    }
    for (size_t i = 0; i < list->n_facts; i++) {
        const char *const name = list->facts[i].name, *const value = list->facts[i].value;
        const size_t width = utf_put_cut(out, name, strlen(name), SIZE_MAX, unicode);
        output_repeat(out, " ", widest + 2 - width);
        utf_put_cut(out, value, strlen(value), SIZE_MAX, unicode);
        output_char(out, '\n');
    }
}

static void put_json(output *out, const fact_list *list)
{
    output_char(out, '{');
    for (size_t i = 0; i < list->n_facts; i++) {
        const char *const name = list->facts[i].name, *const value = list->facts[i].value;
        for (char *p = list->facts[i].name; *p != '\0'; p++)
            *p = *p == ' ' ? '_' : *p;
        if (i > 0)
            output_char(out, ',');
        output_json_string(out, name, strlen(name));
        output_char(out, ':');
        if (is_json_number(value) || strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
            output_text(out, value);
        else
            output_json_string(out, value, strlen(value));
    }
    output_text(out, "}\n");
}

int cmd_info(int argc, char **argv)
{
    options parsed;
    options_open(&parsed, &info_spec, argc, argv);
    if (options_next(&parsed) == OPTIONS_STOP)
        return parsed.exit_code;
    if (parsed.n_args > 1 || (parsed.n_args == 1 && parsed.model != NULL))
        return cli_usage("info", "expected one model, as -m FILE or as FILE");
    sb_model *model;
    parsed.model = parsed.n_args == 1 ? argv[1] : parsed.model;
    const int code = options_open_model(&parsed, &model);
    if (code != EXIT_FINE)
        return code;
    fact_list list = {0};
    output out = {0};
    sb_model_describe(model, add_fact, &list);
    if (parsed.format == 0)
        put_text(&out, &list);
    else
        put_json(&out, &list);
    const bool written = output_flush(&out);
    for (size_t i = 0; i < list.n_facts; i++) {
        free(list.facts[i].name);
        free(list.facts[i].value);
    }
    free(list.facts);
    output_free(&out);
    sb_model_close(model);
    return written ? EXIT_FINE : EXIT_FAILED;
}
