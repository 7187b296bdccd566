#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/text.h"

/* A document that lies about itself is of no use to anybody here. */
static void give_up(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(EXIT_FAILURE);
}

bool record_next(record *out) {
    static char line[65536];
    static const moonplan_text implements[] = {{"atomic_batch", 12}};
    if (!fgets(line, sizeof line, stdin)) return false;
    size_t length = strlen(line);
    if (length == 0 || line[length - 1] != '\n') give_up("a record's line is too long");
    line[--length] = 0;
    out->line = line;
    out->length = length;
    for (size_t i = 0; i < length; i++)
        if (line[i] == ' ') line[i] = 0;
    moonplan_options_init(&out->options);
    out->options.implements = implements;
    out->options.implements_count = 1;
    for (const char *word = line; word < line + length; word += strlen(word) + 1) {
        if (strncmp(word, "limit:", 6) != 0) continue;
        const char *value = strchr(word, '=');
        char name[64] = "";
        if (!value || (size_t)(value - word - 6) >= sizeof name) give_up("no limit");
        memcpy(name, word + 6, (size_t)(value - word - 6));
        moonplan_error err;
        if (!moonplan_options_limit(&out->options, name, strtoull(value + 1, NULL, 10), &err))
            give_up(err.message);
    }
    const char *transports = record_word(out, "transports");
    if (transports) out->options.transports = (unsigned)strtoul(transports, NULL, 10);
    return true;
}

const char *record_word(const record *from, const char *name) {
    size_t length = strlen(name);
    for (const char *word = from->line; word < from->line + from->length;
         word += strlen(word) + 1) {
        if (strncmp(word, name, length) != 0) continue;
        if (word[length] == '=') return word + length + 1;
        if (word[length] == 0) return word + length;
    }
    return NULL;
}

moonplan_text record_bytes(const record *from, const char *name, char **bytes) {
    const char *word = record_word(from, name);
    free(*bytes);
    *bytes = NULL;
    if (!word) return (moonplan_text){NULL, 0};
    size_t length = strtoul(word, NULL, 10);
    /* Exactly as large, so that a sanitizer sees a read behind the end. */
    *bytes = malloc(length ? length : 1);
    if (!*bytes || fread(*bytes, 1, length, stdin) != length) give_up("a record is cut off");
    return (moonplan_text){*bytes, length};
}

void answer_text(mpl_builder *out, const char *name, moonplan_text text) {
    mpl_build_name(out, (moonplan_text){name, strlen(name)});
    mpl_build_string(out, text);
}

void answer_hex(mpl_builder *out, const char *name, const uint8_t *bytes, size_t length) {
    char text[2 + 2 * 64] = "0x";
    mpl_hex_encode(text + 2, bytes, length);
    answer_text(out, name, (moonplan_text){text, 2 + 2 * length});
}

static void answer_error(mpl_builder *out, const moonplan_error *err) {
    const char *code = moonplan_code_name(err->code);
    mpl_build_object(out);
    answer_text(out, "code", (moonplan_text){code, strlen(code)});
    answer_text(out, "at", (moonplan_text){err->at, err->at_length});
    answer_text(out, "message", (moonplan_text){err->message, strlen(err->message)});
    mpl_build_name(out, (moonplan_text){"offset", 6});
    mpl_build_integer(out, err->offset == MOONPLAN_NO_OFFSET ? -1 : (int64_t)err->offset);
    mpl_build_end(out);
}

void answer_errors(mpl_builder *out, moonplan_error_list *list, const moonplan_error *err) {
    mpl_build_name(out, (moonplan_text){"errors", 6});
    mpl_build_array(out);
    if (!list) answer_error(out, err);
    for (size_t i = 0; i < moonplan_error_list_count(list); i++)
        answer_error(out, moonplan_error_list_at(list, i));
    mpl_build_end(out);
    moonplan_error_list_free(list);
}

void answer_print(mpl_builder *out) {
    moonplan_error err;
    moonplan_document *document = mpl_build_finish(out, &err);
    if (!document) give_up(err.message);
    moonplan_text text = moonplan_value_source(moonplan_document_root(document));
    fwrite(text.bytes, 1, text.length, stdout);
    putchar('\n');
    moonplan_document_free(document);
}
