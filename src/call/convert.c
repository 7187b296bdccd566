#include "convert.h"

#include <string.h>

#include "../core/error.h"
#include "../core/text.h"
#include "../core/value.h"
#include "eip55.h"
#include "rule.h"

void mpl_convert_open(mpl_conversion *c, const moonplan_options *options) {
    memset(c, 0, sizeof *c);
    c->options = mpl_options_of(options);
    c->options.errors = NULL;
    c->options.enforce_capabilities = false;
    c->alloc = mpl_alloc_of(&c->options);
    mpl_arena_open(&c->arena, &c->alloc);
    mpl_faults_open(&c->faults, &c->options);
    moonplan_options noting = c->options;
    noting.errors = &c->lost;
    mpl_faults_open(&c->notes, &noting);
    mpl_build_open(&c->builder, &c->options);
}

bool mpl_convert_failed(const mpl_conversion *c) {
    return mpl_faults_enough(&c->faults) || c->notes.no_memory;
}

void mpl_convert_drop(mpl_conversion *c) {
    moonplan_options noting = c->options;
    noting.errors = &c->lost;
    mpl_faults_close(&c->notes, &noting, NULL);
    moonplan_error_list_free(c->lost);
    c->lost = NULL;
    mpl_build_close(&c->builder);
    mpl_arena_close(&c->arena);
}

moonplan_document *mpl_convert_document(mpl_conversion *c, moonplan_error_list **lost,
                                        moonplan_error *err) {
    moonplan_document *document = NULL;
    moonplan_options noting = c->options;
    noting.errors = &c->lost;
    if (lost) *lost = NULL;
    mpl_faults_close(&c->notes, &noting, NULL);
    c->notes.count = 0; /* closed, once */
    if (c->notes.no_memory)
        mpl_error_memory(err);
    else if (mpl_faults_close(&c->faults, &c->options, err))
        document = mpl_build_finish(&c->builder, err);
    if (document && lost) {
        *lost = c->lost;
        c->lost = NULL;
    }
    mpl_convert_drop(c);
    return document;
}

moonplan_call_plan *mpl_convert_plan(mpl_conversion *c, moonplan_error_list **lost,
                                     moonplan_error *err) {
    moonplan_error_list *kept = NULL;
    moonplan_call_plan *plan = NULL;
    if (lost) *lost = NULL;
    moonplan_document *document = mpl_convert_document(c, &kept, err);
    if (document && document->text_length > c->options.limits.document_bytes) {
        mpl_error_set(err, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                      "the plan is %u bytes long, more than the limit document_bytes allows: %u",
                      (uint64_t)document->text_length, c->options.limits.document_bytes);
        moonplan_document_free(document);
        document = NULL;
    }
    if (document) plan = mpl_call_plan_read(document, &c->options, err);
    if (plan && lost)
        *lost = kept;
    else
        moonplan_error_list_free(kept);
    return plan;
}

/* -- Out of a plan -------------------------------------------------------------*/

static void leave_steps(mpl_conversion *c, const moonplan_call_plan *plan) {
    moonplan_value labelled = {0}, gas = {0}, reverts = {0};
    uint64_t labels = 0, gases = 0, revert_count = 0;
    moonplan_text first = {NULL, 0};
    for (size_t i = 0; i < plan->count; i++) {
        const mpl_call *call = &plan->steps[i];
        moonplan_value step = mpl_value(plan->document, call->node);
        moonplan_text kind = mpl_call_text(plan, call->kind);
        if (!mpl_text_is(kind, "execution") && labels++ == 0) {
            labelled = mpl_member(step, "kind");
            first = kind;
        }
        if (call->gas.length && gases++ == 0)
            gas = mpl_member(mpl_member(step, "transaction"), "gas");
        if (call->revert_decode != UINT32_MAX && revert_count++ == 0)
            reverts = mpl_value(plan->document, call->revert_decode);
    }
    if (labels)
        MPL_LOSE(c, CONVERT_LOST, labelled,
                 "the label%s of %u step%s, the first one %t: back again it is execution, and the "
                 "digest "
                 "another one",
                 labels == 1 ? "" : "s", labels, labels == 1 ? "" : "s", &first);
    if (gases)
        MPL_LOSE(c, CONVERT_LOST, gas, "the producer's guesses of the gas, of %u step%s", gases,
                 gases == 1 ? "" : "s");
    if (revert_count)
        MPL_LOSE(c, CONVERT_LOST, reverts, "the ABIs for decoding reverts, of %u step%s",
                 revert_count, revert_count == 1 ? "" : "s");
}

