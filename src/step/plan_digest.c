/* The admission digest: what a plan is known by, to whoever asks whether it is the same one. */

#include "../core/build.h"
#include "../core/digest.h"
#include "plan.h"

static void add_step(mpl_builder *out, const moonplan_step *step) {
    mpl_build_object(out);
    mpl_build_text_if(out, "id", step->id);
    mpl_build_text_if(out, "capability", step->capability);
    mpl_build_text_if(out, "capabilityVersion", step->version);
    if (moonplan_value_type(step->input) != MOONPLAN_NONE) {
        mpl_build_name(out, MOONPLAN_TEXT("input"));
        mpl_build_value(out, step->input);
    }
    mpl_build_text_if(out, "reason", step->reason);
    mpl_build_text_if(out, "idempotencyKey", step->idempotency_key);
    mpl_build_end(out);
}

bool moonplan_step_plan_digest(const moonplan_step_plan *plan, char out[65]) {
    moonplan_options options;
    moonplan_options_init(&options);
    options.alloc = plan->alloc.call;
    options.alloc_data = plan->alloc.data;
    mpl_builder builder;
    mpl_build_open(&builder, &options);
    builder.max_depth = builder.max_values = UINT64_MAX;
    if (builder.error.code == MOONPLAN_OK) {
        mpl_build_object(&builder);
        mpl_build_text_if(&builder, "goal", plan->goal);
        mpl_build_text_if(&builder, "idempotencyKey", mpl_step_text(plan, plan->key));
        mpl_build_name(&builder, MOONPLAN_TEXT("steps"));
        mpl_build_array(&builder);
        for (size_t n = 0; n < plan->count; n++) {
            moonplan_step step;
            moonplan_step_plan_step(plan, &step, n);
            add_step(&builder, &step);
        }
        mpl_build_end(&builder);
        mpl_build_end(&builder);
    }
    moonplan_document *captured = mpl_build_finish(&builder, NULL);
    mpl_alloc alloc = plan->alloc;
    bool fine = captured && mpl_digest_value(out, moonplan_document_root(captured), &alloc);
    moonplan_document_free(captured);
    return fine;
}
