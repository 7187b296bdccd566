/* Functions whose meaning a review knows. */
#ifndef MPL_CALL_KNOWN_H
#define MPL_CALL_KNOWN_H

#include "abi.h"

/* What a call does to the one who makes it. */
typedef enum mpl_act {
    MPL_ACT_OTHER = 0,
    MPL_ACT_APPROVE,          /* spender, amount */
    MPL_ACT_INCREASE,         /* spender, amount */
    MPL_ACT_DECREASE,         /* spender, amount */
    MPL_ACT_APPROVE_CALL,     /* spender, amount: an approval, then a call to the spender */
    MPL_ACT_FOR_ALL,          /* operator, truth */
    MPL_ACT_OPERATOR,         /* operator */
    MPL_ACT_REVOKE_OPERATOR,  /* operator */
    MPL_ACT_TRANSFER,         /* to, amount */
    MPL_ACT_TRANSFER_FROM,    /* from, to */
    MPL_ACT_PERMIT,           /* owner, spender, amount, deadline */
    MPL_ACT_PERMIT_DAI,       /* holder, spender, nonce, expiry, truth */
    MPL_ACT_PERMIT2_APPROVE,  /* token, spender, amount, expiration */
    MPL_ACT_PERMIT2_PERMIT,   /* owner, ((token, amount, expiration, nonce), spender, deadline) */
    MPL_ACT_PERMIT2_BATCH,    /* the same with a list of details */
    MPL_ACT_PERMIT2_LOCKDOWN, /* [(token, spender)] */
    MPL_ACT_PERMIT2_TRANSFER, /* ((token, amount), nonce, deadline) or ((..)[], ..) */
    MPL_ACT_PERMIT2_MOVE,     /* from, to, amount, token */
    MPL_ACT_PERMIT2_MOVES,    /* [(from, to, amount, token)] */
    MPL_ACT_PERMIT_ITEM,      /* spender, token id, deadline */
    MPL_ACT_PERMIT_FOR_ALL,   /* owner, operator, truth, deadline */
    MPL_ACT_PERMIT_PAIR,      /* `value`: amount, `data`: truth (all of it), `list`: deadline */
    MPL_ACT_SELF_PERMIT,      /* token, amount, deadline: for the contract that is called */
    MPL_ACT_SELF_PERMIT_IF,   /* the same, unless there is as much of an allowance already */
    MPL_ACT_SELF_PERMIT_DAI,  /* token, nonce, expiry: everything, for the same */
    MPL_ACT_AUTHORIZED,       /* from, to, amount, after, before: by a signature of from's */
    MPL_ACT_SIGNED,           /* by a signature; `list`: its deadline */
    MPL_ACT_SAFE              /* argument 9: signatures of owners */
} mpl_act;

/* Where the calls are that a call makes. */
typedef enum mpl_inner {
    MPL_INNER_NONE = 0,
    MPL_INNER_SELF,     /* argument `list`, bytes[]: the contract calls itself for its caller */
    MPL_INNER_TUPLES,   /* argument `list`, tuples; to, value and data are components */
    MPL_INNER_PARALLEL, /* to, value and data are arguments, each an array */
    MPL_INNER_ONE,      /* to, value and data are arguments; `list` tells the kind of call */
    MPL_INNER_PACKED,   /* argument `data`: Safe's multiSend encoding */
    MPL_INNER_MODE,     /* argument `list` is the mode, `data` what it asks for (ERC-7579) */
    MPL_INNER_COMMANDS  /* arguments `list`, bytes, and `data`, bytes[]: a router's commands */
} mpl_inner;

typedef struct mpl_known {
    const char *signature;
    const char *source; /* where it is defined */
    mpl_act act;
    mpl_inner inner;
    int8_t list, to, value, data; /* indexes; -1: there is none */
} mpl_known;

/* What stands in bytes that a known function takes. */
typedef enum mpl_layout {
    MPL_LAYOUT_BATCH,      /* (address target, uint256 value, bytes data)[] */
    MPL_LAYOUT_BATCH_WITH, /* the same, and bytes behind it */
    MPL_LAYOUT_BATCHES,    /* bytes[], each of them one of the two */
    MPL_LAYOUT_PERMIT,     /* Permit2: PermitSingle and its signature */
    MPL_LAYOUT_PERMITS,    /* Permit2: PermitBatch and its signature */
    MPL_LAYOUT_HEAD,       /* Permit2: PermitSingle, and no signature */
    MPL_LAYOUT_MOVE,       /* address token, address recipient, uint160 amount */
    MPL_LAYOUT_MOVES,      /* Permit2: (from, to, amount, token)[] */
    MPL_LAYOUT_COMMANDS,   /* bytes commands, bytes[] inputs */
    MPL_LAYOUTS
} mpl_layout;

/* The table as an ABI, entry by entry, and behind it the layouts. */
moonplan_abi *mpl_known_abi(const moonplan_options *options, moonplan_error *err);
/* The row of an entry of that ABI that stands for a function. */
const mpl_known *mpl_known_row(const moonplan_abi *known, const moonplan_abi_entry *entry);
const moonplan_abi_type *mpl_known_layout(const moonplan_abi *known, mpl_layout layout);

/* Where Permit2 stands on a chain: 20 bytes. */
const uint8_t *mpl_permit2(moonplan_text chain_id);

/* Tokens that refuse a new allowance while there is an old one. */
const char *mpl_zero_first(moonplan_text chain_id, const uint8_t token[20]);

#endif
