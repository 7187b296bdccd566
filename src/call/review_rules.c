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

const char *mpl_review_doubt(const mpl_scene *scene) {
    if (scene->delegate) return " (in the account's own storage, which no token looks at)";
    return scene->optional ? " (unless that fails, and the step goes on)" : "";
}

/* An allowance as a call changes it. */
typedef struct grant {
    uint8_t kind;
    mpl_change change;
    const uint8_t *keeper, *owner, *token, *spender; /* all but spender NULL: not known */
    mpl_uint256 amount;
    bool item; /* the same function lets one item of a collection be moved */
    /* By a contract in between, which has to do what its function's name says. It is taken at its
     * word where it grants, and not where it takes back. */
    bool relayed;
    bool doubtful; /* nothing shows that the keeper keeps allowances */
} grant;

static void remember(mpl_review_run *run, const mpl_scene *scene, const grant *g) {
    bool zero = mpl_uint256_is_zero(g->amount);
    if (!doing(run, scene)) return;
    if (zero && g->change != MPL_SETS) return; /* changes nothing */
    bool back = zero || g->change == MPL_LOWERS;
    /* The code of a delegate call changes what the account keeps, and not what the token does. */
    if (back && (g->relayed || scene->optional || scene->delegate)) {
        run->facts.unclear = true;
        return;
    }
    if (!back)
        run->facts.grants++;
    else if (g->doubtful)
        run->facts.unclear = true;
    else
        run->facts.revokes++;
    /* Without knowing whose allowance on what it is, nothing can be said about several of them. */
    if (!g->keeper || !g->owner || !g->token) return;
    mpl_allowance allowance = {.kind = g->kind,
                               .change = (uint8_t)g->change,
                               .order = (uint32_t)(run->allowances.length / sizeof allowance),
                               .step = (uint32_t)scene->step,
                               .amount = g->amount};
    memcpy(allowance.keeper, g->keeper, 20);
    memcpy(allowance.owner, g->owner, 20);
    memcpy(allowance.token, g->token, 20);
    memcpy(allowance.spender, g->spender, 20);
    mpl_buffer_add(&run->allowances, &allowance, sizeof allowance);
    if (run->allowances.failed) run->no_memory = true;
}

/* Amount 0: taken back, if the function sets the allowance; else nothing happens. */
static void tokens_back(mpl_review_run *run, const mpl_scene *scene, const grant *g,
                        moonplan_text who, moonplan_text token) {
    if (g->change != MPL_SETS) return;
    if (g->relayed)
        MPL_FIND_IN(run, scene, ALLOWANCE_REVOKED,
                    "asks for an allowance of 0: %t may take nothing more of the token %t, if the "
                    "contract that is called passes that on",
                    &who, &token);
    else if (g->item)
        MPL_FIND_IN(run, scene, ALLOWANCE_REVOKED,
                    "revokes: %t may take nothing more of the token %t; but if that is a "
                    "collection, this lets %t move its item 0, and takes nothing back",
                    &who, &token, &who);
    else
        MPL_FIND_IN(run, scene, ALLOWANCE_REVOKED,
                    "revokes: %t may take nothing more of the token %t", &who, &token);
}

static void tokens(mpl_review_run *run, const mpl_scene *scene, grant g) {
    mpl_shown a, b;
    char digits[MPL_UINT256_TEXT];
    moonplan_text who = mpl_show_address(&a, g.spender), token = mpl_show_address(&b, g.token);
    moonplan_text shown = decimal(digits, g.amount);
    g.kind = 't';
    g.keeper = g.token;
    /* ERC-721: approve(0, item) takes back that somebody may move it. */
    bool nobody = g.item && is_zero(g.spender) && !mpl_uint256_is_zero(g.amount);
    g.item = g.item && !is_zero(g.spender);
    if (!nobody)
        remember(run, scene, &g);
    else
        run->facts.unclear = true;
    if (mpl_uint256_is_zero(g.amount))
        tokens_back(run, scene, &g, who, token);
    else if (g.change == MPL_LOWERS)
        MPL_FIND_IN(run, scene, ALLOWANCE_REVOKED,
                    "lowers what %t may take of the token %t, by %t units", &who, &token, &shown);
    else if (mpl_is_unlimited(g.amount))
        MPL_FIND_IN(run, scene, ALLOWANCE_UNLIMITED,
                    "%t may take all there is, now and later, of the token %t: %t", &who, &token,
                    &shown);
    else if (nobody)
        MPL_FIND_IN(run, scene, ALLOWANCE_REVOKED,
                    "nobody may move the item %t of %t any more, if that is a collection; a token "
                    "lets the zero address take %t units",
                    &shown, &token, &shown);
    else
        MPL_FIND_IN(run, scene, ALLOWANCE_GRANTED,
                    g.change == MPL_ADDS ? "%t may take %t units more of the token %t"
                    : g.item             ? "%t may take %t units of the token %t (or that one "
                                           "item, if it is a collection)"
                                         : "%t may take %t units of the token %t",
                    &who, &shown, &token);
}

