#include "../core/keccak.h"
#include "../core/scratch.h"
#include "../core/text_run.h"
#include "canonical.h"
#include "scan.h"

void moonplan_call_plan_digest(const moonplan_call_plan *plan, uint8_t out[32]) {
    mpl_keccak_absorb *absorb = mpl_keccak_kind_at(0)->absorb;
    uint64_t lanes[25] = {0};
    mpl_blocks blocks;
    mpl_blocks_open(&blocks, plan);
    do {
        mpl_blocks_next(&blocks);
        absorb(lanes, blocks.from, blocks.length / MPL_KECCAK_RATE);
    } while (!blocks.ended);
    mpl_keccak_squeeze(out, lanes, 1);
}

bool moonplan_digest(uint8_t out[32], const char *text, size_t length,
                     const moonplan_options *options, moonplan_error *err) {
    moonplan_options own = mpl_options_of(options);
    own.enforce_capabilities = false;
    own.borrow = true;
    /* The plan is gone when this returns, so it needs no memory of the host's unless it is large;
     * faults are the host's to keep. */
    mpl_scratch scratch;
    mpl_scratch_open(&scratch, &own);
    own.alloc = mpl_scratch_alloc;
    own.alloc_data = &scratch;
    moonplan_document *left;
    mpl_text_soon(text, length);
    moonplan_call_plan *plan = mpl_call_scan(&left, text, length, &own);
    if (plan) {
        if (own.errors) *own.errors = NULL;
    } else {
        moonplan_document_free(left);
        own.alloc = scratch.host.call;
        own.alloc_data = scratch.host.data;
        plan = mpl_call_plan_collect(NULL, text, length, &own, err);
    }
    if (!plan) return false;
    moonplan_call_plan_digest(plan, out);
    moonplan_call_plan_free(plan);
    return true;
}
