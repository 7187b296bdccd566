/* Reviewing a call plan: what its parts share. */
#ifndef MPL_CALL_REVIEW_H
#define MPL_CALL_REVIEW_H

#include "abi.h"
#include "finding.h"
#include "known.h"
#include "plan.h"

struct moonplan_review {
    mpl_alloc alloc;
    moonplan_document *document;
    mpl_findings findings;
};

/* What one step turned out to do, for judging its label. */
typedef struct mpl_facts {
    size_t grants, revokes, transfers, signatures;
    bool unclear; /* something in it is not decoded */
} mpl_facts;

/* How a call changes an allowance. Only one that sets it takes it back with an amount of zero. */
typedef enum mpl_change { MPL_SETS = 0, MPL_ADDS, MPL_LOWERS } mpl_change;

/* An allowance that is given, taken back or changed. */
typedef struct mpl_allowance {
    uint8_t kind;       /* 't': tokens, 'a': everything of a collection, '2': inside Permit2 */
    uint8_t change;     /* an mpl_change */
    uint8_t keeper[20]; /* the contract that keeps it: the token, or a Permit2 */
    uint8_t owner[20], token[20], spender[20];
    uint32_t order, step;
    mpl_uint256 amount;
} mpl_allowance;

typedef struct mpl_review_run {
    const moonplan_options *options;
    const moonplan_review_context *context;
    moonplan_text chain_id;
    mpl_alloc *alloc;
    mpl_arena arena; /* for one step at a time */
    moonplan_abi *known;
    /* `other` is for what only untrusted descriptions say, so that they use up nothing that is
     * needed to find what there is without them. */
    mpl_abi_budget budget, other;
    bool beside; /* in the other one */
    mpl_findings findings;
    mpl_builder builder;
    mpl_buffer allowances; /* mpl_allowance */
    uint8_t sender[20];
    bool has_sender, atomic;
    size_t steps;
    mpl_facts facts;
    bool no_memory;
} mpl_review_run;

/* A call on its way to be looked into. */
typedef struct mpl_scene {
    size_t step;
    moonplan_text id;           /* "2.1.3" */
    const char *at;             /* a pointer into the plan */
    const uint8_t *caller, *to; /* 20 bytes each; NULL: not known */
    const uint8_t *runs;        /* the account whose state the code changes; NULL: not known */
    mpl_uint256 value;
    unsigned depth;
    bool delegate;
    bool assumed;  /* bytes that look like a call; nothing says that they are one */
    bool optional; /* it may fail, and the step goes on */
} mpl_scene;

/* review_call.c: write the members that describe a call's data into the open object. */
void mpl_review_call(mpl_review_run *run, const mpl_scene *scene, const uint8_t *data,
                     size_t length);
bool mpl_review_open(mpl_review_run *run, mpl_alloc *alloc, const moonplan_options *options,
                     const moonplan_review_context *context, moonplan_error *err);
void mpl_review_close(mpl_review_run *run);

/* What a call is taken for. */
typedef struct mpl_meaning {
    const moonplan_abi_entry *entry;
    const mpl_known *row; /* NULL: not one of the table */
    const moonplan_abi_value *arguments;
} mpl_meaning;

/* review_call.c: work for what only an untrusted source says stands between the two. */
bool mpl_review_beside(mpl_review_run *run);
void mpl_review_back(mpl_review_run *run, bool begun);
/* Who describes a function: the table or a trusted source; only an untrusted one; nobody. */
typedef enum mpl_describer { MPL_NOBODY = 0, MPL_UNTRUSTED, MPL_DESCRIBED } mpl_describer;
mpl_describer mpl_review_described(const mpl_review_run *run, const uint8_t *selector);

/* review_inner.c: the calls inside a call, as the member `calls`, by everything that it may mean.
 */
void mpl_review_inner(mpl_review_run *run, const mpl_scene *scene, const mpl_meaning *meanings,
                      size_t count);

