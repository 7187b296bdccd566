#include "../core/text.h"
#include "../core/value.h"
#include "abi.h"
#include "convert.h"
#include "safe_checksum.h"

#define VERSION "1.0"

static const mpl_shape batch_shape = {"the batch file",
                                      {{"version", true},
                                       {"chainId", true},
                                       {"transactions", true},
                                       {"createdAt", false},
                                       {"meta", false}}};
static const mpl_shape transaction_shape = {"the transaction",
                                            {{"to", true},
                                             {"value", true},
                                             {"data", false},
                                             {"contractMethod", false},
                                             {"contractInputsValues", false},
                                             {"operation", false}}};

/* The builder writes null for what it leaves out. */
static bool absent(moonplan_value value) {
    moonplan_type type = moonplan_value_type(value);
    return type == MOONPLAN_NONE || type == MOONPLAN_NULL;
}

/* -- From a plan -----------------------------------------------------------------*/

static void build_address(mpl_builder *builder, const char *name, moonplan_text address) {
    char checked[42];
    moonplan_address_checksum(checked, address.bytes, address.length);
    mpl_build_text(builder, name, (moonplan_text){checked, sizeof checked});
}

static void build_null(mpl_builder *builder, const char *name) {
    mpl_build_name(builder, mpl_text_of(name));
    mpl_build_null(builder);
}

static void build_batch(mpl_builder *builder, const moonplan_call_plan *plan, uint64_t created,
                        const uint8_t checksum[32]) {
    moonplan_call call;
    uint8_t digest[32];
    char name[10 + 2 * sizeof digest] = "Plan 0x";
    moonplan_call_plan_digest(plan, digest);
    mpl_hex_encode(name + 7, digest, sizeof digest);
    mpl_build_object(builder);
    mpl_build_text(builder, "version", mpl_text_of(VERSION));
    mpl_build_text(builder, "chainId", moonplan_call_plan_chain_id(plan));
    mpl_build_name(builder, mpl_text_of("createdAt"));
    mpl_build_integer(builder, (int64_t)created);
    mpl_build_name(builder, mpl_text_of("meta"));
    mpl_build_object(builder);
    mpl_build_text(builder, "name", (moonplan_text){name, 7 + 2 * sizeof digest});
    mpl_build_text(builder, "description", mpl_text_of(""));
    build_address(builder, "createdFromSafeAddress", moonplan_call_plan_sender(plan));
    mpl_build_text(builder, "createdFromOwnerAddress", mpl_text_of(""));
    if (checksum) {
        mpl_build_name(builder, mpl_text_of("checksum"));
        mpl_build_bytes(builder, checksum, 32);
    }
    mpl_build_end(builder);
    mpl_build_name(builder, mpl_text_of("transactions"));
    mpl_build_array(builder);
    for (size_t i = 0; moonplan_call_plan_step(plan, &call, i); i++) {
        mpl_build_object(builder);
        build_address(builder, "to", call.to);
        mpl_build_text(builder, "value", call.value);
        mpl_build_text(builder, "data", call.data);
        build_null(builder, "contractMethod");
        build_null(builder, "contractInputsValues");
        mpl_build_end(builder);
    }
    mpl_build_end(builder);
    mpl_build_end(builder);
}

/* A Safe carries out several transactions as one and a single one by itself, and its batches have
 * no member that could ask for anything else. */
static void leave_atomic(mpl_conversion *c, const moonplan_call_plan *plan, bool atomic) {
    size_t count = moonplan_call_plan_count(plan);
    moonplan_value root = moonplan_document_root(moonplan_call_plan_document(plan));
    if (atomic == (count > 1) || mpl_convert_failed(c)) return;
    if (atomic)
        MPL_LOSE(c, CONVERT_LOST, mpl_member(root, "required_capabilities"),
                 "that atomic_batch is required, of a plan of one step: back again it is not; the "
                 "digest does not tell the two apart");
    else
        MPL_LOSE(c, CONVERT_LOST, mpl_member(root, "ordered_steps"),
                 "that the %u steps may be carried out one by one: a Safe does so as one, and back "
                 "again atomic_batch is required; the digest does not tell the two apart",
                 (uint64_t)count);
}

/* The largest integer that the Transaction Builder reads exactly. */
#define CREATED_MOST 9007199254740991u

