#include <string.h>

#include "../core/error.h"
#include "../core/text.h"
#include "review.h"

/* A longer signature would leave no room in a message. */
#define CALLED_MOST 120

moonplan_text mpl_show_address(mpl_shown *shown, const uint8_t *address) {
    if (!address) return mpl_text_of("an unknown address");
    memcpy(shown->bytes, "0x", 2);
    mpl_hex_encode(shown->bytes + 2, address, 20);
    return (moonplan_text){shown->bytes, sizeof shown->bytes};
}

void mpl_member_number(mpl_builder *builder, const char *name, uint64_t number) {
    mpl_build_name(builder, mpl_text_of(name));
    mpl_build_integer(builder, (int64_t)number);
}

void mpl_member_value(mpl_builder *builder, mpl_uint256 value) {
    char digits[MPL_UINT256_TEXT];
    size_t length = mpl_uint256_decimal(digits, value);
    mpl_build_text(builder, "value", (moonplan_text){digits, length});
    length = mpl_uint256_units(digits, value, 18);
    mpl_build_text(builder, "value_ether", (moonplan_text){digits, length});
}

moonplan_text mpl_called(const moonplan_abi_entry *entry) {
    if (entry->signature.length <= CALLED_MOST) return entry->signature;
    return entry->name.length <= CALLED_MOST ? entry->name : mpl_text_of("a function");
}

/* -- Which description to use --------------------------------------------------*/

/* A description of the function, and who gave it. */
typedef struct choice {
    const moonplan_abi_entry *entry;
    const moonplan_abi_source *source; /* NULL: the table */
    bool certain;
} choice;

static bool bound(const mpl_review_run *run, const moonplan_abi_source *source, const uint8_t *to) {
    mpl_shown shown;
    if (!source->address.length || !to || source->address.length != 42) return false;
    if (source->chain_id.length && !mpl_text_equal(source->chain_id, run->chain_id)) return false;
    moonplan_text wanted = mpl_show_address(&shown, to);
    char given[42];
    memcpy(given, source->address.bytes, sizeof given);
    mpl_hex_lower(given, sizeof given);
    return memcmp(given, wanted.bytes, sizeof given) == 0;
}

/* An untrusted source has a say only where nobody else has one. */
static choice choose(const mpl_review_run *run, const uint8_t *to, const uint8_t *selector,
                     const moonplan_abi_entry *known) {
    choice loose = {known, NULL, false}, said = {NULL, NULL, false};
    for (size_t i = 0; i < run->context->source_count; i++) {
        const moonplan_abi_source *source = &run->context->sources[i];
        const moonplan_abi_entry *entry =
            moonplan_abi_by_selector(source->abi, MOONPLAN_ABI_CALL, selector);
        if (!entry) continue;
        bool own = bound(run, source, to);
        if (source->untrusted) {
            if (own && !said.certain)
                said = (choice){entry, source, true};
            else if (!source->address.length && !said.source)
                said = (choice){entry, source, false};
            continue;
        }
        if (own) return (choice){entry, source, true};
        if (source->address.length || loose.source) continue;
        /* One that contradicts the table loses against it; one that agrees brings better names. */
        if (!known || mpl_text_equal(entry->signature, known->signature))
            loose = (choice){entry, source, false};
    }
    said.certain = false;
    return loose.entry ? loose : said;
}

mpl_describer mpl_review_described(const mpl_review_run *run, const uint8_t *selector) {
    mpl_describer who = MPL_NOBODY;
    if (moonplan_abi_by_selector(run->known, MOONPLAN_ABI_CALL, selector)) return MPL_DESCRIBED;
    for (size_t i = 0; i < run->context->source_count; i++) {
        const moonplan_abi_source *source = &run->context->sources[i];
        if (!moonplan_abi_by_selector(source->abi, MOONPLAN_ABI_CALL, selector)) continue;
        if (!source->untrusted) return MPL_DESCRIBED;
        who = MPL_UNTRUSTED;
    }
    return who;
}

static void exchange(mpl_review_run *run) {
    mpl_abi_budget budget = run->budget;
    run->budget = run->other;
    run->other = budget;
    run->beside = !run->beside;
}

bool mpl_review_beside(mpl_review_run *run) {
    if (run->beside) return false;
    exchange(run);
    return true;
}

