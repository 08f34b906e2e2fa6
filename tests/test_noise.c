/* Pins the key schedule of doc/noise.md. The vectors of philox4x64-10 are Random123's own
 * (tests/kat_vectors of its distribution); the others are this project's and must never change. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <Random123/philox.h>

#include "draw_check.h"
#include "math/noise.h"

static void philox_is_philox(void **state)
{
    (void)state;
    static const struct {
        philox4x64_ctr_t counter;
        philox4x64_key_t key;
        uint64_t expected[4];
    } vectors[] = {
        {{{0, 0, 0, 0}},
         {{0, 0}},
         {0x16554d9eca36314cu, 0xdb20fe9d672d0fdcu, 0xd7e772cee186176bu, 0x7e68b68aec7ba23bu}},
        {{{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}},
         {{UINT64_MAX, UINT64_MAX}},
         {0x87b092c3013fe90bu, 0x438c3c67be8d0224u, 0x9cc7d7c69cd777b6u, 0xa09caebf594f0ba0u}},
        {{{0x243f6a8885a308d3u, 0x13198a2e03707344u, 0xa4093822299f31d0u, 0x082efa98ec4e6c89u}},
         {{0x452821e638d01377u, 0xbe5466cf34e90c6cu}},
         {0xa528f45403e61d95u, 0x38c72dbd566e9788u, 0xa5a1610e72fd18b5u, 0x57bd43b5e52b7fe6u}},
    };
    for (int i = 0; i < 3; i++) {
        const philox4x64_ctr_t words = philox4x64(vectors[i].counter, vectors[i].key);
        for (int j = 0; j < 4; j++)
            assert_true(words.v[j] == vectors[i].expected[j]);
    }
}

static void assert_node(struct noise_node node, uint64_t a, uint64_t b)
{
    assert_true(node.a == a && node.b == b);
}

static void keys_are_pinned(void **state)
{
    (void)state;
    const struct noise_node root = {0, 0};
    const struct noise_node first = noise_child(root, 0);
    const struct noise_node second = noise_child(first, 7);
    assert_node(first, 0xbf46ba897fe055fdu, 0x6fa15ec02bf35861u);
    assert_node(second, 0xda68437792b241e0u, 0x896d33f63cc08fb0u);
    assert_node(noise_child(root, INT32_MAX), 0x4de685315cbcf3e4u, 0x0e7974e68a880bfbu);

    const struct noise_key key = {.seed = 7, .stream = 3, .draw = 5};
    const struct noise_pair best = noise_of_child(&key, root, 0);
    const struct noise_pair fifth = noise_of_child(&key, second, 4);
    assert_true(best.value == 0x1.dcc429cdb7b57p-1 && best.choice == 0x1.cd418b13c5f3p-5);
    assert_true(fifth.value == 0x1.178bbab3d06c9p-1 && fifth.choice == 0x1.aac9d1408f662p-2);
    assert_true(noise_of_sample(&key, 2, 9) == 0x1.d4a44996ea479p-1);
    assert_true(noise_of_step(&key, second, 6) == 0x1.3cf236894d76dp-1);
    assert_true(noise_of_item(&key, 11) == 0x1.a7340af7d3245p-1);
}

/* A whole draw: the root's G is the Gumbel of its own value word, and the best sequence has it. */
static void a_draw_is_pinned(void **state)
{
    (void)state;
    sb_model *const model = open_json("{\"format\":\"sbeam-tree\",\"tree\":{\"a\":[0.5,null],"
                                      "\"b\":[0.25,null],\"c\":[0.25,null]}}");
    sb_config config;
    sb_config_default(&config);
    config.k = 3;
    config.seed = 7;
    sb_result *const result = draw(model, &config, 5);
    const struct noise_key key = {.seed = 7, .stream = 0, .draw = 5};
    const struct noise_node root = {0, 0};
    double g = -log(-log(noise_of_child(&key, root, 0).value));
    double left = 1;
    bool gone[3] = {false};
    const double p[] = {0.5, 0.25, 0.25};
    for (int rank = 0; rank < 3; rank++) {
        const struct noise_pair u = noise_of_child(&key, root, (uint64_t)rank);
        if (rank > 0)
            g = -log(exp(-g) - log(u.value) / left);
        double before = 0;
        int child = -1;
        for (int i = 0; i < 3 && child < 0; i++)
            if (!gone[i] && (before += p[i]) > u.choice * left)
                child = i;
        assert_int_equal(result->sequences[rank].tokens[0], child);
        assert_true(fabs(result->sequences[rank].g - g) < 1e-13);
        gone[child] = true;
        left -= p[child];
    }
    sb_result_close(result);
    sb_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_is_philox),
        cmocka_unit_test(keys_are_pinned),
        cmocka_unit_test(a_draw_is_pinned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
