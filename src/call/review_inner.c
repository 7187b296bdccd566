#include <string.h>

#include "../core/text.h"
#include "review.h"

/* The calls of one call: opened as the member `calls` at the first of them. */
typedef struct inner {
    mpl_review_run *run;
    const mpl_scene *outer;
    size_t count;
    bool open, refused; /* refused: over the depth, and said so */
} inner;

static moonplan_text text_of(const char *literal) {
    return (moonplan_text){literal, strlen(literal)};
}

static bool next_id(inner *in, mpl_scene *scene) {
    char digits[20];
    size_t at = sizeof digits, number = ++in->count;
    do digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    size_t outer = in->outer->id.length, length = outer + 1 + sizeof digits - at;
    char *id = mpl_arena_take(&in->run->arena, length);
    if (!id) {
        in->run->no_memory = true;
        return false;
    }
    memcpy(id, in->outer->id.bytes, outer);
    id[outer] = '.';
    memcpy(id + outer + 1, digits + at, sizeof digits - at);
    scene->id = (moonplan_text){id, length};
    return true;
}

/* What describing one inner call costs of the budget, so that a multitude of empty ones ends. */
#define CALL_WORDS 8

static bool affordable(inner *in) {
    mpl_review_run *run = in->run;
    if (in->outer->depth >= run->options->limits.call_depth)
        MPL_FIND_IN(run, in->outer, DECODE_BUDGET,
                    "the calls in here are not decoded: they are nested deeper than the limit "
                    "call_depth allows: %u",
                    run->options->limits.call_depth);
    else if (run->budget.words < CALL_WORDS)
        MPL_FIND_IN(run, in->outer, DECODE_BUDGET,
                    "of the calls in here %u are decoded, the others not: with them more is "
                    "decoded than the limit abi_words allows: %u words",
                    (uint64_t)in->count, run->budget.whole);
    else
        return true;
    in->refused = true;
    run->facts.unclear = true;
    return false;
}

/* One inner call: `scene` has everything but its number and depth. */
static void add(inner *in, mpl_scene scene, const uint8_t *data, size_t length) {
    mpl_review_run *run = in->run;
    mpl_builder *builder = &run->builder;
    mpl_shown shown;
    if (run->no_memory || in->refused) return;
    if (!affordable(in)) return;
    run->budget.words -= CALL_WORDS;
    scene.step = in->outer->step;
    scene.at = in->outer->at;
    scene.depth = in->outer->depth + 1;
    scene.assumed = scene.assumed || in->outer->assumed;
    if (!next_id(in, &scene)) return;
    if (!in->open) {
        mpl_build_name(builder, text_of("calls"));
        mpl_build_array(builder);
        in->open = true;
    }
    mpl_build_object(builder);
    mpl_member_text(builder, "id", scene.id);
    if (scene.to) mpl_member_text(builder, "to", mpl_show_address(&shown, scene.to));
    mpl_member_value(builder, scene.value);
    mpl_member_number(builder, "data_bytes", length);
    if (scene.delegate) {
        mpl_build_name(builder, text_of("delegate"));
        mpl_build_boolean(builder, true);
    }
    if (scene.assumed) {
        mpl_build_name(builder, text_of("assumed"));
        mpl_build_boolean(builder, true);
    }
    mpl_review_call(run, &scene, data, length);
    mpl_build_end(builder);
}

/* A call made by whatever contract or account the outer call runs in. */
static mpl_scene made_by(const inner *in, const uint8_t *to) {
    return (mpl_scene){.caller = in->outer->runs, .to = to, .runs = to};
}

static void delegate(mpl_scene *scene, const inner *in) {
    scene->delegate = true;
    scene->runs = in->outer->runs;
}

static mpl_uint256 number(const moonplan_abi_value *value) {
    return mpl_uint256_read(value->bytes);
}

