/* The checksum in the case of an address's letters (ERC-55). */
#ifndef MPL_CALL_EIP55_H
#define MPL_CALL_EIP55_H

#include "../moonplan.h"

typedef enum mpl_eip55 {
    MPL_EIP55_NONE, /* all letters in one case: no checksum in it */
    MPL_EIP55_RIGHT,
    MPL_EIP55_WRONG
} mpl_eip55;

/* The text must be 0x and 40 hexadecimal digits. */
mpl_eip55 mpl_eip55_check(moonplan_text address);

#endif
