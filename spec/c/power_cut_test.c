/* The store in SQLite against power cuts: at every change of the disk the power goes, the disk
 * holds what it may hold then, and what was reported is still there. The same with synchronous
 * NORMAL has to lose something: that shows that the test sees it. */
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine.h"
#include "power_cut.h"

enum { JOBS = 3, STEPS = 4, IMAGES = 2 };

static char folder[] = "/tmp/moonplan-power-XXXXXX";
static char before[64], after[64]; /* the folders of the disk, and of what is left of it */

/* The world outside: what was done, and what was reported. No power cut undoes either. */
typedef struct effect {
    char job[MOONPLAN_ID_SIZE], step[8];
    int times;
} effect;
typedef struct world {
    effect effects[JOBS * STEPS * 2];
    size_t count;
    char reported[JOBS][MOONPLAN_ID_SIZE];
    size_t reported_count;
    int without_power; /* effects after the power was gone */
} world;

/* What one image shows that must not be. */
typedef struct losses {
    int reports, effects, twice, unsound, unreadable;
} losses;

static const char plan[] = PLAN(STEP("a", "act", ",\"input\":{\"n\":1}") "," STEP(
    "b", "act",
    ",\"input\":{\"n\":{\"$ref\":\"steps.a.result.n\"}}") "," STEP("c", "echo",
                                                                   "") "," STEP("d", "act",
                                                                                ",\"input\":{\"n\":"
                                                                                "{\"$ref\":\"steps."
                                                                                "b.result.n\"}}"));

static void act(void *data, moonplan_want *want) {
    world *outside = data;
    if (power_is_off()) outside->without_power++;
    effect made = {.times = 1};
    snprintf(made.job, sizeof made.job, "%.*s", (int)want->job_id.length, want->job_id.bytes);
    snprintf(made.step, sizeof made.step, "%.*s", (int)want->step_id.length, want->step_id.bytes);
    for (size_t i = 0; i < outside->count; i++) {
        effect *at = &outside->effects[i];
        if (strcmp(at->job, made.job) == 0 && strcmp(at->step, made.step) == 0) {
            at->times++;
            made.times = 0;
        }
    }
    if (made.times) outside->effects[outside->count++] = made;
    moonplan_want_complete(want, want->input);
}

static moonplan_engine *open_store(const char *where, world *outside, unsigned flags) {
    char path[96];
    moonplan_error err;
    moonplan_text write = MOONPLAN_TEXT("write");
    moonplan_engine_options options;
    moonplan_engine_options_init(&options);
    options.allow = &write;
    options.allow_count = 1;
    moonplan_engine *engine = engine_with(&options);
    moonplan_capability acting = capability("act", act, outside);
    acting.risk = write;
    CHECK(moonplan_engine_register(engine, &acting, 1, &err));
    snprintf(path, sizeof path, "%s/jobs.db", where);
    if (moonplan_engine_store_sqlite(engine, path, strlen(path), flags, &err)) return engine;
    if (!power_is_off()) printf("# %s\n", err.message);
    moonplan_engine_free(engine);
    return NULL;
}

static void empty(const char *where) {
    static const char *const names[] = {"jobs.db", "jobs.db-wal", "jobs.db-shm", "jobs.db-journal"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[96];
        snprintf(path, sizeof path, "%s/%s", where, names[i]);
        remove(path);
    }
}

/* Jobs until they are done or the power is gone; the changes that the disk saw. */
static long work(world *outside, long changes) {
    *outside = (world){.count = 0};
    empty(before);
    power_on(-1);
    moonplan_engine_free(open_store(before, outside, 0)); /* linking its file is not seen here */
    power_on(changes);
    moonplan_engine *engine = open_store(before, outside, 0);
    for (int i = 0; engine && i < JOBS; i++) {
        moonplan_error err;
        moonplan_job *job = moonplan_engine_run(engine, plan, strlen(plan), NULL, &err);
        if (job && moonplan_job_status(job) == MOONPLAN_COMPLETED) {
            moonplan_text id = moonplan_job_id(job);
            snprintf(outside->reported[outside->reported_count++], MOONPLAN_ID_SIZE, "%.*s",
                     (int)id.length, id.bytes);
        }
        moonplan_job_free(job);
    }
    moonplan_engine_free(engine);
    return power_changes();
}

/* Whether the store knows that this step has been begun. */
static bool begun(moonplan_engine *engine, const effect *of) {
    moonplan_document *job = moonplan_engine_job_new(engine, of->job, strlen(of->job), NULL);
    if (!job) return false;
    moonplan_value steps =
        moonplan_value_member(moonplan_document_root(job), "steps", strlen("steps"));
    moonplan_walk walk = moonplan_value_walk(steps);
    bool found = false;
    while (moonplan_walk_next(&walk))
        if (is_text(text_member(walk.value, "id"), of->step))
            found = !is_text(text_member(walk.value, "status"), "pending");
    moonplan_document_free(job);
    return found;
}

