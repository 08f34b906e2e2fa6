/* A row holds the next-token scores of one node, as natural-log scores that need not be
 * normalised. */
#ifndef SBEAM_ROW_H
#define SBEAM_ROW_H

typedef enum sb_row_type {
    SB_ROW_FLOAT = 0, /* neural models */
    SB_ROW_DOUBLE = 1 /* exact models: log-probabilities with all digits of a double */
} sb_row_type;

#endif
