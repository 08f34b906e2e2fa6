/* Fuzzes sequence-to-sequence models: opens a file, begins inputs with pieces of it, takes steps.
 *
 * An input that begins with '{' is a recipe, of which a consistent file is made, so that mutations
 * reach what comes after the reader of safetensors, which has a fuzzer of its own:
 *
 *     {"architecture": "fconv", ...}      the description, on one line
 *     encoder.tokens F32 5 2              a line for each tensor: name, type, shape
 *                                         an empty line; then bytes that fill the tensors, in turn,
 *     ...                                 from the start of these bytes for each
 *
 * Dictionaries are filled with the lines "a", "b", ... instead. Any other input is a whole file.
 * Hostile weights may give rows of NaN, which the search refuses; here nothing may crash. */
#include <stdio.h>

#include "fuzz_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    MAX_HEADER = 64 << 10,
    MAX_DATA = 64 << 10, /* bytes of tensors: a run stays short */
    MAX_TEXT = 64,       /* bytes of a source */
    MAX_VOCAB = 4096,
};

typedef struct recipe_file {
    uint8_t bytes[8 + MAX_HEADER + MAX_DATA];
    char header[MAX_HEADER];
    size_t header_size;
    uint8_t data[MAX_DATA];
    size_t data_size;
} recipe_file;

/* Appends to the header; what does not fit makes it no JSON, which is fine. */
static void put_text(recipe_file *file, const char *text, size_t size)
{
    if (size > MAX_HEADER - file->header_size)
        size = MAX_HEADER - file->header_size;
    memcpy(file->header + file->header_size, text, size);
    file->header_size += size;
}

static void put_string(recipe_file *file, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"' || text[i] == '\\')
            put_text(file, "\\", 1);
        put_text(file, text + i, 1);
    }
}

static size_t find_line(const char *text, size_t size)
{
    const char *const end = size > 0 ? memchr(text, '\n', size) : NULL;
    return end != NULL ? (size_t)(end - text) : size;
}

/* a .. z, aa .. : one token a line, distinct. */
static void fill_dictionary(uint8_t *to, size_t size)
{
    for (size_t i = 0, token = 0; i < size; token++) {
        for (size_t left = token + 1; left > 0 && i < size; left = (left - 1) / 26)
            to[i++] = (uint8_t)('a' + (left - 1) % 26);
        if (i < size)
            to[i++] = '\n';
    }
}

/* A tensor of a line such as "encoder.tokens F32 5 2". */
static void put_tensor(recipe_file *file, const char *line, const uint8_t *fill, size_t fill_size)
{
    char name[64] = "", type[8] = "";
    unsigned long dim[4] = {0}, n = 1;
    const int n_read = sscanf(line, "%63s %7s %5lu %5lu %5lu %5lu", name, type, &dim[0], &dim[1],
                              &dim[2], &dim[3]);
    if (n_read < 2)
        return;
    char shape[64] = "", text[128];
    for (int i = 0; i < n_read - 2; i++) {
        n *= dim[i];
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%lu", i > 0 ? "," : "",
                 dim[i]);
    }
    n *= strcmp(type, "U8") == 0 ? 1 : strcmp(type, "F16") == 0 ? 2 : 4;
    if (n > MAX_DATA - file->data_size)
        return;
    uint8_t *const to = file->data + file->data_size;
    if (strstr(name, "dictionary") != NULL)
        fill_dictionary(to, n);
    else
        for (size_t i = 0; i < n; i++)
            to[i] = fill_size > 0 ? fill[i % fill_size] : 0;
    put_text(file, ",\"", 2);
    put_string(file, name, strlen(name));
    put_text(file, "\":{\"dtype\":\"", 12);
    put_string(file, type, strlen(type));
    snprintf(text, sizeof text, "\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}", shape,
             file->data_size, file->data_size + n);
    put_text(file, text, strlen(text));
    file->data_size += n;
}

