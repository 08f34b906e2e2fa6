/* The tree as text, one node a line, and as JSON.
 *
 * A bar shows phi and G on one scale: filled up to phi, shaded from phi to G. If the noise is
 * negative, G is below phi: the bar is filled up to G and dotted from G to phi. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/text_form.h"
#include "cli/tree_nodes.h"
#include "common/utf.h"

enum { NUMBER_WIDTH = 7, MOST_BAR = 20, GUTTER = 4 };

static const char *const role_names[] = {"pruned", "beam", "required"};

static void put_title(const tree *grown, const terminal *term, output *out)
{
    terminal_style(term, out, "1");
    output_format(out, "sbs  k %d  T %g  seed %" PRIu64, (int)grown->config->k,
                  grown->config->temperature, grown->config->seed);
    if (grown->input_size > 0) {
        output_text(out, "\ninput: ");
        utf_put_cut(out, grown->input, grown->input_size, term->width - 7, term->unicode);
    }
    terminal_plain(term, out);
    output_char(out, '\n');
}

/* Writes the mark of the node's role and its rank in GUTTER columns. */
static void put_gutter(const tree_node *node, bool unicode, output *out)
{
    static const char *const fine[] = {"·", "○", "●"}, *const plain[] = {".", "o", "*"};
    output_text(out, unicode ? fine[node->role] : plain[node->role]);
    if (node->rank > 0)
        output_format(out, "%-*d", GUTTER - 1, (int)node->rank);
    else
        output_repeat(out, " ", GUTTER - 1);
}

/* Writes branches, token and conditional probability in `width` columns. */
static void put_branch(const tree *grown, int32_t at, bool unicode, size_t width, output *out)
{
    const tree_node *const node = &grown->nodes[at];
    output line = {0};
    int32_t above[TREE_MOST_NODES];
    int32_t depth = 0;
    for (int32_t i = at; i > 0; i = grown->nodes[i].parent)
        above[depth++] = i;
    for (int32_t i = depth; i-- > 0;) {
        const bool is_last = grown->nodes[above[i]].next < 0;
        if (i == 0)
            output_text(&line, unicode ? (is_last ? "└─ " : "├─ ") : (is_last ? "`- " : "|- "));
        else
            output_text(&line, is_last ? "   " : unicode ? "│  " : "|  ");
    }
    if (node->parent < 0) {
        output_text(&line, "root");
    } else {
        output_text(&line, tree_label(grown, at));
        output_format(&line, " %.3g", tree_edge(grown, at));
    }
    const size_t used = utf_put_cut(out, line.data, line.size, width, unicode);
    output_repeat(out, " ", width - used);
    output_free(&line);
}

static void put_bar(const tree *grown, const tree_node *node, bool unicode, size_t width,
                    output *out)
{
    const double scale = (double)width;
    const size_t phi = (size_t)lround(scale * tree_share(grown, node->phi));
    const size_t g = (size_t)lround(scale * tree_share(grown, node->g));
    output_repeat(out, unicode ? "█" : "#", phi < g ? phi : g);
    if (phi < g)
        output_repeat(out, unicode ? "▒" : "+", g - phi);
    else
        output_repeat(out, unicode ? "░" : ".", phi - g);
}

static void put_legend(const terminal *term, output *out)
{
    static const char *const fine[] = {"● ancestor of a sampled leaf; rank", "○ on the beam",
                                       "· pruned", "█ up to phi = log p  ▒ noise up to G",
                                       "░ missing: the noise is negative"};
    static const char *const plain[] = {"* ancestor of a sampled leaf; rank", "o on the beam",
                                        ". pruned", "# up to phi = log p  + noise up to G",
                                        ". missing: the noise is negative"};
    const char *const *const lines = term->unicode ? fine : plain;
    output_char(out, '\n');
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        utf_put_cut(out, lines[i], strlen(lines[i]), term->width, term->unicode);
        output_char(out, '\n');
    }
}

/* Writes the probability in at most NUMBER_WIDTH columns. Returns `text`. */
static const char *format_p(char *text, double phi)
{
    const double p = exp(phi);
    if (snprintf(text, TEXT_SIZE, "%.3g", p) > NUMBER_WIDTH || (p == 0 && phi > -INFINITY))
        text_small(text, p, phi);
    return text;
}

/* Writes G with two decimals, or with as many as fit NUMBER_WIDTH columns. Returns `text`. */
static const char *format_g(char *text, double g)
{
    if (snprintf(text, TEXT_SIZE, "%.2f", g) > NUMBER_WIDTH)
        text_number(text, g, 1, NUMBER_WIDTH);
    return text;
}

void tree_write_text(const tree *grown, const terminal *term, output *out)
{
    const size_t fixed = GUTTER + 2 * (NUMBER_WIDTH + 2);
    const size_t rest = term->width > fixed + 12 ? term->width - fixed : 12;
    const size_t bar = rest / 3 < MOST_BAR ? rest / 3 : MOST_BAR;
    const size_t label = rest - bar - 2;
    put_title(grown, term, out);
    terminal_style(term, out, "2");
    output_format(out, "%*s  %*s\n", (int)(GUTTER + label + NUMBER_WIDTH), "p", NUMBER_WIDTH, "G");
    terminal_plain(term, out);
    for (int32_t i = 0; i < grown->n_nodes; i++) {
        const tree_node *const node = &grown->nodes[i];
        if (node->role != TREE_REQUIRED)
            terminal_style(term, out, "2");
        put_gutter(node, term->unicode, out);
        put_branch(grown, i, term->unicode, label, out);
        char p[TEXT_SIZE], g[TEXT_SIZE];
        output_format(out, "%*s  %*s  ", NUMBER_WIDTH, format_p(p, node->phi), NUMBER_WIDTH,
                      format_g(g, node->g));
        put_bar(grown, node, term->unicode, bar, out);
        terminal_plain(term, out);
        output_char(out, '\n');
    }
    put_legend(term, out);
}

static void put_node(const tree *grown, int32_t i, output *out)
{
    const tree_node *const node = &grown->nodes[i];
    output_text(out, i > 0 ? ",{\"parent\":" : "{\"parent\":");
    if (node->parent < 0)
        output_text(out, "null,\"token\":null,\"text\":null");
    else {
        output_format(out, "%d,\"token\":%d,\"text\":", (int)node->parent, (int)node->token);
        output_json_string(out, tree_label(grown, i), strlen(tree_label(grown, i)));
    }
    output_format(out, ",\"depth\":%d,\"log_p\":", (int)node->depth);
    output_json_number(out, node->phi);
    output_text(out, ",\"g\":");
    output_json_number(out, node->g);
    output_format(out, ",\"role\":\"%s\"", role_names[node->role]);
    if (node->rank > 0)
        output_format(out, ",\"rank\":%d", (int)node->rank);
    else
        output_text(out, ",\"rank\":null");
    if (node->end != SB_END_NONE)
        output_format(out, ",\"end\":\"%s\"}", sb_end_name(node->end));
    else
        output_text(out, ",\"end\":null}");
}

void tree_write_jsonl(const tree *grown, output *out)
{
    output_text(out, "{\"input\":");
    output_json_string(out, grown->input, grown->input_size);
    output_format(out, ",\"k\":%d,\"temperature\":", (int)grown->config->k);
    output_json_number(out, grown->config->temperature);
    output_format(out, ",\"seed\":%" PRIu64 ",\"nodes\":[", grown->config->seed);
    for (int32_t i = 0; i < grown->n_nodes; i++)
        put_node(grown, i, out);
    output_text(out, "]}\n");
}
