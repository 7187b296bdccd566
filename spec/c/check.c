#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One process, one thread of tests: a count of failures may be global here. */
static size_t failed, tests, tests_failed;

static uint64_t random_state = 8410;

void random_seed(uint64_t seed) {
    random_state = seed;
}

uint64_t random_next(void) {
    uint64_t mixed = (random_state += 0x9e3779b97f4a7c15u);
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return mixed ^ mixed >> 31;
}

size_t random_below(size_t end) {
    return (size_t)(random_next() % end);
}

bool check(bool holds, const char *file, int line, const char *what) {
    if (holds) return true;
    /* A loop over inputs can fail a thousand times in one way. */
    if (failed++ < 12) printf("# %s:%d: %s\n", file, line, what);
    return false;
}

bool check_text(const char *expected, moonplan_text text, const char *file, int line) {
    bool same = text.bytes && strlen(expected) == text.length &&
                memcmp(expected, text.bytes, text.length) == 0;
    if (!same && failed < 12)
        printf("# expected %s, got %.*s\n", expected, (int)(text.bytes ? text.length : 0),
               text.bytes ? text.bytes : "");
    return check(same, file, line, "the texts are equal");
}

void check_run(const char *name, void (*test)(void)) {
    size_t before = failed;
    test();
    tests++;
    if (failed != before) tests_failed++;
    printf("%s %zu - %s\n", failed == before ? "ok" : "not ok", tests, name);
    fflush(stdout);
}

void check_skip(const char *why) {
    printf("# skipped: %s\n", why);
}

size_t check_failures(void) {
    return failed;
}

int check_end(void) {
    printf("1..%zu\n", tests);
    if (failed) printf("# %zu checks failed in %zu tests\n", failed, tests_failed);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* The true size stands before the block; two words keep it aligned for anything. */
typedef union head {
    size_t size;
    max_align_t align[2];
} head;

static bool refuse(counter *count) {
    count->calls++;
    bool refused = count->fail_at != 0 && (count->calls == count->fail_at ||
                                           (count->fail_on && count->calls > count->fail_at));
    count->refused += refused;
    return refused;
}

void *counter_alloc(void *data, void *block, size_t old_size, size_t new_size) {
    counter *count = data;
    head *old = block ? (head *)block - 1 : NULL;
    if (old_size != (old ? old->size : 0)) count->wrong = true;
    size_t held = old ? old->size : 0;
    if (new_size == 0) {
        if (!old) return NULL;
        count->used -= held;
        count->blocks--;
        free(old);
        return NULL;
    }
    if (refuse(count)) return NULL;
    /* Always a new place, so that a pointer kept over a resize is found by the sanitizers. */
    head *made = malloc(sizeof(head) + new_size);
    if (!made) return NULL;
    made->size = new_size;
    if (old) {
        memcpy(made + 1, old + 1, held < new_size ? held : new_size);
        free(old);
    } else {
        count->blocks++;
    }
    count->used = count->used - held + new_size;
    if (count->used > count->peak) count->peak = count->used;
    return made + 1;
}

void counter_options(moonplan_options *options, counter *count) {
    memset(count, 0, sizeof *count);
    moonplan_options_init(options);
    options->alloc = counter_alloc;
    options->alloc_data = count;
}