moonplan_document *moonplan_to_safe_batch(const moonplan_call_plan *plan, uint64_t created,
                                          moonplan_error_list **lost,
                                          const moonplan_options *options, moonplan_error *err) {
    mpl_conversion c;
    uint8_t checksum[32];
    mpl_convert_open(&c, options);
    leave_atomic(&c, plan, mpl_convert_leave(&c, plan));
    if (created > CREATED_MOST) {
        moonplan_error *slot = mpl_faults_add(&c.faults);
        if (slot)
            mpl_error_set(slot, MOONPLAN_OPTION, MOONPLAN_NO_OFFSET, NULL,
                          "a time of %u milliseconds is more than the batch format can hold",
                          created);
    }
    if (!mpl_convert_failed(&c)) {
        /* Once to know the checksum, and once with it. */
        mpl_builder draft;
        mpl_build_open(&draft, &c.options);
        build_batch(&draft, plan, created, NULL);
        moonplan_document *document = mpl_build_finish(&draft, &c.builder.error);
        if (document) {
            c.faults.no_memory = mpl_safe_checksum_make(checksum, moonplan_document_root(document),
                                                        &c.alloc) == MPL_SAFE_CHECKSUM_MEMORY;
            moonplan_document_free(document);
            if (!c.faults.no_memory) build_batch(&c.builder, plan, created, checksum);
        }
    }
    return mpl_convert_document(&c, lost, err);
}

/* -- Into a plan -----------------------------------------------------------------*/

/* What was typed into the builder's field for a parameter: text, whatever the type. */
static void build_typed(mpl_conversion *c, mpl_builder *builder, const moonplan_abi_type *type,
                        moonplan_value value) {
    moonplan_text text = moonplan_value_string(value);
    mpl_uint256 number;
    char digits[MPL_UINT256_TEXT];
    if (!text.bytes) {
        mpl_build_value(builder, value);
        return;
    }
    switch (type->base) {
    case MOONPLAN_ABI_ARRAY:
    case MOONPLAN_ABI_ARRAY_N:
    case MOONPLAN_ABI_TUPLE: {
        moonplan_options own = c->options;
        own.borrow = true;
        moonplan_error wrong;
        moonplan_document *list = moonplan_document_parse(text.bytes, text.length, &own, &wrong);
        if (list)
            mpl_build_value(builder, moonplan_document_root(list));
        else if (wrong.code == MOONPLAN_MEMORY)
            c->faults.no_memory = true;
        else
            MPL_REFUSE(c, CONVERT_SHAPE, value, "%q is no JSON list: %s", &text, wrong.message);
        moonplan_document_free(list);
        break;
    }
    case MOONPLAN_ABI_BOOL:
        if (mpl_text_is(text, "true") || mpl_text_is(text, "false"))
            mpl_build_boolean(builder, text.length == 4);
        else
            mpl_build_string(builder, text);
        break;
    case MOONPLAN_ABI_UINT:
    case MOONPLAN_ABI_INT:
        if (mpl_uint256_from_hex(&number, text))
            text = (moonplan_text){digits, mpl_uint256_decimal(digits, number)};
        mpl_build_string(builder, text);
        break;
    default:
        mpl_build_string(builder, text);
        break;
    }
}

/* The arguments as a document; NULL after a fault. */
static moonplan_document *arguments_of(mpl_conversion *c, const moonplan_abi_entry *entry,
                                       moonplan_value method, moonplan_value values) {
    mpl_builder builder;
    moonplan_error wrong;
    mpl_build_open(&builder, &c->options);
    mpl_build_array(&builder);
    moonplan_walk inputs = moonplan_value_walk(mpl_member(method, "inputs"));
    for (uint32_t i = 0; i < entry->inputs.size && !mpl_convert_failed(c); i++) {
        char digits[20];
        moonplan_walk_next(&inputs);
        moonplan_text name = moonplan_value_string(mpl_member(inputs.value, "name"));
        /* The builder takes its number then. */
        if (!name.length) name = (moonplan_text){digits, mpl_number_write(digits, i)};
        moonplan_value value = moonplan_value_member(values, name.bytes, name.length);
        if (moonplan_value_type(value) == MOONPLAN_NONE)
            MPL_REFUSE(c, CONVERT_SHAPE, values, "there is no value for %q", &name);
        else
            build_typed(c, &builder, &entry->inputs.items[i], value);
    }
    mpl_build_end(&builder);
    moonplan_document *document = mpl_build_finish(&builder, &wrong);
    if (!document && wrong.code == MOONPLAN_MEMORY)
        c->faults.no_memory = true;
    else if (!document)
        MPL_REFUSE(c, CONVERT_SHAPE, method, "the values cannot be taken: %s", wrong.message);
    if (mpl_convert_failed(c)) {
        moonplan_document_free(document);
        return NULL;
    }
    return document;
}

