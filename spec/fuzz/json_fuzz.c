/* libFuzzer over the JSON reader, for `bootstrap.sh soak`; not part of the test run.
 *
 *   clang -std=c11 -g -O1 -fsanitize=fuzzer,address,undefined spec/fuzz/json_fuzz.c \
 *     src/core/(every).c src/call/(every).c -lsodium -o json_fuzz && ./json_fuzz
 * -max_total_time=600
 *
 * What is read is asked everything that can be asked of it, is built again, and its canonical text
 * must be JSON with the same canonical text. The first byte chooses options and a failing
 * allocation. */
#include <stdlib.h>
#include <string.h>

#include "../../src/core/build.h"
#include "../../src/core/json_write.h"
#include "../../src/core/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

typedef struct failing {
    size_t until; /* requests that are granted; 0: all */
    size_t used;
} failing;

static void *allocate(void *data, void *block, size_t old_size, size_t new_size) {
    failing *state = data;
    if (new_size == 0) {
        free(block);
        state->used -= block ? old_size : 0;
        return NULL;
    }
    if (state->until && --state->until == 0) {
        state->until = 1; /* and from there on */
        return NULL;
    }
    void *moved = realloc(block, new_size);
    if (moved) state->used = state->used - (block ? old_size : 0) + new_size;
    return moved;
}

/* Depth is bounded by the limit, so recursion is fine in a test. */
static void ask(moonplan_value value, moonplan_text whole) {
    moonplan_text source = moonplan_value_source(value);
    size_t offset = moonplan_value_offset(value);
    MUST(offset <= whole.length && source.length <= whole.length - offset);
    MUST(memcmp(source.bytes, whole.bytes + offset, source.length) == 0);
    int64_t integer;
    moonplan_type type = moonplan_value_type(value);
    MUST(moonplan_value_integer(value, &integer) == (type == MOONPLAN_INTEGER));
    moonplan_text string = moonplan_value_string(value);
    MUST((string.bytes != NULL) == (type == MOONPLAN_STRING));
    for (size_t i = 0; i < string.length;) {
        size_t step = mpl_utf8(string.bytes + i, string.bytes + string.length, NULL);
        MUST(step > 0);
        i += step;
    }
    size_t count = 0;
    moonplan_walk walk = moonplan_value_walk(value);
    while (moonplan_walk_next(&walk)) {
        if (type == MOONPLAN_OBJECT)
            MUST(moonplan_value_member(value, walk.name.bytes, walk.name.length).node ==
                 walk.value.node);
        else
            MUST(moonplan_value_element(value, count).node == walk.value.node);
        ask(walk.value, whole);
        count++;
    }
    MUST(moonplan_value_count(value) == count);
}

static void canonical(mpl_buffer *out, mpl_alloc *alloc, const moonplan_document *document) {
    mpl_buffer_open(out, alloc);
    mpl_write_canonical(out, moonplan_document_root(document));
    MUST(!out->failed);
}

static void check_document(const moonplan_document *document, moonplan_text whole) {
    ask(moonplan_document_root(document), whole);
    mpl_alloc alloc = mpl_alloc_of(NULL);
    mpl_buffer first, second;
    canonical(&first, &alloc, document);
    moonplan_options options;
    moonplan_options_init(&options);
    options.limits.document_bytes = 1 << 30;
    moonplan_document *again = moonplan_document_parse(first.bytes, first.length, &options, NULL);
    MUST(again);
    canonical(&second, &alloc, again);
    MUST(first.length == second.length && memcmp(first.bytes, second.bytes, first.length) == 0);
    moonplan_document_free(again);
    mpl_buffer_close(&second);

    mpl_builder builder;
    mpl_build_open(&builder, NULL);
    mpl_build_value(&builder, moonplan_document_root(document));
    moonplan_document *built = mpl_build_finish(&builder, NULL);
    MUST(built);
    ask(moonplan_document_root(built), moonplan_value_source(moonplan_document_root(built)));
    canonical(&second, &alloc, built);
    MUST(first.length == second.length && memcmp(first.bytes, second.bytes, first.length) == 0);
    moonplan_document_free(built);
    mpl_buffer_close(&first);
    mpl_buffer_close(&second);
    MUST(alloc.used == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    failing state = {data[0] >> 2, 0};
    moonplan_text text = {(const char *)data + 1, size - 1};
    moonplan_options options;
    moonplan_options_init(&options);
    options.alloc = allocate;
    options.alloc_data = &state;
    options.borrow = data[0] & 1;
    if (data[0] & 2) options.limits.depth = 3;
    moonplan_error err;
    memset(&err, 0, sizeof err);
    moonplan_document *document = moonplan_document_parse(text.bytes, text.length, &options, &err);
    if (document) {
        state.until = 0;
        check_document(document, text);
    } else {
        MUST(err.code != MOONPLAN_OK && err.message[0] && err.at_length < sizeof err.at);
        MUST(err.offset == MOONPLAN_NO_OFFSET || err.offset <= text.length);
        moonplan_error_locate(&err, 1, text.bytes, text.length);
    }
    moonplan_document_free(document);
    MUST(state.used == 0);
    return 0;
}
