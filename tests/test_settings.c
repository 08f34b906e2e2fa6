/* Tests settings: by name, from text and back, and the errors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sbeam/sbeam.h"

static void settings_by_name(void **state)
{
    (void)state;
    sb_config config, untouched;
    sb_error err;
    sb_config_default(&config);
    assert_int_equal(sb_config_check(&config, &err), SB_OK);
    for (size_t i = 0; sb_config_option(i) != NULL; i++) {
        const sb_option *const option = sb_config_option(i);
        sb_config again = config;
        char text[64];
        assert_int_equal(sb_config_get(&config, option->name, text, sizeof text, &err), SB_OK);
        assert_string_equal(text, option->default_text);
        assert_int_equal(sb_config_set(&again, option->name, option->default_text, &err), SB_OK);
        assert_memory_equal(&again, &config, sizeof config);
        assert_true(strlen(option->help) > 0 && option->methods != 0);
    }
    static const struct {
        const char *name, *value;
    } bad[] = {{"k", "0"},
               {"k", "-1"},
               {"k", "1.5"},
               {"k", ""},
               {"k", "10000001"},
               {"k", "99999999999999999999"},
               {"k", " 3"},
               {"temperature", "0"},
               {"temperature", "-0.5"},
               {"temperature", "nan"},
               {"temperature", "inf"},
               {"temperature", "1x"},
               {"temperature", " 1"},
               {"top-p", "0"},
               {"top-p", "1.01"},
               {"min-p", "-0.1"},
               {"max-len", "0"},
               {"seed", "18446744073709551616"},
               {"method", "SBS"},
               {"method", ""},
               {"method", "sbs|beam"},
               {"finished", "stay|"},
               {"early-stop", "yes"},
               {"strength", "-1"},
               {"max-samples", "0"},
               {"no-such-option", "1"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        untouched = config;
        assert_int_equal(sb_config_set(&config, bad[i].name, bad[i].value, &err), SB_ERR_ARGUMENT);
        assert_non_null(strstr(err.message, bad[i].name));
        assert_memory_equal(&config, &untouched, sizeof config);
    }
    assert_int_equal(sb_config_set(&config, "seed", "18446744073709551615", &err), SB_OK);
    assert_true(config.seed == UINT64_MAX);
    assert_int_equal(sb_config_check(&config, &err), SB_OK);
}

/* Whole numbers are written with all their digits. */
static void bounds_of_whole_numbers(void **state)
{
    (void)state;
    sb_config config;
    sb_plan plan;
    sb_error err;
    sb_config_default(&config);
    sb_plan_default(&plan);
    assert_int_equal(sb_config_set(&config, "seed", "99999999999999999999999", &err),
                     SB_ERR_ARGUMENT);
    assert_string_equal(err.message,
                        "seed is '99999999999999999999999'; expected a whole number of at least 0 "
                        "and at most 18446744073709551615");
    assert_int_equal(sb_plan_set(&plan, "draws", "9007199254740993000", &err), SB_ERR_ARGUMENT);
    assert_string_equal(err.message, "draws is '9007199254740993000'; expected a whole number of "
                                     "at least 1 and at most 9007199254740992");
    config.method = SB_METHOD_REJECT;
    config.max_samples = ((uint64_t)1 << 60) + 1;
    assert_int_equal(sb_config_check(&config, &err), SB_ERR_ARGUMENT);
    assert_string_equal(err.message, "max-samples is '1152921504606846977'; expected a whole "
                                     "number of at least 1 and at most 9007199254740992");
    config.k = 2000000000;
    assert_int_equal(sb_config_check(&config, &err), SB_ERR_ARGUMENT);
    assert_string_equal(
        err.message,
        "k is '2000000000'; expected a whole number of at least 1 and at most 10000000");
    for (size_t i = 0; sb_config_option(i) != NULL; i++) {
        const sb_option *const option = sb_config_option(i);
        if (option->type != SB_OPTION_INT)
            continue;
        assert_int_equal(sb_config_set(&config, option->name, "-1", &err), SB_ERR_ARGUMENT);
        assert_null(strstr(err.message, "e+"));
    }
}

