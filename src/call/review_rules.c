#include <string.h>

#include "../core/text.h"
#include "review.h"

static bool same_address(const uint8_t *a, const uint8_t *b) {
    return a && b && memcmp(a, b, 20) == 0;
}

static bool is_zero(const uint8_t *address) {
    static const uint8_t zero[20] = {0};
    return same_address(address, zero);
}

/* Bytes that only look like a call, and what an untrusted source says, are nothing certain about
 * what the step does. */
static bool doing(mpl_review_run *run, const mpl_scene *scene) {
    bool unsure = scene->assumed || run->beside;
    run->facts.unclear = run->facts.unclear || unsure;
    return !unsure;
}

static moonplan_text decimal(char out[MPL_UINT256_TEXT], mpl_uint256 number) {
    return (moonplan_text){out, mpl_uint256_decimal(out, number)};
}

/* -- Targets and value -------------------------------------------------------*/

/* 0x01 to 0x11 (the last ones by EIP-2537) and 0x0100 (EIP-7951). */
static bool is_precompile(const uint8_t *address) {
    static const uint8_t high[18] = {0};
    if (memcmp(address, high, sizeof high) != 0) return false;
    unsigned number = (unsigned)address[18] << 8 | address[19];
    return (number >= 1 && number <= 0x11) || number == 0x100;
}

void mpl_review_target(mpl_review_run *run, const mpl_scene *scene) {
    mpl_shown shown;
    moonplan_text to = mpl_show_address(&shown, scene->to);
    char units[MPL_UINT256_TEXT];
    bool value = !mpl_uint256_is_zero(scene->value);
    moonplan_text ether = {units, mpl_uint256_units(units, scene->value, 18)};
    if (value) {
        bool own = !scene->caller || same_address(scene->caller, run->sender);
        MPL_FIND_IN(run, scene, VALUE_MOVED,
                    own ? "moves %t of the chain's native currency (in units of 10^18) to %t"
                        : "passes %t of the chain's native currency (in units of 10^18) on to %t",
                    &ether, &to);
        run->facts.transfers++;
    }
    if (!scene->to) return;
    if (is_zero(scene->to)) {
        if (value)
            MPL_FIND_IN(run, scene, TARGET_ZERO_ADDRESS,
                        "%t of native currency goes to the zero address, and is lost", &ether);
        else
            MPL_FIND_IN(run, scene, TARGET_ZERO_ADDRESS,
                        "the call goes to the zero address, where there is no contract");
    } else if (is_precompile(scene->to)) {
        MPL_FIND_IN(run, scene, TARGET_PRECOMPILE,
                    value ? "%t is a precompiled contract; native currency sent there is lost"
                          : "%t is a precompiled contract, which no plan needs to call itself",
                    &to);
    }
    if (run->has_sender && same_address(scene->to, run->sender) &&
        same_address(scene->caller, run->sender))
        MPL_FIND_IN(run, scene, TARGET_SENDER,
                    "the sender calls itself: a contract account can be changed that way");
    if (scene->delegate)
        MPL_FIND_IN(run, scene, TARGET_DELEGATE,
                    "the code of %t runs as the account itself, and may do anything in its name",
                    &to);
}

/* -- Allowances ----------------------------------------------------------------*/

static void remember(mpl_review_run *run, const mpl_scene *scene, uint8_t kind,
                     const uint8_t *owner, const uint8_t *token, const uint8_t *spender,
                     mpl_uint256 amount, bool increase) {
    if (!doing(run, scene)) return;
    if (mpl_uint256_is_zero(amount))
        run->facts.revokes++;
    else
        run->facts.grants++;
    /* Without knowing whose allowance on what it is, nothing can be said about several of them. */
    if (!owner || !token) return;
    mpl_allowance allowance = {.kind = kind,
                               .increase = increase,
                               .order = (uint32_t)(run->allowances.length / sizeof allowance),
                               .step = (uint32_t)scene->step,
                               .amount = amount};
    memcpy(allowance.owner, owner, 20);
    memcpy(allowance.token, token, 20);
    memcpy(allowance.spender, spender, 20);
    mpl_buffer_add(&run->allowances, &allowance, sizeof allowance);
    if (run->allowances.failed) run->no_memory = true;
}

