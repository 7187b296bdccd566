#include "reference.h"

#include <string.h>

#include "../core/listing.h"
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

static moonplan_text first_segment(moonplan_text path) {
    const char *dot = memchr(path.bytes, '.', path.length);
    return (moonplan_text){path.bytes, dot ? (size_t)(dot - path.bytes) : path.length};
}

/* What stands behind one and its dot. Not to be asked of the last. */
static moonplan_text behind(moonplan_text path, moonplan_text segment) {
    size_t length = segment.length + 1;
    return (moonplan_text){path.bytes + length, path.length - length};
}

/* What stands there; MOONPLAN_NONE where nothing does. */
static moonplan_value child(moonplan_value value, moonplan_text segment) {
    moonplan_type type = moonplan_value_type(value);
    if (type == MOONPLAN_OBJECT) return moonplan_value_member(value, segment.bytes, segment.length);
    if (type == MOONPLAN_ARRAY) return mpl_element_at(value, segment);
    return (moonplan_value){value.document, UINT32_MAX};
}

mpl_target mpl_reference_follow(moonplan_value value, const mpl_reference *reference) {
    moonplan_text path = reference->path;
    mpl_target target = {.kind = MPL_TARGET_LOST, .value = value, .rest = path};
    if (!path.bytes) {
        target.kind =
            moonplan_value_type(value) == MOONPLAN_NONE ? MPL_TARGET_NOTHING : MPL_TARGET_VALUE;
        return target;
    }
    for (;;) {
        moonplan_text segment = first_segment(target.rest);
        bool last = segment.length == target.rest.length;
        moonplan_value next = child(target.value, segment);
        if (moonplan_value_type(target.value) == MOONPLAN_ARRAY && mpl_text_is(segment, "length")) {
            if (last) {
                target.kind = MPL_TARGET_LENGTH;
                target.length = moonplan_value_count(target.value);
                return target;
            }
        } else if (moonplan_value_type(next) == MOONPLAN_NONE) {
            return target;
        }
        target.value = next;
        if (last) {
            target.kind = MPL_TARGET_VALUE;
            return target;
        }
        target.rest = behind(target.rest, segment);
        if (moonplan_value_type(next) == MOONPLAN_NONE) return target;
    }
}

/* -- What a lost path says --------------------------------------------------*/

/* Untrusted text, cut so that several of them and a listing fit into one message. */
typedef struct quoted {
    char bytes[80];
    size_t length;
} quoted;

static quoted quote(moonplan_text text) {
    quoted out;
    out.length = mpl_quote(out.bytes, 56, text);
    return out;
}

#define SHOWN(piece) (&(moonplan_text){(piece).bytes, (piece).length})

/* Where a path leads that has so many bytes of the whole one, its last dot included: "the result",
 * or a pointer into it and what has to stand behind that. */
typedef struct place {
    quoted pointer;
    const char *in;
} place;

static place place_of(moonplan_text path, size_t length) {
    if (length == 0) return (place){{"", 0}, "the result"};
    mpl_pointer pointer = {.length = 0};
    while (length > 0 && !pointer.cut) {
        moonplan_text segment = first_segment(path);
        mpl_pointer_name(&pointer, segment);
        path = behind(path, segment);
        length -= segment.length + 1;
    }
    return (place){quote((moonplan_text){pointer.bytes, pointer.length}), " in the result"};
}

/* The longest name in an object that has a dot and with which the path could go on: past the point
 * at which it is lost, `far` bytes from here, or to its end. */
static moonplan_text dotted_name(moonplan_value object, moonplan_text path, size_t far) {
    moonplan_text found = {NULL, 0};
    moonplan_walk walk = mpl_walk(object);
    while (walk.named && mpl_walk_next(&walk)) {
        moonplan_text name = walk.name;
        if (name.length <= found.length || name.length > path.length ||
            memcmp(name.bytes, path.bytes, name.length) != 0 ||
            (name.length < path.length && path.bytes[name.length] != '.') ||
            !memchr(name.bytes, '.', name.length))
            continue;
        mpl_reference rest = {.path = {NULL, 0}};
        if (name.length < path.length) {
            rest.path.bytes = path.bytes + name.length + 1;
            rest.path.length = path.length - name.length - 1;
        }
        if (name.length > far || mpl_reference_follow(walk.value, &rest).kind != MPL_TARGET_LOST)
            found = name;
    }
    return found;
}

