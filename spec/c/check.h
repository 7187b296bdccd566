/* What the C tests share: checks that count, and an allocator that counts and can be told to fail.
 *
 * A test program is a row of RUN(function) and ends with `return check_end();`. It prints one line
 * a function, "ok" or "not ok", and every check that failed before it. */
#ifndef MOONPLAN_SPEC_CHECK_H
#define MOONPLAN_SPEC_CHECK_H

#include <string.h>

#include "../../src/moonplan.h"

#define CHECK(condition)           check((condition), __FILE__, __LINE__, #condition)
#define CHECK_TEXT(expected, text) check_text((expected), (text), __FILE__, __LINE__)
#define RUN(test)                  check_run(#test, (test))

bool check(bool holds, const char *file, int line, const char *what);
bool check_text(const char *expected, moonplan_text text, const char *file, int line);
void check_run(const char *name, void (*test)(void));
/* A line that says why a test does not apply here. */
void check_skip(const char *why);
/* Checks that have failed so far; for a process of one's own. */
size_t check_failures(void);
int check_end(void);

static inline moonplan_text text_of(const char *bytes) {
    return (moonplan_text){bytes, strlen(bytes)};
}

static inline bool is_text(moonplan_text text, const char *expected) {
    return text.length == strlen(expected) && memcmp(text.bytes, expected, text.length) == 0;
}

static inline moonplan_value member(moonplan_value object, const char *name) {
    return moonplan_value_member(object, name, strlen(name));
}

static inline moonplan_text text_member(moonplan_value object, const char *name) {
    return moonplan_value_string(member(object, name));
}

/* Numbers that are the same in every run (splitmix64), or for every seed. */
void random_seed(uint64_t seed);
uint64_t random_next(void);
size_t random_below(size_t end);

/* A moonplan_alloc whose data is a `counter`: it keeps every block apart with its true size, checks
 * the sizes that it is told, and fails when asked to. */
typedef struct counter {
    size_t used, peak, blocks;
    size_t calls;   /* requests for memory so far: what can fail */
    size_t fail_at; /* the first request to fail, from 1; 0: none */
    bool fail_on;   /* every later request fails as well */
    size_t refused; /* requests that failed */
    bool wrong;     /* an old size was not what the block had */
} counter;

void *counter_alloc(void *data, void *block, size_t old_size, size_t new_size);
/* The default options, with memory from `counter`, which is set to zero. */
void counter_options(moonplan_options *options, counter *count);

#endif
