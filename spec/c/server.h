/* The misbehaving server of spec/support/fetch_server.py, in a folder of its own, and a network
 * with nothing else in it. */
#ifndef MOONPLAN_SPEC_SERVER_H
#define MOONPLAN_SPEC_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

typedef struct server {
    char folder[64];
    char ca_file[80];
    uint16_t secure, plain, old, internal; /* ports */
    int in, out;                           /* of ours */
    int child;
} server;

/* From now on this process has a network of its own with loopback alone, where the machine allows
 * that. Before any thread is started. */
void server_isolate(void);

/* A folder for bodies; then, once they are in it, the server. False: a skip line is printed. */
void server_folder(server *s);
bool server_start(server *s);
void server_stop(server *s);
/* Write a body. */
void server_put(const server *s, const char *name, const char *bytes, size_t length);

/* Requests so far, connections to the internal listener, and most requests at once. */
void server_stats(server *s, unsigned *requests, unsigned *internal, unsigned *peak);
/* The last request as it came, with a NUL behind it. */
void server_last(server *s, char *out, size_t room);
void server_reset(server *s);

/* 127.0.0.1 at a port, in place of what the address was. */
void server_loopback(int *family, void *address, unsigned *length, uint16_t port);

#endif
