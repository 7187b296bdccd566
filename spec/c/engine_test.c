/* The engine through its public door: every code at its place, the order of things, decisions, the
 * registry, limits. */
#include "engine.h"

/* Run a plan of one step with one capability "x", and free both; the failure's code and text. */
static void fails_with(moonplan_capability x, const char *plan, moonplan_code code,
                       const char *message) {
    moonplan_engine *engine = engine_with(NULL);
    CHECK(moonplan_engine_register(engine, &x, 1, NULL));
    moonplan_job *job = run(engine, plan);
    moonplan_failure failure = {.code = MOONPLAN_OK};
    CHECK(moonplan_job_error(job, &failure));
    if (!CHECK(failure.code == code)) printf("# %s\n", moonplan_code_name(failure.code));
    if (message) CHECK_TEXT(message, failure.message);
    moonplan_job_free(job);
    moonplan_engine_free(engine);
}

/* -- Every code of admission, at its place -------------------------------------*/

static void every_fault_of_a_plan_has_its_place(void) {
    /* "^" marks where the fault begins. */
    static const struct {
        moonplan_code code;
        const char *at, *plan;
    } rows[] = {
        {MOONPLAN_PLAN_SHAPE, "/goal", "{\"goal\":^1,\"steps\":[" STEP("a", "echo", "") "]}"},
        {MOONPLAN_PLAN_SHAPE, "/steps/0/id", PLAN("^{\"capability\":\"echo\"}")},
        {MOONPLAN_PLAN_EMPTY, "/steps", "{\"steps\":^[]}"},
        {MOONPLAN_PLAN_DUPLICATE_STEP_ID, "/steps/1/id",
         PLAN(STEP("a", "echo", "") ",{\"id\":^\"a\",\"capability\":\"echo\"}")},
        {MOONPLAN_PLAN_UNKNOWN_CAPABILITY, "/steps/0/capability",
         PLAN("{\"id\":\"a\",\"capability\":^\"Echo\"}")},
        {MOONPLAN_PLAN_CAPABILITY_VERSION, "/steps/0/capabilityVersion",
         PLAN(STEP("a", "echo", ",\"capabilityVersion\":^\"1.0\""))},
        {MOONPLAN_PLAN_POWER_MISSING, "/steps/0/capability",
         PLAN("{\"id\":\"a\",\"capability\":^\"needy\"}")},
        {MOONPLAN_PLAN_INPUT_MISSING, "/steps/0/input/v",
         PLAN(STEP("a", "typed", ",\"input\":^{}"))},
        {MOONPLAN_PLAN_INPUT_TYPE, "/steps/0/input/v",
         PLAN(STEP("a", "typed", ",\"input\":{\"v\":^7}"))},
        {MOONPLAN_PLAN_INPUT_SCHEMA, "/steps/0/input/w",
         PLAN(STEP("a", "typed", ",\"input\":{\"v\":\"x\",\"w\":^7}"))},
        {MOONPLAN_PLAN_INPUT_VALUE, "/steps/0/input/v",
         PLAN(STEP("a", "typed", ",\"input\":{\"v\":^\"four\"}"))},
        {MOONPLAN_PLAN_INPUT_NUMBER, "/steps/0/input/0",
         PLAN(STEP("a", "lua", ",\"input\":[^9223372036854775808]"))},
        {MOONPLAN_PLAN_REFERENCE_INVALID, "/steps/0/input",
         PLAN(STEP("a", "echo", ",\"input\":^{\"$ref\":\"a.result\"}"))},
        {MOONPLAN_PLAN_REFERENCE_ORDER, "/steps/0/input/x",
         PLAN(STEP("a", "echo", ",\"input\":{\"x\":^{\"$ref\":\"steps.a.result\"}}"))},
        {MOONPLAN_JSON_DUPLICATE_NAME, "/steps",
         "{\"steps\":[" STEP("a", "echo", "") "],^\"steps\":[]}"}};
    moonplan_engine *engine = engine_with(NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char plan[400];
        const char *mark = strchr(rows[i].plan, '^');
        size_t offset = (size_t)(mark - rows[i].plan);
        snprintf(plan, sizeof plan, "%.*s%s", (int)offset, rows[i].plan, mark + 1);
        moonplan_error_list *errors;
        moonplan_run_options options = {.errors = &errors};
        moonplan_error err;
        trace[0] = 0;
        CHECK(!moonplan_engine_run(engine, plan, strlen(plan), &options, &err));
        traced(""); /* nothing was called */
        if (!CHECK(moonplan_error_list_count(errors) == 1 && err.code == rows[i].code) ||
            !CHECK(strcmp(err.at, rows[i].at) == 0) || !CHECK(err.offset == offset))
            printf("# %s: %s at %s, %zu\n", plan, moonplan_code_name(err.code), err.at, err.offset);
        moonplan_error_list_free(errors);
    }
    /* A number that Lua has not passes unchanged where no Lua looks. */
    moonplan_job *job =
        run(engine, PLAN(STEP("a", "echo", ",\"input\":[9223372036854775808,1e999]")));
    moonplan_document *result = moonplan_job_result_new(job, NULL);
    CHECK(result != NULL);
    CHECK_TEXT("[9223372036854775808,1e999]",
               moonplan_value_source(moonplan_document_root(result)));
    moonplan_document_free(result);
    moonplan_job_free(job);
    moonplan_engine_free(engine);
}

