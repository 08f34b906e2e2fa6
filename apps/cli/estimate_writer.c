/* The output of sbeam estimate as JSON lines. estimate_text.c writes the tables for people. */
#include <inttypes.h>

#include "cli/estimate.h"

/* The 97.5 % point of the normal distribution. */
static const double normal_point = 1.959963984540054;

estimate_interval estimate_get_interval(const sb_estimate *estimate)
{
    return (estimate_interval){estimate->value - normal_point * estimate->se,
                               estimate->value + normal_point * estimate->se};
}

void estimate_writer_close(estimate_writer *writer)
{
    output_free(&writer->f);
    output_free(&writer->out);
}

void estimate_writer_start_draw(estimate_writer *writer)
{
    writer->in_block = false;
}

void estimate_writer_add(estimate_writer *writer, const sb_record *record, sb_estimator estimator,
                         int32_t k, const sb_estimate *estimate)
{
    output *const out = &writer->out;
    if (writer->is_text) {
        estimate_text_add(writer, record, estimator, k, estimate);
        return;
    }
    const estimate_interval interval = estimate_get_interval(estimate);
    output_format(out, "{\"stream\":%" PRIu64, record->stream);
    output_key_number(out, "temperature", record->temperature);
    output_format(out, ",\"draw\":%" PRIu64 ",\"estimator\":\"%s\",\"k\":%d", record->draw,
                  sb_estimator_name(estimator), (int)k);
    output_key_number(out, "estimate", estimate->value);
    output_key_number(out, "se", estimate->se);
    output_key_number(out, "ess", estimate->ess);
    output_key_number(out, "mc_equivalent", estimate->mc_equivalent);
    output_key_number(out, "weight_sum", estimate->weight_sum);
    output_key_number(out, "ci_low", interval.low);
    output_key_number(out, "ci_high", interval.high);
    output_text(out, "}\n");
}

static void put_group(output *out, const estimate_group *group)
{
    output_format(out, "{\"stream\":%" PRIu64, group->stream);
    output_key_number(out, "temperature", group->temperature);
    output_format(out, ",\"estimator\":\"%s\",\"k\":%d,\"draws\":%zu",
                  sb_estimator_name(group->estimator), (int)group->k, group->n_draws);
    output_key_number(out, "mean", group->mean);
    output_key_number(out, "p025", group->p025);
    output_key_number(out, "p975", group->p975);
    output_key_number(out, "bias", group->bias);
    output_key_number(out, "rmse", group->rmse);
    output_key_number(out, "sd", group->sd);
    output_key_number(out, "se_mean", group->se_mean);
    output_text(out, "}\n");
}

void estimate_writer_add_groups(estimate_writer *writer, const estimate_group *groups, size_t n)
{
    if (writer->is_text) {
        estimate_text_add_groups(writer, groups, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        put_group(&writer->out, &groups[i]);
}