/* The value, the name and the choices of the option "method" are in the same order. */
static void methods_by_name(void **state)
{
    (void)state;
    assert_string_equal(sb_method_name(SB_METHOD_EXPLICIT), "explicit");
    assert_string_equal(sb_method_name(SB_METHOD_BEAM_SAMPLE), "beam-sample");
    assert_string_equal(sb_config_option(0)->metavar,
                        "sbs|beam|sample|diverse|resample|reject|explicit|commit|beam-sample");
    sb_config config;
    sb_error err;
    sb_config_default(&config);
    int n = 0;
    for (const char *name; (name = sb_method_name((sb_method)n)) != NULL; n++) {
        sb_method found;
        assert_true(sb_method_find(name, &found));
        assert_int_equal(found, n);
        assert_int_equal(sb_config_set(&config, "method", name, &err), SB_OK);
        assert_int_equal(config.method, n);
        assert_true(sb_method_takes(found, "k"));
        assert_non_null(sb_method_get_info(found));
    }
    sb_method untouched = SB_METHOD_BEAM;
    assert_false(sb_method_find("bea", &untouched) || sb_method_find(NULL, &untouched));
    assert_int_equal(untouched, SB_METHOD_BEAM);
    assert_null(sb_method_name((sb_method)n));
    assert_null(sb_method_get_info((sb_method)n));
    assert_false(sb_method_takes((sb_method)n, "k"));
}

static void properties_of_methods(void **state)
{
    (void)state;
    assert_true(sb_method_get_info(SB_METHOD_SBS)->has_g);
    assert_int_equal(sb_method_get_info(SB_METHOD_SAMPLE)->law, SB_LAW_INDEPENDENT);
    assert_int_equal(sb_method_get_info(SB_METHOD_DIVERSE)->law, SB_LAW_DETERMINISTIC);
    assert_true(sb_method_get_info(SB_METHOD_REJECT)->counts_samples);
    assert_true(sb_method_get_info(SB_METHOD_REJECT)->has_rounds);
    assert_false(sb_method_get_info(SB_METHOD_SAMPLE)->has_rounds);
    for (int m = 0; sb_method_name((sb_method)m) != NULL; m++) {
        const sb_method_info *const info = sb_method_get_info((sb_method)m);
        if (info->has_g) /* G and its threshold are those of a sample without replacement */
            assert_int_equal(info->law, SB_LAW_WITHOUT_REPLACEMENT);
        if (info->law == SB_LAW_BIASED)
            assert_non_null(info->why_no_estimate);
    }
    assert_true(sb_method_takes(SB_METHOD_SBS, "kappa"));
    assert_false(sb_method_takes(SB_METHOD_BEAM, "kappa"));
    assert_false(sb_method_takes(SB_METHOD_BEAM, "no-such-option"));
    assert_false(sb_method_takes(SB_METHOD_BEAM, NULL));
}

