#include "decode/cached_steps.h"

#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/status.h"

/* Maximum number of rows in one call of the model: enough for fast matrix products, and few enough
 * that the rows are still in the processor's cache when they are copied. */
enum { MOST_FRESH = 256 };

/* The arguments of a step, as for sb_session_step. */
struct request {
    const int32_t *from, *token, *input;
    char *rows;
};

static size_t row_size_of(const sb_model *model)
{
    const sb_model_info *const info = sb_model_get_info(model);
    const size_t element = info->row_type == SB_ROW_FLOAT ? sizeof(float) : sizeof(double);
    return (size_t)info->vocab_size * element;
}

size_t cached_steps_data_size(const sb_model *model, const sb_session *session)
{
    return row_size_of(model) + sb_session_state_size(session);
}

sb_status cached_steps_open(struct cached_steps *steps, struct row_cache *cache,
                            const sb_model *model, sb_session *session, int32_t max_inputs,
                            size_t most_rows, sb_error *err)
{
    *steps = (struct cached_steps){.cache = cache, .model = model, .session = session};
    steps->row_size = row_size_of(model);
    steps->state_size = sb_session_state_size(session);
    steps->roots = alloc_zeroed((size_t)max_inputs, sizeof *steps->roots);
    steps->most_fresh = most_rows < MOST_FRESH ? most_rows : MOST_FRESH;
    steps->fresh = alloc_array(steps->most_fresh, steps->row_size);
    if (steps->roots != NULL && steps->fresh != NULL)
        return SB_OK;
    cached_steps_close(steps);
    return status_no_memory(err);
}

void cached_steps_close(struct cached_steps *steps)
{
    alloc_free(steps->roots);
    alloc_free(steps->now);
    alloc_free(steps->next);
    for (size_t i = 0; i < steps->state_capacity; i++)
        alloc_free(steps->states[i]);
    for (size_t i = 0; i < steps->next_state_capacity; i++)
        alloc_free(steps->next_states[i]);
    alloc_free(steps->states);
    alloc_free(steps->next_states);
    alloc_free(steps->claims);
    alloc_free(steps->missing);
    alloc_free(steps->fresh);
    alloc_free(steps->parents);
    *steps = (struct cached_steps){0};
}

/* Hashes a text with the hash of token paths: every four bytes are a token. The size comes first,
 * so that no text is a prefix of another. */
void cached_steps_begin(struct cached_steps *steps, int32_t input, const char *text, size_t size)
{
    struct noise_node node = noise_child((struct noise_node){0, 0}, (int32_t)(size & INT32_MAX));
    for (size_t at = 0; at < size; at += 4) {
        int32_t word = 0;
        memcpy(&word, text + at, size - at < 4 ? size - at : 4);
        node = noise_child(node, word);
    }
    steps->roots[input] = node;
}

/* Makes room for n pointers to states; new ones are NULL. */
static sb_status reserve_pointers(char ***states, size_t *capacity, size_t n)
{
    const size_t n_before = *capacity;
    if (alloc_reserve(states, capacity, n, sizeof **states) != SB_OK)
        return SB_ERR_MEMORY;
    for (size_t i = n_before; i < *capacity; i++)
        (*states)[i] = NULL;
    return SB_OK;
}

static sb_status reserve(struct cached_steps *steps, size_t n, const int32_t *to, sb_error *err)
{
    size_t n_states = 0;
    for (size_t i = 0; i < n; i++)
        if ((size_t)to[i] >= n_states)
            n_states = (size_t)to[i] + 1;
    if (alloc_reserve(&steps->now, &steps->now_capacity, n_states, sizeof *steps->now) != SB_OK ||
        alloc_reserve(&steps->next, &steps->next_capacity, n, sizeof *steps->next) != SB_OK ||
        reserve_pointers(&steps->states, &steps->state_capacity, n_states) != SB_OK ||
        reserve_pointers(&steps->next_states, &steps->next_state_capacity, n) != SB_OK ||
        alloc_reserve(&steps->claims, &steps->claim_capacity, n, sizeof *steps->claims) != SB_OK ||
        alloc_reserve(&steps->missing, &steps->missing_capacity, n, sizeof *steps->missing) !=
            SB_OK ||
        alloc_reserve(&steps->parents, &steps->parents_capacity, n * steps->state_size + 1, 1) !=
            SB_OK) /* a state may have 0 bytes */
        return status_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        if (steps->next_states[i] == NULL)
            steps->next_states[i] = alloc_array(1, steps->state_size);
        if (steps->next_states[i] == NULL)
            return status_no_memory(err);
    }
    return SB_OK;
}

/* Copies row i and its state from the cache. */
static void copy_out(struct cached_steps *steps, const struct request *request, size_t i)
{
    const char *const data = row_cache_data(&steps->claims[i]);
    memcpy(request->rows + i * steps->row_size, data, steps->row_size);
    memcpy(steps->next_states[i], data + steps->row_size, steps->state_size);
}

/* Computes the rows indices[0 .. n - 1], n <= most_fresh, and gives the data to their claims. In
 * the session the rows continue states 0, 1, ..., and row j becomes state j. */
