/* Admission, references and the job machine, played by hand: no engine, no store, no clock. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/literal.h"
#include "../../src/core/text.h"
#include "../../src/step/job.h"
#include "check.h"

static moonplan_document *parse(const char *json) {
    moonplan_error err;
    moonplan_document *document = moonplan_document_parse(json, strlen(json), NULL, &err);
    if (!CHECK(document != NULL)) printf("# %s: %s\n", json, err.message);
    return document;
}

/* -- Literals ----------------------------------------------------------------*/

static void literals_compare_as_numbers(void) {
    /* In ascending order; a row's literals are equal. */
    static const char *const rows[][4] = {{"-1e400", "-10e399"},
                                          {"-9223372036854775809"},
                                          {"-9223372036854775808", "-9223372036854775808.000"},
                                          {"-1.5", "-15e-1", "-0.15E+1"},
                                          {"-1e-400"},
                                          {"0", "-0", "0.000", "0e999999999999999999999"},
                                          {"1e-400", "0.01e-398"},
                                          {"0.1", "1e-1", "0.0001e3", "100e-3"},
                                          {"0.10000000000000000000000000000000000000000000000001"},
                                          {"9007199254740992"},
                                          {"9007199254740993", "9007199254740993.0"},
                                          {"1e400"},
                                          {"1e99999999999999999999"}};
    size_t count = sizeof rows / sizeof *rows;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            for (size_t k = 0; k < 4 && rows[i][k]; k++)
                for (size_t m = 0; m < 4 && rows[j][m]; m++) {
                    int expected = (i > j) - (i < j);
                    if (!CHECK(mpl_literal_order(text_of(rows[i][k]), text_of(rows[j][m])) ==
                               expected))
                        printf("# %s and %s\n", rows[i][k], rows[j][m]);
                }
}

static void literals_fit_a_double_up_to_half_a_step_beyond_its_largest(void) {
    /* IEEE 754: the largest double is 1.7976931348623157081...e308, half a step further is
     * 1.7976931348623158079...e308, and there rounding goes to infinity. */
    CHECK(mpl_literal_is_finite(text_of("1.7976931348623158e308")));
    CHECK(mpl_literal_is_finite(text_of("-1.7976931348623158e308")));
    CHECK(!mpl_literal_is_finite(text_of("1.7976931348623159e308")));
    CHECK(!mpl_literal_is_finite(text_of("-1e309")));
    CHECK(mpl_literal_is_finite(text_of("1e-999999999999")));
    CHECK(mpl_literal_is_finite(text_of("0e999999999999")));
    /* strtod is the outside judge near the edge. */
    for (int last = 0; last < 100; last++) {
        char literal[40];
        snprintf(literal, sizeof literal, "1.79769313486231580%02de308", last);
        CHECK(mpl_literal_is_finite(text_of(literal)) == (strtod(literal, NULL) < HUGE_VAL));
    }
}

/* -- References --------------------------------------------------------------*/

static void references_are_cut_at_the_first_result(void) {
    static const struct {
        const char *text, *id, *path; /* id NULL: no reference */
    } rows[] = {{"steps.a.result", "a", NULL},
                {"steps.a.result.", "a", ""},
                {"steps.a.result..id", "a", ".id"},
                {"steps.a.result.b.result", "a", "b.result"},
                {"steps.a.b c.result.x", "a.b c", "x"},
                {"steps.resul.result", "resul", NULL},
                {"steps..result", NULL, NULL},
                {"steps.result", NULL, NULL},
                {"steps.result.result", NULL, NULL},
                {"steps.resulting.result", NULL, NULL},
                {"steps.a.results", NULL, NULL},
                {"steps.my.results.result", NULL, NULL},
                {"steps.a", NULL, NULL},
                {"Steps.a.result", NULL, NULL},
                {" steps.a.result", NULL, NULL},
                {"steps.a.resul", NULL, NULL},
                {"steps.", NULL, NULL},
                {"", NULL, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mpl_reference reference;
        bool found = mpl_reference_parse(&reference, text_of(rows[i].text));
        if (!CHECK(found == (rows[i].id != NULL))) printf("# %s\n", rows[i].text);
        if (!found || !rows[i].id) continue;
        CHECK_TEXT(rows[i].id, reference.id);
        if (rows[i].path)
            CHECK_TEXT(rows[i].path, reference.path);
        else
            CHECK(reference.path.bytes == NULL);
    }
}

/* An id is reachable if and only if the reference that is written with it leads back to it. */
static void an_id_is_reachable_when_its_reference_names_it(void) {
    static const char letters[] = ".resultx";
    char id[16], text[40];
    size_t checked = 0;
    /* All ids of up to five of these letters, and pieces of the marker around others. */
    for (unsigned long n = 0; n < 37449; n++) {
        size_t length = 0;
        for (unsigned long rest = n; rest; rest = (rest - 1) / 8)
            id[length++] = letters[(rest - 1) % 8];
        id[length] = 0;
        snprintf(text, sizeof text, "steps.%s.result", id);
        mpl_reference reference;
        bool named = mpl_reference_parse(&reference, text_of(text)) && !reference.path.bytes &&
                     mpl_text_equal(reference.id, text_of(id));
        if (!CHECK(mpl_reference_reaches(text_of(id)) == named)) printf("# %s\n", id);
        checked++;
    }
    static const char *const more[] = {"result",  "resulting", "a.result",  "a.results",
                                       ".result", "x.result.", "a.resul",   "results",
                                       "re.sult", "a..result", "a.resultb", "resul"};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        snprintf(text, sizeof text, "steps.%s.result", more[i]);
        mpl_reference reference;
        bool named = mpl_reference_parse(&reference, text_of(text)) && !reference.path.bytes &&
                     mpl_text_equal(reference.id, text_of(more[i]));
        CHECK(mpl_reference_reaches(text_of(more[i])) == named);
    }
    CHECK(checked == 37449);
}

