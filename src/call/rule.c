#include "rule.h"

#include <string.h>

#include "../core/text.h"

bool mpl_rule_quantity(moonplan_text text) {
    return text.bytes && mpl_decimal(text) && mpl_decimal_fits_256(text);
}

bool mpl_rule_address(moonplan_text text) {
    return text.bytes && text.length == 42 && mpl_hex_scan(text) != MPL_HEX_NO;
}

bool mpl_rule_kind(moonplan_text text) {
    return mpl_text_is(text, "execution") || mpl_text_is(text, "approval") ||
           mpl_text_is(text, "allowance_cleanup") ||
           mpl_text_is(text, "signature_dependent_execution") || mpl_text_is(text, "other");
}

moonplan_text mpl_rule_caip2_of(char out[MPL_CAIP2_TEXT], moonplan_text chain_id) {
    size_t prefix = sizeof MPL_EIP155 - 1;
    memcpy(out, MPL_EIP155, prefix);
    memcpy(out + prefix, chain_id.bytes, chain_id.length);
    return (moonplan_text){out, prefix + chain_id.length};
}

bool mpl_rule_caip2(moonplan_text text, moonplan_text chain_id) {
    size_t prefix = sizeof MPL_EIP155 - 1;
    return text.length == prefix + chain_id.length && memcmp(text.bytes, MPL_EIP155, prefix) == 0 &&
           memcmp(text.bytes + prefix, chain_id.bytes, chain_id.length) == 0;
}

bool mpl_rule_capability_name(moonplan_text name) {
    for (size_t i = 0; i < name.length; i++)
        if (name.bytes[i] < 0x21 || name.bytes[i] > 0x7e) return false;
    return name.length >= 1 && name.length <= MPL_CAPABILITY_MOST;
}

bool mpl_rule_implemented(const moonplan_options *options, moonplan_text name) {
    for (size_t i = 0; i < options->implements_count; i++)
        if (mpl_text_equal(options->implements[i], name)) return true;
    return false;
}

bool mpl_rule_action(moonplan_text text, bool may_retry) {
    return mpl_text_is(text, "reprepare_plan") || mpl_text_is(text, "user_review") ||
           (may_retry && mpl_text_is(text, "retry_same_plan"));
}

bool mpl_rule_instruction(moonplan_text text) {
    /* A character is one byte at least. */
    if (text.length >= 1 && text.length <= MPL_INSTRUCTION_MOST) return true;
    size_t count = mpl_utf8_count(text);
    return count >= 1 && count <= MPL_INSTRUCTION_MOST;
}
