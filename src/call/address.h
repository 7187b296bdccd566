/* Internet addresses: reading their one strict spelling, and telling which are public unicast. */
#ifndef MPL_CALL_ADDRESS_H
#define MPL_CALL_ADDRESS_H

#include "../moonplan.h"

/* Why an address is not public unicast ("a loopback address"), or NULL when it is. Judged by the
 * special-purpose registries of IANA (RFC 6890) and, for IPv6, by what is allocated for global
 * unicast at all (2000::/3). Every form that carries an IPv4 address inside an IPv6 one is refused
 * whatever it carries: who translates it, and where to, cannot be known here. The price: on a
 * network that reaches IPv4 through NAT64 alone, hosts without an IPv6 address are out of reach. */
const char *mpl_address_special(const moonplan_address *address);
static inline bool mpl_address_is_public(const moonplan_address *address) {
    return mpl_address_special(address) == NULL;
}

/* 127.0.0.0/8 (RFC 1122, section 3.2.1.3) or ::1 (RFC 4291, section 2.5.3). */
bool mpl_address_is_loopback(const moonplan_address *address);

/* Four decimal numbers without leading zeros (RFC 3986, IPv4address). */
bool mpl_address_read_ipv4(moonplan_address *out, moonplan_text text);
/* The forms of RFC 4291, section 2.2, without a zone. */
bool mpl_address_read_ipv6(moonplan_address *out, moonplan_text text);

/* The one text of an address (RFC 5952), without brackets. Returns its length. */
size_t mpl_address_write(char out[MOONPLAN_ADDRESS_TEXT], const moonplan_address *address);

#endif