static bool one_result(void *data, moonplan_text id, moonplan_value *result) {
    if (!mpl_text_is(id, "a")) return false;
    *result = *(moonplan_value *)data;
    return true;
}

/* What the input resolves to when step a's result is this; NULL result: nothing. */
static void resolves(const char *result, const char *input, const char *expected,
                     moonplan_code code) {
    moonplan_document *from = result ? parse(result) : NULL, *document = parse(input);
    moonplan_value value =
        from ? moonplan_document_root(from) : (moonplan_value){document, UINT32_MAX};
    moonplan_options options;
    moonplan_options_init(&options);
    mpl_resolved out;
    moonplan_error err = {.code = MOONPLAN_OK};
    bool fine = mpl_reference_resolve(&out, moonplan_document_root(document),
                                      (mpl_results){one_result, &value}, &options, &err);
    if (!CHECK(fine == (code == MOONPLAN_OK)) || !CHECK(err.code == code))
        printf("# %s: %s %s\n", input, moonplan_code_name(err.code), err.message);
    if (fine && expected)
        CHECK_TEXT(expected, moonplan_value_source(out.value));
    else if (fine)
        CHECK(moonplan_value_type(out.value) == MOONPLAN_NONE);
    if (fine) moonplan_document_free(out.own);
    moonplan_document_free(from);
    moonplan_document_free(document);
}

static void references_resolve_to_own_members_and_results_are_data(void) {
    const char *whole = "{\"$ref\":\"steps.a.result\"}";
    resolves("[1,{\"x\":[]}]", whole, "[1,{\"x\":[]}]", MOONPLAN_OK);
    /* Numbers as they stand. */
    resolves("{\"n\":12345678901234567890.50}", "[{\"$ref\":\"steps.a.result.n\"}]",
             "[12345678901234567890.50]", MOONPLAN_OK);
    resolves("{\"r\":{\"$ref\":\"steps.zzz.result\"}}", "{\"v\":{\"$ref\":\"steps.a.result.r\"}}",
             "{\"v\":{\"$ref\":\"steps.zzz.result\"}}", MOONPLAN_OK);
    resolves("[[1,2],[3]]",
             "[{\"$ref\":\"steps.a.result.0.length\"},[{\"$ref\":\"steps.a.result.1"
             ".0\"}],{\"k\":{\"$ref\":\"steps.a.result.length\"}}]",
             "[2,[3],{\"k\":2}]", MOONPLAN_OK);
    resolves("[5]", "{\"$ref\":\"steps.a.result.length\"}", "1", MOONPLAN_OK);
    resolves("{\"length\":7,\"__proto__\":8}",
             "[{\"$ref\":\"steps.a.result.length\"},{\"$ref\":"
             "\"steps.a.result.__proto__\"}]",
             "[7,8]", MOONPLAN_OK);
    resolves("{\"\":{\"id\":1}}", "[{\"$ref\":\"steps.a.result..id\"}]", "[1]", MOONPLAN_OK);
    resolves("{\"f\":[false,null,0,\"\"]}",
             "[{\"$ref\":\"steps.a.result.f.0\"},{\"$ref\":\"steps.a"
             ".result.f.1\"}]",
             "[false,null]", MOONPLAN_OK);
    /* The escape is undone before anything is compared. */
    resolves("{\"id\":1}", "[{\"\\u0024ref\":\"steps.a.result.\\u0069d\"}]", "[1]", MOONPLAN_OK);
    /* Not references: more members, other types. */
    resolves("1",
             "[{\"$ref\":\"x\",\"y\":{\"$ref\":\"steps.a.result\"}},{\"$ref\":1},{\"$ref\":null}"
             ",[\"$ref\",\"steps.a.result\"],{\"$Ref\":\"x\"}]",
             "[{\"$ref\":\"x\",\"y\":1},{\"$ref\":1},{\"$ref\":null},[\"$ref\",\"steps.a.result\"],"
             "{\"$Ref\":\"x\"}]",
             MOONPLAN_OK);
    static const char *const lost[] = {"nope",
                                       "s.length",
                                       "s.0",
                                       "items.map",
                                       "items.00",
                                       "items.-1",
                                       "items.2",
                                       "nul.x",
                                       "items.length.x",
                                       "a.b",
                                       "items.",
                                       "items.4294967296",
                                       "items.99999999999999999999"};
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        char input[80];
        snprintf(input, sizeof input, "[{\"$ref\":\"steps.a.result.%s\"}]", lost[i]);
        resolves("{\"s\":\"text\",\"items\":[1,2],\"nul\":null,\"a.b\":1}", input, NULL,
                 MOONPLAN_JOB_REFERENCE_PATH);
    }
    resolves("1", "{\"$ref\":\"steps.b.result\"}", NULL, MOONPLAN_JOB_REFERENCE_SOURCE);
    resolves("1", "[{\"$ref\":\"nonsense\"}]", NULL, MOONPLAN_JOB_REFERENCE_INVALID);
}

static void a_reference_to_no_result_is_nothing(void) {
    resolves(NULL, "{\"$ref\":\"steps.a.result\"}", NULL, MOONPLAN_OK);
    resolves(NULL, "{\"v\":{\"$ref\":\"steps.a.result\"},\"w\":1}", "{\"w\":1}", MOONPLAN_OK);
    resolves(NULL, "[1,{\"$ref\":\"steps.a.result\"}]", "[1,null]", MOONPLAN_OK);
    resolves(NULL, "[{\"$ref\":\"steps.a.result.x\"}]", NULL, MOONPLAN_JOB_REFERENCE_PATH);
}