void mpl_review_back(mpl_review_run *run, bool begun) {
    if (begun) exchange(run);
}

/* -- Decoding ------------------------------------------------------------------*/

/* Heads of more bytes are not filled up with zeros: no function takes so much. */
#define PADDED_MOST (MPL_ABI_COMPONENTS * 32)

typedef struct attempt {
    moonplan_abi_value values;
    moonplan_error_list *notes;
    moonplan_error err;
    size_t missing; /* bytes that the calldata is too short by */
    bool fine;
} attempt;

/* The EVM reads zeros behind the end of the calldata, and old contracts do not look how long it
 * is: arguments cut short are filled up, and said to be. */
static void try_decode(mpl_review_run *run, attempt *a, const moonplan_abi_type *inputs,
                       const uint8_t *data, size_t length) {
    uint64_t heads = 0;
    memset(a, 0, sizeof *a);
    for (uint32_t i = 0; i < inputs->size && heads <= PADDED_MOST; i++) {
        uint64_t head = inputs->items[i].head;
        heads = head > PADDED_MOST ? PADDED_MOST + 1 : heads + head;
    }
    const uint8_t *bytes = data + 4;
    size_t count = length - 4;
    if (count < heads && heads <= PADDED_MOST) {
        uint8_t *padded = mpl_arena_take(&run->arena, (size_t)heads);
        if (!padded) {
            run->no_memory = true;
            return;
        }
        if (count) memcpy(padded, bytes, count);
        a->missing = (size_t)heads - count;
        bytes = padded;
        count = (size_t)heads;
    }
    a->fine = mpl_abi_decode(&a->values, &run->arena, inputs, bytes, count, 4, &run->budget,
                             run->options, &a->notes, &a->err);
    if (!a->fine && a->err.code == MOONPLAN_MEMORY) run->no_memory = true;
}

/* -- Text inside -----------------------------------------------------------------*/

/* Nested as deep as the type: MPL_ABI_DEPTH at most. */
static bool has_hidden(const moonplan_abi_value *value) {
    if (value->type->base == MOONPLAN_ABI_STRING)
        return mpl_review_hides((moonplan_text){(const char *)value->bytes, value->length});
    for (size_t i = 0; i < value->count; i++)
        if (has_hidden(&value->items[i])) return true;
    return false;
}

/* -- The call -----------------------------------------------------------------*/

static void build_undecoded(mpl_review_run *run, const char *reason, const uint8_t *data,
                            size_t length) {
    run->facts.unclear = true;
    mpl_build_text(&run->builder, "reason", mpl_text_of(reason));
    mpl_build_name(&run->builder, mpl_text_of("data"));
    mpl_build_bytes(&run->builder, data, length);
}

static void build_function(mpl_review_run *run, const choice *c) {
    mpl_builder *builder = &run->builder;
    char digits[10] = "0x";
    mpl_hex_encode(digits + 2, c->entry->selector, 4);
    mpl_build_text(builder, "selector", (moonplan_text){digits, sizeof digits});
    mpl_build_text(builder, "signature", c->entry->signature);
    mpl_build_text(builder, "name", c->entry->name);
    mpl_build_text(builder, "source", c->source ? c->source->origin : mpl_text_of("standard"));
    if (!c->source)
        mpl_build_text(builder, "defined_by",
                       mpl_text_of(mpl_known_row(run->known, c->entry)->source));
    mpl_build_name(builder, mpl_text_of("guess"));
    mpl_build_boolean(builder, !c->certain);
}

static void note_findings(mpl_review_run *run, const mpl_scene *scene,
                          const moonplan_abi_entry *entry, const attempt *a) {
    moonplan_text signature = mpl_called(entry);
    if (a->missing)
        MPL_FIND_IN(run, scene, DECODE_NOT_CANONICAL,
                    "the arguments of %t are cut short by %u byte%s; a contract that does not look "
                    "reads zeros there",
                    &signature, (uint64_t)a->missing, a->missing == 1 ? "" : "s");
    else if (a->notes)
        MPL_FIND_IN(run, scene, DECODE_NOT_CANONICAL,
                    "%t, but not encoded as every compiler does it: %s", &signature,
                    moonplan_error_list_at(a->notes, 0)->message);
    if (has_hidden(&a->values))
        MPL_FIND_IN(run, scene, TEXT_HIDDEN,
                    "a string among the arguments of %t has characters that cannot be seen",
                    &signature);
}

