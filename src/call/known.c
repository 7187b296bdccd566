#include "known.h"

#include <string.h>

#include "../core/text.h"

#define ROW(signature, source, act)                                                                \
    { signature, source, MPL_ACT_##act, MPL_INNER_NONE, -1, -1, -1, -1 }
#define SIGNED(signature, source, deadline)                                                        \
    { signature, source, MPL_ACT_SIGNED, MPL_INNER_NONE, deadline, -1, -1, -1 }
/* Uniswap V2: the deadline of the permit, the amount of liquidity, and whether it is for all. */
#define PAIR(signature, deadline, amount, all)                                                     \
    { signature, ROUTER, MPL_ACT_PERMIT_PAIR, MPL_INNER_NONE, deadline, -1, amount, all }
#define SELF(signature, source, list)                                                              \
    { signature, source, MPL_ACT_OTHER, MPL_INNER_SELF, list, -1, -1, -1 }
#define INNER(signature, source, inner, list, to, value, data)                                     \
    { signature, source, MPL_ACT_OTHER, MPL_INNER_##inner, list, to, value, data }

#define EIP20     "ERC-20"
#define OZ        "OpenZeppelin Contracts 4, ERC20"
#define PERMIT2   "Uniswap Permit2"
#define ROUTER    "Uniswap V2, IUniswapV2Router02"
#define V3        "Uniswap V3, IMulticall"
#define V3B       "Uniswap SwapRouter02, IMulticallExtended"
#define MULTI3    "Multicall3"
#define SAFE      "Safe"
#define ACCOUNT6  "ERC-4337 SimpleAccount 0.6"
#define ACCOUNT7  "ERC-4337 SimpleAccount 0.7"
#define ACCOUNT8  "ERC-4337 SimpleAccount 0.8"
#define UNIVERSAL "Uniswap UniversalRouter"
#define EIP3009   "ERC-3009"
#define USDC      "Circle FiatToken 2.2"
#define SELFPERM  "Uniswap V3, ISelfPermit"
#define POSITION3 "Uniswap V3, IERC721Permit"
#define POSITION4 "Uniswap V4, ERC721Permit_v4"

#define DETAILS "(address token, uint160 amount, uint48 expiration, uint48 nonce)"
#define VRS     "uint8 v, bytes32 r, bytes32 s)"
#define AUTHORIZED                                                                                 \
    "(address from, address to, uint256 value, uint256 validAfter, "                               \
    "uint256 validBefore, bytes32 nonce, "
#define PERMITTED "uint256 nonce, uint256 deadline) permit, "
#define REQUESTED "(address to, uint256 requestedAmount)"
#define WITNESS   "address owner, bytes32 witness, string witnessTypeString, bytes signature)"
#define REMOVED                                                                                    \
    "(address token, uint256 liquidity, uint256 amountTokenMin, "                                  \
    "uint256 amountETHMin, address to, uint256 deadline"
#define MOVED "(address from, address to, uint160 amount, address token)"

/* Only what a review says something about, or what it must see through. The selectors are computed
 * from the signatures, never written down. */
static const mpl_known rows[] = {
    ROW("transfer(address to, uint256 amount)", EIP20, TRANSFER),
    ROW("transferFrom(address from, address to, uint256 amount)", EIP20, TRANSFER_FROM),
    ROW("approve(address spender, uint256 amount)", EIP20, APPROVE),
    ROW("increaseAllowance(address spender, uint256 addedValue)", OZ, INCREASE),
    ROW("decreaseAllowance(address spender, uint256 subtractedValue)", OZ, DECREASE),
    ROW("permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, "
        "bytes32 r, bytes32 s)",
        "ERC-2612", PERMIT),
    ROW("permit(address holder, address spender, uint256 nonce, uint256 expiry, bool allowed, "
        "uint8 v, bytes32 r, bytes32 s)",
        "Dai", PERMIT_DAI),
    ROW("permit(address owner, address spender, uint256 value, uint256 deadline, "
        "bytes signature)",
        USDC, PERMIT),
    ROW("transferWithAuthorization" AUTHORIZED VRS, EIP3009, AUTHORIZED),
    ROW("receiveWithAuthorization" AUTHORIZED VRS, EIP3009, AUTHORIZED),
    SIGNED("cancelAuthorization(address authorizer, bytes32 nonce, " VRS, EIP3009, -1),
    ROW("transferWithAuthorization" AUTHORIZED "bytes signature)", USDC, AUTHORIZED),
    ROW("receiveWithAuthorization" AUTHORIZED "bytes signature)", USDC, AUTHORIZED),
    SIGNED("cancelAuthorization(address authorizer, bytes32 nonce, bytes signature)", USDC, -1),
    SIGNED("delegateBySig(address delegatee, uint256 nonce, uint256 expiry, " VRS, "ERC-5805", 2),
    ROW("permit(address spender, uint256 tokenId, uint256 deadline, " VRS, POSITION3, PERMIT_ITEM),
    ROW("permit(address spender, uint256 tokenId, uint256 deadline, bytes sig)", "ERC-4494",
        PERMIT_ITEM),
    ROW("permit(address spender, uint256 tokenId, uint256 deadline, uint256 nonce, "
        "bytes signature)",
        POSITION4, PERMIT_ITEM),
    ROW("permitForAll(address owner, address operator, bool approved, uint256 deadline, "
        "uint256 nonce, bytes signature)",
        POSITION4, PERMIT_FOR_ALL),
    ROW("selfPermit(address token, uint256 value, uint256 deadline, " VRS, SELFPERM, SELF_PERMIT),
    ROW("selfPermitIfNecessary(address token, uint256 value, uint256 deadline, " VRS, SELFPERM,
        SELF_PERMIT_IF),
    ROW("selfPermitAllowed(address token, uint256 nonce, uint256 expiry, " VRS, SELFPERM,
        SELF_PERMIT_DAI),
    ROW("selfPermitAllowedIfNecessary(address token, uint256 nonce, uint256 expiry, " VRS, SELFPERM,
        SELF_PERMIT_DAI),
    ROW("approveAndCall(address spender, uint256 value)", "ERC-1363", APPROVE_CALL),
    ROW("approveAndCall(address spender, uint256 value, bytes data)", "ERC-1363", APPROVE_CALL),
    ROW("setApprovalForAll(address operator, bool approved)", "ERC-721, ERC-1155", FOR_ALL),
    ROW("safeTransferFrom(address from, address to, uint256 tokenId)", "ERC-721", TRANSFER_FROM),
    ROW("safeTransferFrom(address from, address to, uint256 tokenId, bytes data)", "ERC-721",
        TRANSFER_FROM),
    ROW("safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes data)",
        "ERC-1155", TRANSFER_FROM),
    ROW("safeBatchTransferFrom(address from, address to, uint256[] ids, uint256[] values, "
        "bytes data)",
        "ERC-1155", TRANSFER_FROM),
    ROW("authorizeOperator(address operator)", "ERC-777", OPERATOR),
    ROW("revokeOperator(address operator)", "ERC-777", REVOKE_OPERATOR),
    ROW("approve(address token, address spender, uint160 amount, uint48 expiration)", PERMIT2,
        PERMIT2_APPROVE),
    ROW("permit(address owner, (" DETAILS " details, address spender, uint256 sigDeadline) "
        "permitSingle, bytes signature)",
        PERMIT2, PERMIT2_PERMIT),
    ROW("permit(address owner, (" DETAILS "[] details, address spender, uint256 sigDeadline) "
        "permitBatch, bytes signature)",
        PERMIT2, PERMIT2_BATCH),
    ROW("lockdown((address token, address spender)[] approvals)", PERMIT2, PERMIT2_LOCKDOWN),
    ROW("permitTransferFrom(((address token, uint256 amount) permitted, uint256 nonce, "
        "uint256 deadline) permit, (address to, uint256 requestedAmount) transferDetails, "
        "address owner, bytes signature)",
        PERMIT2, PERMIT2_TRANSFER),
    ROW("permitTransferFrom(((address token, uint256 amount)[] permitted, uint256 nonce, "
        "uint256 deadline) permit, (address to, uint256 requestedAmount)[] transferDetails, "
        "address owner, bytes signature)",
        PERMIT2, PERMIT2_TRANSFER),
    ROW("permitWitnessTransferFrom(((address token, uint256 amount) permitted, " PERMITTED REQUESTED
        " transferDetails, " WITNESS,
        PERMIT2, PERMIT2_TRANSFER),
    ROW("permitWitnessTransferFrom(((address token, uint256 amount)[] permitted, " PERMITTED
            REQUESTED "[] transferDetails, " WITNESS,
        PERMIT2, PERMIT2_TRANSFER),
    ROW("transferFrom(address from, address to, uint160 amount, address token)", PERMIT2,
        PERMIT2_MOVE),
    ROW("transferFrom(" MOVED "[] transferDetails)", PERMIT2, PERMIT2_MOVES),
    ROW("invalidateNonces(address token, address spender, uint48 newNonce)", PERMIT2, OTHER),
    ROW("invalidateUnorderedNonces(uint256 wordPos, uint256 mask)", PERMIT2, OTHER),
    ROW("deposit()", "WETH9", OTHER),
    ROW("withdraw(uint256 amount)", "WETH9", OTHER),
    ROW("swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, address[] path, "
        "address to, uint256 deadline)",
        ROUTER, OTHER),
    ROW("swapTokensForExactTokens(uint256 amountOut, uint256 amountInMax, address[] path, "
        "address to, uint256 deadline)",
        ROUTER, OTHER),
    ROW("swapExactETHForTokens(uint256 amountOutMin, address[] path, address to, "
        "uint256 deadline)",
        ROUTER, OTHER),
    ROW("swapTokensForExactETH(uint256 amountOut, uint256 amountInMax, address[] path, "
        "address to, uint256 deadline)",
        ROUTER, OTHER),
    ROW("swapExactTokensForETH(uint256 amountIn, uint256 amountOutMin, address[] path, "
        "address to, uint256 deadline)",
        ROUTER, OTHER),
    ROW("swapETHForExactTokens(uint256 amountOut, address[] path, address to, "
        "uint256 deadline)",
        ROUTER, OTHER),
    ROW("swapExactTokensForTokensSupportingFeeOnTransferTokens(uint256 amountIn, "
        "uint256 amountOutMin, address[] path, address to, uint256 deadline)",
        ROUTER, OTHER),
    ROW("swapExactETHForTokensSupportingFeeOnTransferTokens(uint256 amountOutMin, address[] path, "
        "address to, uint256 deadline)",
        ROUTER, OTHER),
    ROW("swapExactTokensForETHSupportingFeeOnTransferTokens(uint256 amountIn, "
        "uint256 amountOutMin, address[] path, address to, uint256 deadline)",
        ROUTER, OTHER),
    ROW("addLiquidity(address tokenA, address tokenB, uint256 amountADesired, "
        "uint256 amountBDesired, uint256 amountAMin, uint256 amountBMin, address to, "
        "uint256 deadline)",
        ROUTER, OTHER),
    ROW("addLiquidityETH(address token, uint256 amountTokenDesired, uint256 amountTokenMin, "
        "uint256 amountETHMin, address to, uint256 deadline)",
        ROUTER, OTHER),
    ROW("removeLiquidity(address tokenA, address tokenB, uint256 liquidity, uint256 amountAMin, "
        "uint256 amountBMin, address to, uint256 deadline)",
        ROUTER, OTHER),
    ROW("removeLiquidityETH" REMOVED ")", ROUTER, OTHER),
    ROW("removeLiquidityETHSupportingFeeOnTransferTokens" REMOVED ")", ROUTER, OTHER),
    PAIR("removeLiquidityWithPermit(address tokenA, address tokenB, uint256 liquidity, "
         "uint256 amountAMin, uint256 amountBMin, address to, uint256 deadline, bool "
         "approveMax, " VRS,
         6, 2, 7),
    PAIR("removeLiquidityETHWithPermit" REMOVED ", bool approveMax, " VRS, 5, 1, 6),
    PAIR("removeLiquidityETHWithPermitSupportingFeeOnTransferTokens" REMOVED
         ", bool approveMax, " VRS,
         5, 1, 6),
    SELF("multicall(bytes[] data)", V3, 0),
    SELF("multicall(uint256 deadline, bytes[] data)", V3B, 1),
    SELF("multicall(bytes32 previousBlockhash, bytes[] data)", V3B, 1),
    INNER("aggregate((address target, bytes callData)[] calls)", MULTI3, TUPLES, 0, 0, -1, 1),
    INNER("tryAggregate(bool requireSuccess, (address target, bytes callData)[] calls)", MULTI3,
          TUPLES, 1, 0, -1, 1),
    INNER("blockAndAggregate((address target, bytes callData)[] calls)", MULTI3, TUPLES, 0, 0, -1,
          1),
    INNER("tryBlockAndAggregate(bool requireSuccess, (address target, bytes callData)[] calls)",
          MULTI3, TUPLES, 1, 0, -1, 1),
    INNER("aggregate3((address target, bool allowFailure, bytes callData)[] calls)", MULTI3, TUPLES,
          0, 0, -1, 2),
    INNER("aggregate3Value((address target, bool allowFailure, uint256 value, bytes callData)[] "
          "calls)",
          MULTI3, TUPLES, 0, 0, 2, 3),
    INNER("multiSend(bytes transactions)", SAFE, PACKED, -1, -1, -1, 0),
    {"execTransaction(address to, uint256 value, bytes data, uint8 operation, "
     "uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, "
     "address refundReceiver, bytes signatures)",
     SAFE, MPL_ACT_SAFE, MPL_INNER_ONE, 3, 0, 1, 2},
    INNER("execute(address dest, uint256 value, bytes func)", ACCOUNT7, ONE, -1, 0, 1, 2),
    INNER("executeBatch(address[] dest, bytes[] func)", ACCOUNT6, PARALLEL, -1, 0, -1, 1),
    INNER("executeBatch(address[] dest, uint256[] value, bytes[] func)", ACCOUNT7, PARALLEL, -1, 0,
          1, 2),
    INNER("executeBatch((address target, uint256 value, bytes data)[] calls)", ACCOUNT8, TUPLES, 0,
          0, 1, 2),
    INNER("execute(bytes32 mode, bytes executionData)", "ERC-7579, ERC-7821", MODE, 0, -1, -1, 1),
    INNER("execute(bytes commands, bytes[] inputs, uint256 deadline)", UNIVERSAL, COMMANDS, 0, -1,
          -1, 1),
    INNER("execute(bytes commands, bytes[] inputs)", UNIVERSAL, COMMANDS, 0, -1, -1, 1),
};

#define ROWS (sizeof rows / sizeof *rows)

#define PERMIT_OF(details)                                                                         \
    "((" details " details, address spender, uint256 sigDeadline) permit, bytes signature)"

static const char *const layouts[MPL_LAYOUTS] = {
    [MPL_LAYOUT_BATCH] = "((address target, uint256 value, bytes data)[] calls)",
    [MPL_LAYOUT_BATCH_WITH] = "((address target, uint256 value, bytes data)[] calls, bytes opData)",
    [MPL_LAYOUT_BATCHES] = "(bytes[] batches)",
    [MPL_LAYOUT_PERMIT] = PERMIT_OF(DETAILS),
    [MPL_LAYOUT_PERMITS] = PERMIT_OF(DETAILS "[]"),
    [MPL_LAYOUT_HEAD] = "((" DETAILS " details, address spender, uint256 sigDeadline) permit)",
    [MPL_LAYOUT_MOVE] = "(address token, address recipient, uint160 amount)",
    [MPL_LAYOUT_MOVES] = "(" MOVED "[] transfers)",
    [MPL_LAYOUT_COMMANDS] = "(bytes commands, bytes[] inputs)"};

moonplan_abi *mpl_known_abi(const moonplan_options *options, moonplan_error *err) {
    mpl_alloc alloc = mpl_alloc_of(options);
    mpl_buffer lines;
    moonplan_abi *abi = NULL;
    mpl_buffer_open(&lines, &alloc);
    for (size_t i = 0; i < ROWS; i++) {
        mpl_buffer_add(&lines, rows[i].signature, strlen(rows[i].signature));
        mpl_buffer_byte(&lines, '\n');
    }
    for (size_t i = 0; i < MPL_LAYOUTS; i++) {
        mpl_buffer_add(&lines, layouts[i], strlen(layouts[i]));
        mpl_buffer_byte(&lines, '\n');
    }
    if (lines.failed)
        mpl_error_memory(err);
    else
        abi = mpl_abi_own(lines.bytes, lines.length, options, err);
    mpl_buffer_close(&lines);
    return abi;
}

const mpl_known *mpl_known_row(const moonplan_abi *known, const moonplan_abi_entry *entry) {
    return &rows[entry - moonplan_abi_at(known, 0)];
}

const moonplan_abi_type *mpl_known_layout(const moonplan_abi *known, mpl_layout layout) {
    return &moonplan_abi_at(known, ROWS + layout)->inputs;
}

/* Deployed at one address by its creation code; the two that run other code than the EVM's have one
 * of their own (Uniswap, deployments: ZKsync; Abstract). */
const uint8_t *mpl_permit2(moonplan_text chain_id) {
    static const uint8_t everywhere[20] = {0x00, 0x00, 0x00, 0x00, 0x00, 0x22, 0xd4,
                                           0x73, 0x03, 0x0f, 0x11, 0x6d, 0xde, 0xe9,
                                           0xf6, 0xb4, 0x3a, 0xc7, 0x8b, 0xa3};
    static const uint8_t eravm[20] = {0x00, 0x00, 0x00, 0x00, 0x00, 0x22, 0x5e, 0x31, 0xd1, 0x59,
                                      0x43, 0x97, 0x1f, 0x47, 0xad, 0x30, 0x22, 0xf7, 0x14, 0xfa};
    bool other = mpl_text_is(chain_id, "324") || mpl_text_is(chain_id, "2741");
    return other ? eravm : everywhere;
}

/* Their approve() fails unless the old allowance or the new one is zero. */
static const struct {
    const char *chain_id, *token, *name;
} zero_first[] = {
    {"1", "dac17f958d2ee523a2206206994597c13d831ec7", "Tether USD (USDT)"},     /* TetherToken */
    {"1", "d533a949740bb3306d119cc777fa900ba034cd52", "Curve DAO Token (CRV)"}, /* ERC20CRV.vy */
};

const char *mpl_zero_first(moonplan_text chain_id, const uint8_t token[20]) {
    char digits[40];
    mpl_hex_encode(digits, token, 20);
    for (size_t i = 0; i < sizeof zero_first / sizeof *zero_first; i++)
        if (mpl_text_is(chain_id, zero_first[i].chain_id) &&
            memcmp(digits, zero_first[i].token, sizeof digits) == 0)
            return zero_first[i].name;
    return NULL;
}
