/* Finds records that occur twice. A record is kept as a fingerprint of 128 bits, with a random key.
 * Two different records have the same fingerprint with probability 2^-128, and a file cannot be
 * made so that they collide. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"
#include "sbeam/record.h"

struct seen {
    uint64_t key[2];
    uint64_t line;  /* 0: this entry of the table is free */
    uint64_t input; /* hash of the input */
    size_t n_files; /* number of files begun before; the line belongs to the last of them */
};

/* An open hash table, at most half full. */
struct table {
    struct seen *entries; /* (n_entries), a power of 2 or 0 */
    size_t n_entries, n_used;
};

struct sb_record_set {
    struct hash_key secret[2];
    struct table draws, inputs;
    char *bytes; /* what the fingerprint is taken of */
    size_t capacity;
    char **files; /* (n_files) names */
    size_t n_files, files_capacity;
};

sb_status sb_record_set_open(sb_record_set **set, sb_error *err)
{
    if (set == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_record_set_open: set is NULL");
    sb_record_set *const s = alloc_zeroed(1, sizeof *s);
    if (s == NULL)
        return status_no_memory(err);
    s->secret[0] = hash_process_key();
    s->secret[1] = (struct hash_key){hash_number(&s->secret[0], 0), hash_number(&s->secret[0], 1)};
    *set = s;
    return SB_OK;
}

void sb_record_set_close(sb_record_set *set)
{
    if (set == NULL)
        return;
    alloc_free(set->draws.entries);
    alloc_free(set->inputs.entries);
    alloc_free(set->bytes);
    for (size_t i = 0; i < set->n_files; i++)
        alloc_free(set->files[i]);
    alloc_free(set->files);
    alloc_free(set);
}

sb_status sb_record_set_begin_file(sb_record_set *set, const char *name, sb_error *err)
{
    if (set == NULL || name == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_record_set_begin_file: set or name is NULL");
    char *const copy = alloc_text(name, strlen(name));
    if (copy == NULL || alloc_reserve(&set->files, &set->files_capacity, set->n_files + 1,
                                      sizeof *set->files) != SB_OK) {
        alloc_free(copy);
        return status_no_memory(err);
    }
    set->files[set->n_files++] = copy;
    return SB_OK;
}

/* Writes "line 3" or "line 3 of FILE". */
static void name_line(const sb_record_set *set, const struct seen *entry, char *text, size_t size)
{
    const char *const file = entry->n_files > 0 ? set->files[entry->n_files - 1] : "";
    snprintf(text, size, "line %llu%s%.100s", (unsigned long long)entry->line,
             entry->n_files > 0 ? " of " : "", file);
}

/* Returns the entry with this key, or the free entry for it. */
static struct seen *find(const struct table *table, const uint64_t key[2])
{
    size_t i = (size_t)key[0] & (table->n_entries - 1);
    while (table->entries[i].line != 0 &&
           memcmp(table->entries[i].key, key, sizeof table->entries[i].key) != 0)
        i = (i + 1) & (table->n_entries - 1);
    return &table->entries[i];
}

static sb_status make_room(struct table *table)
{
    if (2 * (table->n_used + 1) <= table->n_entries)
        return SB_OK;
    const size_t n = table->n_entries > 0 ? 2 * table->n_entries : 64;
    struct table larger = {alloc_zeroed(n, sizeof *larger.entries), n, table->n_used};
    if (larger.entries == NULL)
        return SB_ERR_MEMORY;
    for (size_t i = 0; i < table->n_entries; i++)
        if (table->entries[i].line != 0)
            *find(&larger, table->entries[i].key) = table->entries[i];
    alloc_free(table->entries);
    *table = larger;
    return SB_OK;
}

/* Finds or adds the entry of `n` numbers and a text. *is_new says whether it was added. */
static sb_status look_up(sb_record_set *set, struct table *table, const uint64_t *numbers, size_t n,
                         const char *text, struct seen **entry, bool *is_new)
{
    const size_t numbers_size = n * sizeof *numbers, size = numbers_size + strlen(text);
    if (alloc_reserve(&set->bytes, &set->capacity, size, 1) != SB_OK || make_room(table) != SB_OK)
        return SB_ERR_MEMORY;
    memcpy(set->bytes, numbers, numbers_size);
    memcpy(set->bytes + numbers_size, text, size - numbers_size);
    uint64_t key[2];
    for (int i = 0; i < 2; i++)
        key[i] = hash_bytes(&set->secret[i], set->bytes, size);
    *entry = find(table, key);
    *is_new = (*entry)->line == 0;
    if (*is_new)
        memcpy((*entry)->key, key, sizeof key);
    table->n_used += *is_new;
    return SB_OK;
}

sb_status sb_record_set_add(sb_record_set *set, const sb_record *record, uint64_t line,
                            sb_error *err)
{
    if (set == NULL || record == NULL || line == 0)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_record_set_add: set or record is NULL, or line is 0");
    uint64_t numbers[6] = {(uint64_t)record->method, (uint64_t)record->k, record->seed,
                           record->stream, record->draw};
    memcpy(&numbers[5], &record->temperature, sizeof numbers[5]);
    struct seen *entry;
    bool is_new;
    if (look_up(set, &set->draws, numbers, 6, record->settings, &entry, &is_new) != SB_OK)
        return status_no_memory(err);
    if (is_new) {
        entry->line = line;
        entry->n_files = set->n_files;
        return SB_OK;
    }
    char earlier[200];
    name_line(set, entry, earlier, sizeof earlier);
    return status_fail(err, SB_ERR_INPUT,
                       "draw %llu of stream %llu with seed %llu and temperature %g is also on %s, "
                       "with the same settings; expected each draw once",
                       (unsigned long long)record->draw, (unsigned long long)record->stream,
                       (unsigned long long)record->seed, record->temperature, earlier);
}

sb_status sb_record_set_add_input(sb_record_set *set, const sb_record *record, uint64_t line,
                                  sb_error *err)
{
    if (set == NULL || record == NULL || line == 0)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_record_set_add_input: set or record is NULL, or line is 0");
    const uint64_t input = hash_bytes(&set->secret[0], record->input, record->input_size);
    struct seen *entry;
    bool is_new;
    if (look_up(set, &set->inputs, &record->stream, 1, "", &entry, &is_new) != SB_OK)
        return status_no_memory(err);
    if (is_new) {
        entry->line = line;
        entry->input = input;
        entry->n_files = set->n_files;
    }
    if (entry->input == input)
        return SB_OK;
    char earlier[200];
    name_line(set, entry, earlier, sizeof earlier);
    return status_fail(err, SB_ERR_INPUT,
                       "stream %llu has another input here than on %s; expected one input for each "
                       "stream",
                       (unsigned long long)record->stream, earlier);
}
