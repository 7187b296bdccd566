/* A process that runs durable jobs is killed at random moments. What it reported is in the store,
 * no step's effect happens twice, and a step that was under way is told as one whose outcome nobody
 * knows. MOONPLAN_KILLS sets how often (300). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"

enum { STEPS = 20, KILLS_A_STORE = 30, MOST = 4000 };

static char folder[] = "/tmp/moonplan-kill-XXXXXX";
static char store[64], effects[64], reports[64];
static char plan[4096];

/* -- What happened outside -------------------------------------------------------*/

/* A line that is there when this returns, whatever becomes of the process. */
static bool append(const char *path, const char *line) {
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
    size_t length = strlen(line);
    bool fine = file >= 0 && write(file, line, length) == (ssize_t)length && fdatasync(file) == 0;
    if (file >= 0) close(file);
    return fine;
}

/* The same line is written once at most, or the step has run twice. */
typedef struct lines {
    char at[MOST][80];
    size_t count;
} lines;

static lines happened, reported;

static void read_lines(lines *out, const char *path) {
    FILE *file = fopen(path, "r");
    out->count = 0;
    while (file && out->count < MOST && fgets(out->at[out->count], sizeof *out->at, file)) {
        char *end = strchr(out->at[out->count], '\n');
        if (!CHECK(end != NULL)) break;
        *end = 0;
        out->count++;
    }
    if (file) fclose(file);
    CHECK(out->count < MOST);
}

static int times(const lines *in, const char *line) {
    int found = 0;
    for (size_t i = 0; i < in->count; i++) found += strcmp(in->at[i], line) == 0;
    return found;
}

/* -- The process that is killed ---------------------------------------------------*/

static void act(void *data, moonplan_want *want) {
    char line[80];
    (void)data;
    snprintf(line, sizeof line, "%.*s %.*s\n", (int)want->job_id.length, want->job_id.bytes,
             (int)want->step_id.length, want->step_id.bytes);
    if (!append(effects, line)) _exit(EXIT_FAILURE);
    moonplan_want_complete(want, want->input);
}

static moonplan_engine *open_store(void) {
    moonplan_error err;
    moonplan_text write = MOONPLAN_TEXT("write");
    moonplan_engine_options options;
    moonplan_engine_options_init(&options);
    options.allow = &write;
    options.allow_count = 1;
    moonplan_engine *engine = engine_with(&options);
    moonplan_capability acting = capability("act", act, NULL);
    acting.risk = write;
    if (moonplan_engine_register(engine, &acting, 1, &err) &&
        moonplan_engine_store_sqlite(engine, store, strlen(store), 0, &err))
        return engine;
    printf("# %s\n", err.message);
    moonplan_engine_free(engine);
    return NULL;
}

static void report(moonplan_job *job) {
    char line[80];
    if (!job || moonplan_job_status(job) != MOONPLAN_COMPLETED) return;
    moonplan_text id = moonplan_job_id(job);
    snprintf(line, sizeof line, "%.*s\n", (int)id.length, id.bytes);
    if (!append(reports, line)) _exit(EXIT_FAILURE);
}

/* Resume what was interrupted. */
static void resume_all(moonplan_engine *engine) {
    moonplan_job_filter filter = {.status = MOONPLAN_TEXT("interrupted")};
    moonplan_document *list = moonplan_engine_jobs_new(engine, &filter, NULL);
    if (!CHECK(list != NULL)) return;
    moonplan_walk walk = moonplan_value_walk(moonplan_document_root(list));
    while (moonplan_walk_next(&walk)) {
        moonplan_text id = text_member(walk.value, "id");
        moonplan_error err;
        moonplan_job *job = moonplan_engine_resume(engine, id.bytes, id.length, NULL, &err);
        if (!CHECK(job != NULL)) printf("# %s\n", err.message);
        report(job);
        moonplan_job_free(job);
    }
    moonplan_document_free(list);
}

