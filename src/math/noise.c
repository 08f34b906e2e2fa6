#include "math/noise.h"

#include <Random123/philox.h>
#include <Random123/u01fixedpt.h>

enum purpose { PURPOSE_CHILD = 0, PURPOSE_SAMPLE = 1, PURPOSE_STEP = 2, PURPOSE_ITEM = 3 };

static philox4x64_ctr_t draw_words(const struct noise_key *key, uint64_t a, uint64_t b,
                                   uint64_t rank, enum purpose purpose)
{
    const philox4x64_ctr_t counter = {{a, b, key->draw, rank | (uint64_t)purpose << 56}};
    const philox4x64_key_t philox_key = {{key->seed, key->stream}};
    return philox4x64(counter, philox_key);
}

struct noise_node noise_child(struct noise_node parent, int32_t token)
{
    /* The hash is the same function with another key: the bytes of "sbeam nd" and "tokenpth". */
    const philox4x64_ctr_t counter = {{parent.a, parent.b, (uint64_t)(uint32_t)token, 0}};
    const philox4x64_key_t key = {{0x736265616d206e64u, 0x746f6b656e707468u}};
    const philox4x64_ctr_t words = philox4x64(counter, key);
    return (struct noise_node){words.v[0], words.v[1]};
}

struct noise_pair noise_of_child(const struct noise_key *key, struct noise_node node, uint64_t rank)
{
    const philox4x64_ctr_t words = draw_words(key, node.a, node.b, rank, PURPOSE_CHILD);
    return (struct noise_pair){u01fixedpt_open_open_64_double(words.v[0]),
                               u01fixedpt_open_open_64_double(words.v[1])};
}

double noise_of_sample(const struct noise_key *key, uint64_t sample, uint64_t position)
{
    return u01fixedpt_open_open_64_double(
        draw_words(key, sample, position, 0, PURPOSE_SAMPLE).v[0]);
}

double noise_of_step(const struct noise_key *key, struct noise_node leaf, uint64_t step)
{
    return u01fixedpt_open_open_64_double(draw_words(key, leaf.a, leaf.b, step, PURPOSE_STEP).v[0]);
}

double noise_of_item(const struct noise_key *key, uint64_t index)
{
    return u01fixedpt_open_open_64_double(draw_words(key, index, 0, 0, PURPOSE_ITEM).v[0]);
}
