#include <string.h>

#include "../core/sort.h"
#include "review.h"

/* By the contract that keeps it, the owner, the token and the spender; then in the plan's order. */
static int order_of(const mpl_allowance *a, const mpl_allowance *b) {
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    int by = memcmp(a->keeper, b->keeper, 20);
    if (!by) by = memcmp(a->owner, b->owner, 20);
    if (!by) by = memcmp(a->token, b->token, 20);
    if (!by) by = memcmp(a->spender, b->spender, 20);
    return by;
}

static bool before(const void *x, const void *y, const void *context) {
    (void)context;
    const mpl_allowance *a = x, *b = y;
    int by = order_of(a, b);
    return by ? by < 0 : a->order < b->order;
}

_Static_assert(sizeof(mpl_allowance) <= MPL_SORT_ITEM, "allowances can be sorted");

#define FIND_ALLOWANCE(run, one, code, ...)                                                        \
    do {                                                                                           \
        char at_[MPL_STEP_POINTER];                                                                \
        mpl_step_pointer(at_, (one)->step, "transaction");                                         \
        MPL_FIND(&(run)->findings, MOONPLAN_FINDING_##code, (one)->step,                           \
                 ((moonplan_text){NULL, 0}), at_, __VA_ARGS__);                                    \
    } while (0)

/* One allowance on its way through the plan. What it was before nobody knows; what is known is how
 * much of what the plan gave there can be left at most, as nothing but the plan gives more. */
typedef struct state {
    mpl_review_run *run;
    moonplan_text who, token;
    const char *picky;          /* the token's name, if it refuses one over another */
    const mpl_allowance *grant; /* the last one of which something may be left; NULL: nothing is */
    mpl_uint256 left;
    bool set;  /* before the current change: to an amount that the plan says */
    bool told; /* that it is not atomic, once is enough */
} state;

static void gone(state *s, const mpl_allowance *now) {
    if (s->grant && s->grant->step != now->step && !s->run->atomic && !s->told) {
        s->told = true;
        FIND_ALLOWANCE(s->run, now, ALLOWANCE_NOT_ATOMIC,
                       "takes back what step %u granted; without atomic_batch the plan may stop in "
                       "between, and the allowance stays",
                       (uint64_t)s->grant->step);
    }
    s->grant = NULL;
    s->left = mpl_uint256_of(0);
}

static void set(state *s, const mpl_allowance *now) {
    bool known = s->set;
    s->set = true;
    if (mpl_uint256_is_zero(now->amount)) {
        gone(s, now);
        return;
    }
    if (s->grant && now->kind != 'a')
        FIND_ALLOWANCE(s->run, now, ALLOWANCE_NONZERO_TO_NONZERO,
                       "changes what %t may take of %t%s, granted in step %u, without zero in "
                       "between: it may use both",
                       &s->who, &s->token, now->kind == '2' ? " through Permit2" : "",
                       (uint64_t)s->grant->step);
    else if (s->picky && !known)
        FIND_ALLOWANCE(s->run, now, ALLOWANCE_ZERO_FIRST,
                       "%s needs the allowance set to zero first if %t has one already; else this "
                       "step reverts",
                       s->picky, &s->who);
    s->grant = now;
    s->left = now->amount;
}

static void add(state *s, const mpl_allowance *now) {
    bool before = mpl_is_unlimited(s->left) || mpl_is_unlimited(now->amount);
    /* Tokens revert where the sum does not fit. */
    if (!mpl_uint256_add(&s->left, now->amount)) s->left = mpl_uint256_negate(mpl_uint256_of(1));
    if (!before && mpl_is_unlimited(s->left))
        FIND_ALLOWANCE(s->run, now, ALLOWANCE_UNLIMITED,
                       "together with what earlier steps granted, %t may take all there is, now "
                       "and later, of the token %t",
                       &s->who, &s->token);
    s->grant = now;
}

/* A token reverts (OpenZeppelin 4) or takes all there is (its first versions) where less is left
 * than it is lowered by: either way nothing of what the plan gave is, and if there was more before,
 * that is not the plan's. */
static void lower(state *s, const mpl_allowance *now) {
    if (!s->grant) return;
    if (mpl_uint256_order(now->amount, s->left) >= 0)
        gone(s, now);
    else
        mpl_uint256_subtract(&s->left, now->amount);
}

/* `count` changes of one allowance, in order. */
static void follow(mpl_review_run *run, const mpl_allowance *changes, size_t count) {
    mpl_shown a, b;
    state s = {.run = run,
               .who = mpl_show_address(&a, changes->spender),
               .token = mpl_show_address(&b, changes->token),
               .left = mpl_uint256_of(0)};
    if (changes->kind == 't') s.picky = mpl_zero_first(run->chain_id, changes->token);
    for (size_t i = 0; i < count; i++) {
        if (changes[i].change == MPL_ADDS)
            add(&s, &changes[i]);
        else if (changes[i].change == MPL_LOWERS)
            lower(&s, &changes[i]);
        else
            set(&s, &changes[i]);
    }
    if (s.grant && s.grant->step < run->steps)
        FIND_ALLOWANCE(run, s.grant, ALLOWANCE_LEFT,
                       "no later step takes back all that %t may take of %t; whatever the steps do "
                       "not use stays behind",
                       &s.who, &s.token);
}

void mpl_review_allowances(mpl_review_run *run) {
    mpl_allowance *all = (mpl_allowance *)(void *)run->allowances.bytes;
    size_t count = run->allowances.length / sizeof *all;
    if (run->allowances.failed || count == 0) return;
    mpl_sort(all, count, sizeof *all, before, NULL);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && order_of(&all[i], &all[end]) == 0;) end++;
        follow(run, &all[i], end - i);
    }
}