/* Goes on with what its forerunners left, then makes new jobs until it is killed. */
static void live(void) {
    moonplan_engine *engine = open_store();
    if (!engine) _exit(EXIT_FAILURE);
    resume_all(engine);
    for (;;) {
        moonplan_error err;
        moonplan_job *job = moonplan_engine_run(engine, plan, strlen(plan), NULL, &err);
        if (!job) {
            printf("# %s\n", err.message);
            fflush(stdout);
            _exit(EXIT_FAILURE);
        }
        report(job);
        moonplan_job_free(job);
    }
}

static void live_and_be_killed(unsigned *seed) {
    *seed = *seed * 1103515245 + 12345;
    /* A moment at random: nothing waits for anything here. */
    struct timespec moment = {0, (long)(*seed >> 16) * 1000};
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) live();
    if (!CHECK(child > 0)) return;
    while (nanosleep(&moment, &moment) != 0 && errno == EINTR) {
    }
    kill(child, SIGKILL);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* -- What is left --------------------------------------------------------------------*/

static int unknown_steps, killed_jobs;

static void judge_step(moonplan_text job, moonplan_value step, bool running) {
    char line[80];
    moonplan_text id = text_member(step, "id"), status = text_member(step, "status");
    snprintf(line, sizeof line, "%.*s %.*s", (int)job.length, job.bytes, (int)id.length, id.bytes);
    int found = times(&happened, line);
    if (is_text(status, "completed"))
        CHECK(found == 1);
    else if (is_text(status, "pending"))
        CHECK(found == 0);
    else
        CHECK(found <= 1 && (running || is_text(status, "outcome_unknown")));
    unknown_steps += is_text(status, "outcome_unknown");
}

static void judge_job(moonplan_engine *engine, moonplan_text id) {
    moonplan_document *document = moonplan_engine_job_new(engine, id.bytes, id.length, NULL);
    if (!CHECK(document != NULL)) return;
    moonplan_value job = moonplan_document_root(document);
    moonplan_text status = text_member(job, "status");
    killed_jobs += !is_text(status, "completed");
    CHECK(is_text(status, "completed") || is_text(status, "interrupted") ||
          is_text(status, "outcome_unknown"));
    moonplan_walk walk = moonplan_value_walk(moonplan_value_member(job, "steps", strlen("steps")));
    while (moonplan_walk_next(&walk)) judge_step(id, walk.value, is_text(status, "interrupted"));
    moonplan_document_free(document);
}

static void judge_reports(moonplan_engine *engine) {
    for (size_t i = 0; i < reported.count; i++) {
        const char *id = reported.at[i];
        moonplan_document *job = moonplan_engine_job_new(engine, id, strlen(id), NULL);
        CHECK(job && is_text(text_member(moonplan_document_root(job), "status"), "completed"));
        moonplan_document_free(job);
    }
}

static void judge(moonplan_engine *engine) {
    read_lines(&happened, effects);
    read_lines(&reported, reports);
    unknown_steps = killed_jobs = 0;
    moonplan_document *list = moonplan_engine_jobs_new(engine, NULL, NULL);
    if (!CHECK(list != NULL)) return;
    moonplan_walk walk = moonplan_value_walk(moonplan_document_root(list));
    while (moonplan_walk_next(&walk)) judge_job(engine, text_member(walk.value, "id"));
    moonplan_document_free(list);
    judge_reports(engine);
    moonplan_document *found = moonplan_engine_verify_new(engine, NULL, NULL);
    if (!CHECK(found != NULL)) return;
    CHECK(moonplan_value_type(moonplan_value_member(moonplan_document_root(found), "sound",
                                                    strlen("sound"))) == MOONPLAN_TRUE);
    moonplan_document_free(found);
}

