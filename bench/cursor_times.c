/* cursor_times draw MODEL K T FILE   the draws of K sequences for each line of FILE, one by one
 * cursor_times chain MODEL N         the first N sequences of a cursor on a model without inputs
 * cursor_times flat N                all sequences of a cursor on a model with one row of N leaves
 *
 * Measures when the sequences of best-first search come out: the first, the one in the middle and
 * the last, in milliseconds since the call. For `draw` these are means over the lines, and the call
 * opens the session and encodes the line. A cursor is opened and closed three times; the fastest
 * time counts, and `growth_mib` is what the second and the third time added to the peak memory: a
 * leak would show there. Prints a JSON line. */
#include <math.h>
#include <sbeam/sbeam.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 3 };

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void give_up(const char *message)
{
    fprintf(stderr, "cursor_times: %s\n", message);
    exit(1);
}

/* Returns the largest memory of the process so far. That of getrusage would count the memory of the
 * process that started this one, too. */
static double peak_mib(void)
{
    FILE *const status = fopen("/proc/self/status", "r");
    char line[256];
    double kib = -1;
    while (status != NULL && kib < 0 && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtod(line + 6, NULL);
    if (kib < 0)
        give_up("/proc/self/status has no VmHWM, the peak memory; expected Linux");
    fclose(status);
    return kib / 1024;
}

static uint64_t read_count(const char *text)
{
    char *end;
    const unsigned long long n = strtoull(text, &end, 10);
    if (end == text || *end != '\0' || n < 2)
        give_up("expected a number of sequences, at least 2");
    return n;
}

static sb_model *open_file(const char *path)
{
    sb_model *model;
    sb_error err;
    if (sb_model_open(&model, path, &err) != SB_OK)
        give_up(err.message);
    return model;
}

/* When sequences came out, in milliseconds. */
struct times {
    double first, half, last;
};

static void note(struct times *times, uint64_t rank, uint64_t n, double ms)
{
    if (rank == 0)
        times->first += ms;
    if (rank == n / 2 - 1)
        times->half += ms;
    if (rank == n - 1)
        times->last += ms;
}

/* --- draws --- */

/* The data that the functions of the pipe share: one input, and the sums over all inputs. */
struct draws {
    sb_input input;
    bool is_given;
    uint64_t k, rows;
    double start;
    struct times sum;
};

static int give_input(void *user, sb_input *input, sb_error *err)
{
    struct draws *const draws = user;
    (void)err;
    if (draws->is_given)
        return 0;
    *input = draws->input;
    draws->is_given = true;
    return 1;
}

static int take_certain(void *user, const sb_input *input, const sb_certain *found, sb_error *err)
{
    struct draws *const draws = user;
    (void)input, (void)err;
    note(&draws->sum, (uint64_t)found->rank, draws->k, now_ms() - draws->start);
    return 0;
}

static int take_result(void *user, const sb_input *input, const sb_result *result, sb_error *err)
{
    struct draws *const draws = user;
    (void)input, (void)err;
    if ((uint64_t)result->n_sequences != draws->k)
        give_up("a draw has fewer than K sequences");
    draws->rows += result->model_rows;
    return 0;
}

static void measure_draws(const char *path, const char *k, const char *temperature,
                          const char *lines)
{
    sb_model *const model = open_file(path);
    sb_error err;
    sb_config config;
    sb_config_default(&config);
    if (sb_config_set(&config, "k", k, &err) != SB_OK ||
        sb_config_set(&config, "temperature", temperature, &err) != SB_OK)
        give_up(err.message);
    config.seed = 1;
    config.search = SB_SEARCH_BEST_FIRST;
    sb_plan plan;
    sb_plan_default(&plan);
    FILE *const file = fopen(lines, "r");
    if (file == NULL)
        give_up("the file of the inputs cannot be read");
    struct draws draws = {.k = read_count(k)};
    const sb_pipe pipe = {
        .user = &draws, .source = give_input, .sink = take_result, .certain = take_certain};
    char text[4096];
    uint64_t n = 0;
    for (; fgets(text, sizeof text, file) != NULL; n++) {
        draws.input = (sb_input){.text = text, .size = strcspn(text, "\n"), .stream = n};
        draws.is_given = false;
        draws.start = now_ms();
        if (sb_draw_all(model, &config, &plan, &pipe, &err) != SB_OK)
            give_up(err.message);
    }
    fclose(file);
    if (n == 0)
        give_up("the file of the inputs is empty");
    const double each = 1 / (double)n;
    printf("{\"case\":\"draw\",\"inputs\":%llu,\"sequences\":%llu,\"rows\":%llu,\"first_ms\":%.3f,"
           "\"half_ms\":%.3f,\"last_ms\":%.3f,\"search_bytes\":null,\"peak_mib\":%.1f,"
           "\"growth_mib\":null}\n",
           (unsigned long long)n, (unsigned long long)draws.k, (unsigned long long)draws.rows,
           draws.sum.first * each, draws.sum.half * each, draws.sum.last * each, peak_mib());
    sb_model_close(model);
}

/* --- cursors --- */

/* Takes n sequences. Returns what the cursor has used. */
static sb_cursor_use run_cursor(const sb_model *model, uint64_t n, struct times *times)
{
    sb_cursor *cursor;
    sb_error err = {SB_OK, "the model has fewer sequences"};
    sb_config config;
    sb_config_default(&config);
    config.seed = 1;
    *times = (struct times){0};
    const double start = now_ms();
    if (sb_cursor_open(&cursor, model, NULL, &config, &err) != SB_OK)
        give_up(err.message);
    for (uint64_t rank = 0; rank < n; rank++) {
        sb_sequence sequence;
        if (sb_cursor_next(cursor, &sequence, &err) != 1)
            give_up(err.message);
        if (rank == 0 || rank == n / 2 - 1 || rank == n - 1)
            note(times, rank, n, now_ms() - start);
    }
    const sb_cursor_use use = sb_cursor_get_use(cursor);
    sb_cursor_close(cursor);
    return use;
}

static void measure_cursor(const char *name, const sb_model *model, uint64_t n)
{
    struct times best = {.last = INFINITY};
    double first_peak = 0;
    sb_cursor_use use = {0};
    for (int i = 0; i < REPEATS; i++) {
        struct times times;
        use = run_cursor(model, n, &times);
        best = times.last < best.last ? times : best;
        first_peak = i == 0 ? peak_mib() : first_peak;
    }
    printf("{\"case\":\"%s\",\"inputs\":1,\"sequences\":%llu,\"rows\":%llu,\"first_ms\":%.3f,"
           "\"half_ms\":%.3f,\"last_ms\":%.3f,\"search_bytes\":%zu,\"peak_mib\":%.1f,"
           "\"growth_mib\":%.1f}\n",
           name, (unsigned long long)n, (unsigned long long)use.model_rows, best.first, best.half,
           best.last, use.bytes, peak_mib(), peak_mib() - first_peak);
}

/* --- a model with one row, whose children are all leaves --- */

struct flat {
    size_t n;
    double row[];
};

static sb_status session_open(const void *self, const sb_session_spec *spec, void **session,
                              sb_error *err)
{
    (void)spec, (void)err;
    memcpy(session, &self, sizeof self); /* there are no states: the row is the session */
    return SB_OK;
}

static void session_close(void *session)
{
    (void)session;
}

static sb_status step(void *session, int32_t n_rows, const int32_t *from, const int32_t *to,
                      const int32_t *token, const int32_t *input, void *rows, sb_error *err)
{
    (void)from, (void)to, (void)token, (void)input, (void)err;
    const struct flat *const flat = session;
    for (int32_t i = 0; i < n_rows; i++)
        memcpy((double *)rows + (size_t)i * flat->n, flat->row, flat->n * sizeof *flat->row);
    return SB_OK;
}

static sb_model *open_flat(uint64_t n)
{
    if (n > INT32_MAX)
        give_up("the number of leaves is too large");
    struct flat *const flat = malloc(sizeof *flat + (size_t)n * sizeof *flat->row);
    if (flat == NULL)
        give_up("out of memory");
    flat->n = (size_t)n;
    uint32_t random = 20190515;
    for (size_t i = 0; i < flat->n; i++) { /* probabilities that differ by up to e^8 */
        random = random * 1664525u + 1013904223u;
        flat->row[i] = (double)(random >> 8) * 0x1p-21;
    }
    const sb_model_ops ops = {
        .session_open = session_open, .session_close = session_close, .step = step, .close = free};
    const sb_model_info info = {.kind = "flat",
                                .vocab_size = (int32_t)n,
                                .eos = -1,
                                .row_type = SB_ROW_DOUBLE,
                                .max_len = 1};
    sb_model *model;
    sb_error err;
    if (sb_model_open_custom(&model, &ops, &info, flat, &err) != SB_OK)
        give_up(err.message);
    return model;
}

int main(int argc, char **argv)
{
    const char *const what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "draw") == 0 && argc == 6) {
        measure_draws(argv[2], argv[3], argv[4], argv[5]);
        return 0;
    }
    const bool is_chain = strcmp(what, "chain") == 0 && argc == 4;
    if (!is_chain && !(strcmp(what, "flat") == 0 && argc == 3)) {
        fputs("usage: cursor_times draw MODEL K T FILE | chain MODEL N | flat N\n", stderr);
        return 2;
    }
    const uint64_t n = read_count(argv[argc - 1]);
    sb_model *const model = is_chain ? open_file(argv[2]) : open_flat(n);
    measure_cursor(what, model, n);
    sb_model_close(model);
    return 0;
}