static void look_for_reports(moonplan_engine *engine, const world *outside, losses *lost) {
    for (size_t i = 0; i < outside->reported_count; i++) {
        const char *id = outside->reported[i];
        moonplan_document *job = moonplan_engine_job_new(engine, id, strlen(id), NULL);
        /* The input of the first step, handed on from step to step; "c" gives no result. */
        if (!job || !is_text(text_member(moonplan_document_root(job), "status"), "completed") ||
            !is_text(moonplan_value_source(moonplan_value_member(moonplan_document_root(job),
                                                                 "result", strlen("result"))),
                     "[{\"n\":1},{\"n\":1},null,{\"n\":1}]"))
            lost->reports++;
        moonplan_document_free(job);
    }
}

/* Go on with all that can go on; nothing may happen a second time by that. */
static void resume_all(moonplan_engine *engine, const world *outside) {
    for (size_t i = 0; i < outside->count; i++) {
        const char *id = outside->effects[i].job;
        moonplan_job_free(moonplan_engine_resume(engine, id, strlen(id), NULL, NULL));
    }
}

static int first_text(void *out, int count, char **values, char **names) {
    (void)count;
    (void)names;
    snprintf(out, 64, "%s", values[0] ? values[0] : "");
    return 0;
}

static bool database_is_sound(void) {
    char path[96], answer[64] = "";
    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%s/jobs.db", after);
    bool fine = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
                sqlite3_exec(db, "PRAGMA integrity_check", first_text, answer, NULL) == SQLITE_OK;
    sqlite3_close(db);
    return fine && strcmp(answer, "ok") == 0;
}

static bool chain_is_sound(moonplan_engine *engine) {
    moonplan_document *found = moonplan_engine_verify_new(engine, NULL, NULL);
    if (!found) return false;
    moonplan_value sound =
        moonplan_value_member(moonplan_document_root(found), "sound", strlen("sound"));
    bool is_sound = moonplan_value_type(sound) == MOONPLAN_TRUE;
    moonplan_document_free(found);
    return is_sound;
}

static void judge(world *outside, losses *lost) {
    power_on(-1);
    moonplan_engine *engine = open_store(after, outside, 0);
    if (!engine) {
        lost->unreadable++;
        return;
    }
    look_for_reports(engine, outside, lost);
    for (size_t i = 0; i < outside->count; i++)
        if (!begun(engine, &outside->effects[i])) lost->effects++;
    resume_all(engine, outside);
    for (size_t i = 0; i < outside->count; i++)
        if (outside->effects[i].times > 1) lost->twice++;
    if (!chain_is_sound(engine)) lost->unsound++;
    moonplan_engine_free(engine);
    if (!database_is_sound()) lost->unsound++;
}

static losses cut_everywhere(bool normal) {
    losses lost = {0};
    world outside;
    if (!CHECK(power_install(normal))) return lost;
    long changes = work(&outside, -1);
    CHECK(outside.reported_count == JOBS);
    CHECK(changes > JOBS * STEPS * 2); /* a commit before each effect and one after it */
    for (long at = 0; at < changes; at++) {
        for (uint64_t seed = 0; seed < IMAGES; seed++) {
            work(&outside, at);
            empty(after);
            if (!CHECK(power_image(after, (uint64_t)at * IMAGES + seed))) return lost;
            CHECK(outside.without_power == 0);
            judge(&outside, &lost);
        }
    }
    printf("# synchronous %s: the power cut at %ld places: %d reports lost, %d effects unknown to "
           "the store, %d effects twice, %d times unsound, %d times unreadable\n",
           normal ? "NORMAL" : "FULL", changes, lost.reports, lost.effects, lost.twice,
           lost.unsound, lost.unreadable);
    return lost;
}

static void nothing_that_was_reported_is_lost(void) {
    losses lost = cut_everywhere(false);
    CHECK(lost.reports == 0);
    CHECK(lost.effects == 0);
    CHECK(lost.twice == 0);
    CHECK(lost.unsound == 0);
    CHECK(lost.unreadable == 0);
}

static void with_less_syncing_something_is(void) {
    losses lost = cut_everywhere(true);
    CHECK(lost.reports > 0);
    CHECK(lost.effects > 0);
}

int main(void) {
    if (!mkdtemp(folder)) return EXIT_FAILURE;
    snprintf(before, sizeof before, "%s/before", folder);
    snprintf(after, sizeof after, "%s/after", folder);
    if (mkdir(before, 0700) != 0 || mkdir(after, 0700) != 0) return EXIT_FAILURE;
    RUN(nothing_that_was_reported_is_lost);
    RUN(with_less_syncing_something_is);
    empty(before);
    empty(after);
    rmdir(before);
    rmdir(after);
    rmdir(folder);
    return check_end();
}
