/* The audit trail of a store in a SQLite file: what is found when somebody has written to it. */
#include <time.h>

#include "store.h"

/* The only fault that verifying finds, or the first of several: "what sequence". */
static void finds(const char *sql, const char *expected) {
    host h = plain();
    moonplan_error err;
    char line[80] = "";
    next_path();
    finished_job();
    finished_job();
    edit(sql);
    moonplan_engine *engine = engine_of(IN_FILE, &h);
    moonplan_document *report = moonplan_engine_verify_new(engine, NULL, &err);
    if (!CHECK(report != NULL)) {
        printf("# %s: %s\n", sql, err.message);
    } else {
        CHECK(moonplan_value_type(moonplan_document_at(report, "/sound", 6)) == MOONPLAN_FALSE);
        moonplan_text what =
            moonplan_value_string(moonplan_document_at(report, "/faults/0/what", 14));
        int64_t sequence = 0;
        moonplan_value_integer(moonplan_document_at(report, "/faults/0/sequence", 18), &sequence);
        snprintf(line, sizeof line, "%.*s %d", (int)what.length, what.bytes, (int)sequence);
        if (!CHECK(strcmp(line, expected) == 0)) {
            moonplan_text all = moonplan_value_source(moonplan_document_root(report));
            printf("# %s\n# expected %s, got %s\n# %.*s\n", sql, expected, line, (int)all.length,
                   all.bytes);
        }
    }
    moonplan_document_free(report);
    moonplan_engine_free(engine);
}