/* review_rules.c: findings on the target and value of a call, on what it does, and on a step as a
 * whole. */
void mpl_review_target(mpl_review_run *run, const mpl_scene *scene);
void mpl_review_act(mpl_review_run *run, const mpl_scene *scene, const mpl_known *row,
                    const moonplan_abi_value *arguments);
/* Permit2's PermitSingle or PermitBatch and a signature, for the owner's tokens. `relayed`: handed
 * to a router, which has to pass it on. */
void mpl_review_permit2(mpl_review_run *run, const mpl_scene *scene, const uint8_t *owner,
                        const moonplan_abi_value *permit, bool batch, bool relayed);
/* Tokens go to an address. */
void mpl_review_transfer(mpl_review_run *run, const mpl_scene *scene, const uint8_t *token,
                         const uint8_t *to);
/* The same for a list of Permit2's transfers: (from, to, amount, token). */
void mpl_review_moves(mpl_review_run *run, const mpl_scene *scene, const moonplan_abi_value *list);
/* Arguments that look like a signature, of a function that the table does not know. */
void mpl_review_signed(mpl_review_run *run, const mpl_scene *scene,
                       const moonplan_abi_value *arguments);
/* A parameter's name says that it is a signature. */
bool mpl_review_signature_name(moonplan_text name);
void mpl_review_label(mpl_review_run *run, size_t step, moonplan_text kind);

/* review_allowances.c: findings on all allowances together, through the whole plan. */
void mpl_review_allowances(mpl_review_run *run);

/* Why what a call takes back may not be taken back, for the end of a message; else "". */
const char *mpl_review_doubt(const mpl_scene *scene);

/* A finding in a scene. */
#define MPL_FIND_IN(run, scene, code, ...)                                                         \
    do {                                                                                           \
        mpl_findings *findings_ = &(run)->findings;                                                \
        if (mpl_findings_room(findings_, MOONPLAN_FINDING_##code, (scene)->step)) {                \
            mpl_error_set(&findings_->scratch, MOONPLAN_OK, MOONPLAN_NO_OFFSET, NULL,              \
                          __VA_ARGS__);                                                            \
            if (MOONPLAN_FINDING_##code == MOONPLAN_FINDING_ALLOWANCE_REVOKED)                     \
                mpl_findings_append(findings_, mpl_review_doubt(scene));                           \
            if ((scene)->assumed)                                                                  \
                mpl_findings_append(findings_, " (bytes in an argument, if they are called)");     \
            mpl_findings_add(findings_, MOONPLAN_FINDING_##code, (scene)->step, (scene)->id,       \
                             (scene)->at);                                                         \
        }                                                                                          \
    } while (0)

/* review.c: a finding where strings or names below a value have characters that do not show. */
void mpl_review_text(mpl_review_run *run, moonplan_value value, const char *what, size_t step);

/* review.c: the members `findings` and `counts`, once all are there. */
void mpl_review_build_findings(mpl_review_run *run);

/* 0x and 40 digits for messages, "an unknown address" for NULL. */
typedef struct mpl_shown {
    char bytes[42];
    moonplan_text text;
} mpl_shown;
moonplan_text mpl_show_address(mpl_shown *shown, const uint8_t *address);

/* An entry's signature for messages, or something shorter. */
moonplan_text mpl_called(const moonplan_abi_entry *entry);

/* A pointer to a member of a step, which is counted from 1. */
#define MPL_STEP_POINTER 64
void mpl_step_pointer(char out[MPL_STEP_POINTER], size_t step, const char *name);

/* Whether there are characters in it that do not show, but for ends of lines and tabs, or bytes
 * that are no characters. */
bool mpl_review_hides(moonplan_text text);

void mpl_member_number(mpl_builder *builder, const char *name, uint64_t number);
/* value and value_ether */
void mpl_member_value(mpl_builder *builder, mpl_uint256 value);

#endif