/* Makes the file; returns its size. */
static size_t cook(recipe_file *file, const char *recipe, size_t size)
{
    static const char before[] = "{\"__metadata__\":{\"sbeam\":\"";
    file->header_size = file->data_size = 0;
    put_text(file, before, sizeof before - 1);
    size_t at = find_line(recipe, size);
    put_string(file, recipe, at);
    put_text(file, "\"}", 2);
    const char *line[128];
    size_t n_lines = 0;
    for (at += at < size; at < size && recipe[at] != '\n'; n_lines++) {
        if (n_lines == sizeof line / sizeof *line)
            break;
        line[n_lines] = recipe + at;
        at += find_line(recipe + at, size - at);
        at += at < size;
    }
    at += at < size;
    for (size_t i = 0; i < n_lines; i++) {
        char text[160];
        const size_t length = find_line(line[i], size - (size_t)(line[i] - recipe));
        const size_t kept = length < sizeof text - 1 ? length : sizeof text - 1;
        memcpy(text, line[i], kept);
        text[kept] = '\0';
        put_tensor(file, text, (const uint8_t *)recipe + at, size - at);
    }
    put_text(file, "}", 1);
    for (int i = 0; i < 8; i++)
        file->bytes[i] = (uint8_t)((uint64_t)file->header_size >> 8 * i);
    memcpy(file->bytes + 8, file->header, file->header_size);
    memcpy(file->bytes + 8 + file->header_size, file->data, file->data_size);
    return 8 + file->header_size + file->data_size;
}

static void take_steps(const sb_model *model, const uint8_t *data, size_t size)
{
    static const char words[] = "a b c b\ta a zz";
    sb_error err = {.message = ""};
    sb_session *session = NULL;
    const int32_t vocab = sb_model_get_info(model)->vocab_size;
    float *const rows = malloc((size_t)vocab * FUZZ_ROWS * sizeof *rows);
    fuzz_check(rows != NULL && sb_session_open(&session, model, &(sb_session_spec){.max_inputs = 2},
                                               &err) == SB_OK);
    const size_t text_size = size < MAX_TEXT ? size : MAX_TEXT;
    int32_t parent[FUZZ_ROWS] = {-1, -1, -1}, token[FUZZ_ROWS] = {-1, -1, -1};
    static const int32_t input[FUZZ_ROWS] = {0, 1, 1};
    (void)sb_session_begin(session, 0, words, sizeof words - 1, &err);
    (void)sb_session_begin(session, 1, (const char *)data + size - text_size, text_size, &err);
    for (int32_t step = 0; step < FUZZ_STEPS; step++) {
        if (step == 2) /* a source that changes on the way */
            (void)sb_session_begin(session, 0, "b a", 3, &err);
        const int32_t n_rows = FUZZ_ROWS - step % 2;
        if (session_rows(session, n_rows, parent, token, input, rows, &err) != SB_OK)
            break; /* past the last position */
        for (int32_t i = 0; i < FUZZ_ROWS; i++) {
            parent[i] = (i + 1) % n_rows;
            token[i] = (step * 5 + i * 3) % vocab;
        }
    }
    sb_session_close(session);
    free(rows);
}

static void open_model(const uint8_t *data, size_t size)
{
    sb_model *model;
    sb_error err = {.message = ""};
    if (model_open_memory(&model, "fuzz", data, size, &err) != SB_OK) {
        fuzz_check(err.message[0] != '\0' && strchr(err.message, '\n') == NULL);
        return;
    }
    const sb_model_info *const info = sb_model_get_info(model);
    if (strcmp(info->kind, "seq2seq") == 0 && info->vocab_size <= MAX_VOCAB) {
        fuzz_check(info->eos >= 0 && info->max_len >= 1);
        for (int32_t t = 0; t < info->vocab_size && !sb_model_has_own_text(model); t++) {
            const char *const text = sb_model_token_text(model, t);
            fuzz_check(sb_model_find_token(model, text, strlen(text)) == t);
        }
        take_steps(model, data, size);
    }
    sb_model_close(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static recipe_file file;
    if (size == 0 || data[0] != '{') {
        open_model(data, size);
        return 0;
    }
    const size_t file_size = cook(&file, (const char *)data, size);
    uint8_t *const exact = malloc(file_size); /* for the address sanitizer */
    fuzz_check(exact != NULL);
    memcpy(exact, file.bytes, file_size);
    open_model(exact, file_size);
    free(exact);
    return 0;
}