static void every_change_of_a_row_is_found(void) {
    /* Two jobs with records 1 to 9 and 10 to 18: created, begun, three steps, completed. */
    static const char *const rows[][2] = {
        {"UPDATE event SET event = replace(event, 'capability.started', 'capability.startEd') "
         "WHERE "
         "sequence = 3",
         "edited 3"},
        {"UPDATE event SET digest = replace(digest, substr(digest, 1, 1), 'z') WHERE sequence = 4",
         "edited 4"},
        {"UPDATE event SET before = before_in_job WHERE sequence = 10", "edited 10"},
        {"DELETE FROM event WHERE sequence = 5", "missing 5"},
        {"DELETE FROM event WHERE sequence = 1", "missing 1"},
        {"DELETE FROM event WHERE sequence = 18", "missing 18"},
        {"DELETE FROM event", "missing 1"},
        {"INSERT INTO event SELECT 19, job, 10, event, digest, digest, digest FROM event WHERE "
         "sequence = 18",
         "inserted 19"},
        {"UPDATE event SET sequence = 100 WHERE sequence = 4; UPDATE event SET sequence = 4 WHERE "
         "sequence = 5; UPDATE event SET sequence = 5 WHERE sequence = 100",
         "moved 4"},
        {"UPDATE event SET job = 2, position = 50 WHERE sequence = 4", "edited 4"},
        {"UPDATE event SET position = 50 WHERE sequence = 9", "edited 9"},
        {"UPDATE head SET digest = replace(digest, substr(digest, 1, 1), 'z')", "edited 18"},
        {"UPDATE head SET sequence = 17", "inserted 18"},
        {"DELETE FROM head", "inserted 1"},
        {"UPDATE job SET status = 'failed' WHERE number = 1", "row 9"},
        {"UPDATE job SET goal = 'other' WHERE number = 2", "row 18"},
        {"UPDATE job SET plan = replace(plan, 'read', 'roam') WHERE number = 2", "row 18"},
        {"UPDATE job SET plan = replace(plan, '\"input\"', '\"inpuT\"') WHERE number = 2",
         "row 18"},
        {"UPDATE job SET plan = '[]' WHERE number = 2", "row 0"},
        {"UPDATE job SET caller = '{}' WHERE number = 1", "row 9"},
        {"UPDATE job SET completed = completed + 1 WHERE number = 1", "row 9"},
        {"UPDATE step SET result = '[1]' WHERE job = 1 AND position = 2", "step 6"},
        {"UPDATE step SET result = result || ' ' WHERE job = 1 AND position = 2", "step 6"},
        {"UPDATE step SET result = char(10) || result WHERE job = 1 AND position = 2", "step 6"},
        {"UPDATE step SET result = NULL WHERE job = 2 AND position = 3", "step 17"},
        {"UPDATE step SET status = 'pending' WHERE job = 1 AND position = 1", "step 4"},
        {"UPDATE step SET version = '9' WHERE job = 1 AND position = 1", "step 4"},
        {"UPDATE step SET input_digest = result_digest WHERE job = 1 AND position = 1", "step 4"},
        {"DELETE FROM step WHERE job = 1 AND position = 3", "row 0"},
        {"UPDATE step SET approval = input_digest WHERE job = 1 AND position = 1", "step 4"},
        {"UPDATE step SET id = 'z' WHERE job = 1 AND position = 1", "step 4"},
        {"UPDATE step SET capability = 'roam' WHERE job = 2 AND position = 1", "step 13"},
        {"UPDATE job SET events = events + 1 WHERE number = 1", "row 9"},
        {"UPDATE job SET head = plan_digest WHERE number = 2", "row 18"},
        {"UPDATE job SET nameless = 1 WHERE number = 1", "row 9"},
        {"UPDATE job SET denied_risk = 'write' WHERE number = 1", "row 9"},
        {"UPDATE job SET failure = '{\"code\":\"job.denied\",\"message\":\"\"}' WHERE number = 2",
         "row 18"},
        {"INSERT INTO approval_use SELECT plan_digest, 1, 1 FROM job WHERE number = 1", "row 9"},
        {"INSERT INTO deduplication VALUES ('k', 2)", "row 18"},
        {"UPDATE head SET sequence = 9223372036854775807", "missing 19"},
        {"UPDATE head SET sequence = 9223372036854775806", "missing 19"},
        {"UPDATE event SET sequence = 9223372036854775807 WHERE sequence = 18", "missing 18"},
        {"PRAGMA foreign_keys = OFF; INSERT INTO approval_use SELECT plan_digest, 1, 7 FROM job "
         "WHERE number = 1",
         "file 0"},
        {"PRAGMA foreign_keys = OFF; INSERT INTO step SELECT 7, position, id, capability, version, "
         "risk, status, started, completed, input_digest, result, result_digest, approval, "
         "code_digest FROM step WHERE job = 1",
         "file 0"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) finds(rows[i][0], rows[i][1]);
}

/* A store in which the table says one thing, and the index by which its rows are found another. */
static void a_row_that_is_not_found_is_not_left_out(void) {
    next_path();
    host h = plain();
    moonplan_error err;
    char id[MOONPLAN_ID_SIZE];
    moonplan_engine *engine = engine_of(IN_FILE, &h);
    moonplan_job *job = run(engine, chain);
    copy_id(job, id);
    moonplan_job_free(job);
    moonplan_engine_free(engine);
    edit("UPDATE job SET status = 'failed'; PRAGMA journal_mode = DELETE");
    /* The id stands in front of the status in the table alone. */
    FILE *file = fopen(path, "r+b");
    if (!CHECK(file != NULL) || !file) return;
    static char bytes[1 << 20];
    size_t length = fread(bytes, 1, sizeof bytes, file), changed = 0;
    char row[MOONPLAN_ID_SIZE + 8];
    snprintf(row, sizeof row, "%sfailed", id);
    for (size_t at = 0; at + strlen(row) <= length; at++) {
        if (memcmp(bytes + at, row, strlen(row)) != 0) continue;
        CHECK(fseek(file, (long)(at + strlen(id) - 1), SEEK_SET) == 0);
        fputc(bytes[at + strlen(id) - 1] ^ 1, file);
        changed++;
    }
    fclose(file);
    CHECK(changed > 0);
    engine = engine_of(IN_FILE, &h);
    moonplan_document *report = moonplan_engine_verify_new(engine, NULL, &err);
    if (CHECK(report != NULL)) {
        moonplan_text all = moonplan_value_source(moonplan_document_root(report));
        char text[4000];
        snprintf(text, sizeof text, "%.*s", (int)all.length, all.bytes);
        CHECK(strstr(text, "\"sound\":false") && strstr(text, "is not found by its id"));
        CHECK(strstr(text, "\"what\":\"file\"") != NULL);
    }
    moonplan_document_free(report);
    moonplan_engine_free(engine);
}

/* To look at every number for where each was moved from is 400,000,000 digests here, which take
 * minutes. */
static void many_edited_records_do_not_take_the_square_of_time(void) {
    host h = plain();
    moonplan_error err;
    next_path();
    finished_job();
    edit("WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT "
         "INTO event SELECT i, 1, i, event, before, before_in_job, digest FROM n, event WHERE "
         "sequence = 9; UPDATE head SET sequence = 20000; UPDATE event SET event = '{}'");
    moonplan_engine *engine = engine_of(IN_FILE, &h);
    clock_t before = clock();
    moonplan_document *report = moonplan_engine_verify_new(engine, NULL, &err);
    CHECK((clock() - before) / CLOCKS_PER_SEC < 20);
    CHECK(report &&
          moonplan_value_type(moonplan_document_at(report, "/sound", 6)) == MOONPLAN_FALSE);
    moonplan_document_free(report);
    moonplan_engine_free(engine);
}

/* What is kept as a number is compared with what is kept as a text, which has four digits for a
 * year. */
static int64_t far_off(void *data) {
    return *(const int64_t *)data;
}

static void a_clock_that_is_far_off_leaves_a_sound_store(void) {
    int64_t times[] = {INT64_MIN, INT64_MIN + 1, -1000000000000000, 253402300800000, INT64_MAX};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        host h = plain();
        next_path();
        h.options.now = far_off;
        h.options.now_data = &times[i];
        moonplan_engine *engine = engine_of(IN_FILE, &h);
        moonplan_job *job = run(engine, chain);
        CHECK(moonplan_job_status(job) == MOONPLAN_COMPLETED);
        moonplan_job_free(job);
        is_sound(engine);
        moonplan_engine_free(engine);
    }
}

