/* Reviewing a typed-data request: what a signature would allow, and what is odd about it. */
#include <string.h>

#include "../core/text.h"
#include "../core/value.h"
#include "known.h"
#include "review.h"
#include "typed_data.h"

static const moonplan_text no_text = {NULL, 0};

/* A message that is an allowance or a transfer once it is signed. The contract that takes the
 * signature knows the message by its type's hash, so names and types have to be exactly these. */
typedef enum shape {
    UNKNOWN = 0,
    PERMIT,            /* ERC-2612 */
    PERMIT_DAI,        /* Dai.sol */
    PERMIT_ITEM,       /* ERC-4494 */
    PERMIT2_ALLOWANCE, /* Permit2: IAllowanceTransfer */
    PERMIT2_TRANSFER,  /* Permit2: ISignatureTransfer */
    AUTHORIZATION      /* ERC-3009 */
} shape;

#define MEMBERS 6

static const struct {
    const char *name;
    shape shape;
    struct {
        const char *name, *type;
    } members[MEMBERS];
} shapes[] = {
    {"Permit",
     PERMIT,
     {{"owner", "address"},
      {"spender", "address"},
      {"value", "uint256"},
      {"nonce", "uint256"},
      {"deadline", "uint256"}}},
    {"Permit",
     PERMIT_DAI,
     {{"holder", "address"},
      {"spender", "address"},
      {"nonce", "uint256"},
      {"expiry", "uint256"},
      {"allowed", "bool"}}},
    {"Permit",
     PERMIT_ITEM,
     {{"spender", "address"},
      {"tokenId", "uint256"},
      {"nonce", "uint256"},
      {"deadline", "uint256"}}},
    {"PermitSingle",
     PERMIT2_ALLOWANCE,
     {{"details", "PermitDetails"}, {"spender", "address"}, {"sigDeadline", "uint256"}}},
    {"PermitBatch",
     PERMIT2_ALLOWANCE,
     {{"details", "PermitDetails[]"}, {"spender", "address"}, {"sigDeadline", "uint256"}}},
    /* The two with a witness have a member of the contract's own behind these. */
    {"PermitTransferFrom",
     PERMIT2_TRANSFER,
     {{"permitted", "TokenPermissions"}, {"spender", "address"}, {"deadline", "uint256"}}},
    {"PermitBatchTransferFrom",
     PERMIT2_TRANSFER,
     {{"permitted", "TokenPermissions[]"}, {"spender", "address"}, {"deadline", "uint256"}}},
    {"PermitWitnessTransferFrom",
     PERMIT2_TRANSFER,
     {{"permitted", "TokenPermissions"}, {"spender", "address"}, {"deadline", "uint256"}}},
    {"PermitBatchWitnessTransferFrom",
     PERMIT2_TRANSFER,
     {{"permitted", "TokenPermissions[]"}, {"spender", "address"}, {"deadline", "uint256"}}},
    {"TransferWithAuthorization",
     AUTHORIZATION,
     {{"from", "address"},
      {"to", "address"},
      {"value", "uint256"},
      {"validAfter", "uint256"},
      {"validBefore", "uint256"},
      {"nonce", "bytes32"}}},
    {"ReceiveWithAuthorization",
     AUTHORIZATION,
     {{"from", "address"},
      {"to", "address"},
      {"value", "uint256"},
      {"validAfter", "uint256"},
      {"validBefore", "uint256"},
      {"nonce", "bytes32"}}},
};

typedef struct typed_run {
    const moonplan_typed_data *request;
    mpl_review_run *run;
    shape shape;
    uint64_t now;
    moonplan_text origin;
} typed_run;

