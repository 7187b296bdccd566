/* "there are: a, b, c, …": a few things for an error text. */
#ifndef MPL_CORE_LISTING_H
#define MPL_CORE_LISTING_H

#include "../moonplan.h"

typedef struct mpl_listing {
    char bytes[200];
    size_t length;
    bool full; /* "…" ends it; nothing more is taken */
} mpl_listing;

/* A name, untrusted: as it is where it is letters, digits and ._:-, else as the next. */
void mpl_listing_name(mpl_listing *list, moonplan_text name);
/* Untrusted text, quoted and made visible. */
void mpl_listing_string(mpl_listing *list, moonplan_text text);
/* A number's literal, cut where it is long. */
void mpl_listing_literal(mpl_listing *list, moonplan_text literal);
/* For %t. */
moonplan_text mpl_listing_text(const mpl_listing *list);

#endif
