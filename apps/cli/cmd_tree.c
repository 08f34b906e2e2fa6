/* sbeam tree: shows a small model's tree with its noise, as in Figure 1 of the paper. */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/tree_nodes.h"
#include "common/cli.h"
#include "common/input_file.h"
#include "common/model_path.h"
#include "common/options.h"
#include "common/terminal.h"

enum { FORMAT_TEXT, FORMAT_SVG, FORMAT_JSONL };

static const option tree_options[] = {
    {"file", 0, "FILE",
     "the whole content of FILE, which may have several lines, is the input; '-' is standard "
     "input"},
    {0},
};

/* Returns whether the setting changes the tree or the beam of SBS. These are the settings of method
 * explicit, which computes the whole tree: the others only say how to search, or when to end. */
static bool takes_setting(const sb_option *setting)
{
    return sb_method_takes(SB_METHOD_EXPLICIT, setting->name) &&
           strcmp(setting->name, "method") != 0;
}

static const option_spec tree_spec = {
    .command = "tree",
    .synopsis = "[-m FILE] [-k N] [--seed S] [-f text|svg|jsonl] [INPUT]",
    .about = "Shows the whole tree of a small model with the noise of one draw: the\n"
             "probability of every node, its perturbed log-probability G, the k nodes of each\n"
             "level that Stochastic Beam Search keeps, and the leaves that it samples. They\n"
             "are those of 'sbeam draw' with the same seed. The prefix to start from is INPUT\n"
             "or the content of a file (--file).\n",
    .formats = "text|svg|jsonl",
    .own = tree_options,
    .takes_model = true,
    .takes = takes_setting,
};

/* Returns the name of the file without its folders. */
static const char *base_name(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

int cmd_tree(int argc, char **argv)
{
    options parsed;
    const char *file = NULL;
    bool has_files = false; /* more than one */
    int i;
    options_open(&parsed, &tree_spec, argc, argv);
    while ((i = options_next(&parsed)) >= 0) {
        has_files = file != NULL;
        file = parsed.value;
    }
    if (i == OPTIONS_STOP)
        return parsed.exit_code;
    if (parsed.n_args + (file != NULL) + has_files > 1)
        return cli_usage("tree", "the tree has one root, so only one INPUT or --file can be given");
    if (file != NULL && *file == '\0')
        return cli_usage("tree", "--file needs the name of a file, not ''");
    if (parsed.n_temperatures > 1)
        return cli_usage("tree", "-T takes one temperature here, not a list");
    int code = options_check(&parsed);
    if (code != EXIT_FINE)
        return code;
    sb_error err;
    char *text = NULL;
    size_t size = 0;
    if (file != NULL && input_file_read(file, &text, &size, &err) != SB_OK)
        return cli_error("tree", &err);
    sb_model *model;
    char *const path = model_path_find("tree", parsed.model);
    parsed.model = path;
    code = path == NULL ? EXIT_USAGE : options_open_model(&parsed, &model);
    if (code != EXIT_FINE) {
        free(path);
        free(text);
        return code;
    }
    const int32_t max_len = sb_model_get_info(model)->max_len;
    if (max_len > 0 && parsed.config.max_len > max_len)
        parsed.config.max_len = max_len; /* as sb_draw does */
    const char *const argument = parsed.n_args == 1 ? argv[1] : "";
    tree grown = {.model = model,
                  .config = &parsed.config,
                  .input = file != NULL ? text : argument,
                  .input_size = file != NULL ? size : strlen(argument),
                  .model_name = base_name(path)};
    if (tree_grow(&grown, &err) != SB_OK) {
        code = cli_error("tree", &err);
    } else {
        output out = {0};
        const terminal term = terminal_look();
        if (parsed.format == FORMAT_TEXT)
            tree_write_text(&grown, &term, &out);
        else if (parsed.format == FORMAT_SVG)
            tree_write_svg(&grown, &out);
        else
            tree_write_jsonl(&grown, &out);
        code = output_flush(&out) ? EXIT_FINE : EXIT_FAILED;
        output_free(&out);
        tree_free(&grown);
    }
    sb_model_close(model);
    free(path);
    free(text);
    return code;
}
