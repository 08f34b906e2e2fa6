/* Inputs are numbered as streams in the order of the command line, or by the line that they are on,
 * unless a JSON object says its stream. They are read one by one, as the search asks for them, so
 * memory does not grow with their number. */
#include "cli/draw_inputs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/input_file.h"
#include "common/utf.h"
#include "sbeam/record.h"

int draw_inputs_add_file(draw_inputs *inputs, const options *parsed)
{
    if (*parsed->value == '\0')
        return cli_usage("draw", "--file needs the name of a file, not ''");
    inputs->files[inputs->n_files++] = (draw_file){parsed->value, parsed->n_args};
    return EXIT_FINE;
}

int draw_inputs_set_form(draw_inputs *inputs, const char *value)
{
    inputs->is_jsonl = strcmp(value, "jsonl") == 0;
    if (!inputs->is_jsonl && strcmp(value, "text") != 0)
        return cli_usage("draw", "--input is text or jsonl, not '%.*s'", utf_excerpt(value), value);
    return EXIT_FINE;
}

static bool is_dash(const char *text)
{
    return strcmp(text, "-") == 0;
}

int draw_inputs_open(draw_inputs *inputs, const options *parsed, const sb_model *model)
{
    const size_t n = (size_t)parsed->n_args + inputs->n_files;
    const bool is_stdin = n == 1 && parsed->n_args == 1 && is_dash(parsed->argv[1]);
    size_t n_dashes = 0;
    inputs->parsed = parsed;
    if (inputs->is_jsonl && n > 0 && !is_stdin)
        return cli_usage("draw", "--input jsonl reads standard input and takes no %s",
                         inputs->n_files > 0 ? "--file" : "INPUT");
    for (int i = 1; i <= parsed->n_args && !is_stdin; i++)
        if (is_dash(parsed->argv[i]))
            return cli_usage("draw", "'-' (the lines of standard input) must be the only INPUT");
    for (size_t i = 0; i < inputs->n_files; i++)
        n_dashes += is_dash(inputs->files[i].path);
    if (n_dashes > 1)
        return cli_usage("draw",
                         "'--file -' reads all of standard input, so it cannot be repeated");
    if (is_stdin || inputs->is_jsonl || (n == 0 && sb_model_get_info(model)->needs_input))
        inputs->source = FROM_LINES;
    else
        inputs->source = n > 0 ? FROM_COMMAND_LINE : FROM_NOTHING;
    sb_error err;
    if (inputs->source == FROM_LINES && line_reader_open(&inputs->reader, NULL, &err) != SB_OK)
        return cli_error("draw", &err);
    return EXIT_FINE;
}

void draw_inputs_close(draw_inputs *inputs)
{
    line_reader_close(&inputs->reader);
}

uint64_t draw_inputs_count(const draw_inputs *inputs)
{
    switch (inputs->source) {
    case FROM_NOTHING: return 1;
    case FROM_COMMAND_LINE: return (uint64_t)inputs->parsed->n_args + inputs->n_files;
    default: return 0;
    }
}

bool draw_inputs_arrive(const draw_inputs *inputs)
{
    struct stat what;
    return inputs->source == FROM_LINES &&
           !(fstat(STDIN_FILENO, &what) == 0 && S_ISREG(what.st_mode));
}

bool draw_inputs_wait(draw_inputs *inputs, int milliseconds)
{
    return inputs->source != FROM_LINES || line_reader_wait(&inputs->reader, milliseconds);
}

/* Makes a copy of the text the input's, to be freed. */
static void copy_text(sb_input *input, const char *text, size_t size)
{
    char *const copy = cli_realloc(NULL, size, 1);
    memcpy(copy, text, size);
    input->text = input->user = copy;
    input->size = size;
}

static int read_line(draw_inputs *inputs, sb_input *input, sb_error *err)
{
    line_reader *const reader = &inputs->reader;
    const int more = line_reader_next(reader, err);
    if (more <= 0)
        return more;
    input->stream = reader->number - 1;
    if (!inputs->is_jsonl) {
        copy_text(input, reader->line, reader->size);
        return 1;
    }
    sb_input_record record;
    sb_error problem;
    if (sb_input_record_read(&record, reader->line, reader->size, false, &problem) != SB_OK) {
        sb_error_set(err, problem.status, "%s:%llu: %.400s", reader->name,
                     (unsigned long long)reader->number, problem.message);
        return -1;
    }
    if (record.has_stream)
        input->stream = record.stream;
    copy_text(input, record.input, record.input_size);
    sb_input_record_close(&record);
    return 1;
}

int draw_inputs_next(draw_inputs *inputs, sb_input *input, sb_error *err)
{
    const uint64_t number = (uint64_t)inputs->next_argument + inputs->next_file;
    *input = (sb_input){.text = "", .stream = number};
    if (inputs->source == FROM_LINES)
        return read_line(inputs, input, err);
    if (number == draw_inputs_count(inputs))
        return 0;
    const draw_file *const file = &inputs->files[inputs->next_file];
    if (inputs->next_file < inputs->n_files && file->after == inputs->next_argument) {
        inputs->next_file++;
        char *text;
        if (input_file_read(file->path, &text, &input->size, err) != SB_OK)
            return -1;
        input->text = input->user = text;
        return 1;
    }
    inputs->next_argument++;
    if (inputs->source == FROM_COMMAND_LINE) {
        input->text = inputs->parsed->argv[inputs->next_argument];
        input->size = strlen(input->text);
    }
    return 1;
}

bool draw_inputs_find_line(const draw_inputs *inputs, const sb_error *err, uint64_t *line)
{
    uint64_t stream;
    if (inputs->source != FROM_LINES || inputs->is_jsonl ||
        sscanf(err->message, "input %" SCNu64 ":", &stream) != 1)
        return false;
    *line = stream + 1;
    return true;
}
