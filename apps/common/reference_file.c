/* Reads all references into memory. The bytes of all files are in one pool. While it grows it may
 * move, so a reference is first kept as an offset; at the end the texts are sorted by segment. */
#include "common/reference_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/line_reader.h"

typedef struct found_text {
    uint64_t segment;
    size_t offset, size;
} found_text;

typedef struct reference_source {
    char name[sizeof(((line_reader *)0)->name)];
    uint64_t n_lines;
} reference_source;

struct reference_set {
    reference_source *files; /* (n_files) */
    size_t n_files;
    char *pool;
    size_t pool_size, pool_capacity;
    found_text *found; /* (n_found), file after file; NULL once open */
    size_t n_found, found_capacity;
    uint64_t n_segments; /* number of lines of the longest file */
    sb_text *texts;      /* (n_found), segment after segment */
    size_t *first;       /* (n_segments + 1) index in texts of the first one of a segment */
};

void reference_set_close(reference_set *set)
{
    if (set == NULL)
        return;
    free(set->files);
    free(set->pool);
    free(set->found);
    free(set->texts);
    free(set->first);
    free(set);
}

/* Returns whether a text holds only spaces and carriage returns. */
static bool is_empty(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] != ' ' && text[i] != '\r')
            return false;
    return true;
}

static void keep_text(reference_set *set, uint64_t segment, const char *text, size_t size)
{
    cli_reserve(&set->found, &set->found_capacity, set->n_found + 1, sizeof *set->found);
    cli_reserve(&set->pool, &set->pool_capacity, set->pool_size + size, 1);
    memcpy(set->pool + set->pool_size, text, size);
    set->found[set->n_found++] = (found_text){segment, set->pool_size, size};
    set->pool_size += size;
}

static void split_line(reference_set *set, uint64_t segment, const char *line, size_t size)
{
    const char *const end = line + size;
    for (const char *text = line; text != NULL;) {
        const char *const tab = memchr(text, '\t', (size_t)(end - text));
        const size_t n = (size_t)((tab != NULL ? tab : end) - text);
        if (!is_empty(text, n))
            keep_text(set, segment, text, n);
        text = tab != NULL ? tab + 1 : NULL;
    }
}

static sb_status read_file(reference_set *set, const char *path, reference_source *file,
                           sb_error *err)
{
    line_reader reader;
    const sb_status status = line_reader_open(&reader, path, err);
    if (status != SB_OK)
        return status;
    memcpy(file->name, reader.name, sizeof file->name);
    int more;
    while ((more = line_reader_next(&reader, err)) > 0)
        split_line(set, reader.number - 1, reader.line, reader.size);
    file->n_lines = reader.number;
    line_reader_close(&reader);
    return more < 0 ? err->status : SB_OK;
}

/* Sorts the texts by segment, by counting. */
static void sort_texts(reference_set *set)
{
    const size_t n = (size_t)set->n_segments;
    set->texts = cli_realloc(NULL, set->n_found, sizeof *set->texts);
    set->first = cli_realloc(NULL, n + 2, sizeof *set->first);
    memset(set->first, 0, (n + 2) * sizeof *set->first);
    for (size_t i = 0; i < set->n_found; i++)
        set->first[set->found[i].segment + 2]++;
    for (size_t i = 2; i < n + 2; i++)
        set->first[i] += set->first[i - 1];
    /* first[s + 1] counts up from the first index of segment s to that of segment s + 1. */
    for (size_t i = 0; i < set->n_found; i++) {
        const found_text *const found = &set->found[i];
        set->texts[set->first[found->segment + 1]++] =
            (sb_text){set->pool + found->offset, found->size};
    }
    free(set->found);
    set->found = NULL;
}

sb_status reference_set_open(reference_set **set, const char *const *paths, size_t n_paths,
                             sb_error *err)
{
    reference_set *const opened = cli_realloc(NULL, 1, sizeof *opened);
    *opened = (reference_set){.n_files = n_paths};
    opened->files = cli_realloc(NULL, n_paths, sizeof *opened->files);
    for (size_t i = 0; i < n_paths; i++) {
        const sb_status status = read_file(opened, paths[i], &opened->files[i], err);
        if (status != SB_OK) {
            reference_set_close(opened);
            return status;
        }
        if (opened->n_segments < opened->files[i].n_lines)
            opened->n_segments = opened->files[i].n_lines;
    }
    sort_texts(opened);
    *set = opened;
    return SB_OK;
}

uint64_t reference_set_lines(const reference_set *set, size_t i)
{
    return set->files[i].n_lines;
}

const char *reference_set_name(const reference_set *set, size_t i)
{
    return set->files[i].name;
}

sb_status reference_set_get(const reference_set *set, uint64_t segment, const sb_text **texts,
                            size_t *n, sb_error *err)
{
    for (size_t i = 0; i < set->n_files; i++) {
        if (segment >= set->files[i].n_lines)
            return sb_error_set(err, SB_ERR_INPUT,
                                "%s has %" PRIu64 " lines, none for stream %" PRIu64,
                                set->files[i].name, set->files[i].n_lines, segment);
    }
    const size_t first = set->first[segment], end = set->first[segment + 1];
    if (first == end)
        return sb_error_set(err, SB_ERR_INPUT, "%s:%" PRIu64 ": there is no reference%s",
                            set->files[0].name, segment + 1,
                            set->n_files > 1 ? ", and none in the other files" : "");
    *texts = set->texts + first;
    *n = end - first;
    return SB_OK;
}