/* Wide and deep containers have tables in their index; the copy must step over them. */
static void inputs_with_large_containers_resolve(void) {
    char input[8000] = "{\"list\":[", expected[8000] = "{\"list\":[";
    for (int i = 0; i < 40; i++) {
        snprintf(input + strlen(input), 100, "%s{\"m%d\":[{\"$ref\":\"steps.a.result\"},%d]}",
                 i ? "," : "", i, i);
        snprintf(expected + strlen(expected), 100, "%s{\"m%d\":[true,%d]}", i ? "," : "", i, i);
    }
    strcat(input, "]");
    strcat(expected, "]");
    for (int i = 0; i < 40; i++) {
        snprintf(input + strlen(input), 100, ",\"k%d\":{\"$ref\":\"steps.a.result\"}", i);
        snprintf(expected + strlen(expected), 100, ",\"k%d\":true", i);
    }
    strcat(input, "}");
    strcat(expected, "}");
    resolves("true", input, expected, MOONPLAN_OK);
}

/* -- Admission ---------------------------------------------------------------*/

static const mpl_capability *only;
static moonplan_error only_why;
static size_t asked;

static const mpl_capability *find(void *data, moonplan_text name, moonplan_error *err) {
    (void)data;
    asked++;
    if (only && mpl_text_equal(name, only->name)) return only;
    *err = only_why;
    return NULL;
}

static moonplan_text name_at(void *data, size_t n) {
    (void)data;
    return n == 0 && only ? only->name : (moonplan_text){NULL, 0};
}

static moonplan_step_plan *admit(const char *json, const mpl_admission *given,
                                 moonplan_error_list **errors, moonplan_error *err) {
    mpl_admission admission = given ? *given : (mpl_admission){.fault_count = 0};
    admission.catalogue = (mpl_catalogue){find, name_at, NULL};
    moonplan_options options;
    moonplan_options_init(&options);
    options.errors = errors;
    return mpl_step_plan_admit(parse(json), &admission, &options, err);
}

/* The faults of a plan, as "code at" lines. */
static void refused(const char *json, const mpl_admission *admission, const char *expected) {
    moonplan_error_list *errors = NULL;
    moonplan_error err;
    moonplan_step_plan *plan = admit(json, admission, &errors, &err);
    char lines[4000] = "";
    for (size_t i = 0; i < moonplan_error_list_count(errors); i++) {
        const moonplan_error *one = moonplan_error_list_at(errors, i);
        snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "%s %s\n",
                 moonplan_code_name(one->code), one->at);
    }
    CHECK(plan == NULL);
    if (!CHECK(strcmp(lines, expected) == 0)) printf("# %s\n%s", json, lines);
    if (errors) CHECK(err.code == moonplan_error_list_at(errors, 0)->code);
    moonplan_error_list_free(errors);
    moonplan_step_plan_free(plan);
}

static const mpl_capability plain = {.name = {"c", 1}, .version = {"1", 1}, .risk = {"read", 4}};

static void members_of_another_type_end_the_checks_of_their_step(void) {
    only = &plain;
    refused("[]", NULL, "plan.shape \n");
    refused("{}", NULL, "plan.shape /steps\n");
    refused("{\"steps\":{},\"goal\":1,\"idempotencyKey\":null}", NULL,
            "plan.shape /goal\nplan.shape /idempotencyKey\nplan.shape /steps\n");
    refused("{\"steps\":[]}", NULL, "plan.empty /steps\n");
    refused("{\"steps\":[null,[],{},{\"id\":1,\"capability\":null,\"capabilityVersion\":2,"
            "\"reason\":[],\"idempotencyKey\":{}}]}",
            NULL,
            "plan.shape /steps/0\nplan.shape /steps/1\nplan.shape /steps/2/id\n"
            "plan.shape /steps/2/capability\nplan.shape /steps/3/id\n"
            "plan.shape /steps/3/capability\nplan.shape /steps/3/capabilityVersion\n"
            "plan.shape /steps/3/reason\nplan.shape /steps/3/idempotencyKey\n");
    /* Of that step only; and its id counts as seen. */
    refused("{\"steps\":[{\"id\":\"a\",\"capability\":\"c\",\"reason\":1},{\"id\":\"a\","
            "\"capability\":\"c\",\"input\":{\"$ref\":\"steps.a.result\"}}]}",
            NULL, "plan.shape /steps/0/reason\nplan.duplicate_step_id /steps/1/id\n");
}

static void the_order_in_a_step_is_id_capability_version_fields_references(void) {
    moonplan_options options;
    moonplan_options_init(&options);
    moonplan_error err;
    mpl_schema *schema = mpl_schema_new(
        text_of(
            "{\"n\":{\"type\":\"number\",\"max\":3},\"m\":{\"type\":\"string\",\"required\":true}"
            ",\"a\":{\"type\":\"any\"}}"),
        false, NULL, &options, &err);
    moonplan_text missing[] = {MOONPLAN_TEXT("fs"), MOONPLAN_TEXT("clock")};
    mpl_capability full = {.name = {"c", 1},
                           .version = {"1", 1},
                           .risk = {"read", 4},
                           .input = schema,
                           .missing = missing,
                           .missing_count = 2,
                           .lua_values = true};
    only = &full;
    refused("{\"steps\":[{\"input\":{\"z\":[1e400,{\"$ref\":\"steps.x.result\"},"
            "9223372036854775808,{\"$ref\":\"\"}],\"n\":4,\"a\":0},\"id\":\"x\","
            "\"capabilityVersion\":\"2\",\"capability\":\"c\"}]}",
            NULL,
            "plan.power_missing /steps/0/capability\n"
            "plan.capability_version /steps/0/capabilityVersion\n"
            "plan.input_schema /steps/0/input/a\n"
            "plan.input_missing /steps/0/input/m\n"
            "plan.input_value /steps/0/input/n\n"
            "plan.input_number /steps/0/input/z/0\n"
            "plan.input_number /steps/0/input/z/2\n"
            "plan.reference_order /steps/0/input/z/1\n"
            "plan.reference_invalid /steps/0/input/z/3\n");
    /* Without an input the missing field still has its place. */
    full.missing_count = 0;
    refused("{\"steps\":[{\"id\":\"x\",\"capability\":\"c\"}]}", NULL,
            "plan.input_missing /steps/0/input/m\n");
    mpl_schema_free(schema);
}