/* The contract calls itself so that msg.sender stays what it was. */
static void add_self(inner *in, const moonplan_abi_value *list) {
    for (size_t i = 0; i < list->count; i++) {
        mpl_scene scene = {
            .caller = in->outer->caller, .to = in->outer->runs, .runs = in->outer->runs};
        add(in, scene, list->items[i].bytes, list->items[i].length);
    }
}

static void add_tuples(inner *in, const mpl_known *row, const moonplan_abi_value *list) {
    for (size_t i = 0; i < list->count; i++) {
        const moonplan_abi_value *parts = list->items[i].items;
        mpl_scene scene = made_by(in, parts[row->to].bytes);
        if (row->value >= 0) scene.value = number(&parts[row->value]);
        add(in, scene, parts[row->data].bytes, parts[row->data].length);
    }
}

static void not_calls(inner *in, const char *why) {
    in->run->facts.unclear = true;
    MPL_FIND_IN(in->run, in->outer, DECODE_NOT_CALLS, "not decoded: %s", why);
}

static void add_parallel(inner *in, const mpl_known *row, const moonplan_abi_value *arguments) {
    const moonplan_abi_value *to = &arguments->items[row->to];
    const moonplan_abi_value *data = &arguments->items[row->data];
    const moonplan_abi_value *value = row->value >= 0 ? &arguments->items[row->value] : NULL;
    /* SimpleAccount takes an empty list of values for zeros. */
    if (to->count != data->count || (value && value->count && value->count != to->count)) {
        not_calls(in, "a batch whose lists are of different lengths");
        return;
    }
    for (size_t i = 0; i < to->count; i++) {
        mpl_scene scene = made_by(in, to->items[i].bytes);
        if (value && value->count) scene.value = number(&value->items[i]);
        add(in, scene, data->items[i].bytes, data->items[i].length);
    }
}

static void add_one(inner *in, const mpl_known *row, const moonplan_abi_value *arguments) {
    const moonplan_abi_value *data = &arguments->items[row->data];
    mpl_scene scene = made_by(in, arguments->items[row->to].bytes);
    /* Enum.Operation of a Safe: 0 is a call, 1 a delegate call. */
    if (row->list >= 0 && !mpl_uint256_is_zero(number(&arguments->items[row->list])))
        delegate(&scene, in);
    scene.value = number(&arguments->items[row->value]);
    add(in, scene, data->bytes, data->length);
}

/* Safe, MultiSend: operation (1 byte), to (20), value (32), length (32), data, without padding. */
#define PACKED_HEAD 85

static void add_packed(inner *in, const moonplan_abi_value *packed) {
    const uint8_t *at = packed->bytes, *end = at + packed->length;
    while (at < end && !in->run->no_memory && !in->refused) {
        uint64_t length = 0;
        if ((size_t)(end - at) < PACKED_HEAD ||
            !mpl_uint256_small(mpl_uint256_read(at + 53), &length) ||
            length > (size_t)(end - at) - PACKED_HEAD) {
            not_calls(in, "a multiSend whose transactions end in the middle of one");
            return;
        }
        mpl_scene scene = made_by(in, at + 1);
        if (at[0]) delegate(&scene, in);
        scene.value = mpl_uint256_read(at + 21);
        add(in, scene, at + PACKED_HEAD, (size_t)length);
        at += PACKED_HEAD + (size_t)length;
    }
}

static bool decode_batch(inner *in, moonplan_abi_value *out, const moonplan_abi_value *data,
                         bool with_bytes) {
    mpl_review_run *run = in->run;
    moonplan_options own = *run->options;
    moonplan_error_list *notes = NULL;
    moonplan_error err;
    mpl_faults faults;
    own.errors = &notes;
    mpl_faults_open(&faults, &own);
    bool fine = mpl_abi_decode(out, &run->arena, &mpl_known_batch(run->known, with_bytes)->inputs,
                               data->bytes, data->length, 0, &run->budget, &faults, &err);
    mpl_faults_close(&faults, &own, NULL);
    if (faults.no_memory || (!fine && err.code == MOONPLAN_MEMORY)) run->no_memory = true;
    bool clean = fine && !notes;
    moonplan_error_list_free(notes);
    return clean;
}

