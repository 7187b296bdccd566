/* What the tests of stores share: hosts, engines on either store, and what a store says. */
#ifndef MOONPLAN_SPEC_STORE_H
#define MOONPLAN_SPEC_STORE_H

#include "engine.h"

#include <sodium.h>
#include <unistd.h>

#include "../../src/engine/job.h"
#include "../../src/host/store_sqlite.h"

static char folder[] = "/tmp/moonplan-store-XXXXXX";
static char path[80];
static int made;

/* A file that there is not yet. */
static inline void next_path(void) {
    snprintf(path, sizeof path, "%s/%d.db", folder, ++made);
}

/* -- Hosts ----------------------------------------------------------------------*/

typedef enum where { IN_MEMORY, IN_FILE, KINDS } where;

static int effects[8]; /* calls of `act`, by step */

static inline void act(void *data, moonplan_want *want) {
    (void)data;
    note("call:", want->step_id);
    effects[want->step]++;
    moonplan_want_complete(want, want->input);
}

/* Whether the effect happened, as `data` says: '+', '-' or '?'. */
static inline void check_act(void *data, moonplan_want *want) {
    char token[65];
    note("check:", want->step_id);
    CHECK(want->kind == MOONPLAN_WANT_OUTCOME && moonplan_want_token(want, token));
    static const char *const outcomes[] = {"{\"happened\":true,\"result\":\"found\"}",
                                           "{\"happened\":false}", "null"};
    const char *outcome = outcomes[*(char *)data == '+' ? 0 : *(char *)data == '-' ? 1 : 2];
    moonplan_document *value = moonplan_document_parse(outcome, strlen(outcome), NULL, NULL);
    CHECK(moonplan_want_outcome(want, moonplan_document_root(value)));
    moonplan_document_free(value);
}

typedef struct host {
    moonplan_engine_options options;
    const char *version;
    char *check;
    unsigned flags;
} host;

static inline host plain(void) {
    static const moonplan_text all[] = {{"write", 5}, {"destructive", 11}};
    host h = {.version = "1.0.0"};
    moonplan_engine_options_init(&h.options);
    h.options.allow = all;
    h.options.allow_count = 2;
    return h;
}

static moonplan_secret_key *approver, *stranger;

/* Whose steps that write take an approval of `approver`'s. */
static inline host strict(void) {
    static moonplan_public_key key;
    static const moonplan_text write = {"write", 5};
    host h = plain();
    moonplan_secret_key_public(approver, &key);
    h.options.require_approval = &write;
    h.options.require_approval_count = 1;
    h.options.approvers = &key;
    h.options.approver_count = 1;
    return h;
}

static inline void register_all(moonplan_engine *engine, const host *h) {
    moonplan_capability list[] = {capability("read", act, NULL), capability("write", act, NULL),
                                  capability("typed", act, NULL)};
    for (size_t i = 0; i < 3; i++) list[i].version = text_of(h->version);
    list[1].risk = MOONPLAN_TEXT("write");
    list[2].risk = MOONPLAN_TEXT("write");
    list[2].output = MOONPLAN_TEXT("{\"id\":{\"type\":\"string\",\"required\":true}}");
    if (h->check) {
        list[1].check = check_act;
        list[1].data = h->check;
    }
    CHECK(moonplan_engine_register(engine, list, 3, NULL));
}

/* An engine of this kind; in a file, on `path`. */
static inline moonplan_engine *engine_of(where which, const host *h) {
    moonplan_error err;
    moonplan_engine *engine = moonplan_engine_new(&h->options, &err);
    if (!CHECK(engine != NULL)) exit(EXIT_FAILURE);
    if (which == IN_FILE &&
        !moonplan_engine_store_sqlite(engine, path, strlen(path), h->flags, &err)) {
        printf("# %s: %s\n", moonplan_code_name(err.code), err.message);
        exit(EXIT_FAILURE);
    }
    register_all(engine, h);
    return engine;
}

/* The same store for another host: for one in memory, it is the same engine. */
static inline moonplan_engine *again(where which, moonplan_engine *engine, const host *h) {
    if (which == IN_MEMORY) return engine;
    moonplan_engine_free(engine);
    return engine_of(which, h);
}