static void tokens(mpl_review_run *run, const mpl_scene *scene, const uint8_t *owner,
                   const uint8_t *of, const uint8_t *spender, mpl_uint256 amount, bool increase) {
    mpl_shown a, b;
    char digits[MPL_UINT256_TEXT];
    moonplan_text who = mpl_show_address(&a, spender), token = mpl_show_address(&b, of);
    moonplan_text shown = decimal(digits, amount);
    remember(run, scene, 't', owner, of, spender, amount, increase);
    if (mpl_is_unlimited(amount))
        MPL_FIND_IN(run, scene, ALLOWANCE_UNLIMITED,
                    "%t may take all there is, now and later, of the token %t: %t", &who, &token,
                    &shown);
    else if (!mpl_uint256_is_zero(amount))
        MPL_FIND_IN(run, scene, ALLOWANCE_GRANTED,
                    increase ? "%t may take %t units more of the token %t"
                             : "%t may take %t units of the token %t (or that one item, if it is "
                               "a collection)",
                    &who, &shown, &token);
    else if (!increase)
        MPL_FIND_IN(run, scene, ALLOWANCE_REVOKED,
                    "revokes: %t may take nothing more of the token %t", &who, &token);
}

static void collection(mpl_review_run *run, const mpl_scene *scene, const uint8_t *owner,
                       const uint8_t *operator, bool granted, const char *what) {
    mpl_shown a, b;
    moonplan_text who = mpl_show_address(&a, operator), of = mpl_show_address(&b, scene->to);
    remember(run, scene, 'a', owner, scene->to, operator, mpl_uint256_of(granted), false);
    if (granted)
        MPL_FIND_IN(run, scene, ALLOWANCE_FOR_ALL, "%t may move %s of %t, now and later", &who,
                    what, &of);
    else
        MPL_FIND_IN(run, scene, ALLOWANCE_REVOKED, "revokes: %t may no more move %s of %t", &who,
                    what, &of);
}

static void inside_permit2(mpl_review_run *run, const mpl_scene *scene, const uint8_t *owner,
                           const moonplan_abi_value *token, const uint8_t *spender,
                           mpl_uint256 amount, mpl_uint256 expiration,
                           const mpl_uint256 *deadline) {
    mpl_shown a, b;
    char digits[MPL_UINT256_TEXT], until[MPL_TIME_TEXT], last[MPL_TIME_TEXT];
    moonplan_text who = mpl_show_address(&a, spender), of = mpl_show_address(&b, token->bytes);
    moonplan_text shown = decimal(digits, amount),
                  lives = {until, mpl_time_text(until, expiration)};
    remember(run, scene, '2', owner, token->bytes, spender, amount, false);
    if (mpl_uint256_is_zero(amount)) {
        MPL_FIND_IN(run, scene, ALLOWANCE_REVOKED,
                    "revokes: through Permit2 %t may take nothing more of the token %t", &who, &of);
        return;
    }
    if (mpl_is_unlimited(amount))
        MPL_FIND_IN(run, scene, ALLOWANCE_UNLIMITED,
                    "through Permit2 %t may take all there is of the token %t: %t", &who, &of,
                    &shown);
    if (deadline) {
        moonplan_text by = {last, mpl_time_text(last, *deadline)};
        MPL_FIND_IN(run, scene, PERMIT2_ALLOWANCE,
                    "through Permit2 %t may take %t units of the token %t; the allowance "
                    "expires (expiration): %t; the signature for it expires (sigDeadline): %t",
                    &who, &shown, &of, &lives, &by);
    } else if (mpl_uint256_is_zero(expiration)) {
        MPL_FIND_IN(run, scene, PERMIT2_ALLOWANCE,
                    "through Permit2 %t may take %t units of the token %t; the allowance "
                    "lives in this block only (expiration 0)",
                    &who, &shown, &of);
    } else {
        MPL_FIND_IN(run, scene, PERMIT2_ALLOWANCE,
                    "through Permit2 %t may take %t units of the token %t; the allowance "
                    "expires (expiration): %t",
                    &who, &shown, &of, &lives);
    }
    if (mpl_is_far(expiration, run->context->now))
        MPL_FIND_IN(run, scene, PERMIT2_LONG_LIVED,
                    "the allowance of %t inside Permit2 expires: %t", &who, &lives);
}

/* -- Signatures ----------------------------------------------------------------*/