static void unreadable(mpl_review_run *run, const mpl_scene *scene, const moonplan_abi_entry *entry,
                       const attempt *a) {
    moonplan_text signature = mpl_called(entry);
    if (mpl_abi_over_budget(&a->err))
        MPL_FIND_IN(run, scene, DECODE_BUDGET, "not decoded: the arguments of %t: %s", &signature,
                    a->err.message);
    else
        MPL_FIND_IN(run, scene, DECODE_MALFORMED,
                    "the selector is that of %t, but its arguments cannot be read: %s", &signature,
                    a->err.message);
}

/* A description that contradicts the table: what the table knows of the selector counts all the
 * same, so that nobody can talk a finding away. */
static void other_meaning(mpl_review_run *run, const mpl_scene *scene,
                          const moonplan_abi_entry *entry, const moonplan_abi_entry *known,
                          const attempt *a) {
    moonplan_text given = mpl_called(entry), standard = mpl_called(known);
    MPL_FIND_IN(run, scene, DECODE_AMBIGUOUS,
                "%t by the description that was handed in, and %t by the standard: one selector",
                &given, &standard);
    if (!a->fine) {
        run->facts.unclear = true;
        if (!run->no_memory) unreadable(run, scene, known, a);
        return;
    }
    note_findings(run, scene, known, a);
    mpl_review_act(run, scene, mpl_known_row(run->known, known), &a->values);
}

static void unknown(mpl_review_run *run, const mpl_scene *scene, const choice *said,
                    const uint8_t *data, size_t length) {
    char digits[10] = "0x";
    moonplan_text selector = {digits, sizeof digits};
    mpl_hex_encode(digits + 2, data, 4);
    run->facts.unclear = true;
    if (said->entry) {
        moonplan_text signature = mpl_called(said->entry);
        MPL_FIND_IN(run, scene, DECODE_UNKNOWN_SELECTOR,
                    "only %q describes the function %t, as %t; nothing else speaks for that",
                    &said->source->origin, &selector, &signature);
    } else {
        MPL_FIND_IN(run, scene, DECODE_UNKNOWN_SELECTOR,
                    "not decoded: nobody described the function %t, and %u bytes of arguments",
                    &selector, (uint64_t)length - 4);
    }
}

static void build_unknown(mpl_review_run *run, const uint8_t *data, size_t length) {
    char digits[10] = "0x";
    mpl_hex_encode(digits + 2, data, 4);
    mpl_build_text(&run->builder, "kind", mpl_text_of("not_decoded"));
    mpl_build_text(&run->builder, "selector", (moonplan_text){digits, sizeof digits});
    build_undecoded(run, "nobody described this function", data, length);
}

/* The call as `c` has it; `known`: what the table has. */
static void described(mpl_review_run *run, const mpl_scene *scene, const choice *c,
                      const moonplan_abi_entry *known, const uint8_t *data, size_t length) {
    mpl_builder *builder = &run->builder;
    bool contradiction = known && !mpl_text_equal(known->signature, c->entry->signature);
    const mpl_known *row = known ? mpl_known_row(run->known, known) : NULL;
    mpl_meaning meanings[2];
    size_t count = 0;
    attempt a, standard = {.fine = false};
    if (contradiction) try_decode(run, &standard, &known->inputs, data, length);
    try_decode(run, &a, &c->entry->inputs, data, length);
    if (standard.fine) meanings[count++] = (mpl_meaning){known, row, &standard.values};
    if (a.fine) {
        mpl_build_text(builder, "kind", mpl_text_of("decoded"));
        build_function(run, c);
        mpl_build_name(builder, mpl_text_of("arguments"));
        mpl_abi_build_arguments(builder, &a.values);
        mpl_abi_build_notes(builder, a.notes, a.missing);
        note_findings(run, scene, c->entry, &a);
        if (contradiction || !row)
            mpl_review_signed(run, scene, &a.values);
        else
            mpl_review_act(run, scene, row, &a.values);
        meanings[count++] = (mpl_meaning){c->entry, contradiction ? NULL : row, &a.values};
    } else if (!run->no_memory) {
        unreadable(run, scene, c->entry, &a);
        mpl_build_text(builder, "kind", mpl_text_of("not_decoded"));
        build_function(run, c);
        build_undecoded(run, a.err.message, data, length);
    }
    if (contradiction) other_meaning(run, scene, c->entry, known, &standard);
    mpl_review_inner(run, scene, meanings, count);
    moonplan_error_list_free(a.notes);
    moonplan_error_list_free(standard.notes);
}

