#include "build.h"

#include <string.h>

#include "json_write.h"
#include "number.h"
#include "text.h"

/* Node numbers, offsets and lengths are 32 bits wide. */
#define BYTES_MOST (UINT32_MAX / 2)

void mpl_build_open(mpl_builder *builder, const moonplan_options *options) {
    moonplan_options defaults;
    if (!options) {
        moonplan_options_init(&defaults);
        options = &defaults;
    }
    memset(builder, 0, sizeof *builder);
    mpl_alloc alloc = mpl_alloc_of(options);
    builder->open = MPL_NO_CHILD;
    builder->max_depth = options->limits.depth;
    builder->max_values = options->limits.values;
    builder->max_bytes = BYTES_MOST;
    builder->too_long = "the value's text would be longer than %u bytes";
    if (!mpl_options_sound(options, &builder->error)) return;
    builder->document = mpl_document_new(&alloc);
    if (builder->document)
        mpl_buffer_open(&builder->text, &builder->document->alloc);
    else
        mpl_error_memory(&builder->error);
}

static bool broken(const mpl_builder *builder) {
    return builder->error.code != MOONPLAN_OK;
}

static bool no_memory(mpl_builder *builder) {
    mpl_error_memory(&builder->error);
    return false;
}

/* Whether this many more bytes may be written: asked before memory is spent on them. */
static bool fits(mpl_builder *builder, size_t added) {
    if (broken(builder)) return false;
    if (added <= builder->max_bytes && builder->text.length <= builder->max_bytes - added)
        return true;
    mpl_error_set(&builder->error, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL, builder->too_long,
                  builder->max_bytes);
    return false;
}

static bool sound(mpl_builder *builder) {
    return builder->text.failed ? no_memory(builder) : fits(builder, 0);
}

static void refuse(mpl_builder *builder, moonplan_code code, const char *format, uint64_t number) {
    mpl_pointer pointer;
    if (builder->text.failed) {
        no_memory(builder);
        return;
    }
    builder->document->text = builder->text.bytes; /* it may have moved; names stand in it */
    mpl_pointer_open(&pointer, builder->document, builder->open, MPL_NO_CHILD);
    mpl_error_set(&builder->error, code, MOONPLAN_NO_OFFSET, &pointer, format, number);
}

/* A value begins: its comma, and its place in the count. */
static bool begin(mpl_builder *builder) {
    if (broken(builder)) return false;
    if (++builder->values > builder->max_values) {
        refuse(builder, MOONPLAN_LIMIT,
               "the value has more values in it than the limit values allows: %u",
               builder->max_values);
        return false;
    }
    if (builder->open == MPL_NO_CHILD) return true;
    mpl_node *open = &builder->document->nodes[builder->open];
    if (open->type == MOONPLAN_ARRAY) {
        if (open->extra++) mpl_buffer_byte(&builder->text, ',');
    }
    builder->named = false;
    return true;
}

static void scalar(mpl_builder *builder, moonplan_type type, const char *bytes, size_t length) {
    if (!begin(builder) || !fits(builder, length)) return;
    size_t start = builder->text.length;
    mpl_buffer_add(&builder->text, bytes, length);
    if (sound(builder) && !mpl_node_add(builder->document, type, start, length)) no_memory(builder);
}

/* Escapes make a string up to six times as long; of a short one that is no matter. */
#define LONG_STRING 4096

static void string(mpl_builder *builder, moonplan_text content) {
    if (!fits(builder, content.length > LONG_STRING ? mpl_string_length(content) : content.length))
        return;
    size_t start = builder->text.length;
    mpl_write_string(&builder->text, content);
    if (!sound(builder)) return;
    size_t length = builder->text.length - start;
    if (!mpl_node_add(builder->document, MOONPLAN_STRING, start, length)) {
        no_memory(builder);
        return;
    }
    if (length == content.length + 2) return;
    char *place = mpl_decoded_add(builder->document, content.length);
    if (place)
        memcpy(place, content.bytes, content.length);
    else
        no_memory(builder);
}

static void open_container(mpl_builder *builder, moonplan_type type) {
    if (!begin(builder)) return;
    if (builder->depth >= builder->max_depth) {
        refuse(builder, MOONPLAN_JSON_DEPTH,
               "arrays and objects are nested deeper than the limit depth allows: %u",
               builder->max_depth);
        return;
    }
    size_t node = builder->document->node_count;
    size_t start = builder->text.length;
    mpl_buffer_byte(&builder->text, type == MOONPLAN_ARRAY ? '[' : '{');
    if (!sound(builder)) return;
    if (!mpl_container_open(builder->document, type, start, builder->open)) {
        no_memory(builder);
        return;
    }
    builder->open = node;
    builder->depth++;
}

void mpl_build_array(mpl_builder *builder) {
    open_container(builder, MOONPLAN_ARRAY);
}
void mpl_build_object(mpl_builder *builder) {
    open_container(builder, MOONPLAN_OBJECT);
}

