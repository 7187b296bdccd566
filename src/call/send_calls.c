#include "../core/text.h"
#include "../core/value.h"
#include "convert.h"

/* EIP-5792, wallet_sendCalls RPC Specification. */
#define VERSION "2.0.0"

static const mpl_shape batch_shape = {"the batch",
                                      {{"version", true},
                                       {"chainId", true},
                                       {"atomicRequired", true},
                                       {"calls", true},
                                       {"from", false},
                                       {"id", false},
                                       {"capabilities", false}}};
static const mpl_shape call_shape = {
    "the call", {{"to", false}, {"data", false}, {"value", false}, {"capabilities", false}}};

static bool absent(moonplan_value value) {
    return moonplan_value_type(value) == MOONPLAN_NONE;
}

/* -- From a plan -----------------------------------------------------------------*/

static void build_quantity(mpl_builder *builder, const char *name, moonplan_text decimal) {
    char hex[MPL_UINT256_TEXT];
    mpl_uint256 number = mpl_uint256_of(0);
    mpl_uint256_from_decimal(&number, decimal);
    mpl_build_name(builder, mpl_text_of(name));
    mpl_build_string(builder, (moonplan_text){hex, mpl_uint256_hex(hex, number)});
}

moonplan_document *moonplan_to_send_calls(const moonplan_call_plan *plan,
                                          moonplan_error_list **lost,
                                          const moonplan_options *options, moonplan_error *err) {
    mpl_conversion c;
    moonplan_call call;
    mpl_convert_open(&c, options);
    mpl_builder *builder = &c.builder;
    bool atomic = mpl_convert_leave(&c, plan);
    mpl_build_object(builder);
    mpl_build_text(builder, "version", mpl_text_of(VERSION));
    mpl_build_text(builder, "from", moonplan_call_plan_sender(plan));
    build_quantity(builder, "chainId", moonplan_call_plan_chain_id(plan));
    mpl_build_name(builder, mpl_text_of("atomicRequired"));
    mpl_build_boolean(builder, atomic);
    mpl_build_name(builder, mpl_text_of("calls"));
    mpl_build_array(builder);
    for (size_t i = 0; !mpl_convert_failed(&c) && moonplan_call_plan_step(plan, &call, i); i++) {
        mpl_build_object(builder);
        mpl_build_text(builder, "to", call.to);
        mpl_build_text(builder, "data", call.data);
        build_quantity(builder, "value", call.value);
        mpl_build_end(builder);
    }
    mpl_build_end(builder);
    mpl_build_end(builder);
    return mpl_convert_document(&c, lost, err);
}

/* -- Into a plan -----------------------------------------------------------------*/

/* A capability that the wallet may do without is left behind; a wallet must refuse what it does not
 * know of the others (EIP-5792), and a plan has no place for their content. */
static void check_capabilities(mpl_conversion *c, moonplan_value capabilities) {
    if (absent(capabilities)) return;
    if (moonplan_value_type(capabilities) != MOONPLAN_OBJECT) {
        MPL_REFUSE(c, CONVERT_SHAPE, capabilities, "capabilities must be an object, not %s",
                   mpl_type_text(moonplan_value_type(capabilities)));
        return;
    }
    moonplan_walk walk = moonplan_value_walk(capabilities);
    while (!mpl_convert_failed(c) && moonplan_walk_next(&walk)) {
        if (moonplan_value_type(mpl_member(walk.value, "optional")) == MOONPLAN_TRUE)
            MPL_LOSE(c, CONVERT_LOST, walk.value, "the optional capability %q", &walk.name);
        else
            MPL_REFUSE(c, CONVERT_UNSUPPORTED, walk.value,
                       "the capability %q is not optional, and a plan has no place for it",
                       &walk.name);
    }
}