static void selected(mpl_review_run *run, const mpl_scene *scene, const uint8_t *data,
                     size_t length) {
    const moonplan_abi_entry *known = moonplan_abi_by_selector(run->known, MOONPLAN_ABI_CALL, data);
    choice c = choose(run, scene->to, data, known);
    bool said = c.source && c.source->untrusted;
    if (!c.entry || said) unknown(run, scene, &c, data, length);
    if (!c.entry) {
        build_unknown(run, data, length);
        return;
    }
    bool begun = said && mpl_review_beside(run);
    described(run, scene, &c, known, data, length);
    mpl_review_back(run, begun);
}

void mpl_review_call(mpl_review_run *run, const mpl_scene *scene, const uint8_t *data,
                     size_t length) {
    mpl_builder *builder = &run->builder;
    if (run->no_memory) return;
    mpl_review_target(run, scene);
    if (length == 0) {
        mpl_build_text(builder, "kind", mpl_text_of("value"));
    } else if (length < 4) {
        MPL_FIND_IN(run, scene, DECODE_NO_SELECTOR,
                    "not decoded: %u byte%s of calldata, and a selector has 4", (uint64_t)length,
                    length == 1 ? "" : "s");
        mpl_build_text(builder, "kind", mpl_text_of("not_decoded"));
        build_undecoded(run, "too short for a selector", data, length);
    } else {
        selected(run, scene, data, length);
    }
}

/* -- A run ----------------------------------------------------------------------*/

static const moonplan_review_context no_context = {.now = 0};

bool mpl_review_open(mpl_review_run *run, mpl_alloc *alloc, const moonplan_options *options,
                     const moonplan_review_context *context, moonplan_error *err) {
    memset(run, 0, sizeof *run);
    run->options = options;
    run->context = context ? context : &no_context;
    run->alloc = alloc;
    mpl_arena_open(&run->arena, alloc);
    mpl_buffer_open(&run->allowances, alloc);
    mpl_abi_budget_open(&run->budget, options);
    mpl_abi_budget_open(&run->other, options);
    mpl_findings_open(&run->findings, options);
    if (!mpl_options_sound(options, err)) return false;
    run->known = mpl_known_abi(options, err);
    if (!run->known) return false;
    /* What a review says is bounded by its budgets, and not by what a document that is read may
     * hold. */
    moonplan_options own = *options;
    own.limits.depth = 1024;
    own.limits.values = 100000000;
    mpl_build_open(&run->builder, &own);
    return true;
}

void mpl_review_close(mpl_review_run *run) {
    moonplan_abi_free(run->known);
    mpl_build_close(&run->builder);
    mpl_arena_close(&run->arena);
    mpl_buffer_close(&run->allowances);
    mpl_findings_close(&run->findings);
}

moonplan_document *moonplan_call_decode(const uint8_t *bytes, size_t length, moonplan_text to,
                                        moonplan_text chain_id,
                                        const moonplan_review_context *context,
                                        const moonplan_options *options, moonplan_error *err) {
    moonplan_options chosen = mpl_options_of(options);
    mpl_alloc alloc = mpl_alloc_of(options);
    mpl_review_run run;
    moonplan_document *document = NULL;
    uint8_t target[20];
    if (mpl_review_open(&run, &alloc, &chosen, context, err)) {
        mpl_scene scene = {.step = 0, .id = mpl_text_of("1"), .at = ""};
        run.chain_id = chain_id;
        if (to.length == 42 && mpl_hex_scan(to) != MPL_HEX_NO) {
            mpl_hex_decode(target, to.bytes + 2, 20);
            scene.to = scene.runs = target;
        }
        mpl_build_object(&run.builder);
        mpl_review_call(&run, &scene, bytes, length);
        if (mpl_findings_finish(&run.findings)) mpl_review_build_findings(&run);
        mpl_build_end(&run.builder);
        if (run.no_memory || run.findings.no_memory)
            mpl_error_memory(err);
        else
            document = mpl_build_finish(&run.builder, err);
    }
    mpl_review_close(&run);
    return document;
}
