/* Fuzzes `sbeam shuf`. The first four bytes are the number of lines, the column of the weight, its
 * delimiter and the other options; the rest is the file. For any bytes, the output consists of
 * lines of the file, each at most as often as in the file; or there is a message and no output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "run_command.h"

enum { HEAD = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The lines of the file, and whether each was found in the output. */
typedef struct file_line {
    const char *text;
    size_t size;
    int is_used;
} file_line;

/* Splits a file as `shuf` does. Returns the number of lines. */
static size_t split(const char *text, size_t size, file_line *lines)
{
    size_t n = 0;
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3, size -= 3;
    if (size == 0)
        return 0;
    for (const char *const end = text + size; text < end; n++) {
        const char *const stop = memchr(text, '\n', (size_t)(end - text));
        lines[n] = (file_line){.text = text, .size = (size_t)((stop ? stop : end) - text)};
        text = stop != NULL ? stop + 1 : end;
    }
    return n;
}

/* Requires that each line of the output is a line of the file that was not drawn before. */
static void check_lines(const run_result *result, file_line *lines, size_t n, size_t most)
{
    size_t n_drawn = 0;
    const char *text = result->out;
    for (const char *const end = text + result->out_size; text < end; n_drawn++) {
        const char *const stop = memchr(text, '\n', (size_t)(end - text));
        run_require(stop != NULL);
        size_t i = 0;
        while (i < n && (lines[i].is_used || lines[i].size != (size_t)(stop - text) ||
                         memcmp(lines[i].text, text, lines[i].size) != 0))
            i++;
        run_require(i < n);
        lines[i].is_used = 1;
        text = stop + 1;
    }
    run_require(n_drawn <= most);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD)
        return 0;
    const int n_wanted = data[0] % 64, column = data[1] % 8, flags = data[3];
    const char delimiter[2] = {(char)data[2], '\0'};
    static const char *const formats[] = {"text", "text", "jsonl", "tsv"};
    char number[16], column_text[16];
    const char *words[16] = {"shuf", "--seed", "1", "-f", formats[flags & 3]};
    size_t n_words = 5;
    snprintf(number, sizeof number, "%d", n_wanted);
    snprintf(column_text, sizeof column_text, "%d", column);
    if (n_wanted > 0)
        words[n_words++] = "-n", words[n_words++] = number;
    if (column > 0)
        words[n_words++] = "-w", words[n_words++] = column_text;
    if (flags & 4)
        words[n_words++] = "--delimiter", words[n_words++] = delimiter;
    if (flags & 8)
        words[n_words++] = "--log-weights";

    data += HEAD;
    size -= HEAD;
    const run_result result = run_command(cmd_shuf, words, n_words, data, size);
    if (result.code != 0)
        return 0;
    file_line *const lines = calloc(size + 1, sizeof *lines);
    run_require(lines != NULL);
    const size_t n = split((const char *)data, size, lines);
    const size_t most = n_wanted > 0 && (size_t)n_wanted < n ? (size_t)n_wanted : n;
    if ((flags & 3) < 2)
        check_lines(&result, lines, n, most);
    free(lines);
    return 0;
}
