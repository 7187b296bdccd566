/* Call plans of the sizes in which wallets meet them, many of a kind and no two the same: a reader
 * that sees one small document again and again is flattered, for the processor learns its branches
 * by heart. The same in every run. */
#ifndef MOONPLAN_BENCH_DOCUMENTS_H
#define MOONPLAN_BENCH_DOCUMENTS_H

#include <stddef.h>

/* Readers of others may look at so many bytes behind a document. */
#define DOCUMENT_PADDING 64

typedef struct documents {
    const char *kind, *what;
    size_t count;
    size_t bytes; /* of them all */
    struct document {
        char *text;
        size_t length;
    } * list;
} documents;

/* tiny, swap, mid, wide, heavy; or pretty, which is swap with white space as people like it. */
documents documents_new(const char *kind);
void documents_free(documents *set);

#endif
