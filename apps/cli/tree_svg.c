/* The tree as a picture, after Figure 1 of the paper.
 *
 * Leaves stand side by side in token order, and a parent stands above the middle of its children.
 * The number in a node is its probability; the number at an edge is the conditional probability.
 * All bars start at the same value and have one scale, in natural logarithms: the light part ends
 * at phi, the whole bar at G = phi + noise. If the noise is negative, the part between G and phi is
 * hollow. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tree_nodes.h"
#include "common/cli.h"
#include "common/utf.h"

enum {
    LEAF_STEP = 100,
    LEVEL_STEP = 138,
    RADIUS = 22,
    BAR_WIDTH = 11,
    BAR_HEIGHT = 60,
    BAR_GAP = 6,
    LABEL_HEIGHT = 34, /* between a node and the end of its edge */
    G_WIDTH = 36,      /* of the number beside a bar */
    MARGIN = 48,
    TOP = 128,
    LEGEND_HEIGHT = 158,
    LEAST_WIDTH = 760,
    LABEL_COLUMNS = 10
};

static const char style[] =
    "<style>\n"
    "text{font-family:'DejaVu Sans',Helvetica,Arial,sans-serif;font-size:12px;fill:#222}\n"
    ".title{font-size:18px;font-weight:bold}.small{font-size:11px}.rank{font-weight:bold;"
    "fill:#a63d00}\n"
    ".token{font-weight:bold}.halo{paint-order:stroke;stroke:#fff;stroke-width:4px}\n"
    "path{fill:none;stroke:#777;stroke-width:1.2}path.required{stroke:#1d3557;stroke-width:2}\n"
    "path.pruned{stroke:#aaa}\n"
    "circle{stroke:#1d3557;stroke-width:1.6;fill:#fff}circle.required{fill:#d6dfeb}\n"
    "circle.pruned{stroke:#888;stroke-dasharray:4 3}.pruned text{fill:#666}\n"
    "rect{stroke:#333;stroke-width:0.8}.phi{fill:#9bb7d9}.noise{fill:#e58b3d}\n"
    ".hollow{fill:none;stroke:#777;stroke-dasharray:2 2}g.pruned rect{opacity:0.6}\n"
    "</style>\n";

static const char *const role_classes[] = {"pruned", "beam", "required"};

static void put_xml(output *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        uint32_t code;
        const size_t n = utf_decode(text + i, size - i, &code);
        if (code == '&')
            output_text(out, "&amp;");
        else if (code == '<')
            output_text(out, "&lt;");
        else if (code == '>')
            output_text(out, "&gt;");
        else
            output_bytes(out, text + i, n);
        i += n;
    }
}

/* Writes a text, cut to a width and safe for XML: utf_put_cut escapes the characters that XML does
 * not allow. */
static void put_label(output *out, const char *text, size_t size, size_t columns)
{
    output cut = {0};
    utf_put_cut(&cut, text, size, columns, true);
    put_xml(out, cut.data, cut.size);
    output_free(&cut);
}

/* Sets the x of every node: leaves in order, parents above the middle of their children. Returns
 * the number of leaves. */
static int32_t place_nodes(const tree *grown, double *x)
{
    int32_t n_leaves = 0;
    for (int32_t i = 0; i < grown->n_nodes; i++)
        if (tree_first_child(grown, i) < 0)
            x[i] = LEAF_STEP * (double)n_leaves++;
    for (int32_t i = grown->n_nodes; i-- > 0;) {
        int32_t last = tree_first_child(grown, i);
        if (last < 0)
            continue;
        while (grown->nodes[last].next >= 0)
            last = grown->nodes[last].next;
        x[i] = (x[i + 1] + x[last]) / 2;
    }
    return n_leaves;
}

/* Writes the two parts of a bar with its foot at (x, y). */
static void put_bar(output *out, double x, double y, double phi, double g)
{
    const double low = phi < g ? phi : g, high = phi < g ? g : phi;
    output_format(out, "<rect class=\"phi\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"/>",
                  x, y - low * BAR_HEIGHT, BAR_WIDTH, low * BAR_HEIGHT);
    output_format(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"/>\n",
                  phi < g ? "noise" : "hollow", x, y - high * BAR_HEIGHT, BAR_WIDTH,
                  (high - low) * BAR_HEIGHT);
}

/* Writes a probability in five characters, which fit into a node; in six below 1e-99. */
static void format_p(char *text, size_t size, double p)
{
    snprintf(text, size, p >= 0.0995 ? "%.3g" : p >= 0.001 ? "%.2g" : "%.0e", p);
}

static double level_y(const tree_node *node)
{
    return TOP + LEVEL_STEP * (double)node->depth;
}

static void put_edge(const tree *grown, int32_t i, const double *x, output *out)
{
    const tree_node *const node = &grown->nodes[i];
    const tree_node *const parent = &grown->nodes[node->parent];
    const double x0 = x[node->parent], y0 = level_y(parent) + RADIUS;
    const double x1 = x[i], y1 = level_y(node) - RADIUS - LABEL_HEIGHT, bend = 0.55 * (y1 - y0);
    output_format(out, "<path class=\"%s\" d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"/>\n",
                  role_classes[node->role], x0, y0, x0, y0 + bend, x1, y1 - bend, x1, y1);
}