static void versions_are_refused_when_the_host_says_which(void) {
    moonplan_engine_options options;
    moonplan_engine_options_init(&options);
    moonplan_text versions[] = {MOONPLAN_TEXT("1.0")};
    options.plan_versions = versions;
    options.plan_versions_count = 1;
    moonplan_engine *engine = engine_with(&options);
    const char *plan = "{\"version\":\"2.0\",\"steps\":[" STEP("a", "echo", "") "]}";
    moonplan_error err;
    CHECK(!moonplan_engine_admit_new(engine, plan, strlen(plan), NULL, &err));
    CHECK(err.code == MOONPLAN_PLAN_VERSION && strcmp(err.at, "/version") == 0);
    moonplan_engine_free(engine);
    engine = engine_with(NULL);
    moonplan_step_plan *admitted =
        moonplan_engine_admit_new(engine, plan, strlen(plan), NULL, &err);
    CHECK(admitted && moonplan_step_plan_warning_count(admitted) == 1);
    CHECK(moonplan_step_plan_warning(admitted, 0)->code == MOONPLAN_PLAN_VERSION_UNKNOWN);
    moonplan_step_plan_free(admitted);
    plan = PLAN(STEP("result", "echo", ""));
    admitted = moonplan_engine_admit_new(engine, plan, strlen(plan), NULL, &err);
    CHECK(admitted &&
          moonplan_step_plan_warning(admitted, 0)->code == MOONPLAN_PLAN_STEP_ID_UNREACHABLE);
    moonplan_step_plan_free(admitted);
    moonplan_engine_free(engine);
}

/* -- Every code of a job -------------------------------------------------------*/

