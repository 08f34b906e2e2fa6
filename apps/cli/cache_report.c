#include "cli/cache_report.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "common/cli.h"
#include "common/output.h"

static double megabytes(size_t bytes)
{
    return (double)bytes / (1 << 20);
}

/* The estimate of the time assumes that a cached row would have cost as much as a computed one. */
void cache_report_print(const sb_plan *plan)
{
    const sb_cache_stats *const stats = plan->cache_stats;
    if (plan->cache_size == 0 || stats->rows == 0)
        return;
    const uint64_t kept = stats->rows - stats->evaluated;
    if (kept == 0) {
        fprintf(stderr, "cache: none of %llu rows was needed again\n",
                (unsigned long long)stats->rows);
        return;
    }
    fprintf(stderr,
            "cache: %llu of %llu rows (%.1f %%) came from the cache; the model took %.2f s for the "
            "others, so about %.2f s were saved; %.0f of %.0f MB are in use\n",
            (unsigned long long)kept, (unsigned long long)stats->rows,
            100 * (double)kept / (double)stats->rows, stats->seconds,
            stats->seconds * (double)kept / (double)stats->evaluated, megabytes(stats->used),
            megabytes(plan->cache_size));
}

int cache_report_write(const sb_plan *plan, FILE *file)
{
    const sb_cache_stats *const stats = plan->cache_stats;
    output out = {0};
    output_text(&out, "{\"rows\":");
    output_unsigned(&out, stats->rows);
    output_key(&out, "evaluated");
    output_unsigned(&out, stats->evaluated);
    output_key_number(&out, "seconds", stats->seconds);
    output_key(&out, "used");
    output_unsigned(&out, stats->used);
    output_key(&out, "size");
    output_unsigned(&out, plan->cache_size);
    output_text(&out, "}\n");
    const bool written = fwrite(out.data, 1, out.size, file) == out.size && fflush(file) == 0;
    const int reason = errno;
    output_free(&out);
    if (written)
        return EXIT_FINE;
    return cli_failure("draw", "cannot write the file of --cache-stats: %s", strerror(reason));
}
