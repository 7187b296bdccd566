#include "reference.h"

#include <string.h>

#include "../core/text.h"

static const char prefix[] = "steps.", result[] = ".result";
#define PREFIX (sizeof prefix - 1)
#define RESULT (sizeof result - 1)

/* Where `.result` stands first in the text, or its length. */
static size_t first_result(moonplan_text text) {
    const char *at = text.bytes, *end = text.bytes + text.length;
    while ((size_t)(end - at) >= RESULT) {
        at = memchr(at, '.', (size_t)(end - at) - RESULT + 1);
        if (!at) break;
        if (memcmp(at, result, RESULT) == 0) return (size_t)(at - text.bytes);
        at++;
    }
    return text.length;
}

bool mpl_reference_parse(mpl_reference *out, moonplan_text text) {
    if (text.length < PREFIX || memcmp(text.bytes, prefix, PREFIX) != 0) return false;
    size_t end = first_result(text);
    /* Over the whole text: in steps.result the hit stands inside the prefix, and the id is empty
     * where it stands right behind. */
    if (end == text.length || end <= PREFIX) return false;
    out->id = (moonplan_text){text.bytes + PREFIX, end - PREFIX};
    out->path = (moonplan_text){NULL, 0};
    size_t rest = end + RESULT;
    if (rest == text.length) return true;
    if (text.bytes[rest] != '.') return false;
    out->path = (moonplan_text){text.bytes + rest + 1, text.length - rest - 1};
    return true;
}

bool mpl_reference_reaches(moonplan_text id) {
    /* The dot before the id counts: behind it, "result" is a first ".result". */
    if (id.length == 0) return false;
    if (id.length >= RESULT - 1 && memcmp(id.bytes, result + 1, RESULT - 1) == 0) return false;
    return first_result(id) == id.length;
}

bool mpl_reference_is(moonplan_value value, moonplan_text *text) {
    if (moonplan_value_type(value) != MOONPLAN_OBJECT) return false;
    const mpl_node *node = mpl_node_of(value);
    if (node->extra != 2 || node[2].type != MOONPLAN_STRING) return false;
    if (!mpl_text_is(mpl_content(value.document, value.node + 1), "$ref")) return false;
    *text = mpl_content(value.document, value.node + 2);
    return true;
}

bool mpl_reference_next(moonplan_value *found, moonplan_text *text, moonplan_value within,
                        uint32_t *next) {
    if (moonplan_value_type(within) == MOONPLAN_NONE) return false;
    const mpl_node *nodes = within.document->nodes;
    size_t end = mpl_after(nodes, within.node);
    for (size_t node = *next ? *next : within.node; node < end; node++) {
        *found = mpl_value(within.document, node);
        /* Its two nodes hold no other reference. */
        if (nodes[node].type != MOONPLAN_OBJECT || !mpl_reference_is(*found, text)) continue;
        *next = (uint32_t)node + 3;
        return true;
    }
    return false;
}

/* -- Following --------------------------------------------------------------*/

mpl_target mpl_reference_follow(moonplan_value value, const mpl_reference *reference) {
    mpl_target target = {.kind = MPL_TARGET_LOST, .value = value};
    moonplan_text path = reference->path;
    if (!path.bytes) {
        target.kind =
            moonplan_value_type(value) == MOONPLAN_NONE ? MPL_TARGET_NOTHING : MPL_TARGET_VALUE;
        return target;
    }
    const char *at = path.bytes, *end = path.bytes + path.length;
    for (;;) {
        const char *dot = memchr(at, '.', (size_t)(end - at));
        moonplan_text segment = {at, (size_t)((dot ? dot : end) - at)};
        moonplan_type type = moonplan_value_type(value);
        if (type == MOONPLAN_OBJECT) {
            value = moonplan_value_member(value, segment.bytes, segment.length);
        } else if (type == MOONPLAN_ARRAY && mpl_text_is(segment, "length")) {
            if (dot) return target; /* a number has no members */
            target.kind = MPL_TARGET_LENGTH;
            target.length = moonplan_value_count(value);
            return target;
        } else if (type == MOONPLAN_ARRAY && segment.length <= 10 && mpl_decimal(segment)) {
            size_t index = 0;
            for (size_t i = 0; i < segment.length; i++)
                index = index * 10 + (size_t)(segment.bytes[i] - '0');
            value = moonplan_value_element(value, index);
        } else {
            return target;
        }
        if (moonplan_value_type(value) == MOONPLAN_NONE) return target;
        if (!dot) {
            target.kind = MPL_TARGET_VALUE;
            target.value = value;
            return target;
        }
        at = dot + 1;
    }
}

