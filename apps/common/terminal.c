/* Terminal width, colour, bars and progress. In a file or a pipe there is no colour and no
 * progress, and the width is that of COLUMNS, or 80. */
#include "common/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "common/utf.h"

enum { MIN_WIDTH = 20, MAX_WIDTH = 10000, DEFAULT_WIDTH = 80, PROGRESS_WIDTH = 30 };

static size_t find_width(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col < MIN_WIDTH ? MIN_WIDTH : size.ws_col;
    const char *const columns = getenv("COLUMNS");
    const long width = columns != NULL ? strtol(columns, NULL, 10) : 0;
    if (width <= 0 || width > MAX_WIDTH)
        return DEFAULT_WIDTH;
    return width < MIN_WIDTH ? MIN_WIDTH : (size_t)width;
}

terminal terminal_look(void)
{
    const char *const no_color = getenv("NO_COLOR");
    const char *const term = getenv("TERM");
    const bool wanted = no_color == NULL || *no_color == '\0';
    const bool able = term != NULL && strcmp(term, "dumb") != 0;
    return (terminal){.width = find_width(),
                      .unicode = utf_is_locale(),
                      .colour = wanted && able && isatty(STDOUT_FILENO)};
}

void terminal_style(const terminal *term, output *out, const char *style)
{
    if (term->colour)
        output_format(out, "\x1b[%sm", style);
}

void terminal_plain(const terminal *term, output *out)
{
    if (term->colour)
        output_text(out, "\x1b[0m");
}

void terminal_bar(const terminal *term, output *out, double share, size_t width)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const size_t parts = term->unicode ? 8 : 1;
    size_t filled = (size_t)(share * (double)(width * parts) + 0.5);
    if (filled == 0 && share > 0)
        filled = 1;
    if (filled > width * parts)
        filled = width * parts;
    const size_t whole = filled / parts, rest = filled % parts;
    output_repeat(out, term->unicode ? "█" : "#", whole);
    if (term->unicode)
        output_text(out, eighths[rest]);
    output_repeat(out, " ", width - whole - (rest > 0));
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void progress_open(progress *bar, uint64_t total)
{
    const double start = now();
    *bar = (progress){.total = total, .start = start, .last_done = start};
    bar->is_on = isatty(STDERR_FILENO);
    bar->shares_screen = isatty(STDOUT_FILENO);
}

/* Returns whether to show a number again, which was last shown at *last: at most 10 times a
 * second. */
static bool is_time(progress *bar, double time, double *last)
{
    if (time - *last < 0.1)
        return false;
    *last = time;
    bar->is_shown = true;
    return true;
}

static void show_draws(const progress *bar, double seconds)
{
    const double rate = (double)bar->done / seconds;
    if (bar->total == 0) {
        fprintf(stderr, "\r%llu draws, %.0f/s\x1b[K", (unsigned long long)bar->done, rate);
        return;
    }
    const double share = (double)bar->done / (double)bar->total;
    const int filled = (int)(share * PROGRESS_WIDTH);
    fprintf(stderr, "\r[%.*s%*s] %3.0f%%  %.0f/s  %.0f s left\x1b[K", filled,
            "##############################", PROGRESS_WIDTH - filled, "", 100 * share, rate,
            (double)(bar->total - bar->done) / rate);
}

void progress_step(progress *bar)
{
    bar->done++;
    if (!bar->is_on)
        return;
    const double time = now();
    bar->last_done = time;
    if (!bar->shares_screen && time - bar->start >= 1 && is_time(bar, time, &bar->draws_at))
        show_draws(bar, time - bar->start);
}

static void show_sequences(const progress *bar, double seconds)
{
    char total[40] = "";
    if (bar->total > 0)
        snprintf(total, sizeof total, " of %llu", (unsigned long long)bar->total);
    fprintf(stderr, "\r%llu%s draws, %llu sequences found, %.0f s\x1b[K",
            (unsigned long long)bar->done, total, (unsigned long long)bar->found, seconds);
}

void progress_find(progress *bar)
{
    bar->found++;
    if (!bar->is_on)
        return;
    const double time = now();
    if (time - bar->last_done >= 2 && is_time(bar, time, &bar->found_at))
        show_sequences(bar, time - bar->start);
}

void progress_hide(progress *bar)
{
    if (bar->shares_screen)
        progress_close(bar);
}

void progress_close(progress *bar)
{
    if (bar->is_shown)
        fprintf(stderr, "\r\x1b[K");
    bar->is_shown = false;
}
