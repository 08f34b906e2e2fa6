/* Draws for all inputs and writes the results.
 *
 * sb_draw_all takes the inputs (draw_inputs.h) one by one and returns the results in order for any
 * number of threads, so memory does not grow with the number of inputs. */
#include "cli/draw_run.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/cache_report.h"
#include "cli/draw_writer.h"
#include "common/cli.h"
#include "common/input_file.h"
#include "common/terminal.h"

/* The writer of each format. */
static const draw_write_fn writers[] = {draw_write_text, draw_write_jsonl, draw_write_tsv};

/* The source of the inputs, and the writer of the results. */
typedef struct draw_work {
    draw_inputs *inputs;
    draw_write_fn write;
    draw_writer writer;
    bool each;
    progress bar;
    bool has_begun;  /* the library has asked for an input */
    bool has_failed; /* a message has been printed, or is in err */
    sb_error err;
} draw_work;

static int give_input(void *user, sb_input *input, sb_error *err)
{
    draw_work *const work = user;
    work->has_begun = true;
    const int more = draw_inputs_next(work->inputs, input, &work->err);
    work->has_failed = work->has_failed || more < 0;
    if (more < 0 && err != NULL)
        *err = work->err;
    return more;
}

static bool wait_for_input(void *user, int milliseconds)
{
    draw_work *const work = user;
    return draw_inputs_wait(work->inputs, milliseconds);
}

static void free_input(void *user, const sb_input *input)
{
    (void)user;
    free(input->user);
}

/* Stops the work after a failed write, whose message has been printed. */
static int stop_writing(draw_work *work)
{
    work->has_failed = true;
    sb_error_set(&work->err, SB_ERR_STOPPED, "%s", "");
    return 1;
}

static int flush_results(void *user, sb_error *err)
{
    draw_work *const work = user;
    (void)err;
    progress_hide(&work->bar);
    return output_flush(&work->writer.out) ? 0 : stop_writing(work);
}

/* Stops the work with work->err. */
static int stop_with_error(draw_work *work, sb_error *err)
{
    work->has_failed = true;
    if (err != NULL)
        *err = work->err;
    return 1;
}

static int take_result(void *user, const sb_input *input, const sb_result *result, sb_error *err)
{
    draw_work *const work = user;
    progress_hide(&work->bar);
    if (work->write(&work->writer, input, result, &work->err) != SB_OK)
        return stop_with_error(work, err);
    if (!output_flush_in_time(&work->writer.out))
        return stop_writing(work);
    progress_step(&work->bar);
    return 0;
}

/* Counts a sequence that is certain. With --each it also writes the sequence, at once. */
static int take_certain(void *user, const sb_input *input, const sb_certain *found, sb_error *err)
{
    draw_work *const work = user;
    (void)input;
    if (work->each) {
        progress_hide(&work->bar);
        if (draw_write_partial(&work->writer, found, &work->err) != SB_OK)
            return stop_with_error(work, err);
        if (!output_flush(&work->writer.out))
            return stop_writing(work);
    }
    progress_find(&work->bar);
    return 0;
}

/* Prints the message, with the line of the input that it names, and returns the exit code. The
 * library refuses options before it asks for an input; errors found later are not usage errors. */
static int refuse(const draw_work *work, const sb_error *err)
{
    uint64_t line;
    if (!work->has_begun)
        return cli_error("draw", err);
    if (!draw_inputs_find_line(work->inputs, err, &line))
        return cli_failure("draw", "%s", err->message);
    return cli_failure("draw", "standard input:%" PRIu64 ": %s", line, err->message);
}

/* Says so if data on standard input was not read: `echo PREFIX | sbeam draw -m lm.arpa` looks like
 * a draw from the prefix. */
static void hint_at_stdin(const draw_inputs *inputs)
{
    if (inputs->source == FROM_NOTHING && input_is_waiting())
        fprintf(stderr,
                "sbeam draw: hint: the data on standard input was not read; add '-' to draw "
                "from each of its lines instead of the empty prefix\n");
}

/* If the last bits of a row depend on the rows that are computed with it, and if inputs arrive over
 * time, makes the plan compute one input at a time, so that the time of arrival cannot change a
 * draw. With several threads it computes one draw at a time, because the threads share the draws of
 * an input differently each time. */
static void choose_together(sb_plan *plan, const draw_inputs *inputs, const options *parsed,
                            const sb_model *model)
{
    const sb_model_info *const info = sb_model_get_info(model);
    if (!info->rows_depend_on_batch || !draw_inputs_arrive(inputs) || options_has(parsed, "batch"))
        return;
    plan->one_input = true;
    if (plan->threads > 1 && !info->has_threads)
        plan->batch = 1;
}

int draw_run(const draw_task *task)
{
    draw_inputs *const inputs = task->inputs;
    const options *const parsed = task->parsed;
    const sb_model *const model = task->model;
    sb_plan plan = parsed->plan;
    draw_work work = {.inputs = inputs, .each = task->each};
    int code = draw_inputs_open(inputs, parsed, model);
    if (code != EXIT_FINE)
        return code;
    work.write = writers[parsed->format];
    work.writer = (draw_writer){.model = model,
                                .config = &parsed->config,
                                .many_draws = plan.n_draws > 1,
                                .term = terminal_look()};
    sb_error err;
    if (parsed->format == DRAW_JSONL &&
        sb_record_writer_open(&work.writer.records, model, &parsed->config, &err) != SB_OK) {
        draw_inputs_close(inputs);
        return cli_error("draw", &err);
    }
    const uint64_t per_input = parsed->n_temperatures * plan.n_draws;
    progress_open(&work.bar, per_input * draw_inputs_count(inputs));
    sb_cache_stats cached = {0};
    plan.temperatures = parsed->temperatures;
    plan.n_temperatures = parsed->n_temperatures;
    plan.cache_stats = &cached;
    choose_together(&plan, inputs, parsed, model);
    const sb_pipe pipe = {.user = &work,
                          .source = give_input,
                          .sink = take_result,
                          .done = free_input,
                          .ready = wait_for_input,
                          .flush = flush_results,
                          .certain = work.each || work.bar.is_on ? take_certain : NULL};
    const sb_status status = sb_draw_all(model, &parsed->config, &plan, &pipe, &err);
    progress_close(&work.bar);
    if (status == SB_OK)
        cache_report_print(&plan);
    if (status == SB_OK && parsed->format == DRAW_TSV && work.writer.n_records == 0)
        draw_write_names(&work.writer);
    const bool was_reported = work.has_failed && work.err.status == SB_ERR_STOPPED;
    if (!was_reported && !output_flush(&work.writer.out))
        code = EXIT_FAILED;
    else if (status != SB_OK && !was_reported)
        code = refuse(&work, work.has_failed ? &work.err : &err);
    else if (status != SB_OK)
        code = EXIT_FAILED;
    else
        hint_at_stdin(inputs);
    if (code == EXIT_FINE && task->stats_file != NULL)
        code = cache_report_write(&plan, task->stats_file);
    sb_record_writer_close(work.writer.records);
    output_free(&work.writer.out);
    draw_inputs_close(inputs);
    return code;
}
