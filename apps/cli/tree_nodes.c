/* Growing the tree of Figure 1.
 *
 * Two searches run step by step, each with its own session. The explicit method lists every node of
 * a level with its phi and G. SBS with the same seed, and so the same noise, lists the k best.
 * Nodes are matched by parent and token. Both searches make draw 0 of stream 0. */
#include "cli/tree_nodes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"

/* Bars show this range of natural logarithms at most: a factor of 160,000 in probability. */
static const double MOST_RANGE = 12;
static const double LEAST_SHARE = 0.03; /* of a bar, for values below the range */

/* One of the two searches. places[i] is the node of entry i of its beam. */
typedef struct walk {
    sb_session *session;
    sb_decoder *decoder;
    int32_t *places;
    size_t n_places;
    int32_t *states; /* 0, 1, ...: row i of a level gets state i */
    void *rows;
} walk;

static bool is_leaf(void *user, int32_t row, int32_t token)
{
    return sb_session_is_leaf(user, row, token);
}

static sb_status walk_open(walk *opened, const tree *grown, const sb_config *config, sb_error *err)
{
    const sb_model_info *const info = sb_model_get_info(grown->model);
    *opened = (walk){0};
    /* A level never has more rows than the tree has nodes. */
    const bool is_narrow = info->max_rows > 0 && info->max_rows < TREE_MOST_NODES;
    const sb_session_spec room = {
        .max_inputs = 1,
        .max_rows = is_narrow ? info->max_rows : TREE_MOST_NODES,
        .max_len =
            info->max_len > 0 && info->max_len < config->max_len ? info->max_len : config->max_len,
    };
    sb_status status = sb_session_open(&opened->session, grown->model, &room, err);
    if (status == SB_OK)
        status = sb_session_begin(opened->session, 0, grown->input, grown->input_size, err);
    if (status != SB_OK)
        return status;
    const sb_decoder_spec spec = {.vocab_size = info->vocab_size,
                                  .eos = info->eos,
                                  .row_type = info->row_type,
                                  .max_slots = 1,
                                  .user = opened->session,
                                  .is_leaf = is_leaf};
    status = sb_decoder_open(&opened->decoder, &spec, config, err);
    if (status != SB_OK)
        return status;
    const sb_job job = {0};
    int32_t slot;
    opened->places = cli_realloc(NULL, 1, sizeof *opened->places);
    opened->places[0] = 0;
    opened->n_places = 1;
    return sb_decoder_add(opened->decoder, &job, &slot, err);
}

static void walk_close(walk *opened)
{
    sb_decoder_close(opened->decoder);
    sb_session_close(opened->session);
    free(opened->places);
    free(opened->states);
    free(opened->rows);
}

/* Computes the rows that the decoder needs and advances it by one level. */
static sb_status walk_step(walk *walking, const sb_model_info *info, sb_error *err)
{
    const int32_t *parent, *token, *input;
    const int32_t n = sb_decoder_rows(walking->decoder, &parent, &token, &input);
    const size_t cell = info->row_type == SB_ROW_FLOAT ? sizeof(float) : sizeof(double);
    const size_t stride = (size_t)info->vocab_size;
    walking->rows = cli_realloc(walking->rows, (size_t)n * stride, cell);
    walking->states = cli_realloc(walking->states, (size_t)n, sizeof *walking->states);
    for (int32_t i = 0; i < n; i++)
        walking->states[i] = i;
    const sb_status status = sb_session_step(walking->session, n, parent, walking->states, token,
                                             input, walking->rows, err);
    return status == SB_OK ? sb_decoder_advance(walking->decoder, walking->rows, stride, err)
                           : status;
}

static int32_t find_child(const tree *grown, int32_t parent, int32_t token)
{
    for (int32_t i = parent + 1; i < grown->n_nodes; i++)
        if (grown->nodes[i].parent == parent && grown->nodes[i].token == token)
            return i;
    return -1;
}

static sb_status too_large(sb_error *err)
{
    sb_error_set(err, SB_ERR_LIMIT,
                 "the tree has more than %d nodes, too many to draw; reduce it with --max-len, "
                 "--top-k or --top-p",
                 TREE_MOST_NODES);
    return SB_ERR_LIMIT;
}

/* Adds the nodes of the level that the explicit search has just finished. */
static sb_status add_level(tree *grown, walk *walking, sb_error *err)
{
    int32_t places[TREE_MOST_NODES];
    int32_t n = 0;
    sb_beam_entry entry;
    for (; sb_decoder_beam(walking->decoder, 0, n, &entry); n++) {
        if (n == TREE_MOST_NODES || (entry.is_new && grown->n_nodes == TREE_MOST_NODES))
            return too_large(err);
        const int32_t before = walking->places[entry.parent];
        places[n] = before;
        if (!entry.is_new)
            continue;
        places[n] = grown->n_nodes;
        grown->nodes[grown->n_nodes++] = (tree_node){.parent = before,
                                                     .next = -1,
                                                     .token = entry.token,
                                                     .depth = entry.depth,
                                                     .end = entry.end,
                                                     .phi = entry.phi,
                                                     .g = entry.score};
    }
    walking->places = cli_realloc(walking->places, (size_t)n, sizeof *walking->places);
    memcpy(walking->places, places, (size_t)n * sizeof *places);
    return SB_OK;
}