bool mpl_convert_leave(mpl_conversion *c, const moonplan_call_plan *plan) {
    bool atomic = false;
    moonplan_walk walk = moonplan_value_walk(moonplan_call_plan_capabilities(plan));
    while (!mpl_convert_failed(c) && moonplan_walk_next(&walk)) {
        moonplan_text name = moonplan_value_string(walk.value);
        if (mpl_text_is(name, "atomic_batch"))
            atomic = true;
        else
            MPL_REFUSE(c, CONVERT_UNSUPPORTED, walk.value,
                       "the plan requires %q, which a batch cannot ask for", &name);
    }
    if (mpl_convert_failed(c)) return atomic;
    leave_steps(c, plan);
    moonplan_value policy = moonplan_call_plan_failure_policy(plan);
    moonplan_value extensions = moonplan_call_plan_extensions(plan);
    if (moonplan_value_type(policy) != MOONPLAN_NONE)
        MPL_LOSE(c, CONVERT_LOST, policy, "the producer's advice for failures");
    if (moonplan_value_type(extensions) != MOONPLAN_NONE)
        MPL_LOSE(c, CONVERT_LOST, extensions, "the extensions");
    return atomic;
}

/* -- Into a plan ---------------------------------------------------------------*/

void mpl_convert_shape(mpl_conversion *c, const mpl_shape *shape, moonplan_value object) {
    if (moonplan_value_type(object) != MOONPLAN_OBJECT) {
        MPL_REFUSE(c, CONVERT_SHAPE, object, "%s must be an object, not %s", shape->what,
                   mpl_type_text(moonplan_value_type(object)));
        return;
    }
    mpl_shape_open(&c->faults, shape, object, MOONPLAN_CONVERT_SHAPE);
    moonplan_walk walk = moonplan_value_walk(object);
    while (mpl_shape_next(&c->faults, shape, &walk, MOONPLAN_CONVERT_SHAPE) >= 0) continue;
}

moonplan_text mpl_convert_string(mpl_conversion *c, const char *what, moonplan_value value) {
    moonplan_type type = moonplan_value_type(value);
    if (type != MOONPLAN_STRING)
        MPL_REFUSE(c, CONVERT_SHAPE, value, "%s must be a string, not %s", what,
                   mpl_type_text(type));
    return moonplan_value_string(value);
}

static moonplan_text lower(mpl_conversion *c, moonplan_text text, mpl_hex hex) {
    if (hex == MPL_HEX_LOWER) return text;
    char *copy = mpl_arena_copy(&c->arena, text.bytes, text.length);
    if (!copy) {
        c->faults.no_memory = true;
        return (moonplan_text){NULL, 0};
    }
    mpl_hex_lower(copy, text.length);
    return (moonplan_text){copy, text.length};
}

moonplan_text mpl_convert_address(mpl_conversion *c, const char *what, moonplan_value value) {
    moonplan_text none = {NULL, 0}, text = mpl_convert_string(c, what, value);
    if (!text.bytes) return none;
    mpl_hex hex = mpl_hex_scan(text);
    if (hex == MPL_HEX_NO || text.length != 42) {
        MPL_REFUSE(c, CONVERT_ADDRESS, value,
                   "%s is %q; an address is 0x and 40 hexadecimal digits", what, &text);
        return none;
    }
    /* No standard of these asks for the checksum; a wrong one is worth a look all the same. */
    if (mpl_eip55_check(text) == MPL_EIP55_WRONG)
        MPL_LOSE(c, CONVERT_CHECKSUM, value,
                 "%s is %q, whose upper-case letters are not the checksum of ERC-55", what, &text);
    return lower(c, text, hex);
}

moonplan_text mpl_convert_bytes(mpl_conversion *c, const char *what, moonplan_value value) {
    moonplan_text none = {NULL, 0}, text = mpl_convert_string(c, what, value);
    if (!text.bytes) return none;
    mpl_hex hex = mpl_hex_scan(text);
    if (hex != MPL_HEX_NO) return lower(c, text, hex);
    MPL_REFUSE(c, CONVERT_BYTES, value, "%s is %q, not 0x and an even number of hexadecimal digits",
               what, &text);
    return none;
}

moonplan_text mpl_convert_quantity(mpl_conversion *c, const char *what, moonplan_value value) {
    moonplan_text none = {NULL, 0}, text = mpl_convert_string(c, what, value);
    mpl_uint256 number;
    if (!text.bytes) return none;
    if (!mpl_uint256_from_hex(&number, text)) {
        MPL_REFUSE(c, CONVERT_QUANTITY, value,
                   "%s is %q; a quantity here is 0x and hexadecimal digits, below 2^256, with no 0 "
                   "before others",
                   what, &text);
        return none;
    }
    char digits[MPL_UINT256_TEXT];
    size_t length = mpl_uint256_decimal(digits, number);
    char *copy = mpl_arena_copy(&c->arena, digits, length);
    if (!copy) c->faults.no_memory = true;
    return copy ? (moonplan_text){copy, length} : none;
}