static void every_failure_of_a_step_has_its_code(void) {
    const char *second = PLAN(STEP("a", "x", "") "," STEP("b", "typed",
                                                          ",\"input\":{\"v\":{\"$ref\":\"steps.a."
                                                          "result.v\"}}"));
    const char *to_lua = PLAN(STEP("a", "x", "") "," STEP("b", "lua",
                                                          ",\"input\":{\"$ref\":\"steps."
                                                          "a.result\"}"));
    const char *single = PLAN(STEP("a", "x", ""));
    fails_with(capability("x", constant, "{}"), second, MOONPLAN_JOB_REFERENCE_PATH, NULL);
    fails_with(capability("x", constant, "{\"v\":\"\"}"), second, MOONPLAN_JOB_INPUT_MISSING, NULL);
    fails_with(capability("x", constant, "{\"v\":1}"), second, MOONPLAN_JOB_INPUT_TYPE, NULL);
    fails_with(capability("x", constant, "{\"v\":\"four\"}"), second, MOONPLAN_JOB_INPUT_VALUE,
               NULL);
    fails_with(capability("x", constant, "1e400"), to_lua, MOONPLAN_JOB_INPUT_NUMBER, NULL);
    fails_with(capability("x", failing, "my own text"), single, MOONPLAN_JOB_CAPABILITY_FAILED,
               "my own text");
    fails_with(capability("x", failing, NULL), single, MOONPLAN_JOB_CAPABILITY_FAILED,
               "Unknown job execution error");
    fails_with(capability("x", constant, "{"), single, MOONPLAN_JOB_RESULT_SHAPE, NULL);
    moonplan_capability declared = capability("x", constant, "{\"n\":null}");
    declared.output = MOONPLAN_TEXT("{\"n\":{\"type\":\"number\"}}");
    fails_with(declared, single, MOONPLAN_JOB_OUTPUT_TYPE, NULL);
    moonplan_capability unknown = capability("x", constant, "1");
    unknown.input = MOONPLAN_TEXT("{\"v\":{\"type\":\"list\"}}");
    fails_with(unknown,
               PLAN(STEP("a", "echo", ",\"input\":[1]") "," STEP("b", "x",
                                                                 ",\"input\":{\"v\":{\"$ref"
                                                                 "\":\"steps.a.result\"}}")),
               MOONPLAN_JOB_INPUT_SCHEMA, NULL);
    moonplan_capability write = capability("x", constant, "1");
    write.risk = MOONPLAN_TEXT("write");
    fails_with(write, single, MOONPLAN_JOB_DENIED, "Write capability requires explicit approval.");
    write.risk = MOONPLAN_TEXT("destructive");
    fails_with(write, single, MOONPLAN_JOB_DENIED,
               "Destructive capability requires explicit approval.");
    write.risk = MOONPLAN_TEXT("Read");
    fails_with(write, single, MOONPLAN_JOB_DENIED, "Unknown capability risk.");
    moonplan_capability without = capability("x", NULL, NULL);
    fails_with(without, single, MOONPLAN_JOB_CAPABILITY_FAILED, NULL);
}

static void coded(void *data, moonplan_want *want) {
    moonplan_error err;
    moonplan_document *detail = moonplan_document_parse("{\"a\":[1.50]}", 12, NULL, &err);
    moonplan_failure failure = {.code = *(moonplan_code *)data,
                                .message = {"x\0\xc3\xa9\xff\xed\xa0\x80y", 9},
                                .detail = moonplan_document_root(detail)};
    CHECK(moonplan_want_fail_with(want, &failure));
    moonplan_document_free(detail);
}

static void a_failure_keeps_its_code_text_and_detail(void) {
    static const struct {
        moonplan_code given, kept;
    } rows[] = {{MOONPLAN_OK, MOONPLAN_JOB_CAPABILITY_FAILED},
                {MOONPLAN_JOB_TIMEOUT, MOONPLAN_JOB_TIMEOUT},
                {MOONPLAN_JOB_MEMORY, MOONPLAN_JOB_MEMORY},
                {MOONPLAN_LIMIT, MOONPLAN_LIMIT},
                {MOONPLAN_CALL_ABI, MOONPLAN_JOB_CAPABILITY_FAILED}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        moonplan_code given = rows[i].given;
        moonplan_capability x = capability("x", coded, &given);
        moonplan_engine *engine = engine_with(NULL);
        CHECK(moonplan_engine_register(engine, &x, 1, NULL));
        moonplan_job *job = run(engine, PLAN(STEP("a", "x", "")));
        moonplan_failure failure;
        CHECK(moonplan_job_error(job, &failure) && failure.code == rows[i].kept);
        /* The NUL is kept; the byte and the surrogate that are not UTF-8 can be seen. */
        static const char kept[] = "x\0\xc3\xa9\\xff\\xed\\xa0\\x80y";
        CHECK(failure.message.length == sizeof kept - 1 &&
              memcmp(failure.message.bytes, kept, sizeof kept - 1) == 0);
        CHECK_TEXT("{\"a\":[1.50]}", moonplan_value_source(failure.detail));
        moonplan_document *whole = moonplan_job_document_new(job, NULL);
        moonplan_value again = moonplan_document_at(whole, "/steps/0/error/message", 22);
        CHECK(moonplan_value_string(again).length == sizeof kept - 1);
        CHECK_TEXT(moonplan_code_name(rows[i].kept),
                   moonplan_value_string(moonplan_document_at(whole, "/error/code", 11)));
        moonplan_document_free(whole);
        moonplan_job_free(job);
        moonplan_engine_free(engine);
    }
}

