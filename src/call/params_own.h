/* What the two halves of the parameters share: params_declare.c reads what a builder declares,
 * params.c what it is given. */
#ifndef MPL_CALL_PARAMS_OWN_H
#define MPL_CALL_PARAMS_OWN_H

#include "../core/amount.h"
#include "params.h"

typedef enum mpl_param_type {
    MPL_PARAM_CHAIN,
    MPL_PARAM_ADDRESS,
    MPL_PARAM_AMOUNT,
    MPL_PARAM_UINT256,
    MPL_PARAM_BYTES,
    MPL_PARAM_STRING,
    MPL_PARAM_NUMBER,
    MPL_PARAM_BOOLEAN,
    MPL_PARAM_OBJECT,
    MPL_PARAM_ARRAY,
    MPL_PARAM_TYPES
} mpl_param_type;

typedef struct mpl_param mpl_param;

typedef struct mpl_param_set {
    mpl_param *at;
    size_t count;
    bool open; /* nothing is declared, so that anything goes */
} mpl_param_set;

struct mpl_param {
    moonplan_text name;
    mpl_param_type type;
    bool required, integer, has_least, has_most;
    moonplan_value min, max;   /* of a number; MOONPLAN_NONE: no bound */
    mpl_uint256 least, most;   /* of a uint256 or amount */
    moonplan_value choices;    /* MOONPLAN_NONE: any */
    uint64_t max_length;       /* UINT64_MAX: any */
    int decimals;              /* MPL_DECIMALS_UNKNOWN: not said */
    moonplan_text decimals_of; /* the parameter that says them; {NULL, 0}: none */
    mpl_param *items;
    mpl_param_set fields;
};

struct mpl_params {
    mpl_alloc alloc;
    mpl_arena arena;
    mpl_param_set set;
};

/* "an address" */
extern const char *const mpl_param_whats[MPL_PARAM_TYPES];

#endif