void mpl_convert_chain(mpl_conversion *c, moonplan_text chain_id, moonplan_value value) {
    if (chain_id.length > MPL_CAIP2_MOST)
        MPL_REFUSE(c, CONVERT_UNSUPPORTED, value,
                   "chain %q has %u digits; a plan names its chain by CAIP-2 as well, which has "
                   "room for %u",
                   &chain_id, (uint64_t)chain_id.length, (uint64_t)MPL_CAIP2_MOST);
    if (chain_id.bytes && mpl_text_is(chain_id, "0"))
        MPL_LOSE(c, CALL_CHAIN_ZERO, value, "chain %q is a quantity, but no chain of EIP-155",
                 &chain_id);
}

moonplan_text mpl_convert_sender(mpl_conversion *c, moonplan_text own, moonplan_value place,
                                 moonplan_text account) {
    moonplan_text none = {NULL, 0};
    if (mpl_convert_failed(c)) return none;
    if (account.bytes) {
        mpl_hex hex = mpl_hex_scan(account);
        moonplan_error *slot = NULL;
        if (hex == MPL_HEX_NO || account.length != 42) {
            slot = mpl_faults_add(&c->faults);
            if (slot)
                mpl_error_set(slot, MOONPLAN_OPTION, MOONPLAN_NO_OFFSET, NULL,
                              "the account is %q; an address is 0x and 40 hexadecimal digits",
                              &account);
            return none;
        }
        account = lower(c, account, hex);
    }
    if (own.bytes && account.bytes && !mpl_text_equal(own, account)) {
        MPL_REFUSE(c, CONVERT_SENDER, place, "the batch is from %t, and the account is %t", &own,
                   &account);
        return none;
    }
    if (!own.bytes && !account.bytes && !c->faults.no_memory)
        MPL_REFUSE(c, CONVERT_SENDER, place, "the batch names no sender, and no account was given");
    return own.bytes ? own : account;
}

void mpl_convert_begin(mpl_conversion *c, moonplan_text chain_id, moonplan_text sender) {
    char caip2[MPL_CAIP2_TEXT];
    if (mpl_convert_failed(c)) return;
    mpl_build_object(&c->builder);
    mpl_build_text(&c->builder, "schema_version", mpl_text_of("1"));
    mpl_build_text(&c->builder, "chain_id", chain_id);
    mpl_build_text(&c->builder, "caip2_chain_id", mpl_rule_caip2_of(caip2, chain_id));
    mpl_build_text(&c->builder, "sender", sender);
    mpl_build_name(&c->builder, mpl_text_of("ordered_steps"));
    mpl_build_array(&c->builder);
}

void mpl_convert_step(mpl_conversion *c, size_t step, moonplan_text chain_id, moonplan_text sender,
                      moonplan_text to, moonplan_text data, moonplan_text value) {
    if (mpl_convert_failed(c)) return;
    mpl_build_object(&c->builder);
    mpl_build_name(&c->builder, mpl_text_of("step"));
    mpl_build_integer(&c->builder, (int64_t)step);
    mpl_build_text(&c->builder, "kind", mpl_text_of("execution"));
    mpl_build_name(&c->builder, mpl_text_of("transaction"));
    mpl_build_object(&c->builder);
    mpl_build_text(&c->builder, "chain_id", chain_id);
    mpl_build_text(&c->builder, "from", sender);
    mpl_build_text(&c->builder, "to", to);
    mpl_build_text(&c->builder, "data", data);
    mpl_build_text(&c->builder, "value", value);
    mpl_build_end(&c->builder);
    mpl_build_end(&c->builder);
}

void mpl_convert_end(mpl_conversion *c, bool atomic) {
    if (mpl_convert_failed(c)) return;
    mpl_build_end(&c->builder);
    if (atomic) {
        mpl_build_name(&c->builder, mpl_text_of("required_capabilities"));
        mpl_build_array(&c->builder);
        mpl_build_string(&c->builder, mpl_text_of("atomic_batch"));
        mpl_build_end(&c->builder);
    }
    mpl_build_end(&c->builder);
}

uint64_t mpl_convert_most(const mpl_conversion *c) {
    uint64_t most = c->options.limits.steps;
    return most < MPL_STEPS_MOST ? most : MPL_STEPS_MOST;
}

moonplan_call_plan *
mpl_convert_read(const char *text, size_t length, moonplan_text account,
                 void (*read)(mpl_conversion *c, moonplan_value root, moonplan_text account),
                 moonplan_error_list **lost, const moonplan_options *options, moonplan_error *err) {
    mpl_conversion c;
    mpl_convert_open(&c, options);
    moonplan_options own = c.options;
    own.borrow = true; /* the document ends before this function does */
    moonplan_document *document = moonplan_document_parse(text, length, &own, err);
    if (!document) {
        if (lost) *lost = NULL;
        mpl_convert_drop(&c);
        return NULL;
    }
    read(&c, moonplan_document_root(document), account);
    moonplan_call_plan *plan = mpl_convert_plan(&c, lost, err);
    moonplan_document_free(document);
    return plan;
}