static bool to_hex(void *data, const char *bytes, size_t length) {
    mpl_buffer *out = data;
    mpl_buffer_add(out, "0x", 2);
    char *digits = mpl_buffer_extend(out, 2 * length);
    if (digits) mpl_hex_encode(digits, (const uint8_t *)bytes, length);
    return !out->failed;
}

/* The calldata of a transaction that is given as a method and its values. */
static moonplan_text encode(mpl_conversion *c, moonplan_value transaction) {
    moonplan_value method = mpl_member(transaction, "contractMethod");
    moonplan_value values = mpl_member(transaction, "contractInputsValues");
    moonplan_text none = {NULL, 0}, name = moonplan_value_string(mpl_member(method, "name"));
    moonplan_error wrong;
    /* Neither is a function: plain value, without calldata. */
    if ((mpl_text_is(name, "receive") || mpl_text_is(name, "fallback")) &&
        moonplan_value_count(mpl_member(method, "inputs")) == 0)
        return mpl_text_of("0x");
    if (absent(values) && moonplan_value_count(mpl_member(method, "inputs"))) {
        MPL_REFUSE(c, CONVERT_SHAPE, method, "the method has inputs, and there are no values");
        return none;
    }
    moonplan_abi *abi = moonplan_abi_parse_value(method, &c->options, &wrong);
    const moonplan_abi_entry *entry = abi ? moonplan_abi_at(abi, 0) : NULL;
    if (entry && entry->kind != MOONPLAN_ABI_CALL) entry = NULL;
    moonplan_document *arguments = entry ? arguments_of(c, entry, method, values) : NULL;
    mpl_buffer out;
    mpl_buffer_open(&out, &c->alloc);
    if (!abi && wrong.code == MOONPLAN_MEMORY) {
        c->faults.no_memory = true;
    } else if (!entry) {
        MPL_REFUSE(c, CONVERT_SHAPE, method, "contractMethod describes no function%s%s",
                   abi ? "" : ": ", abi ? "" : wrong.message);
    } else if (arguments &&
               !moonplan_abi_encode(entry, to_hex, &out, moonplan_document_root(arguments),
                                    &c->options, &wrong)) {
        if (wrong.code == MOONPLAN_MEMORY)
            c->faults.no_memory = true;
        else
            MPL_REFUSE(c, CONVERT_SHAPE, method, "the values do not fit the method: %s",
                       wrong.message);
    }
    moonplan_text data = none;
    if (!mpl_convert_failed(c)) {
        char *copy = mpl_arena_copy(&c->arena, out.bytes, out.length);
        if (copy)
            data = (moonplan_text){copy, out.length};
        else
            c->faults.no_memory = true;
    }
    mpl_buffer_close(&out);
    moonplan_document_free(arguments);
    moonplan_abi_free(abi);
    return data;
}

static moonplan_text decimal(mpl_conversion *c, const char *what, moonplan_value value) {
    moonplan_text none = {NULL, 0}, text = mpl_convert_string(c, what, value);
    mpl_uint256 number;
    if (!text.bytes || mpl_uint256_from_decimal(&number, text)) return text;
    MPL_REFUSE(c, CONVERT_QUANTITY, value,
               "%s is %q; here it is written in decimal digits, below 2^256, with no 0 before "
               "others",
               what, &text);
    return none;
}

static bool plain_call(moonplan_value operation) {
    int64_t number;
    if (absent(operation)) return true;
    if (moonplan_value_integer(operation, &number)) return number == 0;
    return mpl_text_is(moonplan_value_string(operation), "0");
}

static void read_transaction(mpl_conversion *c, moonplan_value transaction, size_t step,
                             moonplan_text chain_id, moonplan_text sender) {
    mpl_convert_shape(c, &transaction_shape, transaction);
    if (mpl_convert_failed(c)) return;
    moonplan_value method = mpl_member(transaction, "contractMethod");
    moonplan_value data = mpl_member(transaction, "data");
    if (!plain_call(mpl_member(transaction, "operation")))
        MPL_REFUSE(c, CONVERT_UNSUPPORTED, mpl_member(transaction, "operation"),
                   "the transaction is a delegate call, which no plan can make");
    moonplan_text to = mpl_convert_address(c, "to", mpl_member(transaction, "to"));
    moonplan_text value = decimal(c, "value", mpl_member(transaction, "value"));
    moonplan_text bytes = {NULL, 0};
    if (mpl_convert_failed(c)) return;
    if (!absent(data)) {
        /* The builder goes by the data as well where both are there. */
        bytes = mpl_convert_bytes(c, "data", data);
        if (!absent(method))
            MPL_LOSE(c, CONVERT_LOST, method, "the description of the method; the data count");
    } else {
        bytes = absent(method) ? mpl_text_of("0x") : encode(c, transaction);
    }
    mpl_convert_step(c, step, chain_id, sender, to, bytes, value);
}