/* Such a name in one of the objects that the path leads through, the deepest; *before is how much
 * of the path leads there. */
static moonplan_text out_of_reach(moonplan_value value, moonplan_text path, moonplan_text rest,
                                  size_t *before) {
    moonplan_text found = {NULL, 0}, left = path;
    for (;;) {
        moonplan_text name = dotted_name(value, left, left.length - rest.length);
        if (name.bytes) {
            found = name;
            *before = path.length - left.length;
        }
        if (left.length <= rest.length) return found;
        moonplan_text segment = first_segment(left);
        value = child(value, segment);
        left = behind(left, segment);
    }
}

static void lose(moonplan_error *err, moonplan_value at, moonplan_text text,
                 const mpl_reference *reference, moonplan_value whole, const mpl_target *target) {
    quoted segment = quote(first_segment(target->rest));
    size_t leads = reference->path.length - target->rest.length, before = 0;
    if (leads == 0 && moonplan_value_type(whole) == MOONPLAN_NONE) {
        mpl_error_at(err, MOONPLAN_JOB_REFERENCE_PATH, at,
                     "%q finds no %t: the step gave no result", &text, SHOWN(segment));
        return;
    }
    place here = place_of(reference->path, leads);
    moonplan_type type = moonplan_value_type(target->value);
    const char *what = type == MOONPLAN_NONE ? "a number" : mpl_type_text(type);
    moonplan_text name = out_of_reach(whole, reference->path, target->rest, &before);
    uint64_t count = moonplan_value_count(target->value);
    if (name.bytes) {
        quoted shown = quote(name);
        place there = place_of(reference->path, before);
        if (before == leads) there = (place){{"", 0}, "it"};
        mpl_error_at(err, MOONPLAN_JOB_REFERENCE_PATH, at,
                     "%q finds no %t: %t%s is %s; %t%s has the name %t, but a path is split at "
                     "every dot and reaches no such name",
                     &text, SHOWN(segment), SHOWN(here.pointer), here.in, what,
                     SHOWN(there.pointer), there.in, SHOWN(shown));
    } else if (type == MOONPLAN_OBJECT && count > 0) {
        mpl_listing names = {.length = 0};
        moonplan_walk walk = mpl_walk(target->value);
        while (!names.full && mpl_walk_next(&walk)) mpl_listing_name(&names, walk.name);
        moonplan_text list = mpl_listing_text(&names);
        mpl_error_at(err, MOONPLAN_JOB_REFERENCE_PATH, at,
                     "%q finds no %t: %t%s is an object with the name%s %t", &text, SHOWN(segment),
                     SHOWN(here.pointer), here.in, count == 1 ? "" : "s", &list);
    } else if (type == MOONPLAN_ARRAY && count > 0) {
        mpl_error_at(err, MOONPLAN_JOB_REFERENCE_PATH, at,
                     count == 1
                         ? "%q finds no %t: %t%s is an array of %u: a path goes on with 0 or "
                           "length"
                         : "%q finds no %t: %t%s is an array of %u: a path goes on with 0 "
                           "to %u or length",
                     &text, SHOWN(segment), SHOWN(here.pointer), here.in, count, count - 1);
    } else {
        if (type == MOONPLAN_OBJECT) what = "an empty object";
        if (type == MOONPLAN_ARRAY) what = "an empty array: a path goes on with length only";
        mpl_error_at(err, MOONPLAN_JOB_REFERENCE_PATH, at, "%q finds no %t: %t%s is %s", &text,
                     SHOWN(segment), SHOWN(here.pointer), here.in, what);
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
    lose(err, at, text, &reference, whole, target);
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