static void nobody_goes_on_with_a_job_that_was_changed(void) {
    /* So that a step would be done again, or with another result or plan. */
    static const char *const changes[] = {
        "UPDATE step SET status = 'pending', result = NULL, result_digest = NULL, completed = "
        "NULL, "
        "started = NULL WHERE position = 1",
        "UPDATE step SET result = '[2]' WHERE position = 1",
        "UPDATE job SET plan = replace(plan, '\"read\"', '\"write\"')",
        "UPDATE job SET caller = '{}'",
        "DELETE FROM event WHERE position = 4",
        "UPDATE event SET event = replace(event, 'completed', 'failed') WHERE position = 4",
        "UPDATE step SET status = 'pending' WHERE position = 2"};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        host h = plain();
        char id[MOONPLAN_ID_SIZE];
        moonplan_error err;
        moonplan_engine *engine = interrupted("write", &h, id);
        moonplan_engine_free(engine);
        edit(changes[i]);
        engine = engine_of(IN_FILE, &h);
        memset(effects, 0, sizeof effects);
        CHECK(!moonplan_engine_resume(engine, id, strlen(id), NULL, &err));
        if (!CHECK(err.code == MOONPLAN_STORE_CORRUPT)) printf("# %zu: %s\n", i, err.message);
        CHECK(!resolve(engine, id, "b", MOONPLAN_RESOLVE_RETRY, NULL, &err));
        CHECK(err.code == MOONPLAN_STORE_CORRUPT && effects[0] + effects[1] == 0);
        moonplan_engine_free(engine);
    }
}

static bool keep_record(void *data, moonplan_text record) {
    char *out = data;
    size_t length = strlen(out);
    snprintf(out + length, 20000 - length, "%.*s\n", (int)record.length, record.bytes);
    return true;
}

static void records_are_handed_out_with_their_digests(void) {
    static char all[20000], own[20000];
    host h = plain();
    char id[MOONPLAN_ID_SIZE];
    moonplan_error err;
    next_path();
    finished_job();
    moonplan_engine *engine = engine_of(IN_FILE, &h);
    moonplan_job *job = run(engine, PLAN(STEP("a", "read", ",\"input\":[1]")));
    copy_id(job, id);
    moonplan_job_free(job);
    moonplan_text none = {NULL, 0};
    all[0] = own[0] = 0;
    CHECK(moonplan_engine_records(engine, none, keep_record, all, &err));
    CHECK(moonplan_engine_records(engine, text_of(id), keep_record, own, &err));
    CHECK(!moonplan_engine_records(engine, MOONPLAN_TEXT("none"), keep_record, all, &err));
    CHECK(err.code == MOONPLAN_JOB_NOT_FOUND);
    CHECK(strstr(all, own) != NULL && strlen(all) > 2 * strlen(own));
    /* Without its digest each is what the digest is over, and each names the one before it. */
    char before[65], digest[65];
    snprintf(before, sizeof before, "%s", mpl_no_digest);
    size_t count = 0;
    for (char *line = strtok(all, "\n"); line; line = strtok(NULL, "\n"), count++) {
        char without[4000];
        moonplan_document *record = moonplan_document_parse(line, strlen(line), NULL, &err);
        if (!CHECK(record != NULL)) break;
        CHECK_TEXT(before, moonplan_value_string(moonplan_document_at(record, "/before", 7)));
        moonplan_text said = moonplan_value_string(moonplan_document_at(record, "/digest", 7));
        snprintf(before, sizeof before, "%.*s", (int)said.length, said.bytes);
        char *at = strstr(line, ",\"digest\":");
        if (!CHECK(at != NULL)) break;
        snprintf(without, sizeof without, "%.*s%s", (int)(at - line), line,
                 at + strlen(",\"digest\":\"\"") + 64);
        mpl_digest_text(digest, text_of(without));
        CHECK(strcmp(digest, before) == 0);
        moonplan_document_free(record);
    }
    CHECK(count == 9 + 5);
    moonplan_engine_free(engine);
    engine = engine_of(IN_MEMORY, &h);
    CHECK(!moonplan_engine_records(engine, none, keep_record, all, &err));
    CHECK(err.code == MOONPLAN_OPTION);
    CHECK(!moonplan_engine_verify_new(engine, NULL, &err) && err.code == MOONPLAN_OPTION);
    moonplan_engine_free(engine);
}