/* -- Resolving --------------------------------------------------------------*/

static bool find_target(mpl_target *target, moonplan_text text, mpl_results results,
                        moonplan_value at, moonplan_error *err) {
    mpl_reference reference;
    moonplan_value whole;
    if (!mpl_reference_parse(&reference, text)) {
        mpl_error_at(err, MOONPLAN_JOB_REFERENCE_INVALID, at,
                     "%q is no reference any more; one reads steps.ID.result or "
                     "steps.ID.result.PATH",
                     &text);
        return false;
    }
    if (!results.find(results.data, reference.id, &whole)) {
        mpl_error_at(err, MOONPLAN_JOB_REFERENCE_SOURCE, at,
                     "%q needs a result of step %q, which has not been completed before this step",
                     &text, &reference.id);
        return false;
    }
    *target = mpl_reference_follow(whole, &reference);
    if (target->kind != MPL_TARGET_LOST) return true;
    mpl_error_at(err, MOONPLAN_JOB_REFERENCE_PATH, at, "the result of step %q has no %q",
                 &reference.id, &reference.path);
    return false;
}

static void build_target(mpl_builder *builder, const mpl_target *target) {
    if (target->kind == MPL_TARGET_VALUE)
        mpl_build_value(builder, target->value);
    else if (target->kind == MPL_TARGET_LENGTH)
        mpl_build_integer(builder, (int64_t)target->length);
    else
        mpl_build_null(builder);
}

/* The ceiling of the limit `depth`: no document is nested deeper. */
#define DEPTH_MOST 1024

/* Copy an input whose root is no reference: node by node, as they stand. */
static bool rebuild(mpl_builder *builder, moonplan_value input, mpl_results results,
                    moonplan_error *err) {
    const moonplan_document *from = input.document;
    const mpl_node *nodes = from->nodes;
    struct {
        size_t end;
        bool object;
    } open[DEPTH_MOST];
    size_t depth = 0, at = input.node;
    do {
        const mpl_node *node = &nodes[at];
        if (node->type == MPL_TABLE) {
            at++;
        } else {
            bool member = depth && open[depth - 1].object;
            moonplan_text name = {NULL, 0}, text;
            if (member) name = mpl_content(from, at++);
            node = &nodes[at];
            moonplan_value value = mpl_value(from, at);
            mpl_target target;
            if (mpl_reference_is(value, &text)) {
                if (!find_target(&target, text, results, value, err)) return false;
                at += 3;
                if (!member || target.kind != MPL_TARGET_NOTHING) {
                    if (member) mpl_build_name(builder, name);
                    build_target(builder, &target);
                }
            } else {
                if (member) mpl_build_name(builder, name);
                if (mpl_is_container(node)) {
                    if (node->type == MOONPLAN_OBJECT)
                        mpl_build_object(builder);
                    else
                        mpl_build_array(builder);
                    open[depth].object = node->type == MOONPLAN_OBJECT;
                    open[depth++].end = ++at + node->extra;
                } else {
                    mpl_build_value(builder, value);
                    at++;
                }
            }
        }
        while (depth && at == open[depth - 1].end) {
            mpl_build_end(builder);
            depth--;
        }
        /* What cannot be built comes out of mpl_build_finish. */
    } while (depth && builder->error.code == MOONPLAN_OK);
    return true;
}

bool mpl_reference_resolve(mpl_resolved *out, moonplan_value input, mpl_results results,
                           const moonplan_options *options, moonplan_error *err) {
    moonplan_value found;
    moonplan_text text;
    uint32_t next = 0;
    *out = (mpl_resolved){input, NULL};
    if (!mpl_reference_next(&found, &text, input, &next)) return true;
    mpl_builder builder;
    mpl_target target = {.kind = MPL_TARGET_LOST};
    bool whole = found.node == input.node;
    if (whole) {
        if (!find_target(&target, text, results, found, err)) return false;
        if (target.kind != MPL_TARGET_LENGTH) {
            out->value = target.value;
            return true;
        }
    }
    mpl_build_open(&builder, options);
    /* One reference of thirty bytes may stand for megabytes, and a plan has room for many. */
    builder.max_bytes = options->limits.document_bytes;
    builder.too_long = "the input with its references resolved would be longer than the limit "
                       "document_bytes allows: %u bytes";
    if (whole) {
        build_target(&builder, &target);
    } else if (builder.error.code == MOONPLAN_OK && !rebuild(&builder, input, results, err)) {
        mpl_build_close(&builder);
        return false;
    }
    out->own = mpl_build_finish(&builder, err);
    if (!out->own) return false;
    out->value = moonplan_document_root(out->own);
    return true;
}