static inline moonplan_job *submit(moonplan_engine *engine, const char *plan,
                                   const moonplan_run_options *options) {
    moonplan_error err;
    moonplan_job *job = moonplan_engine_submit_new(engine, plan, strlen(plan), options, &err);
    if (!CHECK(job != NULL)) {
        printf("# %s: %s\n", moonplan_code_name(err.code), err.message);
        exit(EXIT_FAILURE);
    }
    return job;
}

/* Answer until a question of this kind about this step is asked. */
static inline moonplan_want *until(moonplan_job *job, size_t step, moonplan_wanted kind) {
    moonplan_want *want;
    while ((want = moonplan_job_next(job)))
        if (want->step == step && want->kind == kind) return want;
    return NULL;
}

static inline void copy_id(const moonplan_job *job, char out[MOONPLAN_ID_SIZE]) {
    moonplan_text id = moonplan_job_id(job);
    memcpy(out, id.bytes, id.length);
    out[id.length] = 0;
}

/* "status: step status, ..." of a job in the store. */
static inline void stands(const moonplan_engine *engine, const char *id, const char *expected) {
    char line[400];
    moonplan_error err;
    moonplan_document *job = moonplan_engine_job_new(engine, id, strlen(id), &err);
    if (!CHECK(job != NULL)) {
        printf("# %s: %s\n", moonplan_code_name(err.code), err.message);
        return;
    }
    moonplan_text status = moonplan_value_string(moonplan_document_at(job, "/status", 7));
    int length = snprintf(line, sizeof line, "%.*s:", (int)status.length, status.bytes);
    moonplan_walk walk = moonplan_value_walk(moonplan_document_at(job, "/steps", 6));
    while (moonplan_walk_next(&walk)) {
        status = moonplan_value_string(moonplan_value_member(walk.value, "status", 6));
        length += snprintf(line + length, sizeof line - (size_t)length, " %.*s", (int)status.length,
                           status.bytes);
    }
    if (!CHECK(strcmp(line, expected) == 0))
        printf("# expected %s\n# got      %s\n", expected, line);
    moonplan_document_free(job);
}

/* The types of a stored job's events, shortened, in a row. */
static inline void happened(const moonplan_engine *engine, const char *id, const char *expected) {
    moonplan_document *job = moonplan_engine_job_new(engine, id, strlen(id), NULL);
    if (!CHECK(job != NULL)) return;
    trace[0] = 0;
    moonplan_walk walk = moonplan_value_walk(moonplan_document_at(job, "/events", 7));
    while (moonplan_walk_next(&walk))
        note("", moonplan_value_string(moonplan_value_member(walk.value, "type", 4)));
    traced(expected);
    moonplan_document_free(job);
}

/* What a store says is what its trail says. */
static inline void is_sound(const moonplan_engine *engine) {
    moonplan_error err;
    moonplan_document *report = moonplan_engine_verify_new(engine, NULL, &err);
    if (!CHECK(report != NULL)) {
        printf("# %s\n", err.message);
        return;
    }
    if (!CHECK(moonplan_value_type(moonplan_document_at(report, "/sound", 6)) == MOONPLAN_TRUE)) {
        moonplan_text text = moonplan_value_source(moonplan_document_root(report));
        printf("# %.*s\n", (int)text.length, text.bytes);
    }
    moonplan_document_free(report);
}

static inline void sound(where which, const moonplan_engine *engine) {
    if (which == IN_FILE) is_sound(engine);
}

static inline size_t listed(const moonplan_engine *engine, const moonplan_job_filter *filter) {
    moonplan_document *jobs = moonplan_engine_jobs_new(engine, filter, NULL);
    if (!CHECK(jobs != NULL)) return SIZE_MAX;
    size_t count = moonplan_value_count(moonplan_document_root(jobs));
    moonplan_document_free(jobs);
    return count;
}

/* -- Plans ----------------------------------------------------------------------*/

