#include "decode/rows.h"

#include "base/alloc.h"
#include "base/status.h"
#include "decode/filter.h"

/* Returns the scores of a row. With widths, rows must be asked for in their order. */
static const void *find_row(struct given_rows *given, size_t row, sb_row_type type)
{
    const size_t size = type == SB_ROW_FLOAT ? sizeof(float) : sizeof(double);
    if (given->widths == NULL)
        return given->logits + row * given->stride * size;
    while (given->row < row)
        given->start += (size_t)given->widths[given->row++];
    return given->logits + given->start * size;
}

/* Makes room for the widest of the slot's rows, if they have widths. */
static sb_status reserve_width(sb_decoder *decoder, const struct slot *slot,
                               const struct given_rows *given)
{
    int32_t width = 1;
    for (size_t i = 0; i < slot->n_chunk && given->widths != NULL; i++)
        if (given->widths[(size_t)slot->first_row + i] > width)
            width = given->widths[(size_t)slot->first_row + i];
    if (width <= decoder->row_width)
        return SB_OK;
    if (width < INT32_MAX / 2 && width < 2 * decoder->row_width)
        width = 2 * decoder->row_width; /* so that growing step by step costs little */
    int32_t *const ids = alloc_array((size_t)width, sizeof *ids);
    if (ids == NULL)
        return SB_ERR_MEMORY;
    alloc_free(decoder->scratch_ids);
    decoder->scratch_ids = ids;
    decoder->row_width = width;
    while (decoder->n_row_objects > 0)
        alloc_free(decoder->row_scratch[--decoder->n_row_objects]);
    return SB_OK;
}

/* Makes room for n opened rows. */
static sb_status reserve_rows(sb_decoder *decoder, size_t n)
{
    if (alloc_reserve(&decoder->rows, &decoder->row_capacity, n, sizeof *decoder->rows) != SB_OK ||
        alloc_reserve(&decoder->row_scratch, &decoder->scratch_capacity, n,
                      sizeof *decoder->row_scratch) != SB_OK)
        return SB_ERR_MEMORY;
    const size_t row_size = row_scratch_size(decoder->row_width);
    while (decoder->n_row_objects < n) {
        void *const scratch = alloc_array(1, row_size + filter_scratch_size(decoder));
        if (scratch == NULL)
            return SB_ERR_MEMORY;
        row_init(&decoder->rows[decoder->n_row_objects], decoder->row_width, decoder->spec.row_type,
                 scratch);
        decoder->row_scratch[decoder->n_row_objects++] = scratch;
    }
    return SB_OK;
}

sb_status rows_refuse(const struct row *row, int32_t step, size_t row_number, sb_error *err)
{
    const int32_t bad = row_find_bad(row);
    if (bad < 0)
        return status_fail(err, SB_ERR_MODEL, "step %d, row %zu: every token has probability zero",
                           step, row_number);
    return status_fail(err, SB_ERR_MODEL,
                       "step %d, row %zu: the score of token %d is %g; expected a finite number or "
                       "-inf",
                       step, row_number, bad, row_score(row, bad));
}

sb_status rows_open(sb_decoder *decoder, struct slot *slot, struct given_rows *given, sb_error *err)
{
    const sb_row_type type = decoder->spec.row_type;
    sb_status status = reserve_width(decoder, slot, given);
    if (status == SB_OK)
        status = reserve_rows(decoder, slot->n_chunk);
    if (status != SB_OK)
        return status;
    for (size_t i = 0; i < slot->n_chunk; i++) {
        struct row *const row = &decoder->rows[i];
        const size_t row_number = (size_t)slot->first_row + i;
        if (given->widths != NULL)
            row_init(row, given->widths[row_number], type, decoder->row_scratch[i]);
        if (row->n_all == 0) /* a leaf */
            continue;
        if (!row_open(row, find_row(given, row_number, type), slot->temperature))
            return rows_refuse(row, slot->wanted[slot->n_expanded + i].depth + 1, row_number, err);
        if (!filter_row(decoder, slot, (int32_t)i))
            return status_fail(err, SB_ERR_MODEL,
                               "step %d, row %zu: %s exclude every token that could follow this "
                               "prefix",
                               slot->wanted[slot->n_expanded + i].depth + 1, row_number,
                               decoder->config.allow != NULL
                                   ? "the model, allow, ban and min-len together"
                                   : "ban and min-len");
        slot->model_rows++;
    }
    return SB_OK;
}
