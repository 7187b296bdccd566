/* What the tests of the engine share: a few capabilities, plans, and a line that says what was
 * called and told. */
#ifndef MOONPLAN_SPEC_ENGINE_H
#define MOONPLAN_SPEC_ENGINE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* -- What happened, as one line ------------------------------------------------*/

static char trace[4000];

static inline void note(const char *what, moonplan_text more) {
    size_t length = strlen(trace);
    snprintf(trace + length, sizeof trace - length, "%s%s%.*s", length ? " " : "", what,
             (int)more.length, more.bytes ? more.bytes : "");
}

static inline void traced(const char *expected) {
    if (!CHECK(strcmp(trace, expected) == 0))
        printf("# expected %s\n# got      %s\n", expected, trace);
    trace[0] = 0;
}

/* -- A host --------------------------------------------------------------------*/

static inline int64_t ticks(void *data) {
    return (*(int64_t *)data)++;
}

static inline bool counted_id(void *data, char out[MOONPLAN_ID_SIZE]) {
    snprintf(out, MOONPLAN_ID_SIZE, "id-%d", ++*(int *)data);
    return true;
}

static inline void echo(void *data, moonplan_want *want) {
    note("call:", want->step_id);
    (void)data;
    moonplan_want_complete(want, want->input);
}

static inline void constant(void *data, moonplan_want *want) {
    moonplan_want_complete_json(want, data, strlen(data));
}

static inline void failing(void *data, moonplan_want *want) {
    moonplan_want_fail(want, (moonplan_text){data, data ? strlen(data) : 0});
}

static inline void silent(void *data, moonplan_want *want) {
    (void)data;
    (void)want;
}

static inline void released(void *data) {
    ++*(int *)data;
}

static inline void noted_event(void *data, const moonplan_job *job, const moonplan_event *event) {
    (void)job;
    note(data, event->type);
}

static inline moonplan_capability capability(const char *name, void (*run)(void *, moonplan_want *),
                                             void *data) {
    return (moonplan_capability){.name = text_of(name),
                                 .version = MOONPLAN_TEXT("1.0.0"),
                                 .risk = MOONPLAN_TEXT("read"),
                                 .run = run,
                                 .data = data};
}

static inline moonplan_engine *engine_with(const moonplan_engine_options *options) {
    moonplan_error err;
    moonplan_engine *engine = moonplan_engine_new(options, &err);
    moonplan_capability list[] = {capability("echo", echo, NULL), capability("none", silent, NULL),
                                  capability("typed", echo, NULL), capability("lua", echo, NULL),
                                  capability("needy", echo, NULL)};
    moonplan_text fs = MOONPLAN_TEXT("fs");
    list[2].input = MOONPLAN_TEXT("{\"v\":{\"type\":\"string\",\"required\":true,\"max_length\":3},"
                                  "\"w\":{\"type\":\"list\"}}");
    list[3].lua_values = true;
    list[4].needs = list[4].missing = &fs;
    list[4].needs_count = list[4].missing_count = 1;
    if (!CHECK(engine && moonplan_engine_register(engine, list, 5, &err))) exit(EXIT_FAILURE);
    return engine;
}

static inline moonplan_job *run(moonplan_engine *engine, const char *plan) {
    moonplan_error err;
    moonplan_job *job = moonplan_engine_run(engine, plan, strlen(plan), NULL, &err);
    if (!CHECK(job != NULL)) {
        printf("# %s\n", err.message);
        exit(EXIT_FAILURE);
    }
    return job;
}

#define STEP(id, name, more) "{\"id\":\"" id "\",\"capability\":\"" name "\"" more "}"
#define PLAN(steps)          "{\"version\":\"1.0\",\"steps\":[" steps "]}"

#endif