static void collection(mpl_review_run *run, const mpl_scene *scene, const uint8_t *owner,
                       const uint8_t *operator, bool granted, const char *what) {
    mpl_shown a, b;
    moonplan_text who = mpl_show_address(&a, operator), of = mpl_show_address(&b, scene->to);
    grant g = {.kind = 'a',
               .keeper = scene->to,
               .owner = owner,
               .token = scene->to,
               .spender = operator,
               .amount = mpl_uint256_of(granted)};
    remember(run, scene, &g);
    if (granted)
        MPL_FIND_IN(run, scene, ALLOWANCE_FOR_ALL, "%t may move %s of %t, now and later", &who,
                    what, &of);
    else
        MPL_FIND_IN(run, scene, ALLOWANCE_REVOKED, "revokes: %t may no more move %s of %t", &who,
                    what, &of);
}

/* An allowance inside Permit2. */
typedef struct inside {
    const uint8_t *owner, *token, *spender;
    mpl_uint256 amount, expiration;
    const mpl_uint256 *deadline; /* of the signature; NULL: there is none */
    bool relayed;
} inside;

#define NOT_PERMIT2 " (which is not the address of Permit2)"

/* "Permit2", or the contract that is called instead of it. */
static moonplan_text keeper_text(char out[42 + sizeof NOT_PERMIT2], const uint8_t *keeper,
                                 bool doubtful) {
    mpl_shown shown;
    if (!doubtful) return (moonplan_text){"Permit2", 7};
    memcpy(out, mpl_show_address(&shown, keeper).bytes, 42);
    memcpy(out + 42, NOT_PERMIT2, sizeof NOT_PERMIT2);
    return (moonplan_text){out, 41 + sizeof NOT_PERMIT2};
}