static const char chain[] = PLAN(STEP("a", "write", ",\"input\":{\"n\":1.0}") "," STEP(
    "b", "write",
    ",\"input\":{\"$ref\":\"steps.a.result.n\"}") "," STEP("c", "read",
                                                           ",\"input\":[\"\\u00e9\"]"));

/* A job whose second step was begun by a host that went away. */
static inline moonplan_engine *interrupted(const char *name, const host *h,
                                           char id[MOONPLAN_ID_SIZE]) {
    char plan[300];
    snprintf(plan, sizeof plan,
             "{\"steps\":[{\"id\":\"a\",\"capability\":\"read\",\"input\":[1]},"
             "{\"id\":\"b\",\"capability\":\"%s\",\"input\":{\"$ref\":\"steps.a.result\"}},"
             "{\"id\":\"c\",\"capability\":\"read\",\"input\":{\"$ref\":\"steps.b.result\"}}]}",
             name);
    next_path();
    moonplan_engine *engine = engine_of(IN_FILE, h);
    moonplan_job *job = submit(engine, plan, NULL);
    copy_id(job, id);
    CHECK(until(job, 1, MOONPLAN_WANT_RESULT) != NULL);
    moonplan_job_free(job);
    trace[0] = 0;
    return again(IN_FILE, engine, h);
}

static inline bool resolve(moonplan_engine *engine, const char *id, const char *step,
                           moonplan_resolution as, const char *text, moonplan_error *err) {
    moonplan_text given = {text, text ? strlen(text) : 0};
    return moonplan_engine_resolve(engine, id, strlen(id), text_of(step), as, given, err);
}

/* -- Keys -----------------------------------------------------------------------*/

static inline void store_open(void) {
    approver = moonplan_secret_key_new(NULL, NULL);
    stranger = moonplan_secret_key_new(NULL, NULL);
    if (!mkdtemp(folder) || !approver || !stranger) exit(EXIT_FAILURE);
}

static inline int store_end(void) {
    char command[120];
    moonplan_secret_key_free(approver);
    moonplan_secret_key_free(stranger);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0) printf("# %s is left\n", folder);
    return check_end();
}

/* -- Approvals ------------------------------------------------------------------*/

static inline moonplan_document *sign(moonplan_document *request, const moonplan_secret_key *key) {
    moonplan_error err;
    moonplan_document *approval =
        request ? moonplan_approval_sign_new(request, key, NULL, &err) : NULL;
    CHECK(approval != NULL);
    moonplan_document_free(request);
    return approval;
}

static inline moonplan_text source(const moonplan_document *document) {
    return moonplan_value_source(moonplan_document_root(document));
}

#define FAR 32503680000000 /* 3000-01-01 */

/* Resume the job with what there is, and say how it stands. */
static inline moonplan_status resumed(moonplan_engine *engine, const char *id,
                                      const moonplan_run_options *with) {
    moonplan_error err;
    moonplan_job *job = moonplan_engine_resume(engine, id, strlen(id), with, &err);
    if (!CHECK(job != NULL)) printf("# %s %s\n", moonplan_code_name(err.code), err.message);
    moonplan_status status = job ? moonplan_job_status(job) : (moonplan_status)0;
    moonplan_job_free(job);
    return status;
}

/* -- In a file ------------------------------------------------------------------*/

/* Do something to the file, past the store. */
static inline void edit(const char *sql) {
    mpl_sqlite sqlite;
    sqlite3 *db = NULL;
    CHECK(mpl_sqlite_open(&sqlite) == NULL);
    CHECK(sqlite.open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) == SQLITE_OK);
    while (*sql) {
        sqlite3_stmt *statement = NULL;
        int code = sqlite.prepare_v2(db, sql, -1, &statement, &sql);
        while (code == SQLITE_OK && sqlite.step(statement) == SQLITE_ROW) continue;
        if (!CHECK(sqlite.finalize(statement) == SQLITE_OK && code == SQLITE_OK)) break;
    }
    sqlite.close_v2(db);
}

static inline void finished_job(void) {
    host h = plain();
    moonplan_engine *engine = engine_of(IN_FILE, &h);
    moonplan_job_free(run(engine, chain));
    moonplan_engine_free(engine);
}

#endif
