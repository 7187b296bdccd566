#include <string.h>

#include "../core/error.h"
#include "../core/text.h"
#include "../core/uint256.h"
#include "revert.h"

/* Solidity documentation, "Panic via assert and Error via require". */
static const struct {
    uint8_t code;
    const char *text;
} panics[] = {{0x00, "a panic that the compiler inserted"},
              {0x01, "a failed assertion"},
              {0x11, "arithmetic overflow or underflow"},
              {0x12, "division or modulo by zero"},
              {0x21, "a number that is no value of its enum"},
              {0x22, "a badly encoded byte array in storage"},
              {0x31, "pop on an empty array"},
              {0x32, "an index out of bounds"},
              {0x41, "too much memory or too large an array"},
              {0x51, "a call to an uninitialized internal function"}};

static const char solidity[] = "error Error(string reason)\nerror Panic(uint256 code)";

const char *mpl_panic_text(moonplan_abi_value code) {
    uint64_t number;
    if (!mpl_uint256_small(mpl_uint256_read(code.bytes), &number)) return NULL;
    for (size_t i = 0; i < sizeof panics / sizeof *panics; i++)
        if (panics[i].code == number) return panics[i].text;
    return NULL;
}

/* What it says for a person, with untrusted text in it made visible. */
typedef struct sentence {
    char bytes[832];
    size_t length;
} sentence;

static void say(sentence *s, const char *bytes, size_t length) {
    if (length > sizeof s->bytes - s->length) length = sizeof s->bytes - s->length;
    memcpy(s->bytes + s->length, bytes, length);
    s->length += length;
}

static void say_text(sentence *s, const char *text) {
    say(s, text, strlen(text));
}

static void say_quoted(sentence *s, moonplan_text text) {
    char quoted[256];
    size_t length = mpl_quote(quoted, sizeof quoted, text);
    say(s, quoted, length);
}

/* An error as decoded, and how it is told. */
typedef struct reading {
    const moonplan_abi_entry *entry;
    const moonplan_abi_source *source; /* NULL: Solidity's own */
    moonplan_abi_value values;
    moonplan_error_list *notes;
    bool decoded;
} reading;

static const char *tell(sentence *s, const reading *r) {
    const moonplan_abi_value *first = r->values.items;
    if (!r->decoded) {
        moonplan_text signature = r->entry->signature;
        say_text(s, "reverted with a malformed ");
        say(s, signature.bytes, signature.length < 256 ? signature.length : 256);
        return "malformed";
    }
    if (r->source) {
        char arguments[320];
        say_text(s, "reverted as ");
        /* A name is letters, digits, _ and $; only its length is in the producer's hands. */
        say(s, r->entry->name.bytes, r->entry->name.length < 96 ? r->entry->name.length : 96);
        size_t length = mpl_abi_show(arguments, sizeof arguments, &r->values);
        say(s, arguments, length);
        say_text(s, ", per ");
        say_quoted(s, r->source->origin);
        return "custom";
    }
    if (first->type->base == MOONPLAN_ABI_STRING) {
        say_text(s, "reverted with ");
        say_quoted(s, (moonplan_text){(const char *)first->bytes, first->length});
        return "error";
    }
    char digits[MPL_UINT256_TEXT];
    const char *known = mpl_panic_text(*first);
    mpl_uint256 number = mpl_uint256_read(first->bytes);
    size_t length = mpl_uint256_hex(digits, number);
    say_text(s, known ? "Panic " : "Panic with unknown code ");
    if (known && length == 3) { /* Solidity writes two digits */
        say_text(s, "0x0");
        say(s, digits + 2, 1);
    } else {
        say(s, digits, length);
    }
    if (known) {
        say_text(s, " (");
        say_text(s, known);
        say_text(s, ")");
    }
    return "panic";
}