/* "sound signed-sequence what" of a store that is verified with a key. */
static void verified(const moonplan_public_key *key, const char *expected) {
    host h = plain();
    char line[80];
    moonplan_error err;
    moonplan_engine *engine = engine_of(IN_FILE, &h);
    moonplan_document *report = moonplan_engine_verify_new(engine, key, &err);
    if (!CHECK(report != NULL)) return;
    int64_t sequence = 0;
    bool fine = moonplan_value_type(moonplan_document_at(report, "/sound", 6)) == MOONPLAN_TRUE;
    moonplan_value_integer(moonplan_document_at(report, "/signed/sequence", 16), &sequence);
    moonplan_text what = moonplan_value_string(moonplan_document_at(report, "/faults/0/what", 14));
    snprintf(line, sizeof line, "%s %d %.*s", fine ? "sound" : "not", (int)sequence,
             (int)what.length, what.bytes ? what.bytes : "");
    if (!CHECK(strcmp(line, expected) == 0)) printf("# expected %s, got %s\n", expected, line);
    moonplan_document_free(report);
    moonplan_engine_free(engine);
}

static void a_signed_head_shows_what_was_cut_off(void) {
    static const char cut[] =
        "DELETE FROM event WHERE sequence > 9; DELETE FROM step WHERE job = 2; "
        "DELETE FROM job WHERE number = 2; UPDATE head SET sequence = 9, digest = (SELECT digest "
        "FROM event WHERE sequence = 9)";
    moonplan_public_key key, other;
    moonplan_secret_key_public(approver, &key);
    moonplan_secret_key_public(stranger, &other);
    for (int when = 0; when < 3; when++) {
        host h = plain();
        moonplan_error err;
        next_path();
        moonplan_engine *engine = engine_of(IN_FILE, &h);
        CHECK(when != 0 || moonplan_engine_sign_head(engine, approver, &err));
        moonplan_job_free(run(engine, chain));
        CHECK(when != 1 || moonplan_engine_sign_head(engine, approver, &err));
        moonplan_job_free(run(engine, chain));
        CHECK(when != 2 || moonplan_engine_sign_head(engine, approver, &err));
        moonplan_engine_free(engine);
        static const char *const whole[] = {"sound 0 ", "sound 9 ", "sound 18 "}, *const after[] = {
                                                                                      "sound 0 ",
                                                                                      "sound 9 ",
                                                                                      "not 18 cut"};
        verified(&key, whole[when]);
        verified(&other, "not 0 signature");
        edit(cut);
        verified(NULL, "sound 0 "); /* nothing shows without a signature */
        verified(&key, after[when]);
        edit("UPDATE signed_head SET sequence = 9, digest = (SELECT digest FROM event WHERE "
             "sequence = 9), time = time + 1");
        verified(&key, "not 0 signature");
    }
}

int main(void) {
    store_open();
    RUN(every_change_of_a_row_is_found);
    RUN(a_row_that_is_not_found_is_not_left_out);
    RUN(many_edited_records_do_not_take_the_square_of_time);
    RUN(a_clock_that_is_far_off_leaves_a_sound_store);
    RUN(nobody_goes_on_with_a_job_that_was_changed);
    RUN(records_are_handed_out_with_their_digests);
    RUN(a_signed_head_shows_what_was_cut_off);
    return store_end();
}