/* A finding at a value of the request. */
#define FIND(t, code_, value, ...)                                                                 \
    do {                                                                                           \
        mpl_findings *findings_ = &(t)->run->findings;                                             \
        if (mpl_findings_room(findings_, MOONPLAN_FINDING_##code_, 0)) {                           \
            mpl_error_set(&findings_->scratch, MOONPLAN_OK, MOONPLAN_NO_OFFSET, NULL,              \
                          __VA_ARGS__);                                                            \
            keep(findings_, MOONPLAN_FINDING_##code_, value);                                      \
        }                                                                                          \
    } while (0)

static void keep(mpl_findings *findings, moonplan_finding_code code, moonplan_value value) {
    mpl_pointer pointer;
    char at[sizeof pointer.bytes + 1];
    mpl_pointer_of(&pointer, value.document, value.node);
    memcpy(at, pointer.bytes, pointer.length);
    at[pointer.length] = 0;
    mpl_findings_add(findings, code, 0, no_text, at);
}

static bool declares(const mpl_eip712_struct *declared, const char *name, const char *type) {
    for (size_t i = 0; i < declared->count; i++)
        if (mpl_text_is(declared->members[i].name, name))
            return mpl_text_is(declared->members[i].type.text, type);
    return false;
}

/* Is the struct behind `permitted` or `details` Permit2's own? */
static bool has_amounts(const mpl_eip712 *types, shape which) {
    bool allowance = which == PERMIT2_ALLOWANCE;
    size_t number =
        mpl_eip712_find(types, mpl_text_of(allowance ? "PermitDetails" : "TokenPermissions"));
    if (number == SIZE_MAX) return false;
    const mpl_eip712_struct *declared = &types->structs[number];
    return declares(declared, "token", "address") &&
           declares(declared, "amount", allowance ? "uint160" : "uint256") &&
           (!allowance || declares(declared, "expiration", "uint48"));
}

static shape shape_of(const moonplan_typed_data *request) {
    const mpl_eip712_struct *primary = &request->types.structs[request->primary];
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (!mpl_text_is(primary->name, shapes[i].name)) continue;
        bool all = true;
        for (size_t j = 0; all && j < MEMBERS && shapes[i].members[j].name; j++)
            all = declares(primary, shapes[i].members[j].name, shapes[i].members[j].type);
        bool amounts = shapes[i].shape == PERMIT2_ALLOWANCE || shapes[i].shape == PERMIT2_TRANSFER;
        if (all && (!amounts || has_amounts(&request->types, shapes[i].shape)))
            return shapes[i].shape;
    }
    return UNKNOWN;
}

/* -- Known messages ------------------------------------------------------------*/

/* An address for messages, in lower case; absent, it is a verifyingContract. */
static moonplan_text show(mpl_shown *shown, moonplan_value value) {
    moonplan_text text = moonplan_value_string(value);
    uint8_t bytes[20];
    if (text.length != 42) return mpl_text_of("a contract that the domain does not name");
    mpl_hex_decode(bytes, text.bytes + 2, 20);
    return mpl_show_address(shown, bytes);
}

static mpl_uint256 number_of(moonplan_value value) {
    mpl_uint256 number = mpl_uint256_of(0);
    mpl_uint256_from_decimal(&number, moonplan_value_string(value));
    return number;
}

static void allowance(typed_run *t, moonplan_value amount, moonplan_value token,
                      moonplan_value spender, const char *how) {
    mpl_shown a, b;
    moonplan_text of = show(&a, token), who = show(&b, spender),
                  digits = moonplan_value_string(amount);
    if (mpl_is_unlimited(number_of(amount)))
        FIND(t, ALLOWANCE_UNLIMITED, amount,
             "once signed, %t may take all there is, now and later, of the token %t%s: %t", &who,
             &of, how, &digits);
    else if (mpl_uint256_is_zero(number_of(amount)))
        FIND(t, ALLOWANCE_REVOKED, amount,
             "revokes: once this is used, %t may take nothing more of the token %t%s", &who, &of,
             how);
    else
        FIND(t, ALLOWANCE_GRANTED, amount, "once signed, %t may take %t units of the token %t%s",
             &who, &digits, &of, how);
}

static void permit(typed_run *t, moonplan_value message, moonplan_value contract) {
    mpl_shown a, b;
    moonplan_value spender = mpl_member(message, "spender");
    moonplan_text who = show(&a, spender), of = show(&b, contract);
    FIND(t, SIGNATURE_PERMIT, message,
         "the signature is an allowance in itself: whoever holds it can put it on the chain, and "
         "no transaction of the owner is needed");
    if (t->shape == PERMIT) {
        allowance(t, mpl_member(message, "value"), contract, spender, "");
    } else if (t->shape == PERMIT_ITEM) {
        moonplan_text item = moonplan_value_string(mpl_member(message, "tokenId"));
        FIND(t, ALLOWANCE_GRANTED, mpl_member(message, "tokenId"),
             "once signed, %t may move the item %t of the collection %t", &who, &item, &of);
    } else if (moonplan_value_type(mpl_member(message, "allowed")) == MOONPLAN_TRUE) {
        FIND(t, ALLOWANCE_UNLIMITED, mpl_member(message, "allowed"),
             "once signed, %t may take all there is, now and later, of the token %t", &who, &of);
    } else {
        FIND(t, ALLOWANCE_REVOKED, mpl_member(message, "allowed"),
             "revokes: once this is used, %t may take nothing more of the token %t", &who, &of);
    }
}

static void one_by_permit2(typed_run *t, moonplan_value details, moonplan_value spender) {
    moonplan_value expiration = mpl_member(details, "expiration");
    allowance(t, mpl_member(details, "amount"), mpl_member(details, "token"), spender,
              " through Permit2");
    if (moonplan_value_type(expiration) == MOONPLAN_NONE) return;
    char until[MPL_TIME_TEXT];
    moonplan_text lives = {until, mpl_time_text(until, number_of(expiration))};
    if (mpl_is_far(number_of(expiration), t->now))
        FIND(t, PERMIT2_LONG_LIVED, expiration, "the allowance inside Permit2 expires: %t", &lives);
}

static void by_permit2(typed_run *t, moonplan_value message, moonplan_value contract) {
    mpl_shown shown;
    uint8_t bytes[20] = {0};
    moonplan_text where = show(&shown, contract), text = moonplan_value_string(contract);
    moonplan_value spender = mpl_member(message, "spender"),
                   chain = mpl_member(t->request->domain, "chainId"),
                   list =
                       mpl_member(message, t->shape == PERMIT2_ALLOWANCE ? "details" : "permitted");
    if (text.length == 42) mpl_hex_decode(bytes, text.bytes + 2, 20);
    if (memcmp(bytes, mpl_permit2(moonplan_value_string(chain)), 20) == 0)
        FIND(t, SIGNATURE_PERMIT2, message,
             "the signature lets tokens be moved through Permit2, with no transaction of the "
             "owner");
    else
        FIND(t, SIGNATURE_PERMIT2, message,
             "the signature is one for Permit2, but for %t, which is not the Permit2 that is "
             "published",
             &where);
    if (moonplan_value_type(list) != MOONPLAN_ARRAY) {
        one_by_permit2(t, list, spender);
        return;
    }
    moonplan_walk walk = moonplan_value_walk(list);
    while (moonplan_walk_next(&walk)) one_by_permit2(t, walk.value, spender);
}

static void transfer(typed_run *t, moonplan_value message, moonplan_value contract) {
    mpl_shown a, b, c;
    moonplan_text from = show(&a, mpl_member(message, "from")),
                  to = show(&b, mpl_member(message, "to")), of = show(&c, contract),
                  amount = moonplan_value_string(mpl_member(message, "value"));
    FIND(t, SIGNATURE_TRANSFER, message,
         "the signature moves %t units of the token %t from %t to %t, with no transaction of the "
         "owner",
         &amount, &of, &from, &to);
}

static void judge_shape(typed_run *t) {
    const moonplan_typed_data *request = t->request;
    moonplan_value contract = mpl_member(request->domain, "verifyingContract");
    switch (t->shape) {
    case PERMIT:
    case PERMIT_DAI:
    case PERMIT_ITEM:
        permit(t, request->message, contract);
        break;
    case PERMIT2_ALLOWANCE:
    case PERMIT2_TRANSFER:
        by_permit2(t, request->message, contract);
        break;
    case AUTHORIZATION:
        transfer(t, request->message, contract);
        break;
    default:
        break;
    }
}

/* -- Members of any message ----------------------------------------------------*/

static bool is_one_of(moonplan_text name, const char *const *names) {
    for (size_t i = 0; names[i]; i++)
        if (mpl_text_is(name, names[i])) return true;
    return false;
}

/* What messages in use call the end of their validity. */
static const char *const deadlines[] = {"deadline",    "sigDeadline", "expiry",  "expiration",
                                        "expires",     "expiresAt",   "endTime", "validTo",
                                        "validBefore", "validUntil",  NULL};

static void judge_number(typed_run *t, moonplan_text name, moonplan_value value) {
    mpl_uint256 number = number_of(value);
    moonplan_text digits = moonplan_value_string(value);
    if (is_one_of(name, deadlines)) {
        bool told = t->shape == PERMIT2_ALLOWANCE && mpl_text_is(name, "expiration");
        char until[MPL_TIME_TEXT];
        moonplan_text expires = {until, mpl_time_text(until, number)};
        /* Dai.sol takes 0 for no end. */
        if (t->shape == PERMIT_DAI && mpl_uint256_is_zero(number))
            FIND(t, SIGNATURE_LONG_LIVED, value, "%q is 0, by which this signature has no end",
                 &name);
        else if (!told && mpl_is_far(number, t->now))
            FIND(t, SIGNATURE_LONG_LIVED, value, "%q puts the end of this far away: %t", &name,
                 &expires);
        return;
    }
    /* Amounts of known messages have been judged; so many ones in a row are no accident in others.
     */
    static const char *const amounts[] = {"amount", "value", NULL};
    if (t->shape != UNKNOWN && is_one_of(name, amounts)) return;
    unsigned bits = mpl_uint256_bits(number);
    mpl_uint256_add(&number, mpl_uint256_of(1));
    if (bits >= 96 && (bits == 256 ? mpl_uint256_is_zero(number)
                                   : mpl_uint256_order(number, mpl_uint256_power(bits)) == 0))
        FIND(t, AMOUNT_UNLIMITED, value,
             "%q is %t, the largest number of its kind, which usually stands for everything there "
             "is",
             &name, &digits);
}

/* Recursion is bounded by the limit `nesting`, at most 1000, which the request has passed. */
static void judge_value(typed_run *t, const mpl_eip712_type *type, moonplan_text name,
                        moonplan_value value) {
    moonplan_walk walk = moonplan_value_walk(value);
    if (mpl_eip712_is_array(type)) {
        uint64_t length;
        mpl_eip712_type element = mpl_eip712_element(type, &length);
        while (moonplan_walk_next(&walk)) judge_value(t, &element, name, walk.value);
    } else if (type->base == MPL_EIP712_STRUCT) {
        const mpl_eip712_struct *declared = &t->request->types.structs[type->width];
        for (size_t i = 0; i < declared->count; i++) {
            const mpl_eip712_member *each = &declared->members[i];
            judge_value(t, &each->type, each->name,
                        moonplan_value_member(value, each->name.bytes, each->name.length));
        }
    } else if (type->base == MPL_EIP712_UINT) {
        judge_number(t, name, value);
    }
}

/* -- The request as a whole ------------------------------------------------------*/

static void judge_domain(typed_run *t) {
    moonplan_value domain = t->request->domain;
    if (moonplan_value_type(mpl_member(domain, "chainId")) == MOONPLAN_NONE)
        FIND(t, DOMAIN_CHAINLESS, domain,
             "the domain names no chain: the signature counts on every chain");
    if (moonplan_value_type(mpl_member(domain, "verifyingContract")) == MOONPLAN_NONE)
        FIND(t, DOMAIN_CONTRACTLESS, domain,
             "the domain names no verifyingContract: the signature counts for every contract that "
             "takes this domain");
}

static void judge(typed_run *t) {
    const moonplan_typed_data *request = t->request;
    const mpl_eip712_struct *primary = &request->types.structs[request->primary];
    mpl_eip712_type type = {primary->name, MPL_EIP712_STRUCT, (uint16_t)request->primary};
    judge_shape(t);
    judge_domain(t);
    judge_value(t, &type, no_text, request->message);
    mpl_review_text(t->run, request->domain, "the domain", 0);
    mpl_review_text(t->run, request->message, "the message", 0);
    if (!request->delivery_url.bytes)
        FIND(t, SIGNATURE_RELEASED, moonplan_document_root(request->document),
             "no delivery is asked for: the signature goes to the caller, who may use it anywhere");
    else if (!mpl_typed_data_same_origin(t->origin, request->delivery_url))
        FIND(t, DELIVERY_UNPROVED,
             mpl_member(moonplan_document_root(request->document), "delivery"),
             "nothing proves that the request came from %q: the delivery cannot be relied on",
             &request->delivery_url);
}

/* -- The document ----------------------------------------------------------------*/

static void build_digest(mpl_builder *builder, const char *name, const uint8_t digest[32]) {
    mpl_build_name(builder, mpl_text_of(name));
    mpl_build_bytes(builder, digest, 32);
}

static void build_delivery(mpl_builder *builder, const moonplan_typed_data *request) {
    if (!request->delivery_url.bytes) return;
    mpl_build_name(builder, mpl_text_of("delivery"));
    mpl_build_object(builder);
    mpl_build_text(builder, "url", request->delivery_url);
    mpl_build_text(builder, "request_id", request->request_id);
    mpl_build_end(builder);
}

/* False when memory is short. */
static bool build(mpl_review_run *run, const moonplan_typed_data *request) {
    mpl_builder *builder = &run->builder;
    mpl_eip712 types = request->types;
    uint8_t hash[32];
    types.alloc = run->alloc; /* the memory on the way is ours */
    mpl_build_object(builder);
    mpl_build_text(builder, "kind",
                   mpl_text_of(moonplan_kind_name(MOONPLAN_KIND_TYPED_DATA_REQUEST)));
    build_digest(builder, "request_digest", request->digests.request_digest);
    build_digest(builder, "signing_digest", request->digests.signing_digest);
    build_digest(builder, "domain_separator", request->digests.domain_separator);
    build_digest(builder, "message_hash", request->digests.message_hash);
    mpl_build_text(builder, "signer", moonplan_typed_data_signer(request));
    mpl_build_text(builder, "primary_type", moonplan_typed_data_primary_type(request));
    if (request->valid_until.bytes) {
        char until[MPL_TIME_TEXT];
        size_t length = mpl_time_text(until, mpl_uint256_of(request->valid_until_seconds));
        mpl_build_text(builder, "valid_until", request->valid_until);
        mpl_build_text(builder, "valid_until_time", (moonplan_text){until, length});
    }
    build_delivery(builder, request);
    mpl_build_name(builder, mpl_text_of("domain"));
    if (!mpl_eip712_hash_struct(&types, request->domain_type, request->domain, builder, hash))
        return false;
    mpl_build_name(builder, mpl_text_of("message"));
    if (!mpl_eip712_hash_struct(&types, request->primary, request->message, builder, hash))
        return false;
    mpl_review_build_findings(run);
    mpl_build_end(builder);
    return true;
}

moonplan_review *moonplan_typed_data_review_new(const moonplan_typed_data *request,
                                                const moonplan_review_context *context,
                                                const moonplan_options *options,
                                                moonplan_error *err) {
    moonplan_options own = mpl_options_of(options);
    mpl_alloc alloc = mpl_alloc_of(&own);
    moonplan_review *review = mpl_allocate(&alloc, sizeof *review);
    if (!review) {
        mpl_error_memory(err);
        return NULL;
    }
    memset(review, 0, sizeof *review);
    mpl_review_run run = {.options = &own, .alloc = &alloc};
    mpl_findings_open(&run.findings, &own);
    mpl_build_open(&run.builder, &own);
    /* It nests twice as deep as the message, and is a small multiple of the request. */
    run.builder.max_depth = 1024;
    run.builder.max_values = UINT64_MAX;
    typed_run t = {request, &run, shape_of(request), context ? context->now : 0,
                   context ? context->origin : no_text};
    judge(&t);
    if (mpl_findings_finish(&run.findings) && build(&run, request))
        review->document = mpl_build_finish(&run.builder, err);
    else
        mpl_error_memory(err);
    if (review->document) {
        review->findings = run.findings;
        review->findings.arena.alloc = &review->findings.alloc;
    } else {
        mpl_build_close(&run.builder);
        mpl_findings_close(&run.findings);
    }
    review->alloc = alloc;
    if (review->document) return review;
    moonplan_review_free(review);
    return NULL;
}