/* The plan has the same machinery: by name, from text and back, with bounds. */
static void plan_by_name(void **state)
{
    (void)state;
    sb_plan plan, untouched;
    sb_error err;
    char text[32];
    sb_plan_default(&plan);
    assert_int_equal(sb_plan_check(&plan, &err), SB_OK);
    assert_true(plan.n_draws == 1 && plan.threads == 1 && plan.batch == 16 && plan.cache_size == 0);
    for (size_t i = 0; sb_plan_option(i) != NULL; i++) {
        const sb_option *const option = sb_plan_option(i);
        assert_int_equal(sb_plan_get(&plan, option->name, text, sizeof text, &err), SB_OK);
        assert_string_equal(text, option->default_text);
        assert_true(strlen(option->help) > 0 && option->metavar != NULL);
        for (int m = 0; sb_method_name((sb_method)m) != NULL; m++)
            assert_true(option->methods >> m & 1);
        /* The bounds hold for values from text and for fields. */
        snprintf(text, sizeof text, "%.0f", option->max);
        assert_int_equal(sb_plan_set(&plan, option->name, text, &err), SB_OK);
        assert_int_equal(sb_plan_check(&plan, &err), SB_OK);
        untouched = plan;
        snprintf(text, sizeof text, "%.0f", option->max + 2);
        assert_int_equal(sb_plan_set(&plan, option->name, text, &err), SB_ERR_ARGUMENT);
        assert_int_equal(sb_plan_set(&plan, option->name, "-1", &err), SB_ERR_ARGUMENT);
        assert_non_null(strstr(err.message, option->name));
        assert_memory_equal(&plan, &untouched, sizeof plan);
    }
    assert_true(plan.cache_size == (size_t)1 << 42);
    plan.cache_size = 1;
    assert_int_equal(sb_plan_get(&plan, "cache", text, sizeof text, &err), SB_OK);
    assert_string_equal(text, "1");
    plan.batch = 4097;
    assert_int_equal(sb_plan_check(&plan, &err), SB_ERR_ARGUMENT);
    assert_string_equal(err.message,
                        "batch is '4097'; expected a whole number of at least 1 and at most 4096");
    assert_int_equal(sb_plan_set(&plan, "no-such", "1", &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_plan_set(NULL, "batch", "1", &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_plan_get(NULL, "batch", text, sizeof text, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_plan_check(NULL, &err), SB_ERR_ARGUMENT);
}

/* The choices of BLEU are the names of its tokenisers and smoothings, in the order of the enums. */
static void bleu_by_name(void **state)
{
    (void)state;
    sb_bleu_config config;
    sb_error err;
    char choices[64] = "";
    for (int i = 0; sb_tokenizer_name((sb_tokenizer)i) != NULL; i++) {
        const char *const name = sb_tokenizer_name((sb_tokenizer)i);
        sb_bleu_config_default(&config);
        assert_int_equal(sb_bleu_config_set(&config, "tokenize", name, &err), SB_OK);
        assert_int_equal(config.tokenizer, i);
        strcat(strcat(choices, i > 0 ? "|" : ""), name);
    }
    assert_string_equal(sb_bleu_option(0)->name, "tokenize");
    assert_string_equal(sb_bleu_option(0)->metavar, choices);
    for (int i = 0; sb_smoothing_name((sb_smoothing)i) != NULL; i++) {
        const char *const name = sb_smoothing_name((sb_smoothing)i);
        assert_int_equal(sb_bleu_config_set(&config, "smooth", name, &err), SB_OK);
        assert_int_equal(config.smoothing, i);
    }
    sb_bleu_config_default(&config);
    assert_true(config.tokenizer == SB_TOKENIZER_13A && config.smoothing == SB_SMOOTHING_EXP);
    assert_true(isnan(config.smooth_value) && !config.effective_order);
    assert_int_equal(sb_bleu_config_set(&config, "smooth-value", "0.317", &err), SB_OK);
    assert_true(config.smooth_value == 0.317);
    assert_int_equal(sb_bleu_config_set(&config, "smooth-value", "-1", &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_bleu_config_set(&config, "smooth", "add-1", &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_bleu_config_set(NULL, "smooth", "exp", &err), SB_ERR_ARGUMENT);
    assert_null(sb_bleu_option(3));
}

/* What is set by name is read back by name: the same config, through text. */
static void settings_read_back(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value;
    } odd[] = {{"method", "diverse"},
               {"k", "9999996"},
               {"temperature", "0.317"},
               {"temperature", "1e-100"},
               {"temperature", "1e+100"},
               {"temperature", "0.1000000000000000055"}, /* more digits than a double has */
               {"temperature", "0.30000000000000004"},
               {"seed", "18446744073709551615"},
               {"kappa", "false"},
               {"max-len", "1000000"},
               {"min-len", "17"},
               {"top-k", "2147483647"},
               {"top-p", "0.9999999999999999"},
               {"min-p", "4.9406564584124654e-324"},
               {"finished", "leave"},
               {"length-penalty", "-9.87654321"},
               {"early-stop", "true"},
               {"groups", "12"},
               {"strength", "0.6931471805599453"},
               {"penalty", "step"},
               {"search", "best-first"},
               {"parallel", "4095"},
               {"until-mass", "0.9999999999999999"},
               {"until-texts", "9999999"},
               {"max-samples", "9007199254740991"}};
    for (size_t i = 0; sb_config_option(i) != NULL; i++) {
        bool seen = false;
        for (size_t j = 0; j < sizeof odd / sizeof *odd; j++)
            seen = seen || strcmp(sb_config_option(i)->name, odd[j].name) == 0;
        if (!seen)
            fail_msg("no value to try for %s", sb_config_option(i)->name);
    }
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        sb_config config, again;
        char text[64], twice[64];
        sb_error err;
        sb_config_default(&config);
        again = config;
        assert_int_equal(sb_config_set(&config, odd[i].name, odd[i].value, &err), SB_OK);
        assert_int_equal(sb_config_get(&config, odd[i].name, text, sizeof text, &err), SB_OK);
        assert_memory_not_equal(&config, &again, sizeof config);
        assert_int_equal(sb_config_set(&again, odd[i].name, text, &err), SB_OK);
        assert_memory_equal(&config, &again, sizeof config);
        assert_int_equal(sb_config_get(&again, odd[i].name, twice, sizeof twice, &err), SB_OK);
        assert_string_equal(text, twice);
    }
}

/* Whole numbers, choices and flags are written as they were; what does not fit is cut. */
static void settings_as_text(void **state)
{
    (void)state;
    sb_config config;
    sb_error err;
    char text[32];
    sb_config_default(&config);
    config.seed = 18446744073709551557u; /* no double is this number */
    config.method = SB_METHOD_EXPLICIT;
    config.temperature = 0.1;
    assert_int_equal(sb_config_get(&config, "seed", text, sizeof text, &err), SB_OK);
    assert_string_equal(text, "18446744073709551557");
    assert_int_equal(sb_config_get(&config, "method", text, sizeof text, &err), SB_OK);
    assert_string_equal(text, "explicit");
    assert_int_equal(sb_config_get(&config, "temperature", text, sizeof text, &err), SB_OK);
    assert_string_equal(text, "0.1");
    config.strength = 1e-7; /* records have this form, with two digits in the exponent */
    assert_int_equal(sb_config_get(&config, "strength", text, sizeof text, &err), SB_OK);
    assert_string_equal(text, "1e-07");
    memset(text, 'x', sizeof text);
    assert_int_equal(sb_config_get(&config, "method", text, 4, &err), SB_OK);
    assert_string_equal(text, "exp");
    assert_true(text[4] == 'x');
    assert_int_equal(sb_config_get(&config, "ban", text, sizeof text, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_config_get(NULL, "k", text, sizeof text, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_config_get(&config, NULL, text, sizeof text, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_config_get(&config, "k", NULL, 0, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_config_set(&config, "k", NULL, NULL), SB_ERR_ARGUMENT);
}

static void expect_refused(const sb_config *config, const char *message)
{
    sb_error err = {SB_OK, ""};
    assert_int_equal(sb_config_check(config, &err), SB_ERR_ARGUMENT);
    if (strstr(err.message, message) == NULL)
        fail_msg("expected '%s' in '%s'", message, err.message);
}

static void settings_that_methods_refuse(void **state)
{
    (void)state;
    sb_config config;
    sb_config_default(&config);
    config.length_penalty = 0.6;
    expect_refused(&config, "no longer be a sample");
    assert_non_null(strstr(sb_config_refusal(&config, "length-penalty"), "no longer be a sample"));
    assert_null(sb_config_refusal(&config, "early-stop")); /* it has its default */
    config.method = SB_METHOD_DIVERSE;                     /* it makes no sample that could break */
    expect_refused(&config, "method diverse has no option length-penalty");
    assert_null(sb_config_refusal(&config, "length-penalty"));
    config.method = SB_METHOD_BEAM;
    assert_null(sb_config_refusal(&config, "length-penalty"));
    config.method = SB_METHOD_SBS;
    config.length_penalty = 0;
    config.early_stop = true;
    expect_refused(&config, "early-stop");
    config.early_stop = false;
    config.strength = 0.1;
    expect_refused(&config, "method sbs has no option strength");
    assert_null(sb_config_refusal(&config, "strength"));
    assert_null(sb_config_refusal(&config, "no-such-option"));
    assert_null(sb_config_refusal(NULL, NULL));
    sb_config_default(&config);
    config.k = 0;
    expect_refused(&config, "k is '0'");
    sb_config_default(&config);
    config.temperature = -1;
    expect_refused(&config, "temperature");
    config.temperature = NAN;
    expect_refused(&config, "temperature");
    config.temperature = 1e-310;
    expect_refused(&config, "1e-100");
    sb_config_default(&config);
    config.min_len = 300;
    expect_refused(&config, "max-len");
    sb_config_default(&config);
    config.method = SB_METHOD_DIVERSE;
    config.groups = 3;
    expect_refused(&config, "divisor");
    sb_config_default(&config);
    config.method = (sb_method)99;
    expect_refused(&config, "method");
    sb_config_default(&config);
    const char *const stops[] = {""};
    config.stop = stops;
    config.n_stop = 1;
    expect_refused(&config, "empty");
    config.stop = NULL;
    expect_refused(&config, "no list");
    assert_int_equal(sb_config_check(NULL, NULL), SB_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_by_name),
        cmocka_unit_test(bounds_of_whole_numbers),
        cmocka_unit_test(methods_by_name),
        cmocka_unit_test(properties_of_methods),
        cmocka_unit_test(plan_by_name),
        cmocka_unit_test(bleu_by_name),
        cmocka_unit_test(settings_read_back),
        cmocka_unit_test(settings_as_text),
        cmocka_unit_test(settings_that_methods_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
