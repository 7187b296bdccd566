/* The rules of ERC-8410 for single values of a plan, which both of its readers go by. */
#ifndef MPL_CALL_RULE_H
#define MPL_CALL_RULE_H

#include "../moonplan.h"

/* Execution Plan: 1 to 2000 characters of instruction. */
#define MPL_INSTRUCTION_MOST 2000
/* Required Capabilities: 1 to 64 printable ASCII characters, none of them a space. */
#define MPL_CAPABILITY_MOST 64
/* Execution Plan: no more steps, whatever the limit `steps` says. */
#define MPL_STEPS_MOST 4096
/* CAIP-2: the namespace of chains of EIP-155, and the characters of a reference behind it. */
#define MPL_EIP155     "eip155:"
#define MPL_CAIP2_MOST 32
/* Room for a chain's name, with a NUL. */
#define MPL_CAIP2_TEXT (sizeof MPL_EIP155 + MPL_CAIP2_MOST)

/* MPL_EIP155 and a chain of MPL_CAIP2_MOST digits at most. */
moonplan_text mpl_rule_caip2_of(char out[MPL_CAIP2_TEXT], moonplan_text chain_id);

/* A canonical decimal below 2^256. */
bool mpl_rule_quantity(moonplan_text text);
/* 0x and 40 hexadecimal digits, of either case. */
bool mpl_rule_address(moonplan_text text);
bool mpl_rule_kind(moonplan_text text);
/* MPL_EIP155 and the plan's chain. */
bool mpl_rule_caip2(moonplan_text text, moonplan_text chain_id);
bool mpl_rule_capability_name(moonplan_text name);
/* The caller implements it. */
bool mpl_rule_implemented(const moonplan_options *options, moonplan_text name);
/* `may_retry`: retry_same_plan is allowed under rpc_error alone. */
bool mpl_rule_action(moonplan_text text, bool may_retry);
/* Valid UTF-8 of as many characters as an instruction may have. */
bool mpl_rule_instruction(moonplan_text text);

#endif