/* Copies a node and its descendants in depth-first order. */
static void copy_branch(const tree *from, int32_t node, int32_t parent, tree *to)
{
    const int32_t place = to->n_nodes++;
    to->nodes[place] = from->nodes[node];
    to->nodes[place].parent = parent;
    int32_t last = -1, token = -1;
    for (;;) {
        int32_t best = -1; /* the child with the smallest token id not copied yet */
        for (int32_t i = node + 1; i < from->n_nodes; i++)
            if (from->nodes[i].parent == node && from->nodes[i].token > token &&
                (best < 0 || from->nodes[i].token < from->nodes[best].token))
                best = i;
        if (best < 0)
            return;
        token = from->nodes[best].token;
        if (last >= 0)
            to->nodes[last].next = to->n_nodes;
        last = to->n_nodes;
        copy_branch(from, best, place, to);
    }
}

static sb_status grow_all(tree *grown, sb_error *err)
{
    sb_config config = *grown->config;
    config.method = SB_METHOD_EXPLICIT;
    config.k = TREE_MOST_NODES; /* the last level is listed up to k */
    tree flat = *grown;
    flat.nodes = cli_realloc(NULL, TREE_MOST_NODES, sizeof *flat.nodes);
    flat.nodes[0] = (tree_node){.parent = -1, .next = -1, .token = -1, .g = -INFINITY};
    flat.n_nodes = 1;
    walk walking;
    sb_status status = walk_open(&walking, grown, &config, err);
    while (status == SB_OK && !sb_decoder_done(walking.decoder)) {
        status = walk_step(&walking, sb_model_get_info(grown->model), err);
        if (status == SB_OK)
            status = add_level(&flat, &walking, err);
    }
    walk_close(&walking);
    if (status == SB_OK) {
        for (int32_t i = 1; i < flat.n_nodes && flat.nodes[i].depth == 1; i++)
            flat.nodes[0].g = fmax(flat.nodes[0].g, flat.nodes[i].g);
        grown->nodes = cli_realloc(NULL, (size_t)flat.n_nodes, sizeof *grown->nodes);
        grown->n_nodes = 0;
        copy_branch(&flat, 0, -1, grown);
    }
    free(flat.nodes);
    return status;
}

/* Marks the beam of one level. The last beam holds the sampled leaves. */
static sb_status mark_level(tree *grown, walk *walking, sb_error *err)
{
    int32_t places[TREE_MOST_NODES];
    int32_t n = 0;
    sb_beam_entry entry;
    for (; n < TREE_MOST_NODES && sb_decoder_beam(walking->decoder, 0, n, &entry); n++) {
        places[n] = walking->places[entry.parent];
        if (entry.is_new)
            places[n] = find_child(grown, places[n], entry.token);
        if (places[n] < 0) {
            sb_error_set(err, SB_ERR_MODEL, "the model gave the two searches different trees");
            return SB_ERR_MODEL;
        }
        grown->nodes[places[n]].role = TREE_ON_BEAM;
    }
    walking->places = cli_realloc(walking->places, (size_t)n, sizeof *walking->places);
    memcpy(walking->places, places, (size_t)n * sizeof *places);
    walking->n_places = (size_t)n;
    return SB_OK;
}

static sb_status mark_beam(tree *grown, sb_error *err)
{
    sb_config config = *grown->config;
    config.method = SB_METHOD_SBS;
    config.kappa = false;
    walk walking;
    sb_status status = walk_open(&walking, grown, &config, err);
    while (status == SB_OK && !sb_decoder_done(walking.decoder)) {
        status = walk_step(&walking, sb_model_get_info(grown->model), err);
        if (status == SB_OK)
            status = mark_level(grown, &walking, err);
    }
    for (size_t i = 0; status == SB_OK && i < walking.n_places; i++) {
        grown->nodes[walking.places[i]].rank = (int32_t)i + 1;
        for (int32_t at = walking.places[i]; at >= 0; at = grown->nodes[at].parent)
            grown->nodes[at].role = TREE_REQUIRED;
    }
    walk_close(&walking);
    return status;
}

static void find_range(tree *grown)
{
    grown->low = INFINITY;
    grown->high = -INFINITY;
    for (int32_t i = 0; i < grown->n_nodes; i++) {
        const tree_node *const node = &grown->nodes[i];
        grown->low = fmin(grown->low, fmin(node->phi, node->g));
        grown->high = fmax(grown->high, fmax(node->phi, node->g));
    }
    grown->low = fmax(grown->low, grown->high - MOST_RANGE);
    grown->low -= 0.08 * (grown->high - grown->low); /* the lowest bar stays visible */
}

sb_status tree_grow(tree *grown, sb_error *err)
{
    grown->nodes = NULL;
    sb_status status = grow_all(grown, err);
    if (status == SB_OK)
        status = mark_beam(grown, err);
    if (status != SB_OK) {
        tree_free(grown);
        return status;
    }
    find_range(grown);
    return SB_OK;
}

void tree_free(tree *grown)
{
    free(grown->nodes);
    grown->nodes = NULL;
}

int32_t tree_first_child(const tree *grown, int32_t node)
{
    const bool has_child = node + 1 < grown->n_nodes && grown->nodes[node + 1].parent == node;
    return has_child ? node + 1 : -1;
}

double tree_edge(const tree *grown, int32_t node)
{
    const tree_node *const at = &grown->nodes[node];
    return at->parent < 0 ? 1 : exp(at->phi - grown->nodes[at->parent].phi);
}

const char *tree_label(const tree *grown, int32_t node)
{
    const int32_t token = grown->nodes[node].token;
    const char *const text = token >= 0 ? sb_model_token_text(grown->model, token) : NULL;
    return text != NULL ? text : "";
}

double tree_share(const tree *grown, double value)
{
    const double share = (value - grown->low) / (grown->high - grown->low);
    return share < LEAST_SHARE ? LEAST_SHARE : share > 1 ? 1 : share;
}