/* -- Order ---------------------------------------------------------------------*/

static void allow_noted(void *data, moonplan_want *want) {
    (void)data;
    note("ask:", want->step_id);
    note("", moonplan_value_source(want->input));
    CHECK_TEXT("echo", want->capability);
    CHECK_TEXT("1.0.0", want->version);
    CHECK_TEXT("read", want->risk);
    CHECK_TEXT("\"me\"", moonplan_value_source(moonplan_value_member(want->caller, "subject", 7)));
    moonplan_want_allow(want);
}

static void a_step_is_resolved_decided_started_called_and_told_in_this_order(void) {
    moonplan_engine_options options;
    moonplan_engine_options_init(&options);
    options.authorizer.decide = allow_noted;
    moonplan_engine *engine = engine_with(&options);
    moonplan_subscriber all = {.notify = noted_event, .data = "*"},
                        started = {.notify = noted_event, .data = "s:"};
    CHECK(moonplan_engine_subscribe(engine, "*", 1, &all) != 0);
    CHECK(moonplan_engine_subscribe(engine, "capability.started", 18, &started) != 0);
    const char *plan = PLAN(STEP("a", "echo", ",\"input\":5") "," STEP(
        "b", "echo", ",\"input\":[{\"$ref\":\"steps.a.result\"}]"));
    moonplan_run_options run_options = {
        .caller = MOONPLAN_TEXT("{\"subject\":\"me\",\"scopes\":[\"s\"]}")};
    trace[0] = 0;
    moonplan_error err;
    moonplan_job *job = moonplan_engine_run(engine, plan, strlen(plan), &run_options, &err);
    traced("*job.created ask:a 5 *execution.started s:capability.started *capability.started "
           "call:a *capability.completed ask:b [5] s:capability.started *capability.started "
           "call:b *capability.completed *job.completed");
    moonplan_document *result = moonplan_job_result_new(job, &err);
    CHECK_TEXT("[5,[5]]", moonplan_value_source(moonplan_document_root(result)));
    moonplan_document_free(result);
    moonplan_document *whole = moonplan_job_document_new(job, &err);
    CHECK_TEXT("me", moonplan_value_string(moonplan_document_at(whole, "/caller_subject", 15)));
    moonplan_document_free(whole);
    moonplan_job_free(job);
    static const char *const callers[] = {"", "[]", "null", "{", "\"me\""};
    for (size_t i = 0; i < sizeof callers / sizeof *callers; i++) {
        run_options.caller = text_of(callers[i]);
        CHECK(!moonplan_engine_run(engine, plan, strlen(plan), &run_options, &err));
        CHECK(err.code == MOONPLAN_OPTION);
    }
    traced("");
    moonplan_engine_free(engine);
}

/* -- The authorizer ------------------------------------------------------------*/

typedef struct decision {
    const char *json; /* NULL: no answer at all */
    moonplan_status status;
    moonplan_code code;
    const char *message;
} decision;

static void decide_json(void *data, moonplan_want *want) {
    const char *json = ((const decision *)data)->json;
    moonplan_document *document =
        json ? moonplan_document_parse(json, strlen(json), NULL, NULL) : NULL;
    if (document) CHECK(moonplan_want_decide(want, moonplan_document_root(document)));
    moonplan_document_free(document);
    CHECK(!moonplan_want_complete(want, want->input)); /* no answer to this question */
}