static void a_capability_that_is_not_there_is_asked_for_once(void) {
    only = &plain;
    asked = 0;
    only_why = (moonplan_error){.code = MOONPLAN_OK};
    refused("{\"steps\":[{\"id\":\"1\",\"capability\":\"x\"},{\"id\":\"2\",\"capability\":\"y\"},"
            "{\"id\":\"3\",\"capability\":\"x\"},{\"id\":\"4\",\"capability\":\"c\"}]}",
            NULL,
            "plan.unknown_capability /steps/0/capability\n"
            "plan.unknown_capability /steps/1/capability\n"
            "plan.unknown_capability /steps/2/capability\n");
    CHECK(asked == 3);
    /* One that cannot be used: the reason is told. */
    mpl_error_set(&only_why, MOONPLAN_PLUGIN_MANIFEST, MOONPLAN_NO_OFFSET, NULL, "x.lua is broken");
    moonplan_error err;
    CHECK(!admit("{\"steps\":[{\"id\":\"1\",\"capability\":\"x\"}]}", NULL, NULL, &err));
    CHECK(err.code == MOONPLAN_PLAN_UNKNOWN_CAPABILITY);
    CHECK(strstr(err.message, "plugin.manifest: x.lua is broken") != NULL);
    only_why = (moonplan_error){.code = MOONPLAN_OK};
}

static void faults_of_a_capture_stand_in_for_the_step(void) {
    only = &plain;
    mpl_capture_fault faults[3] = {{MPL_CAPTURE_PLAN, {.code = MOONPLAN_PLAN_SHAPE, .at = "/goal"}},
                                   {1, {.code = MOONPLAN_PLAN_SHAPE, .at = "/steps/1/input/f"}},
                                   {1, {.code = MOONPLAN_PLAN_INPUT_NUMBER, .at = "/steps/1/x"}}};
    mpl_admission admission = {.faults = faults, .fault_count = 3};
    refused(
        "{\"goal\":null,\"steps\":[{\"id\":\"a\",\"capability\":\"no\"},{\"id\":\"b\","
        "\"capability\":\"no\",\"input\":{\"$ref\":\"\"}},{\"id\":\"b\",\"capability\":\"c\"}]}",
        &admission,
        "plan.shape /goal\nplan.unknown_capability /steps/0/capability\n"
        "plan.shape /steps/1/input/f\nplan.input_number /steps/1/x\n"
        "plan.duplicate_step_id /steps/2/id\n");
}

static void versions_warn_or_refuse(void) {
    only = &plain;
    static const char *const texts[] = {"\"1.0\"", "\"2.0\"", "\"\"", "1", "null", NULL};
    moonplan_text versions[] = {MOONPLAN_TEXT("1.0"), MOONPLAN_TEXT("1.1")};
    mpl_admission strict = {.versions = versions, .version_count = 2};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char json[200];
        snprintf(json, sizeof json, "{%s%s%s\"steps\":[{\"id\":\"a\",\"capability\":\"c\"}]}",
                 texts[i] ? "\"version\":" : "", texts[i] ? texts[i] : "", texts[i] ? "," : "");
        moonplan_step_plan *plan = admit(json, NULL, NULL, NULL);
        CHECK(plan && moonplan_step_plan_warning_count(plan) == (i > 0));
        if (plan && i > 0)
            CHECK(moonplan_step_plan_warning(plan, 0)->code == MOONPLAN_PLAN_VERSION_UNKNOWN);
        moonplan_step_plan_free(plan);
        if (i > 0) refused(json, &strict, texts[i] ? "plan.version /version\n" : "plan.version \n");
        plan = i > 0 ? NULL : admit(json, &strict, NULL, NULL);
        CHECK((plan != NULL) == (i == 0));
        moonplan_step_plan_free(plan);
    }
}

static void ids_that_no_reference_reaches_are_warned_of(void) {
    only = &plain;
    moonplan_step_plan *plan = admit(
        "{\"version\":\"1.0\",\"steps\":[{\"id\":\"\",\"capability\":\"c\"},{\"id\":\"results\","
        "\"capability\":\"c\"},{\"id\":\"a.result\",\"capability\":\"c\"},{\"id\":\"a\","
        "\"capability\":\"c\"}]}",
        NULL, NULL, NULL);
    CHECK(plan && moonplan_step_plan_warning_count(plan) == 3);
    for (size_t i = 0; plan && i < 3; i++) {
        char at[40];
        snprintf(at, sizeof at, "/steps/%zu/id", i);
        const moonplan_error *warning = moonplan_step_plan_warning(plan, i);
        CHECK(warning->code == MOONPLAN_PLAN_STEP_ID_UNREACHABLE && strcmp(warning->at, at) == 0);
    }
    moonplan_step_plan_free(plan);
}

