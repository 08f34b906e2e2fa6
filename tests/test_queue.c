/* Compares the queue with two ends with a sorted list, on random programs of pushes and pops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decode/queue.h"
#include "reference.h"

enum { MOST = 300 };

/* Better items first. */
static int compare(const void *x, const void *y)
{
    const struct queue_item *const a = x, *const b = y;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return (a->entry > b->entry) - (a->entry < b->entry);
}

static void assert_same(struct queue_item a, struct queue_item b)
{
    assert_true(a.score == b.score);
    assert_int_equal(a.entry, b.entry);
}

static void ends_are_those_of_a_sorted_list(void **state)
{
    (void)state;
    uint64_t generator = 5;
    for (int program = 0; program < 400; program++) {
        struct queue queue = {0};
        struct queue_item list[MOST];
        size_t n = 0;
        const int n_values = program % 2 ? 1000000 : 7; /* the second kind has many equal scores */
        const double growth = 0.4 + 0.4 * next_uniform(&generator);
        for (int step = 0; step < 1000; step++) {
            const double choice = next_uniform(&generator);
            if (n == 0 || (choice < growth && n < MOST)) {
                const struct queue_item item = {(int)(n_values * next_uniform(&generator)), step};
                assert_int_equal(queue_push(&queue, item), SB_OK);
                list[n++] = item;
                qsort(list, n, sizeof *list, compare);
            } else if (choice < (1 + growth) / 2) {
                assert_same(queue_pop_best(&queue), list[0]);
                memmove(list, list + 1, --n * sizeof *list);
            } else {
                assert_same(queue_pop_worst(&queue), list[--n]);
            }
            assert_int_equal(queue.n, n);
            if (n > 0) {
                assert_same(queue_best(&queue), list[0]);
                assert_same(queue_worst(&queue), list[n - 1]);
            }
        }
        queue_close(&queue);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ends_are_those_of_a_sorted_list)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
