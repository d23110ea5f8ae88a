/* clock_server.h - serves the clock of rank 0's host over TCP to the collectors of the other hosts, so that they can
 * measure the offset of their clocks (source_clock.c). Traces use CLOCK_MONOTONIC, whose zero differs between hosts.
 *
 * A file in the spool (or in the folder of --clock) names the host and holds the random word that every packet must
 * carry. Only its owner can read it, it is removed when the run ends, and it is never packed. Nothing listens until the
 * collector of another host leaves the second file there: only then ports are opened and the first file names them. */
#ifndef COLLECT_CLOCK_SERVER_H
#define COLLECT_CLOCK_SERVER_H

#include "lib/base/err.h"

#include <stdint.h>

/* The suffix keeps the file out of archives if a kill leaves it behind. */
#define CLOCK_SERVER_FILE "clock-server.partial"
#define CLOCK_ASKED_FILE "clock-asked.partial"
enum { CLOCK_WORD_BYTES = 16 };

struct clock_request {
    unsigned char word[CLOCK_WORD_BYTES];
    int64_t sent_ns; /* by the client's clock; sent back unchanged */
};
struct clock_answer {
    unsigned char word[CLOCK_WORD_BYTES];
    int64_t sent_ns;
    int64_t arrived_ns, left_ns; /* by the server's */
};

struct clock_server;
/** clock_server_start - start a thread that waits for requests of hosts and answers them until clock_server_stop.
 *  out      gives; clock_server_stop
 *  folder   for the two files; the other hosts must see it
 *  errors   DCR_FAIL: no thread, the file cannot be written. A run can do without */
int clock_server_start(struct clock_server **out, const char *folder, struct dcr_err *err) DCR_MUST_CHECK;
void clock_server_stop(struct clock_server *s);

#endif