static void decisions_are_well_formed_or_fail_closed(void) {
    static decision rows[] = {
        {"{\"decision\":\"allow\",\"reason\":7}", MOONPLAN_COMPLETED, MOONPLAN_OK, NULL},
        {"{\"decision\":\"deny\"}", MOONPLAN_FAILED, MOONPLAN_JOB_DENIED,
         "Capability not permitted: echo"},
        {"{\"decision\":\"deny\",\"reason\":\"\"}", MOONPLAN_FAILED, MOONPLAN_JOB_DENIED, ""},
        {"{\"decision\":\"deny\",\"reason\":null}", MOONPLAN_FAILED, MOONPLAN_JOB_DECISION_INVALID,
         "Invalid authorization decision"},
        {"{\"decision\":\"Allow\"}", MOONPLAN_FAILED, MOONPLAN_JOB_DECISION_INVALID, NULL},
        {"{\"Decision\":\"allow\"}", MOONPLAN_FAILED, MOONPLAN_JOB_DECISION_INVALID, NULL},
        {"[\"allow\"]", MOONPLAN_FAILED, MOONPLAN_JOB_DECISION_INVALID, NULL},
        {"\"allow\"", MOONPLAN_FAILED, MOONPLAN_JOB_DECISION_INVALID, NULL},
        {"true", MOONPLAN_FAILED, MOONPLAN_JOB_DECISION_INVALID, NULL},
        {NULL, MOONPLAN_FAILED, MOONPLAN_JOB_DECISION_INVALID, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        moonplan_engine_options options;
        moonplan_engine_options_init(&options);
        options.authorizer = (moonplan_authorizer){.decide = decide_json, .data = &rows[i]};
        moonplan_engine *engine = engine_with(&options);
        moonplan_job *job = run(engine, PLAN(STEP("a", "echo", "")));
        moonplan_failure failure = {.code = MOONPLAN_OK};
        moonplan_job_error(job, &failure);
        CHECK(moonplan_job_status(job) == rows[i].status && failure.code == rows[i].code);
        if (rows[i].message) CHECK_TEXT(rows[i].message, failure.message);
        moonplan_job_free(job);
        moonplan_engine_free(engine);
    }
    moonplan_engine_options options;
    moonplan_engine_options_init(&options);
    options.authorizer = (moonplan_authorizer){.decide = failing, .data = "down"};
    moonplan_engine *engine = engine_with(&options);
    moonplan_job *job = run(engine, PLAN(STEP("a", "echo", "")));
    moonplan_failure failure;
    CHECK(moonplan_job_error(job, &failure) && failure.code == MOONPLAN_JOB_AUTHORIZER_FAILED);
    CHECK_TEXT("down", failure.message);
    moonplan_job_free(job);
    moonplan_engine_free(engine);
}

static void the_default_lets_pass_what_it_was_told_to(void) {
    moonplan_engine_options options;
    moonplan_engine_options_init(&options);
    moonplan_text risks[] = {MOONPLAN_TEXT("write"), MOONPLAN_TEXT("odd")};
    options.allow = risks;
    options.allow_count = 2;
    static const struct {
        const char *risk;
        bool passes;
    } rows[] = {
        {"read", true}, {"write", true}, {"odd", true}, {"destructive", false}, {"", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        moonplan_engine *engine = engine_with(&options);
        moonplan_capability x = capability("x", constant, "1");
        x.risk = text_of(rows[i].risk);
        CHECK(moonplan_engine_register(engine, &x, 1, NULL));
        moonplan_job *job = run(engine, PLAN(STEP("a", "x", "")));
        CHECK((moonplan_job_status(job) == MOONPLAN_COMPLETED) == rows[i].passes);
        moonplan_job_free(job);
        moonplan_engine_free(engine);
    }
}

/* -- The registry --------------------------------------------------------------*/

static void registration_is_all_or_nothing(void) {
    int releases = 0;
    moonplan_engine *engine = engine_with(NULL);
    static const struct {
        const char *name, *input;
        moonplan_code code;
        const char *at;
    } rows[] = {{"echo", NULL, MOONPLAN_PLUGIN_DUPLICATE, "/1/name"},
                {"new", NULL, MOONPLAN_PLUGIN_DUPLICATE, "/1/name"},
                {"", NULL, MOONPLAN_PLUGIN_MANIFEST, "/1/name"},
                {"\xff", NULL, MOONPLAN_PLUGIN_MANIFEST, "/1/name"},
                {"y", "[]", MOONPLAN_PLUGIN_MANIFEST, "/1/input"},
                {"y", "{\"a\":", MOONPLAN_PLUGIN_MANIFEST, "/1/input"},
                {"y", "{\"a\":1}", MOONPLAN_PLUGIN_MANIFEST, "/1/input/a"},
                {"y", "{\"a\":{\"type\":\"string\",\"required\":1}}", MOONPLAN_PLUGIN_MANIFEST,
                 "/1/input/a/required"},
                {"y", "{\"a\":{\"type\":\"number\",\"min\":\"0\"}}", MOONPLAN_PLUGIN_MANIFEST,
                 "/1/input/a/min"},
                {"y", "{\"a\":{\"type\":\"string\",\"max_length\":1.5}}", MOONPLAN_PLUGIN_MANIFEST,
                 "/1/input/a/max_length"},
                {"y", "{\"a\":{\"type\":\"string\",\"enum\":[]}}", MOONPLAN_PLUGIN_MANIFEST,
                 "/1/input/a/enum"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        moonplan_capability list[] = {capability("new", echo, &releases),
                                      capability(rows[i].name, echo, &releases)};
        if (rows[i].input) list[1].input = text_of(rows[i].input);
        list[0].release = list[1].release = released;
        moonplan_error err;
        CHECK(!moonplan_engine_register(engine, list, 2, &err));
        if (!CHECK(err.code == rows[i].code && strcmp(err.at, rows[i].at) == 0))
            printf("# %s: %s\n", err.at, err.message);
        CHECK(releases == 0);
        CHECK(!moonplan_engine_describe_new(engine, MOONPLAN_TEXT("new"), (moonplan_text){NULL, 0},
                                            &err));
        CHECK(err.code == MOONPLAN_OK);
    }
    /* What the contract lets a host register: any version, any risk, any type. */
    moonplan_capability odd = capability("odd", echo, &releases);
    odd.version = odd.risk = (moonplan_text){NULL, 0};
    odd.input = MOONPLAN_TEXT("{\"a\":{\"type\":\"thing\",\"more\":1},\"b\":{}}");
    odd.release = released;
    CHECK(moonplan_engine_register(engine, &odd, 1, NULL));
    moonplan_engine_free(engine);
    CHECK(releases == 1);
}

static void descriptions_are_detached_and_in_order(void) {
    moonplan_engine *engine = engine_with(NULL);
    moonplan_error err;
    moonplan_document *list = moonplan_engine_list_new(engine, &err);
    moonplan_document *one =
        moonplan_engine_describe_new(engine, MOONPLAN_TEXT("typed"), MOONPLAN_TEXT("1.0.0"), &err);
    CHECK(!moonplan_engine_describe_new(engine, MOONPLAN_TEXT("typed"), MOONPLAN_TEXT("1"), &err));
    CHECK(!moonplan_engine_describe_new(engine, MOONPLAN_TEXT("typed"), MOONPLAN_TEXT(""), &err));
    moonplan_engine_free(engine);
    static const char *const names[] = {"echo", "none", "typed", "lua", "needy"};
    moonplan_walk walk = moonplan_value_walk(moonplan_document_root(list));
    for (size_t i = 0; moonplan_walk_next(&walk); i++)
        CHECK_TEXT(names[i], moonplan_value_string(moonplan_value_member(walk.value, "name", 4)));
    CHECK_TEXT("fs", moonplan_value_string(moonplan_document_at(list, "/4/missing/0", 12)));
    CHECK_TEXT("{\"type\":\"list\"}",
               moonplan_value_source(moonplan_document_at(one, "/input/w", 8)));
    moonplan_document_free(list);
    moonplan_document_free(one);
}

/* -- Limits --------------------------------------------------------------------*/

static moonplan_engine *limited(const char *name, uint64_t value) {
    moonplan_engine_options options;
    moonplan_engine_options_init(&options);
    CHECK(moonplan_options_limit(&options.common, name, value, NULL));
    return engine_with(&options);
}

static char *sized(const char *before, size_t count, const char *after) {
    char *text = malloc(strlen(before) + count + strlen(after) + 1);
    if (!text) exit(EXIT_FAILURE);
    strcpy(text, before);
    memset(text + strlen(before), 'x', count);
    strcpy(text + strlen(before) + count, after);
    return text;
}

static void limits_pass_at_their_value_and_fail_one_above(void) {
    static const size_t values[] = {1, 256, 1000};
    for (size_t i = 0; i < 3; i++) {
        for (size_t over = 0; over < 2; over++) {
            moonplan_engine *engine = limited("step_id_bytes", values[i]);
            char *plan = sized("{\"version\":\"1.0\",\"steps\":[{\"id\":\"", values[i] + over,
                               "\",\"capability\":\"echo\"}]}");
            moonplan_error err;
            moonplan_step_plan *admitted =
                moonplan_engine_admit_new(engine, plan, strlen(plan), NULL, &err);
            CHECK((admitted != NULL) == !over);
            if (over)
                CHECK(err.code == MOONPLAN_LIMIT && strcmp(err.at, "/steps/0/id") == 0 &&
                      strstr(err.message, "step_id_bytes"));
            moonplan_step_plan_free(admitted);
            free(plan);
            moonplan_engine_free(engine);

            engine = limited("result_bytes", values[i] + 2);
            char *result = sized("\"", values[i] + over, "\"");
            moonplan_capability x = capability("x", constant, result);
            CHECK(moonplan_engine_register(engine, &x, 1, NULL));
            moonplan_job *job = run(engine, PLAN(STEP("a", "x", "")));
            CHECK((moonplan_job_status(job) == MOONPLAN_COMPLETED) == !over);
            moonplan_failure failure;
            if (moonplan_job_error(job, &failure)) CHECK(failure.code == MOONPLAN_LIMIT);
            moonplan_job_free(job);
            moonplan_engine_free(engine);
            free(result);

            /* The same limit for a failure's own words. */
            engine = limited("result_bytes", values[i]);
            char *words = sized("", values[i] + over, "");
            x = capability("x", failing, words);
            CHECK(moonplan_engine_register(engine, &x, 1, NULL));
            job = run(engine, PLAN(STEP("a", "x", "")));
            CHECK(moonplan_job_error(job, &failure) &&
                  failure.code == MOONPLAN_JOB_CAPABILITY_FAILED);
            if (over)
                CHECK(failure.message.length > 0 && failure.message.bytes[0] == 't');
            else
                CHECK_TEXT(words, failure.message);
            moonplan_job_free(job);
            moonplan_engine_free(engine);
            free(words);
        }
    }
    for (size_t steps = 2; steps <= 3; steps++) {
        moonplan_engine *engine = limited("steps", 2);
        moonplan_error err;
        const char *plan =
            steps == 2
                ? PLAN(STEP("a", "echo", "") "," STEP("b", "echo", ""))
                : PLAN(STEP("a", "echo", "") "," STEP("b", "echo", "") "," STEP("c", "echo", ""));
        moonplan_step_plan *admitted =
            moonplan_engine_admit_new(engine, plan, strlen(plan), NULL, &err);
        CHECK((admitted != NULL) == (steps == 2));
        if (steps == 3) CHECK(err.code == MOONPLAN_LIMIT && strcmp(err.at, "/steps") == 0);
        moonplan_step_plan_free(admitted);
        moonplan_engine_free(engine);
    }
}

int main(void) {
    RUN(every_fault_of_a_plan_has_its_place);
    RUN(versions_are_refused_when_the_host_says_which);
    RUN(every_failure_of_a_step_has_its_code);
    RUN(a_failure_keeps_its_code_text_and_detail);
    RUN(a_step_is_resolved_decided_started_called_and_told_in_this_order);
    RUN(decisions_are_well_formed_or_fail_closed);
    RUN(the_default_lets_pass_what_it_was_told_to);
    RUN(registration_is_all_or_nothing);
    RUN(descriptions_are_detached_and_in_order);
    RUN(limits_pass_at_their_value_and_fail_one_above);
    return check_end();
}