static void inside_permit2(mpl_review_run *run, const mpl_scene *scene, inside in) {
    mpl_shown a, b;
    char digits[MPL_UINT256_TEXT], until[MPL_TIME_TEXT], last[MPL_TIME_TEXT];
    char name[42 + sizeof NOT_PERMIT2];
    moonplan_text who = mpl_show_address(&a, in.spender), of = mpl_show_address(&b, in.token);
    moonplan_text shown = decimal(digits, in.amount),
                  lives = {until, mpl_time_text(until, in.expiration)};
    const uint8_t *real = mpl_permit2(run->chain_id);
    grant g = {.kind = '2',
               .keeper = in.relayed ? real : scene->to,
               .owner = in.owner,
               .token = in.token,
               .spender = in.spender,
               .amount = in.amount,
               .relayed = in.relayed};
    g.doubtful = g.keeper && !same_address(g.keeper, real);
    moonplan_text keeper = keeper_text(name, g.keeper, g.doubtful);
    remember(run, scene, &g);
    if (mpl_uint256_is_zero(in.amount)) {
        MPL_FIND_IN(run, scene, ALLOWANCE_REVOKED,
                    in.relayed ? "asks for an allowance of 0: through %t %t may take nothing more "
                                 "of the token %t, if the router passes that on"
                               : "revokes: through %t %t may take nothing more of the token %t",
                    &keeper, &who, &of);
        return;
    }
    if (mpl_is_unlimited(in.amount))
        MPL_FIND_IN(run, scene, ALLOWANCE_UNLIMITED,
                    "through %t %t may take all there is of the token %t: %t", &keeper, &who, &of,
                    &shown);
    if (in.deadline) {
        moonplan_text by = {last, mpl_time_text(last, *in.deadline)};
        MPL_FIND_IN(run, scene, PERMIT2_ALLOWANCE,
                    "through %t %t may take %t units of the token %t; the allowance expires "
                    "(expiration): %t; the signature for it expires (sigDeadline): %t",
                    &keeper, &who, &shown, &of, &lives, &by);
    } else if (mpl_uint256_is_zero(in.expiration)) {
        MPL_FIND_IN(run, scene, PERMIT2_ALLOWANCE,
                    "through %t %t may take %t units of the token %t; the allowance lives in this "
                    "block only (expiration 0)",
                    &keeper, &who, &shown, &of);
    } else {
        MPL_FIND_IN(run, scene, PERMIT2_ALLOWANCE,
                    "through %t %t may take %t units of the token %t; the allowance expires "
                    "(expiration): %t",
                    &keeper, &who, &shown, &of, &lives);
    }
    if (mpl_is_far(in.expiration, run->context->now))
        MPL_FIND_IN(run, scene, PERMIT2_LONG_LIVED, "the allowance of %t inside %t expires: %t",
                    &who, &keeper, &lives);
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
    grant g = {.owner = scene->caller,
               .token = token,
               .spender = scene->runs ? scene->runs : nobody,
               .amount = amount,
               .relayed = true};
    tokens(run, scene, g);
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

void mpl_review_transfer(mpl_review_run *run, const mpl_scene *scene, const uint8_t *token,
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

void mpl_review_moves(mpl_review_run *run, const mpl_scene *scene, const moonplan_abi_value *list) {
    for (size_t i = 0; i < list->count; i++) {
        const moonplan_abi_value *one = list->items[i].items;
        mpl_review_transfer(run, scene, one[3].bytes, one[1].bytes);
    }
}

/* -- What a known function does ------------------------------------------------*/

static mpl_uint256 number(const moonplan_abi_value *value) {
    return mpl_uint256_read(value->bytes);
}

void mpl_review_permit2(mpl_review_run *run, const mpl_scene *scene, const uint8_t *owner,
                        const moonplan_abi_value *permit, bool batch, bool relayed) {
    const moonplan_abi_value *details = &permit->items[0];
    mpl_uint256 deadline = number(&permit->items[2]);
    size_t count = batch ? details->count : 1;
    for (size_t i = 0; i < count; i++) {
        const moonplan_abi_value *one = batch ? &details->items[i] : details;
        inside in = {.owner = owner,
                     .token = one->items[0].bytes,
                     .spender = permit->items[1].bytes,
                     .amount = number(&one->items[1]),
                     .expiration = number(&one->items[2]),
                     .deadline = &deadline,
                     .relayed = relayed};
        inside_permit2(run, scene, in);
    }
    spends(run, scene, deadline);
}

/* What is done by a signature that the calldata has in it. */
static void by_signature(mpl_review_run *run, const mpl_scene *scene, const mpl_known *row,
                         const moonplan_abi_value *with) {
    mpl_uint256 all = mpl_uint256_negate(mpl_uint256_of(1));
    switch (row->act) {
    case MPL_ACT_AUTHORIZED:
        mpl_review_transfer(run, scene, scene->to, with[1].bytes);
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
    case MPL_ACT_SELF_PERMIT_IF:
        /* Of nothing there is always as much. */
        if (mpl_uint256_is_zero(number(&with[1]))) {
            spends(run, scene, number(&with[2]));
            break;
        }
        permits_itself(run, scene, with[0].bytes, number(&with[1]), number(&with[2]));
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
    case MPL_ACT_INCREASE:
    case MPL_ACT_DECREASE: {
        grant g = {.owner = scene->caller,
                   .token = scene->to,
                   .spender = with[0].bytes,
                   .amount = number(&with[1]),
                   .change = row->act == MPL_ACT_INCREASE   ? MPL_ADDS
                             : row->act == MPL_ACT_DECREASE ? MPL_LOWERS
                                                            : MPL_SETS,
                   /* Those of that table are tokens. */
                   .item = row->act == MPL_ACT_APPROVE &&
                           !(scene->to && mpl_zero_first(run->chain_id, scene->to))};
        tokens(run, scene, g);
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
        mpl_review_transfer(run, scene, scene->to, with[0].bytes);
        break;
    case MPL_ACT_TRANSFER_FROM:
        mpl_review_transfer(run, scene, scene->to, with[1].bytes);
        break;
    case MPL_ACT_PERMIT:
    case MPL_ACT_PERMIT_DAI: {
        mpl_uint256 all = mpl_uint256_negate(mpl_uint256_of(1));
        grant g = {.owner = with[0].bytes,
                   .token = scene->to,
                   .spender = with[1].bytes,
                   .amount = row->act == MPL_ACT_PERMIT ? number(&with[2])
                             : with[4].bytes[31]        ? all
                                                        : zero};
        tokens(run, scene, g);
        spends(run, scene, number(&with[3]));
        break;
    }
    case MPL_ACT_PERMIT2_APPROVE: {
        inside in = {.owner = scene->caller,
                     .token = with[0].bytes,
                     .spender = with[1].bytes,
                     .amount = number(&with[2]),
                     .expiration = number(&with[3])};
        inside_permit2(run, scene, in);
        break;
    }
    case MPL_ACT_PERMIT2_PERMIT:
    case MPL_ACT_PERMIT2_BATCH:
        mpl_review_permit2(run, scene, with[0].bytes, &with[1], row->act == MPL_ACT_PERMIT2_BATCH,
                           false);
        break;
    case MPL_ACT_PERMIT2_LOCKDOWN:
        for (size_t i = 0; i < with[0].count; i++) {
            const moonplan_abi_value *pair = with[0].items[i].items;
            inside in = {.owner = scene->caller, .token = pair[0].bytes, .spender = pair[1].bytes};
            inside_permit2(run, scene, in);
        }
        break;
    case MPL_ACT_PERMIT2_TRANSFER:
        if (doing(run, scene)) run->facts.transfers++;
        spends(run, scene, number(&with[0].items[2]));
        break;
    case MPL_ACT_PERMIT2_MOVE:
        mpl_review_transfer(run, scene, with[3].bytes, with[1].bytes);
        break;
    case MPL_ACT_PERMIT2_MOVES:
        mpl_review_moves(run, scene, &with[0]);
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
    char at[MPL_STEP_POINTER];
    mpl_step_pointer(at, step, "kind");
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