static void put_node(const tree *grown, int32_t i, const double *x, output *out)
{
    const tree_node *const node = &grown->nodes[i];
    const double y = level_y(node);
    const char *const role = role_classes[node->role];
    output_format(out, "<g class=\"%s\"><circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"/>",
                  role, role, x[i], y, RADIUS);
    char p[16];
    format_p(p, sizeof p, exp(node->phi));
    output_format(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", x[i],
                  y + 4, p);
    const double foot = x[i] + RADIUS + BAR_GAP;
    put_bar(out, foot, y + RADIUS, tree_share(grown, node->phi), tree_share(grown, node->g));
    output_format(out, "<text class=\"small halo\" x=\"%.1f\" y=\"%.1f\">%.2f</text>\n",
                  foot + BAR_WIDTH + 3, y + RADIUS - 1, node->g);
    if (node->rank > 0)
        output_format(
            out, "<text class=\"rank\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%d</text>\n",
            x[i], y + RADIUS + 16, (int)node->rank);
    if (node->parent >= 0) {
        output_format(out,
                      "<text class=\"halo small\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
                      x[i], y - RADIUS - 21);
        output_text(out, "<tspan class=\"token\">");
        const char *const label = tree_label(grown, i);
        put_label(out, label, strlen(label), LABEL_COLUMNS);
        output_format(out, "</tspan><tspan x=\"%.1f\" dy=\"14\">%.3g</tspan></text>\n", x[i],
                      tree_edge(grown, i));
    }
    output_text(out, "</g>\n");
}

static void put_title(const tree *grown, output *out)
{
    output_format(out,
                  "<text class=\"title\" x=\"%d\" y=\"40\">Stochastic Beam Search, k = %d, seed "
                  "%" PRIu64 "</text>\n<text x=\"%d\" y=\"62\">",
                  MARGIN, (int)grown->config->k, grown->config->seed, MARGIN);
    put_label(out, grown->model_name, strlen(grown->model_name), 50);
    output_format(out, ", T = %g", grown->config->temperature);
    if (grown->input_size > 0) {
        output_text(out, ", after: ");
        put_label(out, grown->input, grown->input_size, 50);
    }
    output_text(out, "</text>\n");
}

static void put_legend(const tree *grown, double y, output *out)
{
    static const char *const texts[] = {"pruned: not among the k best of its level",
                                        "on the beam: among the k best of its level",
                                        "ancestor of a sampled leaf (its rank below)"};
    for (int role = TREE_REQUIRED; role >= TREE_PRUNED; role--, y += 26) {
        output_format(out,
                      "<circle class=\"%s\" cx=\"%d\" cy=\"%.1f\" r=\"9\"/>"
                      "<text x=\"%d\" y=\"%.1f\">%s</text>\n",
                      role_classes[role], MARGIN + 10, y, MARGIN + 28, y + 4, texts[role]);
    }
    y -= 3 * 26;
    const double x = MARGIN + 350, foot = y + 48;
    put_bar(out, x, foot, 0.5, 0.9);
    output_format(out, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\">noise</text>\n", x + 18,
                  foot - 0.7 * BAR_HEIGHT + 4);
    output_format(out, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\">up to &#966; = log p</text>\n",
                  x + 18, foot - 0.25 * BAR_HEIGHT + 4);
    put_bar(out, x + 140, foot, 0.85, 0.45);
    output_format(out, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\">negative noise:</text>\n",
                  x + 158, foot - 0.7 * BAR_HEIGHT + 4);
    output_format(out, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\">G is below &#966;</text>\n",
                  x + 158, foot - 0.25 * BAR_HEIGHT + 4);
    output_format(
        out,
        "<text class=\"small\" x=\"%.1f\" y=\"%.1f\">Whole bar and the number beside it: G = "
        "&#966; + noise.</text>\n",
        x, foot + 20);
    output_format(out,
                  "<text class=\"small\" x=\"%.1f\" y=\"%.1f\">Natural logs, all bars from %.2f to "
                  "%.2f.</text>\n",
                  x, foot + 36, grown->low, grown->high);
}

void tree_write_svg(const tree *grown, output *out)
{
    double *const x = cli_realloc(NULL, (size_t)grown->n_nodes, sizeof *x);
    const int32_t n_leaves = place_nodes(grown, x);
    int32_t depth = 0;
    for (int32_t i = 0; i < grown->n_nodes; i++)
        depth = grown->nodes[i].depth > depth ? grown->nodes[i].depth : depth;
    const double tree_width =
        LEAF_STEP * (double)(n_leaves - 1) + 2 * RADIUS + BAR_GAP + BAR_WIDTH + G_WIDTH;
    const double needed = tree_width + 2 * MARGIN;
    const double width = needed > LEAST_WIDTH ? needed : LEAST_WIDTH;
    const double height = TOP + LEVEL_STEP * (double)depth + RADIUS + LEGEND_HEIGHT;
    for (int32_t i = 0; i < grown->n_nodes; i++)
        x[i] += (width - tree_width) / 2 + RADIUS;
    output_format(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "viewBox=\"0 0 %.0f %.0f\">\n",
                  width, height, width, height);
    output_text(out, style);
    output_text(out, "<rect width=\"100%\" height=\"100%\" style=\"fill:#fff;stroke:none\"/>\n");
    put_title(grown, out);
    for (int32_t i = 1; i < grown->n_nodes; i++)
        put_edge(grown, i, x, out);
    for (int32_t i = 0; i < grown->n_nodes; i++)
        put_node(grown, i, x, out);
    put_legend(grown, height - LEGEND_HEIGHT + 62, out);
    output_text(out, "</svg>\n");
    free(x);
}