static sb_status evaluate_some(struct cached_steps *steps, const struct request *request,
                               const int32_t *indices, size_t n, sb_error *err)
{
    int32_t from[MOST_FRESH], number[MOST_FRESH], token[MOST_FRESH], input[MOST_FRESH];
    int32_t n_parents = 0;
    for (size_t j = 0; j < n; j++) {
        const int32_t i = indices[j];
        from[j] = -1;
        number[j] = (int32_t)j;
        token[j] = request->token[i];
        input[j] = request->input[i];
        if (request->from[i] >= 0) {
            from[j] = n_parents;
            memcpy(steps->parents + (size_t)n_parents++ * steps->state_size,
                   steps->states[request->from[i]], steps->state_size);
        }
    }
    sb_status status = sb_session_restore(steps->session, n_parents, number, steps->parents, err);
    if (status == SB_OK)
        status = sb_session_step(steps->session, (int32_t)n, from, number, token, input,
                                 steps->fresh, err);
    for (size_t j = 0; status == SB_OK && j < n; j++) {
        const size_t i = (size_t)indices[j];
        const char *const row = steps->fresh + j * steps->row_size;
        memcpy(request->rows + i * steps->row_size, row, steps->row_size);
        status = sb_session_save(steps->session, number[j], steps->next_states[i], err);
        if (status == SB_OK && steps->claims[i].kind == CLAIM_OWN) {
            char *const data = row_cache_data(&steps->claims[i]);
            memcpy(data, row, steps->row_size);
            memcpy(data + steps->row_size, steps->next_states[i], steps->state_size);
        }
    }
    return status;
}

static double now_in_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Computes the first n rows of steps->missing. */
static sb_status evaluate(struct cached_steps *steps, const struct request *request, size_t n,
                          sb_error *err)
{
    const double start = now_in_seconds();
    sb_status status = SB_OK;
    const size_t most = steps->most_fresh;
    for (size_t first = 0; status == SB_OK && first < n; first += most)
        status = evaluate_some(steps, request, steps->missing + first,
                               n - first < most ? n - first : most, err);
    steps->n_evaluated += n;
    steps->seconds += now_in_seconds() - start;
    return status;
}

/* Fills request->rows and steps->next_states, from the cache or by the model. */
static sb_status gather(struct cached_steps *steps, const struct request *request, size_t n,
                        sb_error *err)
{
    struct claim *const claims = steps->claims;
    size_t n_missing = 0, n_left = 0;
    for (size_t i = 0; i < n; i++) {
        if (claims[i].kind == CLAIM_READY)
            copy_out(steps, request, i);
        else if (claims[i].kind != CLAIM_AWAITED)
            steps->missing[n_missing++] = (int32_t)i;
    }
    sb_status status = evaluate(steps, request, n_missing, err);
    /* From here on steps->missing lists the awaited rows. */
    size_t n_awaited = 0;
    for (size_t i = 0; i < n; i++)
        if (claims[i].kind == CLAIM_AWAITED)
            steps->missing[n_awaited++] = (int32_t)i;
    row_cache_publish(steps->cache, n, claims, status != SB_OK);
    row_cache_wait(steps->cache, n, claims);
    for (size_t j = 0; j < n_awaited; j++) {
        const int32_t i = steps->missing[j];
        if (claims[i].kind == CLAIM_READY)
            copy_out(steps, request, (size_t)i);
        else
            steps->missing[n_left++] = i; /* the claim that computed it failed */
    }
    return status == SB_OK ? evaluate(steps, request, n_left, err) : status;
}

/* Stores the states of this step under their numbers. If the model has leaves, restores the states
 * in the session, too, because sb_session_is_leaf needs them there. */
static sb_status keep_states(struct cached_steps *steps, size_t n, const int32_t *to, sb_error *err)
{
    for (size_t i = 0; i < n; i++) {
        char *const before = steps->states[to[i]];
        steps->now[to[i]] = steps->next[i];
        steps->states[to[i]] = steps->next_states[i];
        steps->next_states[i] = before;
    }
    if (!sb_model_has_leaves(steps->model))
        return SB_OK;
    for (size_t i = 0; i < n; i++)
        memcpy(steps->parents + i * steps->state_size, steps->states[to[i]], steps->state_size);
    return sb_session_restore(steps->session, (int32_t)n, to, steps->parents, err);
}

sb_status cached_steps_take(struct cached_steps *steps, int32_t n_rows, const int32_t *from,
                            const int32_t *to, const int32_t *token, const int32_t *input,
                            void *rows, sb_error *err)
{
    const size_t n = (size_t)n_rows;
    sb_status status = reserve(steps, n, to, err);
    if (status != SB_OK)
        return status;
    for (size_t i = 0; i < n; i++)
        steps->next[i] =
            from[i] < 0 ? steps->roots[input[i]] : noise_child(steps->now[from[i]], token[i]);
    const struct request request = {from, token, input, rows};
    row_cache_claim(steps->cache, n, steps->next, steps->claims);
    status = gather(steps, &request, n, err);
    row_cache_release(steps->cache, n, steps->claims);
    steps->n_rows += n;
    return status == SB_OK ? keep_states(steps, n, to, err) : status;
}