static void the_text_for_a_duplicate_is_the_contracts(void) {
    only = &plain;
    static const struct {
        const char *id, *shown;
    } rows[] = {
        {"a b", "Duplicate step ID: a b"},
        {"\\u00e9\\ud83d\\ude00\\\"\\\\", "Duplicate step ID: \xc3\xa9\xf0\x9f\x98\x80\"\\"},
        {"", "Duplicate step ID: "},
        {"q\\\"\\\\\\u00e9", "Duplicate step ID: q\"\\\xc3\xa9"},
        {"x\\u0000y\\u202e", "Duplicate step ID: x\\u{0}y\\u{202e}"},
        /* What can be shown stays itself beside what cannot. */
        {"q\\\"\\\\\\u00e9\\t", "Duplicate step ID: q\"\\\xc3\xa9\\u{9}"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char json[300];
        snprintf(json, sizeof json,
                 "{\"steps\":[{\"id\":\"%s\",\"capability\":\"c\"},{\"id\":\"%s\",\"capability\":"
                 "\"c\"}]}",
                 rows[i].id, rows[i].id);
        moonplan_error err;
        CHECK(!admit(json, NULL, NULL, &err));
        CHECK(strcmp(err.message, rows[i].shown) == 0);
    }
    /* As long as an id may be by default: exact to its last byte. */
    char id[257], json[800], expected[300];
    memset(id, 'i', 256);
    id[256] = 0;
    snprintf(
        json, sizeof json,
        "{\"steps\":[{\"id\":\"%s\",\"capability\":\"c\"},{\"id\":\"%s\",\"capability\":\"c\"}]}",
        id, id);
    snprintf(expected, sizeof expected, "Duplicate step ID: %s", id);
    moonplan_error err;
    CHECK(!admit(json, NULL, NULL, &err) && strcmp(err.message, expected) == 0);
    /* What grows too long by being spelled out loses its end, and says so. */
    char hidden[601] = "";
    for (size_t i = 0; i < 100; i++) strcpy(hidden + 6 * i, "\\u0001");
    char longer[1400];
    snprintf(
        longer, sizeof longer,
        "{\"steps\":[{\"id\":\"%s\",\"capability\":\"c\"},{\"id\":\"%s\",\"capability\":\"c\"}]}",
        hidden, hidden);
    CHECK(!admit(longer, NULL, NULL, &err));
    CHECK(strncmp(err.message, "Duplicate step ID: \\u{1}\\u{1}", 29) == 0);
    size_t length = strlen(err.message);
    CHECK(length > 400 && strcmp(err.message + length - 8, "\\u{1}\xe2\x80\xa6") == 0);
}

/* A reference is thirty bytes, and what it stands for may be megabytes. */
static void what_references_resolve_to_is_bounded_while_it_is_built(void) {
    static const size_t size = 8u << 20;
    char *big = malloc(size + 3), *input = malloc(200 * 30 + 2);
    CHECK(big && input);
    if (!big || !input) abort();
    memset(big, 'x', size + 2);
    big[0] = big[size + 1] = '"';
    big[size + 2] = 0;
    size_t length = 0;
    for (size_t i = 0; i < 200; i++)
        length += (size_t)sprintf(input + length, "%c{\"$ref\":\"steps.a.result\"}", i ? ',' : '[');
    strcpy(input + length, "]");
    moonplan_document *from = parse(big), *document = parse(input), *one;
    one = parse("{\"n\":[1],\"r\":{\"$ref\":\"steps.a.result\"}}");
    moonplan_value value = moonplan_document_root(from);
    counter count;
    moonplan_options options;
    counter_options(&options, &count);
    mpl_resolved out;
    moonplan_error err;
    mpl_results results = {one_result, &value};
    CHECK(!mpl_reference_resolve(&out, moonplan_document_root(document), results, &options, &err));
    CHECK(err.code == MOONPLAN_LIMIT);
    CHECK(strcmp(err.message, "the input with its references resolved would be longer than the "
                              "limit document_bytes allows: 16777216 bytes") == 0);
    /* A buffer that grows by doubling holds its old and its new half at once. */
    CHECK(count.peak < 3 * options.limits.document_bytes && count.used == 0);
    /* The bound is of all that is built, and at its value all goes well: {"n":[1],"r":...} has 14
     * bytes around the result. */
    options.limits.document_bytes = size + 2 + 14;
    CHECK(mpl_reference_resolve(&out, moonplan_document_root(one), results, &options, &err));
    CHECK(moonplan_value_source(out.value).length == size + 2 + 14);
    moonplan_document_free(out.own);
    options.limits.document_bytes--;
    CHECK(!mpl_reference_resolve(&out, moonplan_document_root(one), results, &options, &err));
    CHECK(err.code == MOONPLAN_LIMIT);
    /* A whole input that is a reference, or has none, is not built. */
    options.limits.document_bytes = 1;
    moonplan_document *whole = parse("{\"$ref\":\"steps.a.result\"}");
    CHECK(mpl_reference_resolve(&out, moonplan_document_root(whole), results, &options, &err));
    CHECK(!out.own && moonplan_value_string(out.value).length == size);
    CHECK(mpl_reference_resolve(&out, value, results, &options, &err) && !out.own);
    CHECK(count.used == 0 && !count.wrong);
    moonplan_document_free(whole);
    moonplan_document_free(one);
    moonplan_document_free(document);
    moonplan_document_free(from);
    /* The limit values holds for what is built, too: an array of 2001 values, 8 times. */
    counter_options(&options, &count);
    options.limits.values = 16008;
    length = (size_t)sprintf(big, "[");
    for (size_t i = 0; i < 2000; i++) length += (size_t)sprintf(big + length, "%s0", i ? "," : "");
    strcpy(big + length, "]");
    length = 0;
    for (size_t i = 0; i < 8; i++)
        length += (size_t)sprintf(input + length, "%c{\"$ref\":\"steps.a.result\"}", i ? ',' : '[');
    strcpy(input + length, "]");
    from = parse(big);
    document = parse(input);
    value = moonplan_document_root(from);
    CHECK(!mpl_reference_resolve(&out, moonplan_document_root(document), results, &options, &err));
    CHECK(err.code == MOONPLAN_LIMIT && strstr(err.message, "the limit values"));
    options.limits.values++; /* and one for the array around them */
    CHECK(mpl_reference_resolve(&out, moonplan_document_root(document), results, &options, &err));
    moonplan_document_free(out.own);
    CHECK(count.used == 0);
    moonplan_document_free(document);
    moonplan_document_free(from);
    free(big);
    free(input);
}

static void a_plan_shows_its_references(void) {
    only = &plain;
    moonplan_step_plan *plan = admit(
        "{\"version\":\"1.0\",\"steps\":[{\"id\":\"a\",\"capability\":\"c\"},{\"id\":\"b\","
        "\"capability\":\"c\",\"input\":{\"x\":{\"$ref\":\"steps.a.result.y.0\"}}},{\"id\":\"d\","
        "\"capability\":\"c\",\"input\":{\"$ref\":\"steps.b.result\"}}]}",
        NULL, NULL, NULL);
    moonplan_reference reference = {.step = SIZE_MAX};
    CHECK(plan && moonplan_step_plan_reference_count(plan) == 2);
    CHECK(plan && moonplan_step_plan_reference(plan, &reference, 0));
    CHECK(reference.step == 1 && reference.target == 0);
    CHECK_TEXT("steps.a.result.y.0", reference.text);
    CHECK_TEXT("y.0", reference.path);
    CHECK(plan && moonplan_step_plan_reference(plan, &reference, 1));
    CHECK(reference.step == 2 && reference.target == 1 && !reference.path.bytes);
    CHECK(plan && !moonplan_step_plan_reference(plan, &reference, 2));
    moonplan_step_plan_free(plan);
}

static void a_schema_is_exact_about_numbers_and_characters(void) {
    moonplan_options options;
    moonplan_options_init(&options);
    moonplan_error err;
    mpl_schema *schema =
        mpl_schema_new(text_of("{\"i\":{\"type\":\"number\",\"integer\":true},"
                               "\"r\":{\"type\":\"number\",\"min\":-0.5,\"max\":9007199254740993},"
                               "\"s\":{\"type\":\"string\",\"max_length\":2},"
                               "\"e\":{\"type\":\"string\",\"enum\":[\"a\",\"b\"]},"
                               "\"n\":{\"type\":\"number\",\"enum\":[1,2.50]}}"),
                       true, NULL, &options, &err);
    mpl_capability strict = {.name = {"c", 1}, .version = {"1", 1}, .input = schema};
    only = &strict;
    static const struct {
        const char *input;
        bool fits;
    } rows[] = {{"{\"i\":123456789012345678901234567890}", true},
                {"{\"i\":-0}", false},
                {"{\"i\":1.0}", false},
                {"{\"i\":1e3}", false},
                {"{\"r\":-0.5}", true},
                {"{\"r\":-0.50000000000000000000000001}", false},
                {"{\"r\":9007199254740993}", true},
                {"{\"r\":9007199254740993.0000001}", false},
                {"{\"r\":9007199254740994}", false},
                {"{\"s\":\"\\ud83d\\ude00\\u00e9\"}", true}, /* two characters, six bytes */
                {"{\"s\":\"abc\"}", false},
                {"{\"e\":\"b\"}", true},
                {"{\"e\":\"c\"}", false},
                {"{\"n\":25e-1}", true},
                {"{\"n\":2.5000000000000000000001}", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char json[300];
        snprintf(json, sizeof json,
                 "{\"steps\":[{\"id\":\"a\",\"capability\":\"c\",\"input\":%s}]}", rows[i].input);
        moonplan_step_plan *plan = admit(json, NULL, NULL, &err);
        if (!CHECK((plan != NULL) == rows[i].fits)) printf("# %s\n", rows[i].input);
        if (!rows[i].fits) CHECK(err.code == MOONPLAN_PLAN_INPUT_VALUE);
        moonplan_step_plan_free(plan);
    }
    mpl_schema_free(schema);
}

/* -- The machine -------------------------------------------------------------*/

static mpl_job *job_of(const char *steps) {
    static char json[2000];
    only = &plain;
    snprintf(json, sizeof json, "{\"version\":\"1.0\",\"steps\":[%s]}", steps);
    moonplan_options options;
    moonplan_options_init(&options);
    moonplan_step_plan *plan = admit(json, NULL, NULL, NULL);
    if (!CHECK(plan != NULL)) exit(EXIT_FAILURE);
    return mpl_job_new(plan, NULL, "job", 1000, &options, NULL);
}

static const char two[] =
    "{\"id\":\"a\",\"capability\":\"c\"},"
    "{\"id\":\"b\",\"capability\":\"c\",\"input\":{\"v\":{\"$ref\":\"steps.a.result.v\"}}}";

/* The types of a job's events, by their initials: j.created e.started c.started ... */
static void events_are(const mpl_job *job, const char *expected) {
    char seen[400] = "";
    int64_t last = 0;
    for (size_t n = 0; n < job->event_count; n++) {
        moonplan_event event;
        mpl_job_event_view(job, &event, n);
        snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s%.*s", n ? " " : "",
                 (int)event.type.length, event.type.bytes);
        CHECK(event.time >= last);
        last = event.time;
    }
    if (!CHECK(strcmp(seen, expected) == 0)) printf("# %s\n", seen);
}

static void statuses_are(const mpl_job *job, moonplan_status whole, moonplan_status first,
                         moonplan_status second) {
    moonplan_step a, b;
    mpl_job_step_view(job, &a, 0);
    mpl_job_step_view(job, &b, 1);
    CHECK(job->status == whole && a.status == first && b.status == second);
    CHECK((a.completed != MOONPLAN_NO_TIME) ==
          (first == MOONPLAN_COMPLETED || first == MOONPLAN_FAILED));
    CHECK((b.error.code != MOONPLAN_OK) == (second == MOONPLAN_FAILED));
}

/* One step through to its result. */
static void complete(mpl_job *job, const char *result, int64_t now) {
    CHECK(job->wants == MPL_WANTS_INPUT);
    mpl_job_input(job, &plain, false, NULL, now);
    CHECK(job->wants == MPL_WANTS_DECISION);
    mpl_job_allow(job, now + 1);
    CHECK(job->wants == MPL_WANTS_COMMIT);
    CHECK(job->steps[job->step].status == MOONPLAN_RUNNING);
    mpl_job_commit(job);
    CHECK(job->wants == MPL_WANTS_RESULT);
    mpl_job_result(job, result ? parse(result) : NULL, now + 2);
    CHECK(job->wants == MPL_WANTS_COMMIT);
    mpl_job_commit(job);
}

static void the_machine_runs_to_its_end(void) {
    mpl_job *job = job_of(two);
    CHECK(job->status == MOONPLAN_CREATED);
    complete(job, "{\"v\":[1]}", 2000);
    CHECK(job->wants == MPL_WANTS_INPUT && job->step == 1);
    mpl_job_input(job, &plain, false, NULL, 3000);
    CHECK_TEXT("{\"v\":[1]}", moonplan_value_source(job->resolved.value));
    mpl_job_allow(job, 3001);
    mpl_job_commit(job);
    mpl_job_result(job, NULL, 3002);
    CHECK(job->status == MOONPLAN_COMPLETED && job->wants == MPL_WANTS_COMMIT);
    mpl_job_commit(job);
    CHECK(job->wants == MPL_WANTS_NOTHING);
    statuses_are(job, MOONPLAN_COMPLETED, MOONPLAN_COMPLETED, MOONPLAN_COMPLETED);
    events_are(job, "job.created execution.started capability.started capability.completed "
                    "capability.started capability.completed job.completed");
    CHECK(job->created == 1000 && job->started == 2000 && job->completed == 3002);
    moonplan_step step;
    mpl_job_step_view(job, &step, 1);
    CHECK(step.started == 3001 && step.completed == 3002);
    CHECK(moonplan_value_type(step.result) == MOONPLAN_NONE);
    mpl_job_free(job);
}

static void a_denial_ends_the_job(void) {
    for (int reason = 0; reason < 3; reason++) {
        mpl_job *job = job_of(two);
        mpl_job_input(job, &plain, false, NULL, 2000);
        static const char *const reasons[] = {NULL, "", "no"};
        mpl_job_deny(job, (moonplan_text){reasons[reason], reason ? strlen(reasons[reason]) : 0},
                     2001);
        statuses_are(job, MOONPLAN_FAILED, MOONPLAN_FAILED, MOONPLAN_PENDING);
        events_are(job, "job.created execution.started capability.denied job.failed");
        moonplan_event event;
        mpl_job_event_view(job, &event, 2);
        CHECK((event.reason.bytes != NULL) == (reason > 0));
        CHECK_TEXT("read", event.risk);
        moonplan_failure failure = mpl_job_failure(job, true);
        CHECK(failure.code == MOONPLAN_JOB_DENIED);
        CHECK_TEXT(reason ? reasons[reason] : "Capability not permitted: c", failure.message);
        CHECK(job->steps[0].started == MOONPLAN_NO_TIME);
        mpl_job_commit(job);
        CHECK(job->wants == MPL_WANTS_NOTHING);
        mpl_job_free(job);
    }
}

static void a_failure_ends_the_job_where_it_happens(void) {
    moonplan_failure failure = {.code = MOONPLAN_JOB_CAPABILITY_FAILED};
    /* Asked for the input, for the decision, for the result. */
    for (int at = 0; at < 3; at++) {
        mpl_job *job = job_of(two);
        if (at > 0) mpl_job_input(job, &plain, false, NULL, 2000);
        if (at > 1) mpl_job_allow(job, 2001);
        if (at > 1) mpl_job_commit(job);
        mpl_job_fail(job, &failure, 2002);
        statuses_are(job, MOONPLAN_FAILED, MOONPLAN_FAILED, MOONPLAN_PENDING);
        events_are(job, at > 1 ? "job.created execution.started capability.started "
                                 "capability.failed job.failed"
                               : "job.created execution.started capability.failed job.failed");
        CHECK((job->steps[0].started != MOONPLAN_NO_TIME) == (at > 1));
        /* Without a message the contract has one for the step and another for the job. */
        CHECK_TEXT("Unknown capability execution error", mpl_job_failure(job, true).message);
        CHECK_TEXT("Unknown job execution error", mpl_job_failure(job, false).message);
        mpl_job_free(job);
    }
}

static void a_capability_that_has_gone_leaves_its_step_pending(void) {
    mpl_job *job = job_of(two);
    complete(job, "{\"v\":1}", 2000);
    mpl_job_gone(job, (moonplan_text){NULL, 0}, 3000);
    statuses_are(job, MOONPLAN_FAILED, MOONPLAN_COMPLETED, MOONPLAN_PENDING);
    events_are(job, "job.created execution.started capability.started capability.completed "
                    "job.failed");
    CHECK(mpl_job_failure(job, false).code == MOONPLAN_JOB_CAPABILITY_GONE);
    mpl_job_free(job);
}

static void a_path_that_leads_nowhere_never_reaches_the_decision(void) {
    mpl_job *job = job_of(two);
    complete(job, "{}", 2000);
    mpl_job_input(job, &plain, false, NULL, 3000);
    CHECK(job->wants == MPL_WANTS_COMMIT);
    CHECK(mpl_job_failure(job, true).code == MOONPLAN_JOB_REFERENCE_PATH);
    events_are(job, "job.created execution.started capability.started capability.completed "
                    "capability.failed job.failed");
    mpl_job_free(job);
}

static void an_input_that_is_read_late_counts(void) {
    mpl_job *job = job_of(two);
    mpl_job_input(job, &plain, true, parse("[\"late\"]"), 2000);
    CHECK_TEXT("[\"late\"]", moonplan_value_source(job->resolved.value));
    mpl_job_allow(job, 2001);
    mpl_job_commit(job);
    mpl_job_result(job, parse("1"), 2002);
    mpl_job_commit(job);
    /* A reference that was not there at admission, to a step that is not before it. */
    mpl_job_input(job, &plain, true, parse("{\"$ref\":\"steps.b.result\"}"), 3000);
    CHECK(mpl_job_failure(job, true).code == MOONPLAN_JOB_REFERENCE_SOURCE);
    CHECK_TEXT("[\"late\"]", moonplan_value_source(mpl_job_step_input(job, 0)));
    mpl_job_free(job);
    job = job_of(two);
    mpl_job_input(job, &plain, true, NULL, 2000);
    CHECK(moonplan_value_type(job->resolved.value) == MOONPLAN_NONE);
    mpl_job_free(job);
}

static void a_commit_that_fails_stops_the_machine(void) {
    moonplan_error err;
    mpl_error_set(&err, MOONPLAN_STORE_FAILED, MOONPLAN_NO_OFFSET, NULL, "the disk is full");
    mpl_job *job = job_of(two);
    mpl_job_input(job, &plain, false, NULL, 2000);
    mpl_job_allow(job, 2001);
    mpl_job_stop(job, &err);
    CHECK(job->wants == MPL_WANTS_NOTHING && job->stopped.code == MOONPLAN_STORE_FAILED);
    CHECK(job->status == MOONPLAN_EXECUTING && job->steps[0].status == MOONPLAN_RUNNING);
    mpl_job_free(job);
}

static void numbers_and_outputs_are_checked_once_more(void) {
    moonplan_options options;
    moonplan_options_init(&options);
    moonplan_error err;
    mpl_schema *output = mpl_schema_new(
        text_of("{\"n\":{\"type\":\"number\",\"required\":true},\"s\":{\"type\":\"string\"}}"),
        true, NULL, &options, &err);
    mpl_capability lua = {
        .name = {"c", 1}, .version = {"1", 1}, .risk = {"read", 4}, .lua_values = true};
    mpl_capability declared = plain;
    declared.output = output;
    mpl_job *job = job_of(two);
    complete(job, "{\"v\":18446744073709551616}", 2000);
    mpl_job_input(job, &lua, false, NULL, 3000);
    CHECK(mpl_job_failure(job, true).code == MOONPLAN_JOB_INPUT_NUMBER);
    mpl_job_free(job);
    static const struct {
        const char *result;
        bool fits;
    } rows[] = {{"{\"n\":1}", true},
                {"{\"n\":1,\"s\":\"\",\"more\":[]}", true},
                {"{\"s\":\"x\"}", false},
                {"{\"n\":\"1\"}", false},
                {"{\"n\":1,\"s\":2}", false},
                {"[1]", false},
                {"null", false},
                {NULL, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        job = job_of(two);
        mpl_job_input(job, &declared, false, NULL, 2000);
        mpl_job_allow(job, 2001);
        mpl_job_commit(job);
        mpl_job_result(job, rows[i].result ? parse(rows[i].result) : NULL, 2002);
        CHECK((job->status == MOONPLAN_EXECUTING) == rows[i].fits);
        if (!rows[i].fits) CHECK(mpl_job_failure(job, true).code == MOONPLAN_JOB_OUTPUT_TYPE);
        mpl_job_free(job);
    }
    mpl_schema_free(output);
}

static void times_are_rfc_3339(void) {
    /* date -u -d @N --iso-8601=ns, and the examples of RFC 3339, section 5.8. */
    static const struct {
        int64_t time;
        const char *text;
    } rows[] = {{0, "1970-01-01T00:00:00.000Z"},
                {482196050520, "1985-04-12T23:20:50.520Z"},
                {851042397000, "1996-12-20T00:39:57.000Z"},
                {-1, "1969-12-31T23:59:59.999Z"},
                {951782400000, "2000-02-29T00:00:00.000Z"},
                {4107542400000, "2100-03-01T00:00:00.000Z"},
                {253402300799999, "9999-12-31T23:59:59.999Z"},
                {253402300800000, "9999-12-31T23:59:59.999Z"},
                {-62167219200000, "0000-01-01T00:00:00.000Z"},
                {INT64_MIN, "0000-01-01T00:00:00.000Z"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[25];
        mpl_time_write(text, rows[i].time);
        if (!CHECK(strcmp(text, rows[i].text) == 0)) printf("# %s\n", text);
    }
}

int main(void) {
    RUN(literals_compare_as_numbers);
    RUN(literals_fit_a_double_up_to_half_a_step_beyond_its_largest);
    RUN(references_are_cut_at_the_first_result);
    RUN(an_id_is_reachable_when_its_reference_names_it);
    RUN(references_resolve_to_own_members_and_results_are_data);
    RUN(a_reference_to_no_result_is_nothing);
    RUN(inputs_with_large_containers_resolve);
    RUN(members_of_another_type_end_the_checks_of_their_step);
    RUN(the_order_in_a_step_is_id_capability_version_fields_references);
    RUN(a_capability_that_is_not_there_is_asked_for_once);
    RUN(faults_of_a_capture_stand_in_for_the_step);
    RUN(versions_warn_or_refuse);
    RUN(ids_that_no_reference_reaches_are_warned_of);
    RUN(the_text_for_a_duplicate_is_the_contracts);
    RUN(what_references_resolve_to_is_bounded_while_it_is_built);
    RUN(a_plan_shows_its_references);
    RUN(a_schema_is_exact_about_numbers_and_characters);
    RUN(the_machine_runs_to_its_end);
    RUN(a_denial_ends_the_job);
    RUN(a_failure_ends_the_job_where_it_happens);
    RUN(a_capability_that_has_gone_leaves_its_step_pending);
    RUN(a_path_that_leads_nowhere_never_reaches_the_decision);
    RUN(an_input_that_is_read_late_counts);
    RUN(a_commit_that_fails_stops_the_machine);
    RUN(numbers_and_outputs_are_checked_once_more);
    RUN(times_are_rfc_3339);
    return check_end();
}