static void spends(mpl_review_run *run, const mpl_scene *scene, mpl_uint256 deadline) {
    char until[MPL_TIME_TEXT];
    moonplan_text last = {until, mpl_time_text(until, deadline)};
    if (doing(run, scene)) run->facts.signatures++;
    MPL_FIND_IN(run, scene, SIGNATURE_SPENT,
                "uses a signature made earlier (it expires: %t); what was signed is not in the "
                "plan, and the plan's digest says nothing about it",
                &last);
}

static void spends_some(mpl_review_run *run, const mpl_scene *scene, const char *what) {
    if (doing(run, scene)) run->facts.signatures++;
    MPL_FIND_IN(run, scene, SIGNATURE_SPENT,
                "%s made earlier; what was signed is not in the plan, and the plan's digest says "
                "nothing about it",
                what);
}

/* A signature behind which stands the caller's own allowance for the contract that is called. */
static void permits_itself(mpl_review_run *run, const mpl_scene *scene, const uint8_t *token,
                           mpl_uint256 amount, mpl_uint256 deadline) {
    static const uint8_t nobody[20] = {0};
    tokens(run, scene, scene->caller, token, scene->runs ? scene->runs : nobody, amount, false);
    spends(run, scene, deadline);
}

bool mpl_review_signature_name(moonplan_text name) {
    static const char *const ends[] = {"signature", "signatures", "sig", "sigs"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t length = strlen(ends[i]), at = 0;
        if (name.length < length) continue;
        const char *end = name.bytes + name.length - length;
        while (at < length && (end[at] | 0x20) == ends[i][at]) at++;
        if (at == length) return true;
    }
    return false;
}

/* uint8, bytes32, bytes32 side by side are v, r and s; bytes are one if their name, or that of the
 * array of them, says so. */
static bool looks_signed(const moonplan_abi_value *value, moonplan_text name) {
    const moonplan_abi_type *type = value->type;
    if (type->base == MOONPLAN_ABI_BYTES)
        return value->length > 0 && mpl_review_signature_name(name);
    bool tuple = type->base == MOONPLAN_ABI_TUPLE;
    for (uint32_t i = 0; tuple && i + 2 < type->size; i++) {
        const moonplan_abi_type *v = &type->items[i];
        if (v->base == MOONPLAN_ABI_UINT && v->size == 8 && v[1].base == MOONPLAN_ABI_BYTES_N &&
            v[1].size == 32 && v[2].base == MOONPLAN_ABI_BYTES_N && v[2].size == 32)
            return true;
    }
    for (size_t i = 0; i < value->count; i++)
        if (looks_signed(&value->items[i], tuple ? type->items[i].name : name)) return true;
    return false;
}

void mpl_review_signed(mpl_review_run *run, const mpl_scene *scene,
                       const moonplan_abi_value *arguments) {
    if (looks_signed(arguments, arguments->type->name))
        spends_some(run, scene, "takes what looks like a signature, and uses one that was");
}

/* Safe, signatures: 65 bytes each, the last one 1 where the owner is the caller or has approved the
 * hash in a call, and has signed nothing. */
#define SAFE_SIGNATURE 65

static bool safe_signed(const moonplan_abi_value *signatures) {
    size_t at = SAFE_SIGNATURE;
    for (; at <= signatures->length; at += SAFE_SIGNATURE)
        if (signatures->bytes[at - 1] != 1) return true;
    return at - SAFE_SIGNATURE != signatures->length;
}

/* -- Transfers -----------------------------------------------------------------*/

static void transfer(mpl_review_run *run, const mpl_scene *scene, const uint8_t *token,
                     const uint8_t *to) {
    if (doing(run, scene)) run->facts.transfers++;
    if (is_zero(to))
        MPL_FIND_IN(run, scene, TARGET_ZERO_ADDRESS,
                    "tokens go to the zero address: burnt, or refused by the token");
    else if (same_address(to, token))
        MPL_FIND_IN(run, scene, TARGET_TOKEN,
                    "tokens go to the contract of the token itself, which can rarely give them "
                    "back");
}

/* -- What a known function does ------------------------------------------------*/

static mpl_uint256 number(const moonplan_abi_value *value) {
    return mpl_uint256_read(value->bytes);
}