/* Those that wait for somebody to say what happened are told the truth, and can go on then. */
static void resolve_all(moonplan_engine *engine) {
    moonplan_job_filter filter = {.status = MOONPLAN_TEXT("outcome_unknown")};
    moonplan_document *list = moonplan_engine_jobs_new(engine, &filter, NULL);
    if (!CHECK(list != NULL)) return;
    moonplan_walk walk = moonplan_value_walk(moonplan_document_root(list));
    while (moonplan_walk_next(&walk)) {
        moonplan_text id = text_member(walk.value, "id");
        moonplan_document *job = moonplan_engine_job_new(engine, id.bytes, id.length, NULL);
        moonplan_walk steps = moonplan_value_walk(
            moonplan_value_member(moonplan_document_root(job), "steps", strlen("steps")));
        bool ended = false;
        for (int n = 1; moonplan_walk_next(&steps); n++) {
            char line[80];
            moonplan_text step = text_member(steps.value, "id");
            if (!is_text(text_member(steps.value, "status"), "outcome_unknown")) continue;
            snprintf(line, sizeof line, "%.*s %.*s", (int)id.length, id.bytes, (int)step.length,
                     step.bytes);
            bool done = times(&happened, line) == 1;
            CHECK(moonplan_engine_resolve(
                engine, id.bytes, id.length, step,
                done ? MOONPLAN_RESOLVE_COMPLETED : MOONPLAN_RESOLVE_RETRY,
                done ? MOONPLAN_TEXT("{\"n\":1}") : (moonplan_text){NULL, 0}, NULL));
            ended = done && n == STEPS; /* and with its last step the job */
        }
        moonplan_document_free(job);
        if (ended) {
            job = moonplan_engine_job_new(engine, id.bytes, id.length, NULL);
            CHECK(job && is_text(text_member(moonplan_document_root(job), "status"), "completed"));
            moonplan_document_free(job);
            continue;
        }
        moonplan_error err;
        moonplan_job *resumed = moonplan_engine_resume(engine, id.bytes, id.length, NULL, &err);
        if (!CHECK(resumed && moonplan_job_status(resumed) == MOONPLAN_COMPLETED))
            printf("# %s\n",
                   resumed ? moonplan_status_name(moonplan_job_status(resumed)) : err.message);
        report(resumed);
        moonplan_job_free(resumed);
    }
    moonplan_document_free(list);
}

static void empty(void) {
    static const char *const ends[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char path[80];
        snprintf(path, sizeof path, "%s%s", store, ends[i]);
        remove(path);
    }
    remove(effects);
    remove(reports);
}

static void nothing_is_lost_or_done_twice(void) {
    const char *wanted = getenv("MOONPLAN_KILLS");
    long kills = wanted ? strtol(wanted, NULL, 10) : 300;
    unsigned seed = (unsigned)time(NULL);
    int unknown = 0;
    printf("# seed %u\n", seed);
    for (long done = 0; done < kills;) {
        empty();
        moonplan_engine_free(open_store());
        for (int i = 0; i < KILLS_A_STORE && done < kills; i++, done++) live_and_be_killed(&seed);
        moonplan_engine *engine = open_store();
        if (!CHECK(engine != NULL)) return;
        judge(engine);
        resume_all(engine);
        judge(engine);
        unknown += unknown_steps;
        CHECK(killed_jobs == unknown_steps); /* nothing else keeps a job from its end */
        resolve_all(engine);
        judge(engine);
        CHECK(killed_jobs == 0);
        moonplan_engine_free(engine);
    }
    printf("# %ld kills, %d steps of unknown outcome\n", kills, unknown);
    CHECK(unknown > 0 || kills < 100); /* else the test would not have seen what it looks for */
}

int main(void) {
    if (!mkdtemp(folder)) return EXIT_FAILURE;
    snprintf(store, sizeof store, "%s/jobs.db", folder);
    snprintf(effects, sizeof effects, "%s/effects", folder);
    snprintf(reports, sizeof reports, "%s/reports", folder);
    size_t at = (size_t)snprintf(plan, sizeof plan, "{\"version\":\"1.0\",\"steps\":[");
    at += (size_t)snprintf(plan + at, sizeof plan - at, STEP("s0", "act", ",\"input\":{\"n\":1}"));
    for (int i = 1; i < STEPS; i++)
        at += (size_t)snprintf(
            plan + at, sizeof plan - at,
            "," STEP("s%d", "act", ",\"input\":{\"n\":{\"$ref\":\"steps.s%d.result.n\"}}"), i,
            i - 1);
    snprintf(plan + at, sizeof plan - at, "]}");
    RUN(nothing_is_lost_or_done_twice);
    empty();
    rmdir(folder);
    return check_end();
}
