/* Functions and errors as the entries of a JSON ABI. */
#include <string.h>

#include "abi.h"

static void add_parameters(mpl_builder *builder, const moonplan_abi_type *tuple);

/* One parameter. A tuple is called so in a JSON ABI, and its components stand beside. */
static void add_parameter(mpl_builder *builder, const moonplan_abi_type *type) {
    const moonplan_abi_type *inner = type;
    while (inner->base == MOONPLAN_ABI_ARRAY || inner->base == MOONPLAN_ABI_ARRAY_N)
        inner = inner->items;
    mpl_build_object(builder);
    mpl_build_name(builder, MOONPLAN_TEXT("name"));
    mpl_build_string(builder, type->name.bytes ? type->name : MOONPLAN_TEXT(""));
    mpl_build_name(builder, MOONPLAN_TEXT("type"));
    if (inner->base == MOONPLAN_ABI_TUPLE) {
        char name[MPL_ABI_DEPTH * 12 + 8] = "tuple";
        size_t length = 5, brackets = type->text.length - inner->text.length;
        memcpy(name + length, type->text.bytes + inner->text.length, brackets);
        mpl_build_string(builder, (moonplan_text){name, length + brackets});
        mpl_build_name(builder, MOONPLAN_TEXT("components"));
        add_parameters(builder, inner);
    } else {
        mpl_build_string(builder, type->text);
    }
    mpl_build_end(builder);
}

static void add_parameters(mpl_builder *builder, const moonplan_abi_type *tuple) {
    mpl_build_array(builder);
    for (uint32_t i = 0; i < tuple->size; i++) add_parameter(builder, &tuple->items[i]);
    mpl_build_end(builder);
}

void mpl_abi_build_entry(mpl_builder *builder, const moonplan_abi_entry *entry) {
    bool error = entry->kind == MOONPLAN_ABI_ERROR;
    mpl_build_object(builder);
    mpl_build_name(builder, MOONPLAN_TEXT("type"));
    mpl_build_string(builder, error ? MOONPLAN_TEXT("error") : MOONPLAN_TEXT("function"));
    mpl_build_name(builder, MOONPLAN_TEXT("name"));
    mpl_build_string(builder, entry->name);
    mpl_build_name(builder, MOONPLAN_TEXT("inputs"));
    add_parameters(builder, &entry->inputs);
    if (!error) {
        mpl_build_name(builder, MOONPLAN_TEXT("outputs"));
        add_parameters(builder, &entry->outputs);
    }
    mpl_build_end(builder);
}