void mpl_review_permit2(mpl_review_run *run, const mpl_scene *scene, const uint8_t *owner,
                        const moonplan_abi_value *permit, bool batch) {
    const moonplan_abi_value *details = &permit->items[0];
    mpl_uint256 deadline = number(&permit->items[2]);
    size_t count = batch ? details->count : 1;
    for (size_t i = 0; i < count; i++) {
        const moonplan_abi_value *one = batch ? &details->items[i] : details;
        inside_permit2(run, scene, owner, &one->items[0], permit->items[1].bytes,
                       number(&one->items[1]), number(&one->items[2]), &deadline);
    }
    spends(run, scene, deadline);
}

/* What is done by a signature that the calldata has in it. */
static void by_signature(mpl_review_run *run, const mpl_scene *scene, const mpl_known *row,
                         const moonplan_abi_value *with) {
    mpl_uint256 all = mpl_uint256_negate(mpl_uint256_of(1));
    switch (row->act) {
    case MPL_ACT_AUTHORIZED:
        transfer(run, scene, scene->to, with[1].bytes);
        spends(run, scene, number(&with[4]));
        break;
    case MPL_ACT_SIGNED:
        if (row->list >= 0)
            spends(run, scene, number(&with[row->list]));
        else
            spends_some(run, scene, "uses a signature");
        break;
    case MPL_ACT_SAFE:
        if (safe_signed(&with[9])) spends_some(run, scene, "uses signatures of the Safe's owners");
        break;
    case MPL_ACT_SELF_PERMIT:
        permits_itself(run, scene, with[0].bytes, number(&with[1]), number(&with[2]));
        break;
    case MPL_ACT_SELF_PERMIT_DAI:
        permits_itself(run, scene, with[0].bytes, all, number(&with[2]));
        break;
    case MPL_ACT_PERMIT_PAIR:
        permits_itself(run, scene, NULL,
                       with[row->data].bytes[31] ? all : number(&with[row->value]),
                       number(&with[row->list]));
        break;
    case MPL_ACT_PERMIT_ITEM: {
        mpl_shown a, b;
        char digits[MPL_UINT256_TEXT];
        moonplan_text who = mpl_show_address(&a, with[0].bytes);
        moonplan_text of = mpl_show_address(&b, scene->to);
        moonplan_text item = decimal(digits, number(&with[1]));
        if (doing(run, scene)) run->facts.grants++;
        MPL_FIND_IN(run, scene, ALLOWANCE_GRANTED, "%t may move the item %t of %t", &who, &item,
                    &of);
        spends(run, scene, number(&with[2]));
        break;
    }
    case MPL_ACT_PERMIT_FOR_ALL:
        collection(run, scene, with[0].bytes, with[1].bytes, with[2].bytes[31] != 0, "everything");
        spends(run, scene, number(&with[3]));
        break;
    default:
        break;
    }
}

void mpl_review_act(mpl_review_run *run, const mpl_scene *scene, const mpl_known *row,
                    const moonplan_abi_value *arguments) {
    const moonplan_abi_value *with = arguments->items;
    mpl_uint256 zero = mpl_uint256_of(0);
    switch (row->act) {
    case MPL_ACT_APPROVE:
    case MPL_ACT_APPROVE_CALL:
        tokens(run, scene, scene->caller, scene->to, with[0].bytes, number(&with[1]), false);
        break;
    case MPL_ACT_INCREASE:
        tokens(run, scene, scene->caller, scene->to, with[0].bytes, number(&with[1]), true);
        break;
    case MPL_ACT_DECREASE: {
        mpl_shown shown;
        moonplan_text who = mpl_show_address(&shown, with[0].bytes);
        if (doing(run, scene)) run->facts.revokes++;
        MPL_FIND_IN(run, scene, ALLOWANCE_REVOKED, "lowers what %t may take", &who);
        break;
    }
    case MPL_ACT_FOR_ALL:
        collection(run, scene, scene->caller, with[0].bytes, with[1].bytes[31] != 0, "everything");
        break;
    case MPL_ACT_OPERATOR:
    case MPL_ACT_REVOKE_OPERATOR:
        collection(run, scene, scene->caller, with[0].bytes, row->act == MPL_ACT_OPERATOR,
                   "every token");
        break;
    case MPL_ACT_TRANSFER:
        transfer(run, scene, scene->to, with[0].bytes);
        break;
    case MPL_ACT_TRANSFER_FROM:
        transfer(run, scene, scene->to, with[1].bytes);
        break;
    case MPL_ACT_PERMIT:
        tokens(run, scene, with[0].bytes, scene->to, with[1].bytes, number(&with[2]), false);
        spends(run, scene, number(&with[3]));
        break;
    case MPL_ACT_PERMIT_DAI: {
        mpl_uint256 all = mpl_uint256_negate(mpl_uint256_of(1));
        tokens(run, scene, with[0].bytes, scene->to, with[1].bytes, with[4].bytes[31] ? all : zero,
               false);
        spends(run, scene, number(&with[3]));
        break;
    }
    case MPL_ACT_PERMIT2_APPROVE:
        inside_permit2(run, scene, scene->caller, &with[0], with[1].bytes, number(&with[2]),
                       number(&with[3]), NULL);
        break;
    case MPL_ACT_PERMIT2_PERMIT:
    case MPL_ACT_PERMIT2_BATCH:
        mpl_review_permit2(run, scene, with[0].bytes, &with[1], row->act == MPL_ACT_PERMIT2_BATCH);
        break;
    case MPL_ACT_PERMIT2_LOCKDOWN:
        for (size_t i = 0; i < with[0].count; i++) {
            const moonplan_abi_value *pair = with[0].items[i].items;
            inside_permit2(run, scene, scene->caller, &pair[0], pair[1].bytes, zero, zero, NULL);
        }
        break;
    case MPL_ACT_PERMIT2_TRANSFER:
        if (doing(run, scene)) run->facts.transfers++;
        spends(run, scene, number(&with[0].items[2]));
        break;
    case MPL_ACT_PERMIT2_MOVE:
        transfer(run, scene, with[3].bytes, with[1].bytes);
        break;
    case MPL_ACT_PERMIT2_MOVES:
        for (size_t i = 0; i < with[0].count; i++) {
            const moonplan_abi_value *one = with[0].items[i].items;
            transfer(run, scene, one[3].bytes, one[1].bytes);
        }
        break;
    default:
        by_signature(run, scene, row, with);
        break;
    }
}