static void read_call(mpl_conversion *c, moonplan_value call, size_t step, moonplan_text chain_id,
                      moonplan_text sender) {
    mpl_convert_shape(c, &call_shape, call);
    if (mpl_convert_failed(c)) return;
    moonplan_value to = mpl_member(call, "to"), data = mpl_member(call, "data");
    moonplan_value value = mpl_member(call, "value");
    moonplan_type to_type = moonplan_value_type(to);
    if (to_type == MOONPLAN_NONE || to_type == MOONPLAN_NULL) {
        MPL_REFUSE(c, CONVERT_UNSUPPORTED, call,
                   "the call has no to: it would create a contract, which no plan can");
        return;
    }
    moonplan_text target = mpl_convert_address(c, "to", to);
    moonplan_text bytes = absent(data) ? mpl_text_of("0x") : mpl_convert_bytes(c, "data", data);
    moonplan_text wei = absent(value) ? mpl_text_of("0") : mpl_convert_quantity(c, "value", value);
    check_capabilities(c, mpl_member(call, "capabilities"));
    mpl_convert_step(c, step, chain_id, sender, target, bytes, wei);
}

static void read_calls(mpl_conversion *c, moonplan_value calls, moonplan_text chain_id,
                       moonplan_text sender) {
    size_t count = moonplan_value_count(calls), step = 0;
    if (mpl_convert_failed(c)) return;
    if (moonplan_value_type(calls) != MOONPLAN_ARRAY) {
        MPL_REFUSE(c, CONVERT_SHAPE, calls, "calls must be an array, not %s",
                   mpl_type_text(moonplan_value_type(calls)));
    } else if (count == 0) {
        MPL_REFUSE(c, CONVERT_SHAPE, calls, "the batch has no calls; a plan has at least one step");
    } else if (count > mpl_convert_most(c)) {
        MPL_REFUSE(c, LIMIT, calls, "the batch has %u calls, more than the limit steps allows: %u",
                   (uint64_t)count, mpl_convert_most(c));
    }
    moonplan_walk walk = moonplan_value_walk(calls);
    while (!mpl_convert_failed(c) && moonplan_walk_next(&walk))
        read_call(c, walk.value, ++step, chain_id, sender);
}

static void read_batch(mpl_conversion *c, moonplan_value batch, moonplan_text account) {
    /* A version with other members is better told by its version than by their absence. */
    moonplan_value version = mpl_member(batch, "version");
    if (!absent(version)) {
        moonplan_text text = mpl_convert_string(c, "version", version);
        if (text.bytes && !mpl_text_is(text, VERSION))
            MPL_REFUSE(c, CONVERT_VERSION, version,
                       "version is %q; only \"" VERSION "\" is known here", &text);
    }
    if (mpl_convert_failed(c)) return;
    mpl_convert_shape(c, &batch_shape, batch);
    if (mpl_convert_failed(c)) return;
    moonplan_value atomic = mpl_member(batch, "atomicRequired"), from = mpl_member(batch, "from");
    moonplan_value id = mpl_member(batch, "id");
    moonplan_type type = moonplan_value_type(atomic);
    moonplan_text none = {NULL, 0};
    moonplan_text chain_id = mpl_convert_quantity(c, "chainId", mpl_member(batch, "chainId"));
    mpl_convert_chain(c, chain_id, mpl_member(batch, "chainId"));
    if (type != MOONPLAN_TRUE && type != MOONPLAN_FALSE)
        MPL_REFUSE(c, CONVERT_SHAPE, atomic, "atomicRequired must be true or false, not %s",
                   mpl_type_text(type));
    moonplan_text own = absent(from) ? none : mpl_convert_address(c, "from", from);
    moonplan_text sender = mpl_convert_sender(c, own, absent(from) ? batch : from, account);
    if (!absent(id)) {
        moonplan_text text = mpl_convert_string(c, "id", id);
        if (text.bytes) MPL_LOSE(c, CONVERT_LOST, id, "the batch's id %q", &text);
    }
    check_capabilities(c, mpl_member(batch, "capabilities"));
    mpl_convert_begin(c, chain_id, sender);
    read_calls(c, mpl_member(batch, "calls"), chain_id, sender);
    mpl_convert_end(c, type == MOONPLAN_TRUE);
}

moonplan_call_plan *moonplan_from_send_calls(const char *text, size_t length, moonplan_text account,
                                             moonplan_error_list **lost,
                                             const moonplan_options *options, moonplan_error *err) {
    return mpl_convert_read(text, length, account, read_batch, lost, options, err);
}
