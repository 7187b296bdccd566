#include <simdjson.h>

#include "peers.h"

bool simdjson_reads(const char *text, size_t length) {
    static simdjson::dom::parser parser;
    simdjson::dom::element element;
    return parser.parse(text, length, false).get(element) == simdjson::SUCCESS;
}

const char *simdjson_kernel(void) {
    static const std::string name = simdjson::get_active_implementation()->name();
    return name.c_str();
}