/* -- Labels --------------------------------------------------------------------*/

#define FIND_LABEL(run, step, code, ...)                                                           \
    MPL_FIND(&(run)->findings, MOONPLAN_FINDING_##code, step, ((moonplan_text){NULL, 0}), at,      \
             __VA_ARGS__)

void mpl_review_label(mpl_review_run *run, size_t step, moonplan_text kind) {
    const mpl_facts *did = &run->facts;
    mpl_pointer pointer = {0};
    mpl_pointer_name(&pointer, (moonplan_text){"ordered_steps", 13});
    mpl_pointer_index(&pointer, step - 1);
    mpl_pointer_name(&pointer, (moonplan_text){"kind", 4});
    char at[sizeof pointer.bytes];
    memcpy(at, pointer.bytes, pointer.length);
    at[pointer.length] = 0;
    if (mpl_text_is(kind, "allowance_cleanup")) {
        if (did->grants)
            FIND_LABEL(run, step, LABEL_CONTRADICTED,
                       "labelled allowance_cleanup, and the calldata grants an allowance");
        else if (did->transfers)
            FIND_LABEL(run, step, LABEL_CONTRADICTED,
                       "labelled allowance_cleanup, and the step moves tokens or native currency");
        else if (!did->revokes && !did->unclear)
            FIND_LABEL(run, step, LABEL_CONTRADICTED,
                       "labelled allowance_cleanup, and the calldata takes no allowance back");
        else if (!did->revokes)
            FIND_LABEL(run, step, LABEL_UNCONFIRMED,
                       "labelled allowance_cleanup; what is decoded takes no allowance back");
    } else if (mpl_text_is(kind, "approval")) {
        if (did->transfers)
            FIND_LABEL(run, step, LABEL_CONTRADICTED,
                       "labelled approval, and the step moves tokens or native currency");
        else if (!did->grants && !did->revokes && !did->unclear)
            FIND_LABEL(run, step, LABEL_CONTRADICTED,
                       "labelled approval, and the calldata changes no allowance");
        else if (!did->grants && !did->revokes)
            FIND_LABEL(run, step, LABEL_UNCONFIRMED,
                       "labelled approval; what is decoded changes no allowance");
    } else if (did->grants && !mpl_text_is(kind, "signature_dependent_execution")) {
        FIND_LABEL(run, step, LABEL_SILENT,
                   "grants an allowance, and is labelled %t instead of approval", &kind);
    }
    if (mpl_text_is(kind, "signature_dependent_execution") && !did->signatures)
        FIND_LABEL(run, step, SIGNATURE_SPENT,
                   "says that it uses a signature made earlier; what was signed is not in the "
                   "plan, and the plan's digest says nothing about it");
}