void mpl_build_end(mpl_builder *builder) {
    if (broken(builder)) return;
    moonplan_document *document = builder->document;
    size_t node = builder->open, duplicate;
    bool object = document->nodes[node].type == MOONPLAN_OBJECT;
    mpl_buffer_byte(&builder->text, object ? '}' : ']');
    if (!sound(builder)) return;
    size_t outer = mpl_container_outer(document, node);
    document->text = builder->text.bytes;
    if (!mpl_container_close(document, node, builder->text.length, &duplicate)) {
        if (!duplicate) {
            no_memory(builder);
            return;
        }
        mpl_pointer pointer;
        mpl_pointer_open(&pointer, document, outer, outer == MPL_NO_CHILD ? outer : node);
        moonplan_text name = mpl_content(document, duplicate);
        mpl_pointer_name(&pointer, name);
        mpl_error_set(&builder->error, MOONPLAN_JSON_DUPLICATE_NAME, MOONPLAN_NO_OFFSET, &pointer,
                      "the name %q stands in this object twice", &name);
        return;
    }
    builder->open = outer;
    builder->depth--;
}

void mpl_build_name(mpl_builder *builder, moonplan_text name) {
    if (broken(builder)) return;
    if (builder->document->nodes[builder->open].extra++) mpl_buffer_byte(&builder->text, ',');
    string(builder, name);
    mpl_buffer_byte(&builder->text, ':');
    /* The text may have moved, and pointers to open containers quote names from it. */
    if (!broken(builder)) builder->document->text = builder->text.bytes;
    builder->named = true;
}

void mpl_build_null(mpl_builder *builder) {
    scalar(builder, MOONPLAN_NULL, "null", 4);
}

void mpl_build_boolean(mpl_builder *builder, bool truth) {
    scalar(builder, truth ? MOONPLAN_TRUE : MOONPLAN_FALSE, truth ? "true" : "false",
           truth ? 4 : 5);
}

void mpl_build_integer(mpl_builder *builder, int64_t integer) {
    char text[20];
    scalar(builder, MOONPLAN_INTEGER, text, mpl_integer_write(text, integer));
}

void mpl_build_number(mpl_builder *builder, moonplan_text literal) {
    scalar(builder, MOONPLAN_NUMBER, literal.bytes, literal.length);
}

void mpl_build_double(mpl_builder *builder, double number) {
    char text[32];
    scalar(builder, MOONPLAN_NUMBER, text, mpl_double_write(text, number));
}

void mpl_build_string(mpl_builder *builder, moonplan_text content) {
    if (begin(builder)) string(builder, content);
}

void mpl_build_text(mpl_builder *builder, const char *name, moonplan_text text) {
    mpl_build_name(builder, mpl_text_of(name));
    mpl_build_string(builder, text.bytes ? text : mpl_text_of(""));
}

void mpl_build_text_if(mpl_builder *builder, const char *name, moonplan_text text) {
    if (text.bytes) mpl_build_text(builder, name, text);
}

/* A finished document is nested no deeper than the ceiling of the limit depth. */
#define DEPTH_MOST 1024

void mpl_build_value(mpl_builder *builder, moonplan_value value) {
    const moonplan_document *from = value.document;
    struct {
        size_t end;
        bool object;
    } open[DEPTH_MOST];
    size_t depth = 0, at = value.node;
    do {
        const mpl_node *node = &from->nodes[at];
        if (node->type == MPL_TABLE) {
            at++;
        } else if (depth && open[depth - 1].object && !builder->named) {
            mpl_build_name(builder, mpl_content(from, at++));
        } else if (mpl_is_container(node)) {
            open_container(builder, (moonplan_type)node->type);
            open[depth].object = node->type == MOONPLAN_OBJECT;
            open[depth++].end = ++at + node->extra;
        } else {
            if (node->type == MOONPLAN_STRING)
                mpl_build_string(builder, mpl_content(from, at));
            else
                scalar(builder, (moonplan_type)node->type, from->text + node->start, node->length);
            at++;
        }
        while (depth && at == open[depth - 1].end && !broken(builder)) {
            mpl_build_end(builder);
            depth--;
        }
    } while (depth && !broken(builder));
}

void mpl_build_close(mpl_builder *builder) {
    if (!builder->document) return;
    mpl_buffer_close(&builder->text);
    moonplan_document_free(builder->document);
    builder->document = NULL;
}

moonplan_document *mpl_build_finish(mpl_builder *builder, moonplan_error *err) {
    if (broken(builder)) {
        if (err) *err = builder->error;
        mpl_build_close(builder);
        return NULL;
    }
    moonplan_document *document = builder->document;
    document->copy = builder->text.bytes;
    document->copy_size = builder->text.capacity;
    document->text = document->copy;
    document->text_length = builder->text.length;
    if (document->copy_size > document->text_length) {
        char *shrunk = mpl_resize(&document->alloc, document->copy, document->copy_size,
                                  document->text_length);
        if (shrunk) {
            document->copy = shrunk;
            document->text = shrunk;
            document->copy_size = document->text_length;
        }
    }
    mpl_document_trim(document);
    builder->document = NULL;
    return document;
}
