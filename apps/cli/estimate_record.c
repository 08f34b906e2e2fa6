/* The estimates of one draw.
 *
 * The first j sequences of a draw of SBS, or of independent samples, are the draw of size j, and
 * the threshold of an SBS draw of size j is the G of sequence j + 1. So one record gives a whole
 * curve over k. Beams are not nested: a beam gives only its own k. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "cli/estimate.h"
#include "common/cli.h"

typedef struct curve_work {
    const estimate_request *request;
    const sb_record *record;
    const double *f, *log_p; /* (n_sequences) */
    size_t n_given;          /* estimates passed on so far */
} curve_work;

/* Passes on the estimate from the first n sequences as the one at k. */
static sb_status give_estimate(curve_work *work, sb_estimator estimator, int32_t k, size_t n,
                               double kappa, sb_error *err)
{
    sb_estimate estimate;
    const sb_status status =
        sb_estimate_compute(estimator, work->f, work->log_p, n, kappa, &estimate, err);
    if (status != SB_OK)
        return status;
    work->n_given++;
    work->request->take(work->request->user, work->record, estimator, k, &estimate);
    return SB_OK;
}

/* Finds the threshold of the first n sequences: G of the sequence after them, which must exist. */
static sb_status find_kappa(const sb_record *record, size_t n, double *kappa, sb_error *err)
{
    *kappa = record->sequences[n].g;
    if (isnan(*kappa))
        return sb_error_set(err, SB_ERR_INPUT,
                            "sequence %zu: \"g\" is missing, but it is the threshold of the "
                            "sequences before it",
                            n + 1);
    return SB_OK;
}

/* Passes on the two estimates of SBS at one k. */
static sb_status estimate_sbs(curve_work *work, int32_t k, sb_error *err)
{
    const sb_record *const record = work->record;
    const size_t n_drawn = record->n_sequences;
    size_t n = (size_t)k < n_drawn ? (size_t)k : n_drawn;
    double kappa = record->kappa;
    sb_status status = SB_OK;
    if (work->request->sacrifice && (size_t)k <= n_drawn) {
        if (--n == 0)
            return SB_OK; /* nothing is left to estimate from */
        status = find_kappa(record, n, &kappa, err);
    } else if (n < n_drawn) {
        status = find_kappa(record, n, &kappa, err);
    } else if (isnan(kappa)) {
        status = sb_error_set(err, SB_ERR_INPUT,
                              "the draw has no \"kappa\", which %s needs: draw without --no-kappa, "
                              "or give --sacrifice%s",
                              sb_estimator_name(SB_ESTIMATOR_SBS),
                              k > 1 ? ", or a --curve that ends below its k" : "");
    }
    for (int i = SB_ESTIMATOR_SBS; status == SB_OK && i <= SB_ESTIMATOR_SBS_NORMALISED; i++)
        status = give_estimate(work, (sb_estimator)i, k, n, kappa, err);
    return status;
}

static sb_status estimate_beam(curve_work *work, sb_error *err)
{
    const sb_record *const record = work->record;
    const estimate_request *const request = work->request;
    sb_status status = SB_OK;
    if (request->has_curve &&
        ((uint64_t)record->k < request->first_k || (uint64_t)record->k > request->last_k))
        return SB_OK;
    for (int i = SB_ESTIMATOR_BEAM; status == SB_OK && i <= SB_ESTIMATOR_BEAM_NORMALISED; i++)
        status = give_estimate(work, (sb_estimator)i, record->k, record->n_sequences, NAN, err);
    return status;
}

static sb_law get_law(const sb_record *record)
{
    return sb_method_get_info(record->method)->law;
}

/* Returns whether the draw holds every sequence of the model. Independent samples never do, even if
 * the record says so. */
static bool is_exhausted(const sb_record *record)
{
    return record->exhausted && get_law(record) != SB_LAW_INDEPENDENT;
}

/* Passes on the estimates at every k that was requested and that the draw holds. */
static sb_status estimate_nested(curve_work *work, sb_error *err)
{
    const sb_record *const record = work->record;
    const estimate_request *const request = work->request;
    const uint64_t first = request->has_curve ? request->first_k : (uint64_t)record->k;
    const uint64_t wanted = request->has_curve ? request->last_k : (uint64_t)record->k;
    const bool has_all = wanted <= record->n_sequences || is_exhausted(record);
    const uint64_t last = has_all ? wanted : record->n_sequences;
    sb_status status = SB_OK;
    for (uint64_t k = first; status == SB_OK && k <= last; k++)
        status = get_law(record) == SB_LAW_INDEPENDENT
                     ? give_estimate(work, SB_ESTIMATOR_MC, (int32_t)k, (size_t)k, NAN, err)
                     : estimate_sbs(work, (int32_t)k, err);
    if (status != SB_OK || work->n_given > 0)
        return status;
    if (first > last)
        return sb_error_set(err, SB_ERR_INPUT,
                            "the draw has %zu sequences, but --curve begins at %" PRIu64,
                            record->n_sequences, first);
    return sb_error_set(err, SB_ERR_INPUT,
                        "--sacrifice takes the only sequence and leaves nothing to estimate from");
}

sb_status estimate_record_check(const sb_record *record, sb_error *err)
{
    const sb_method_info *const method = sb_method_get_info(record->method);
    if (method->why_no_estimate != NULL)
        return sb_error_set(err, SB_ERR_INPUT, "there is no estimator for method %s: %s",
                            sb_method_name(record->method), method->why_no_estimate);
    if (record->stopped_by != SB_STOPPED_BY_NOTHING)
        return sb_error_set(
            err, SB_ERR_INPUT,
            "the draw has a rule that ends it (--until), so its number of sequences "
            "depends on the sample, and estimates from it would be biased; choose k "
            "by this draw and estimate from another draw of k sequences, without "
            "--until");
    if (record->n_sequences == 0)
        return sb_error_set(err, SB_ERR_INPUT, "the draw has no sequences");
    return SB_OK;
}

sb_status estimate_record(const estimate_request *request, const sb_record *record, const double *f,
                          sb_error *err)
{
    double *const log_p = cli_realloc(NULL, record->n_sequences, sizeof *log_p);
    for (size_t i = 0; i < record->n_sequences; i++)
        log_p[i] = record->sequences[i].log_p;
    curve_work work = {.request = request, .record = record, .f = f, .log_p = log_p};
    const sb_status status = get_law(record) == SB_LAW_DETERMINISTIC ? estimate_beam(&work, err)
                                                                     : estimate_nested(&work, err);
    free(log_p);
    return status;
}
