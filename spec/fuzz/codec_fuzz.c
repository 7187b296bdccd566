/* libFuzzer over the codec of values, for `bootstrap.sh soak`; not part of the test run.
 *
 * What is read is written again, and must be the same bytes; and its text must be JSON with the
 * same encoding. The first byte chooses a failing allocation. */
#include <stdlib.h>
#include <string.h>

#include "../c/codec_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

typedef struct failing {
    size_t until; /* the request that fails, and all behind it; 0: none */
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
        state->until = 1;
        return NULL;
    }
    void *moved = realloc(block, new_size);
    MUST(moved);
    state->used += new_size - (block ? old_size : 0);
    return moved;
}

static void is_the_encoding_of(const moonplan_document *document, const char *bytes, size_t size) {
    mpl_alloc alloc = mpl_alloc_of(NULL);
    mpl_buffer out;
    mpl_buffer_open(&out, &alloc);
    mpl_codec_put_value(&out, moonplan_document_root(document));
    MUST(!out.failed && out.length == size && memcmp(out.bytes, bytes, size) == 0);
    mpl_buffer_close(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    moonplan_options options;
    moonplan_error err;
    failing state = {0, 0};
    if (size == 0) return 0;
    moonplan_options_init(&options);
    options.alloc = allocate;
    options.alloc_data = &state;
    state.until = data[0] & 0x3f;
    const char *bytes = (const char *)data + 1;
    moonplan_document *document = codec_read(bytes, --size, &options, &err);
    if (!document) {
        MUST(state.used == 0 && err.code != MOONPLAN_OK);
        return 0;
    }
    is_the_encoding_of(document, bytes, size);
    moonplan_text text = moonplan_value_source(moonplan_document_root(document));
    moonplan_document *parsed = moonplan_document_parse(text.bytes, text.length, NULL, &err);
    MUST(parsed);
    is_the_encoding_of(parsed, bytes, size);
    moonplan_document_free(parsed);
    moonplan_document_free(document);
    MUST(state.used == 0);
    return 0;
}