static void check_checksum(mpl_conversion *c, moonplan_value batch, moonplan_value stated) {
    uint8_t made[32];
    char hex[2 + 2 * sizeof made] = "0x";
    moonplan_text text = moonplan_value_string(stated), expected = {hex, sizeof hex};
    if (!text.bytes) return;
    switch (mpl_safe_checksum_make(made, batch, &c->alloc)) {
    case MPL_SAFE_CHECKSUM_MEMORY:
        c->faults.no_memory = true;
        break;
    case MPL_SAFE_CHECKSUM_NUMBER:
        MPL_LOSE(c, CONVERT_CHECKSUM, stated,
                 "the checksum is not checked: the file has a number that does not survive "
                 "JavaScript");
        break;
    default:
        mpl_hex_encode(hex + 2, made, sizeof made);
        if (!mpl_text_equal(text, expected))
            MPL_LOSE(c, CONVERT_CHECKSUM, stated,
                     "the file was changed after it was saved: it has the checksum %t", &expected);
        break;
    }
}

static void read_batch(mpl_conversion *c, moonplan_value batch, moonplan_text account) {
    mpl_convert_shape(c, &batch_shape, batch);
    if (mpl_convert_failed(c)) return;
    moonplan_value version = mpl_member(batch, "version"), meta = mpl_member(batch, "meta");
    moonplan_value list = mpl_member(batch, "transactions");
    moonplan_value safe = mpl_member(meta, "createdFromSafeAddress");
    moonplan_text text = mpl_convert_string(c, "version", version), own = {NULL, 0};
    if (text.bytes && !mpl_text_is(text, VERSION))
        MPL_REFUSE(c, CONVERT_VERSION, version, "version is %q; only \"" VERSION "\" is known here",
                   &text);
    moonplan_text chain_id = decimal(c, "chainId", mpl_member(batch, "chainId"));
    mpl_convert_chain(c, chain_id, mpl_member(batch, "chainId"));
    /* A file made outside a Safe has "" there. */
    bool named = !absent(safe) && !mpl_text_is(moonplan_value_string(safe), "");
    if (named) own = mpl_convert_address(c, "createdFromSafeAddress", safe);
    moonplan_text sender = mpl_convert_sender(c, own, named ? safe : batch, account);
    if (mpl_convert_failed(c)) return;
    check_checksum(c, batch, mpl_member(meta, "checksum"));
    moonplan_walk walk = moonplan_value_walk(meta);
    while (moonplan_walk_next(&walk)) {
        if (!mpl_text_is(walk.name, "name") && !mpl_text_is(walk.name, "description")) continue;
        text = moonplan_value_string(walk.value);
        if (text.length)
            MPL_LOSE(c, CONVERT_LOST, walk.value, "the batch's %t: %q", &walk.name, &text);
    }
    size_t count = moonplan_value_count(list), step = 0;
    if (moonplan_value_type(list) != MOONPLAN_ARRAY)
        MPL_REFUSE(c, CONVERT_SHAPE, list, "transactions must be an array, not %s",
                   mpl_type_text(moonplan_value_type(list)));
    else if (count == 0)
        MPL_REFUSE(c, CONVERT_SHAPE, list,
                   "the batch has no transactions; a plan has at least one step");
    else if (count > mpl_convert_most(c))
        MPL_REFUSE(c, LIMIT, list,
                   "the batch has %u transactions, more than the limit steps allows: %u",
                   (uint64_t)count, mpl_convert_most(c));
    mpl_convert_begin(c, chain_id, sender);
    walk = moonplan_value_walk(list);
    while (!mpl_convert_failed(c) && moonplan_walk_next(&walk))
        read_transaction(c, walk.value, ++step, chain_id, sender);
    mpl_convert_end(c, count > 1);
}

moonplan_call_plan *moonplan_from_safe_batch(const char *text, size_t length, moonplan_text account,
                                             moonplan_error_list **lost,
                                             const moonplan_options *options, moonplan_error *err) {
    return mpl_convert_read(text, length, account, read_batch, lost, options, err);
}