static bool find(reading *r, const moonplan_abi *own, const uint8_t *bytes, size_t length,
                 const moonplan_abi_source *sources, size_t source_count, mpl_arena *arena,
                 mpl_abi_budget *budget, const moonplan_options *options, moonplan_error *err) {
    r->entry = moonplan_abi_by_selector(own, MOONPLAN_ABI_ERROR, bytes);
    for (size_t i = 0; i < source_count && !r->entry; i++) {
        r->entry = moonplan_abi_by_selector(sources[i].abi, MOONPLAN_ABI_ERROR, bytes);
        r->source = &sources[i];
    }
    if (!r->entry) return true;
    moonplan_error malformed;
    r->decoded = mpl_abi_decode(&r->values, arena, &r->entry->inputs, bytes + 4, length - 4, 4,
                                budget, options, &r->notes, &malformed);
    if (r->decoded || malformed.code != MOONPLAN_MEMORY) return true;
    mpl_error_memory(err);
    return false;
}

void mpl_revert_build(mpl_builder *builder, const moonplan_abi *own, const uint8_t *bytes,
                      size_t length, const moonplan_abi_source *sources, size_t source_count,
                      mpl_arena *arena, mpl_abi_budget *budget, const moonplan_options *options) {
    reading r = {0};
    sentence s = {.length = 0};
    const char *kind;
    char selector[10] = "0x";
    if (length == 0) {
        kind = "none";
        say_text(&s, "reverted without data");
    } else if (length < 4) {
        kind = "short";
        say_text(&s, length == 1   ? "reverted with 1 byte, too short for an error"
                     : length == 2 ? "reverted with 2 bytes, too short for an error"
                                   : "reverted with 3 bytes, too short for an error");
    } else {
        moonplan_error err;
        mpl_hex_encode(selector + 2, bytes, 4);
        if (!find(&r, own, bytes, length, sources, source_count, arena, budget, options, &err)) {
            moonplan_error_list_free(r.notes);
            if (builder->error.code == MOONPLAN_OK) builder->error = err;
            return;
        }
        if (r.entry) {
            kind = tell(&s, &r);
            if (r.decoded && r.notes) {
                say_text(&s, ", not encoded as every compiler does it: ");
                say_text(&s, moonplan_error_list_at(r.notes, 0)->message);
            }
        } else {
            kind = "unknown";
            say_text(&s, "reverted with an error that nobody described, selector ");
            say(&s, selector, sizeof selector);
        }
    }
    mpl_build_object(builder);
    mpl_build_text(builder, "kind", mpl_text_of(kind));
    mpl_build_text(builder, "text", (moonplan_text){s.bytes, s.length});
    if (length >= 4)
        mpl_build_text(builder, "selector", (moonplan_text){selector, sizeof selector});
    if (r.entry) {
        mpl_build_text(builder, "signature", r.entry->signature);
        mpl_build_text(builder, "name", r.entry->name);
        mpl_build_text(builder, "source", r.source ? r.source->origin : mpl_text_of("solidity"));
    }
    if (r.decoded) {
        if (!r.source) {
            const moonplan_abi_value *first = r.values.items;
            mpl_build_name(builder, first->type->name);
            mpl_abi_build(builder, first);
        }
        mpl_build_name(builder, mpl_text_of("arguments"));
        mpl_abi_build_arguments(builder, &r.values);
        mpl_abi_build_notes(builder, r.notes, 0);
    }
    mpl_build_name(builder, mpl_text_of("data"));
    mpl_build_bytes(builder, bytes, length);
    mpl_build_end(builder);
    moonplan_error_list_free(r.notes);
}

moonplan_abi *mpl_revert_solidity(const moonplan_options *options, moonplan_error *err) {
    return mpl_abi_own(solidity, sizeof solidity - 1, options, err);
}

moonplan_document *moonplan_revert_decode(const uint8_t *bytes, size_t length,
                                          const moonplan_abi_source *sources, size_t source_count,
                                          const moonplan_options *options, moonplan_error *err) {
    moonplan_options chosen = mpl_options_of(options);
    options = &chosen;
    moonplan_abi *own = mpl_revert_solidity(options, err);
    if (!own) return NULL;
    mpl_alloc alloc = mpl_alloc_of(options);
    mpl_arena arena;
    mpl_abi_budget budget;
    mpl_builder builder;
    mpl_arena_open(&arena, &alloc);
    mpl_abi_budget_open(&budget, options);
    mpl_build_open(&builder, options);
    mpl_revert_build(&builder, own, bytes, length, sources, source_count, &arena, &budget, options);
    moonplan_document *document = mpl_build_finish(&builder, err);
    mpl_arena_close(&arena);
    moonplan_abi_free(own);
    return document;
}
