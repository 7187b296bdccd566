#include <string.h>

#include "../core/text.h"
#include "review.h"

/* The calls of one call: opened as the member `calls` at the first of them. */
typedef struct inner {
    mpl_review_run *run;
    const mpl_scene *outer;
    const moonplan_abi_entry *entry; /* what the outer call is taken for */
    size_t count;
    bool open, refused; /* refused: over the depth, and said so */
    bool optional;      /* the calls that are being added may fail, and the outer one goes on */
    bool over;          /* the last layout was over a budget, and that is said */
} inner;

static bool next_id(inner *in, mpl_scene *scene) {
    char digits[20];
    size_t count = mpl_number_write(digits, ++in->count);
    size_t outer = in->outer->id.length, length = outer + 1 + count;
    char *id = mpl_arena_take(&in->run->arena, length);
    if (!id) {
        in->run->no_memory = true;
        return false;
    }
    memcpy(id, in->outer->id.bytes, outer);
    id[outer] = '.';
    memcpy(id + outer + 1, digits, count);
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
    scene.optional = scene.optional || in->optional || in->outer->optional;
    if (!next_id(in, &scene)) return;
    if (!in->open) {
        mpl_build_name(builder, mpl_text_of("calls"));
        mpl_build_array(builder);
        in->open = true;
    }
    mpl_build_object(builder);
    mpl_build_text(builder, "id", scene.id);
    if (scene.to) mpl_build_text(builder, "to", mpl_show_address(&shown, scene.to));
    mpl_member_value(builder, scene.value);
    mpl_member_number(builder, "data_bytes", length);
    if (scene.delegate) {
        mpl_build_name(builder, mpl_text_of("delegate"));
        mpl_build_boolean(builder, true);
    }
    if (scene.assumed) {
        mpl_build_name(builder, mpl_text_of("assumed"));
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

static bool is_truth(const moonplan_abi_value *value, bool truth) {
    return value->type->base == MOONPLAN_ABI_BOOL && (value->bytes[31] != 0) == truth;
}

/* Multicall3 says for each call (allowFailure, behind the target) or for all (requireSuccess, the
 * first argument) whether it may fail. */
static void add_tuples(inner *in, const mpl_known *row, const moonplan_abi_value *list,
                       const moonplan_abi_value *first) {
    for (size_t i = 0; i < list->count; i++) {
        const moonplan_abi_value *parts = list->items[i].items;
        mpl_scene scene = made_by(in, parts[row->to].bytes);
        scene.optional = is_truth(first, false) || is_truth(&parts[1], true);
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
    if (to->count != data->count || (value && value->count && value->count != to->count))
        not_calls(in,
                  "a batch whose lists are of different lengths, behind the end of one of them");
    for (size_t i = 0; i < to->count && i < data->count; i++) {
        mpl_scene scene = made_by(in, to->items[i].bytes);
        if (value && i < value->count) scene.value = number(&value->items[i]);
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
    /* A Safe goes on without it where gas was set aside for it or is paid for (safeTxGas,
     * gasPrice). */
    if (row->act == MPL_ACT_SAFE)
        scene.optional = !mpl_uint256_is_zero(number(&arguments->items[4])) ||
                         !mpl_uint256_is_zero(number(&arguments->items[6]));
    add(in, scene, data->bytes, data->length);
}

/* What its contract may read all the same, for contracts differ in what they look at. */
static void unreadable(inner *in, const char *what, const char *why) {
    in->run->facts.unclear = true;
    MPL_FIND_IN(in->run, in->outer, DECODE_MALFORMED,
                "not decoded: %s; a contract that looks less closely may carry it out: %s", what,
                why);
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
            unreadable(in, "a multiSend", "its transactions end in the middle of one");
            return;
        }
        mpl_scene scene = made_by(in, at + 1);
        if (at[0]) delegate(&scene, in);
        scene.value = mpl_uint256_read(at + 21);
        add(in, scene, at + PACKED_HEAD, (size_t)length);
        at += PACKED_HEAD + (size_t)length;
    }
}

/* Bytes that are laid out so; false where they are not, and that is said where it is said what they
 * have to be. What was decoded counts, however it is encoded: contracts differ in what they look
 * at. */
static bool decode_layout(inner *in, moonplan_abi_value *out, const moonplan_abi_value *data,
                          mpl_layout layout, const char *what) {
    mpl_review_run *run = in->run;
    moonplan_error err;
    moonplan_error_list *notes;
    bool fine = mpl_abi_decode(out, &run->arena, mpl_known_layout(run->known, layout), data->bytes,
                               data->length, 0, &run->budget, run->options, &notes, &err);
    in->over = !fine && mpl_abi_over_budget(&err);
    if (!fine && err.code == MOONPLAN_MEMORY) {
        run->no_memory = true;
    } else if (in->over) {
        run->facts.unclear = true;
        MPL_FIND_IN(run, in->outer, DECODE_BUDGET, "not decoded: %s: %s",
                    what ? what : "the bytes in here", err.message);
    } else if (!fine && what) {
        unreadable(in, what, err.message);
    } else if (fine && notes && layout != MPL_LAYOUT_HEAD) {
        moonplan_text signature = mpl_called(in->entry);
        MPL_FIND_IN(run, in->outer, DECODE_NOT_CANONICAL,
                    "the bytes that %t takes are not encoded as every compiler does it: %s",
                    &signature, moonplan_error_list_at(notes, 0)->message);
    }
    moonplan_error_list_free(notes);
    return fine;
}

/* Whether what could not be decoded in one way may be tried in another: it is said once. */
static bool try_again(const inner *in) {
    return !in->over && !in->run->no_memory;
}

/* A batch alone or with data behind it: the two have the calls at the same place, and the first
 * offset tells how many heads there are, if the encoding is canonical. */
static void add_batch(inner *in, const moonplan_abi_value *data) {
    static const mpl_known parts = {.to = 0, .value = 1, .data = 2};
    moonplan_abi_value values;
    uint64_t first = 0;
    bool with = data->length >= 32 && mpl_uint256_small(mpl_uint256_read(data->bytes), &first) &&
                first >= 64;
    bool fine = with && decode_layout(in, &values, data, MPL_LAYOUT_BATCH_WITH, NULL);
    if (!fine && (!with || try_again(in)))
        fine = decode_layout(in, &values, data, MPL_LAYOUT_BATCH, "a batch of calls (ERC-7579)");
    if (!fine) return;
    add_tuples(in, &parts, &values.items[0], &values.items[0]);
    if (values.count > 1 && values.items[1].length) {
        in->run->facts.signatures += !in->outer->assumed && !in->run->beside;
        MPL_FIND_IN(in->run, in->outer, SIGNATURE_SPENT,
                    "%u bytes behind the calls (ERC-7821: opData) authorize them: usually a "
                    "signature made earlier; what was signed is not in the plan",
                    (uint64_t)values.items[1].length);
    }
}

/* ERC-7821: a mode of its own for a list of batches. False where it may be one batch. */
static bool add_batches(inner *in, const moonplan_abi_value *data) {
    moonplan_abi_value values;
    if (!decode_layout(in, &values, data, MPL_LAYOUT_BATCHES, NULL)) return !try_again(in);
    for (size_t i = 0; i < values.items[0].count && !in->run->no_memory; i++)
        add_batch(in, &values.items[0].items[i]);
    return true;
}

/* ERC-7579, Execution: the mode's first byte is the kind of call. Bytes 6 to 9 of it are a selector
 * of the mode; ERC-7821 uses it to announce data behind the calls, or a list of batches. */
static void add_mode(inner *in, const moonplan_abi_value *mode, const moonplan_abi_value *data) {
    static const uint8_t batches[4] = {0x78, 0x21, 0x00, 0x02};
    /* ERC-7579: its second byte is 0x01 where a call may fail and the others go on. */
    in->optional = mode->bytes[1] != 0;
    switch (mode->bytes[0]) {
    case 0x00: /* target, value, calldata, packed */
        if (data->length >= 52) {
            mpl_scene scene = made_by(in, data->bytes);
            scene.value = mpl_uint256_read(data->bytes + 20);
            add(in, scene, data->bytes + 52, data->length - 52);
            return;
        }
        unreadable(in, "an execution (ERC-7579)", "it ends before its call begins");
        return;
    case 0xff: /* target, calldata, packed */
        if (data->length >= 20) {
            mpl_scene scene = made_by(in, data->bytes);
            delegate(&scene, in);
            add(in, scene, data->bytes + 20, data->length - 20);
            return;
        }
        unreadable(in, "an execution (ERC-7579)", "it ends before its call begins");
        return;
    case 0x01:
        if (memcmp(mode->bytes + 6, batches, sizeof batches) == 0 && add_batches(in, data)) return;
        add_batch(in, data);
        return;
    default:
        not_calls(in, "an execution in a mode that is not known");
        break;
    }
}

/* -- Commands of a router ----------------------------------------------------------*/

/* Uniswap, Universal Router, Commands: bit 7 allows a command to fail, bit 6 has had no meaning. */
#define COMMAND               0x3f
#define COMMAND_MOVE          0x02
#define COMMAND_PERMITS       0x03
#define COMMAND_PERMIT        0x0a
#define COMMAND_MOVES         0x0d
#define COMMAND_MANAGER3_SIGN 0x11
#define COMMAND_MANAGER3      0x12
#define COMMAND_MANAGER4      0x14
#define COMMAND_PLAN_FIRST    0x20 /* of the first version; 0x21 later */
#define COMMAND_PLAN          0x21

static bool add_if_call(inner *in, const moonplan_abi_value *value);

/* In a PermitSingle what is granted stands in front, and where the signature is found behind it
 * changes nothing about that. */
static void add_permit_head(inner *in, const moonplan_abi_value *input) {
    moonplan_abi_value values;
    if (decode_layout(in, &values, input, MPL_LAYOUT_HEAD, NULL))
        mpl_review_permit2(in->run, in->outer, in->outer->caller, &values.items[0], false, true);
}

static void add_permit(inner *in, const moonplan_abi_value *input, bool batch) {
    moonplan_abi_value values;
    if (decode_layout(in, &values, input, batch ? MPL_LAYOUT_PERMITS : MPL_LAYOUT_PERMIT,
                      batch ? "permits for Permit2 among the commands of a router"
                            : "a permit for Permit2 among the commands of a router"))
        mpl_review_permit2(in->run, in->outer, in->outer->caller, &values.items[0], batch, true);
    else if (!batch && try_again(in))
        add_permit_head(in, input);
}

/* The caller's tokens, by an allowance inside Permit2 that the router has. */
static void add_moves(inner *in, const moonplan_abi_value *input, bool batch) {
    moonplan_abi_value values;
    if (!decode_layout(in, &values, input, batch ? MPL_LAYOUT_MOVES : MPL_LAYOUT_MOVE,
                       "a transfer by Permit2 among the commands of a router"))
        return;
    if (batch)
        mpl_review_moves(in->run, in->outer, &values.items[0]);
    else
        mpl_review_transfer(in->run, in->outer, values.items[0].bytes, values.items[1].bytes);
}

static void add_commands(inner *in, const moonplan_abi_value *commands,
                         const moonplan_abi_value *inputs, unsigned depth);

static void add_plan(inner *in, const moonplan_abi_value *input, unsigned depth) {
    moonplan_abi_value plan;
    if (decode_layout(in, &plan, input, MPL_LAYOUT_COMMANDS,
                      "a plan in a plan among the commands of a router"))
        add_commands(in, &plan.items[0], &plan.items[1], depth);
}

/* Only what grants something or moves the caller's tokens is looked into; swaps and payments are
 * said not to be. */
static void add_commands(inner *in, const moonplan_abi_value *commands,
                         const moonplan_abi_value *inputs, unsigned depth) {
    mpl_review_run *run = in->run;
    if (depth > run->options->limits.call_depth) {
        MPL_FIND_IN(run, in->outer, DECODE_BUDGET,
                    "plans in plans of a router are nested deeper than the limit call_depth "
                    "allows: %u",
                    run->options->limits.call_depth);
        return;
    }
    for (size_t i = 0; i < commands->length && i < inputs->count && !run->no_memory; i++) {
        const moonplan_abi_value *input = &inputs->items[i];
        unsigned command = commands->bytes[i] & COMMAND;
        switch (command) {
        case COMMAND_PERMIT:
        case COMMAND_PERMITS:
            add_permit(in, input, command == COMMAND_PERMITS);
            break;
        case COMMAND_MOVE:
        case COMMAND_MOVES:
            add_moves(in, input, command == COMMAND_MOVES);
            break;
        case COMMAND_MANAGER3_SIGN:
            if (!add_if_call(in, input))
                unreadable(in, "a permit of a position manager among the commands of a router",
                           "nobody described the function that is called");
            break;
        case COMMAND_MANAGER3:
        case COMMAND_MANAGER4:
            add_if_call(in, input);
            break;
        case COMMAND_PLAN_FIRST:
        case COMMAND_PLAN:
            add_plan(in, input, depth + 1);
            break;
        default:
            break;
        }
    }
}

/* -- Bytes that may be calls -----------------------------------------------------*/

static mpl_describer describer(const inner *in, const moonplan_abi_value *value) {
    return value->length < 4 ? MPL_NOBODY : mpl_review_described(in->run, value->bytes);
}

/* A selector that somebody described, whatever stands behind it: contracts do not look whether it
 * is whole words, and the decoder says what is wrong with them. */
static bool add_if_call(inner *in, const moonplan_abi_value *value) {
    mpl_scene scene = {.assumed = true};
    if (describer(in, value) != MPL_DESCRIBED) return false;
    add(in, scene, value->bytes, value->length);
    return true;
}

static void add_if_said(inner *in, const moonplan_abi_value *value) {
    mpl_scene scene = {.assumed = true};
    if (describer(in, value) != MPL_UNTRUSTED) return;
    bool begun = mpl_review_beside(in->run);
    add(in, scene, value->bytes, value->length);
    mpl_review_back(in->run, begun);
}

/* Bytes that cannot be looked into. */
typedef struct opaque {
    const moonplan_abi_value *first;
    uint64_t count;
} opaque;

/* Nested as deep as the type: MPL_ABI_DEPTH at most. A string is made of bytes too, but rarely of
 * those. */
static void search(inner *in, const moonplan_abi_value *value, bool known, opaque *left) {
    moonplan_abi_base base = value->type->base;
    if (base == MOONPLAN_ABI_BYTES || base == MOONPLAN_ABI_STRING) {
        add_if_call(in, value);
        bool signature = known && mpl_review_signature_name(value->type->name);
        if (base == MOONPLAN_ABI_STRING || !value->length || signature ||
            describer(in, value) == MPL_DESCRIBED)
            return;
        if (left->count++ == 0) left->first = value;
        return;
    }
    for (size_t i = 0; i < value->count && !in->run->no_memory; i++)
        search(in, &value->items[i], known, left);
}

/* Behind everything else, so that what is said changes no number of what is there without it. */
static void search_said(inner *in, const moonplan_abi_value *value) {
    moonplan_abi_base base = value->type->base;
    if (base == MOONPLAN_ABI_BYTES || base == MOONPLAN_ABI_STRING) {
        add_if_said(in, value);
        return;
    }
    for (size_t i = 0; i < value->count && !in->run->no_memory; i++)
        search_said(in, &value->items[i]);
}

static void tell_opaque(inner *in, const opaque *left) {
    char digits[10] = "0x";
    moonplan_text signature = mpl_called(in->entry), start = {digits, 0};
    if (!left->count) return;
    size_t shown = left->first->length < 4 ? left->first->length : 4;
    mpl_hex_encode(digits + 2, left->first->bytes, shown);
    start.length = 2 + 2 * shown;
    in->run->facts.unclear = true;
    MPL_FIND_IN(in->run, in->outer, DECODE_NOT_CALLS,
                left->count == 1
                    ? "not decoded: bytes among the arguments of %t, which may be a call: %u of "
                      "them, that begin with %t"
                    : "not decoded: bytes among the arguments of %t, which may be calls; the "
                      "first: %u of them, that begin with %t; %u such arguments",
                &signature, (uint64_t)left->first->length, &start, left->count);
}

static void look_into(inner *in, const mpl_meaning *meaning) {
    const mpl_known *row = meaning->row;
    const moonplan_abi_value *arguments = meaning->arguments, *items = arguments->items;
    opaque left = {NULL, 0};
    in->entry = meaning->entry;
    in->optional = false;
    switch (row ? row->inner : MPL_INNER_NONE) {
    case MPL_INNER_SELF:
        add_self(in, &items[row->list]);
        break;
    case MPL_INNER_TUPLES:
        add_tuples(in, row, &items[row->list], &items[0]);
        break;
    case MPL_INNER_PARALLEL:
        add_parallel(in, row, arguments);
        break;
    case MPL_INNER_ONE:
        add_one(in, row, arguments);
        break;
    case MPL_INNER_PACKED:
        add_packed(in, &items[row->data]);
        break;
    case MPL_INNER_MODE:
        add_mode(in, &items[row->list], &items[row->data]);
        break;
    case MPL_INNER_COMMANDS:
        not_calls(in, "the commands of a router, which are not calls; only permits and "
                      "transfers by Permit2 are looked for");
        add_commands(in, &items[row->list], &items[row->data], 0);
        break;
    default:
        search(in, arguments, row != NULL, &left);
        tell_opaque(in, &left);
        break;
    }
}

void mpl_review_inner(mpl_review_run *run, const mpl_scene *scene, const mpl_meaning *meanings,
                      size_t count) {
    inner in = {.run = run, .outer = scene};
    for (size_t i = 0; i < count; i++) look_into(&in, &meanings[i]);
    for (size_t i = 0; i < count; i++) {
        bool plain = !meanings[i].row || meanings[i].row->inner == MPL_INNER_NONE;
        if (!plain) continue;
        in.entry = meanings[i].entry;
        search_said(&in, meanings[i].arguments);
    }
    if (in.open) mpl_build_end(&run->builder);
}