/* ERC-7579, Execution: the mode's first byte is the kind of call. Bytes 6 to 9 of it are a selector
 * of the mode; ERC-7821 uses it to announce data behind the calls. */
static void add_mode(inner *in, const moonplan_abi_value *mode, const moonplan_abi_value *data) {
    static const mpl_known batch = {.to = 0, .value = 1, .data = 2};
    moonplan_abi_value values;
    switch (mode->bytes[0]) {
    case 0x00: /* target, value, calldata, packed */
        if (data->length >= 52) {
            mpl_scene scene = made_by(in, data->bytes);
            scene.value = mpl_uint256_read(data->bytes + 20);
            add(in, scene, data->bytes + 52, data->length - 52);
            return;
        }
        break;
    case 0xff: /* target, calldata, packed */
        if (data->length >= 20) {
            mpl_scene scene = made_by(in, data->bytes);
            delegate(&scene, in);
            add(in, scene, data->bytes + 20, data->length - 20);
            return;
        }
        break;
    case 0x01:
        if (decode_batch(in, &values, data, false) || decode_batch(in, &values, data, true)) {
            add_tuples(in, &batch, &values.items[0]);
            return;
        }
        break;
    default:
        break;
    }
    if (!in->run->no_memory) not_calls(in, "an execution in a mode or encoding that is not known");
}

/* -- Bytes that may be calls -----------------------------------------------------*/

static bool described(const mpl_review_run *run, const uint8_t *selector) {
    if (moonplan_abi_by_selector(run->known, MOONPLAN_ABI_CALL, selector)) return true;
    for (size_t i = 0; i < run->context->source_count; i++)
        if (moonplan_abi_by_selector(run->context->sources[i].abi, MOONPLAN_ABI_CALL, selector))
            return true;
    return false;
}

/* A selector that somebody described, and whole words behind it. */
static void add_if_call(inner *in, const moonplan_abi_value *value) {
    if (value->length < 4 || value->length % 32 != 4 || !described(in->run, value->bytes)) return;
    mpl_scene scene = {.assumed = true};
    add(in, scene, value->bytes, value->length);
}

/* Nested as deep as the type: MPL_ABI_DEPTH at most. */
static void search(inner *in, const moonplan_abi_value *value) {
    if (value->type->base == MOONPLAN_ABI_BYTES) {
        add_if_call(in, value);
        return;
    }
    for (size_t i = 0; i < value->count && !in->run->no_memory; i++) search(in, &value->items[i]);
}

void mpl_review_inner(mpl_review_run *run, const mpl_scene *scene, const mpl_known *row,
                      const moonplan_abi_value *arguments) {
    inner in = {.run = run, .outer = scene};
    const moonplan_abi_value *items = arguments->items;
    switch (row ? row->inner : MPL_INNER_NONE) {
    case MPL_INNER_SELF:
        add_self(&in, &items[row->list]);
        break;
    case MPL_INNER_TUPLES:
        add_tuples(&in, row, &items[row->list]);
        break;
    case MPL_INNER_PARALLEL:
        add_parallel(&in, row, arguments);
        break;
    case MPL_INNER_ONE:
        add_one(&in, row, arguments);
        break;
    case MPL_INNER_PACKED:
        add_packed(&in, &items[row->data]);
        break;
    case MPL_INNER_MODE:
        add_mode(&in, &items[row->list], &items[row->data]);
        break;
    case MPL_INNER_COMMANDS:
        not_calls(&in, "the commands of a router, which are not calls");
        break;
    default:
        search(&in, arguments);
        break;
    }
    if (in.open) mpl_build_end(&run->builder);
}