/* -- All allowances together -----------------------------------------------------*/

static int order(const mpl_allowance *a, const mpl_allowance *b) {
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    int by = memcmp(a->owner, b->owner, 20);
    if (!by) by = memcmp(a->token, b->token, 20);
    if (!by) by = memcmp(a->spender, b->spender, 20);
    if (by) return by;
    return (a->order > b->order) - (a->order < b->order);
}

static bool same_allowance(const mpl_allowance *a, const mpl_allowance *b) {
    return a->kind == b->kind && memcmp(a->owner, b->owner, 20) == 0 &&
           memcmp(a->token, b->token, 20) == 0 && memcmp(a->spender, b->spender, 20) == 0;
}

static void sift(mpl_allowance *heap, size_t root, size_t end) {
    for (size_t child; (child = 2 * root + 1) < end; root = child) {
        if (child + 1 < end && order(&heap[child], &heap[child + 1]) < 0) child++;
        if (order(&heap[root], &heap[child]) >= 0) return;
        mpl_allowance swap = heap[root];
        heap[root] = heap[child];
        heap[child] = swap;
    }
}

/* Heapsort: attackers choose the addresses, and no choice of theirs makes it slow. */
static void sort(mpl_allowance *all, size_t count) {
    for (size_t i = count / 2; i-- > 0;) sift(all, i, count);
    for (size_t end = count; end-- > 1;) {
        mpl_allowance swap = all[0];
        all[0] = all[end];
        all[end] = swap;
        sift(all, 0, end);
    }
}

#define FIND_ALLOWANCE(run, one, code, ...)                                                        \
    do {                                                                                           \
        char at_[64];                                                                              \
        mpl_transaction_pointer(at_, (one)->step);                                                 \
        MPL_FIND(&(run)->findings, MOONPLAN_FINDING_##code, (one)->step,                           \
                 ((moonplan_text){NULL, 0}), at_, __VA_ARGS__);                                    \
    } while (0)

/* One allowance through the plan: `count` changes of it, in order. */
static void follow(mpl_review_run *run, const mpl_allowance *changes, size_t count) {
    mpl_shown a, b;
    const mpl_allowance *first = &changes[0], *last = &changes[count - 1], *grant = NULL;
    moonplan_text who = mpl_show_address(&a, first->spender);
    moonplan_text token = mpl_show_address(&b, first->token);
    const char *picky = first->kind == 't' ? mpl_zero_first(run->chain_id, first->token) : NULL;
    bool told = false;
    for (size_t i = 0; i < count; i++) {
        const mpl_allowance *now = &changes[i];
        bool zero = mpl_uint256_is_zero(now->amount);
        if (!zero && !now->increase && grant && first->kind == 't')
            FIND_ALLOWANCE(run, now, ALLOWANCE_NONZERO_TO_NONZERO,
                           "changes what %t may take of %t, granted in step %u, without zero in "
                           "between: it may use both",
                           &who, &token, (uint64_t)grant->step);
        else if (!zero && !now->increase && picky && i == 0)
            FIND_ALLOWANCE(run, now, ALLOWANCE_ZERO_FIRST,
                           "%s needs the allowance set to zero first if %t has one already; else "
                           "this step reverts",
                           picky, &who);
        if (zero && grant && grant->step != now->step && !run->atomic && !told) {
            told = true;
            FIND_ALLOWANCE(run, now, ALLOWANCE_NOT_ATOMIC,
                           "takes back what step %u granted; without atomic_batch the plan may "
                           "stop in between, and the allowance stays",
                           (uint64_t)grant->step);
        }
        grant = zero ? NULL : now;
    }
    if (grant && last->step < run->steps)
        FIND_ALLOWANCE(run, last, ALLOWANCE_LEFT,
                       "no later step takes back what %t may take of %t; whatever the steps do "
                       "not use stays behind",
                       &who, &token);
}

void mpl_review_allowances(mpl_review_run *run) {
    mpl_allowance *all = (mpl_allowance *)(void *)run->allowances.bytes;
    size_t count = run->allowances.length / sizeof *all;
    if (run->allowances.failed || count == 0) return;
    sort(all, count);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && same_allowance(&all[i], &all[end]);) end++;
        follow(run, &all[i], end - i);
    }
}
