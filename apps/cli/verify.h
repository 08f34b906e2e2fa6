/* The parts of sbeam verify: cmd_verify.c reads records and chooses some, verify_repeat.c makes a
 * draw again, verify_compare.c compares the two, verify_report.c prints what was found. */
#ifndef CLI_VERIFY_H
#define CLI_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/output.h"
#include "common/terminal.h"
#include "sbeam/draw.h"
#include "sbeam/record.h"

/* --- repeating a draw --- */

/* How a repeated draw differs from its record. */
typedef struct verify_outcome {
    bool is_equal;        /* every bit is the same */
    double rounding;      /* the largest difference of a log-probability */
    size_t n_other;       /* sequences that were not drawn again */
    bool has_other_kappa; /* the threshold differs by more than rounding */
} verify_outcome;

/* The list of --allow. It is read when a record needs it: once as text and once as tokens, because
 * a record says which of them its model read. */
typedef struct verify_list {
    const char *path;  /* NULL: not given */
    sb_trie *tries[2]; /* [1]: pretokenized; NULL: not read yet */
} verify_list;

/* Frees the list. */
void verify_list_close(verify_list *list);

/* Makes the record's draw again with `model` and compares every field. Fails with the first
 * difference, unless all are rounding or can follow from it. */
sb_status verify_repeat(sb_model *model, const sb_plan *plan, verify_list *list, sb_record *record,
                        verify_outcome *outcome, sb_error *err);

/* Compares a record with the repeated draw; as above, except for a threshold that differs. */
sb_status verify_compare(const sb_model *model, const sb_config *config, const sb_record *given,
                         const sb_record *again, verify_outcome *outcome, sb_error *err);

/* --- the report --- */

/* The records that have the same method, k, temperature, settings and version. */
typedef struct verify_group {
    sb_method method;
    int32_t k;
    double temperature;
    char *settings, *version; /* owned; version is NULL if the records do not name it */
    uint64_t n_draws, seed;
    bool has_seeds; /* there are several seeds; `seed` is the first */
} verify_group;

typedef struct verify_report {
    uint64_t n_files, n_records, n_sequences;
    uint64_t n_repeated, n_equal; /* draws made again, and those with the same bits */
    uint64_t n_other;             /* those with another sequence or threshold */
    uint64_t seed;                /* of the choice of records */
    bool is_complete;             /* --sample all: every draw is repeated */
    uint64_t n_unnamed;           /* records that do not name their model */
    double rounding;              /* the largest difference of a log-probability */
    verify_group *groups;         /* (n_groups) in order of appearance; owned */
    size_t n_groups, capacity;
} verify_report;

/* Counts a record. */
void verify_report_add(verify_report *report, const sb_record *record);
/* Appends the report as text or as one JSON line. */
void verify_report_put_text(const verify_report *report, const terminal *term, output *out);
void verify_report_put_json(const verify_report *report, output *out);
/* Frees the groups. */
void verify_report_close(verify_report *report);

#endif
