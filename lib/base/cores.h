/* cores.h - how many processors this process may use. */
#ifndef DCR_CORES_H
#define DCR_CORES_H

/** dcr_cores - the processors that this process is bound to, or fewer when a control group gives it less time
 * (cpu.max of version 2, cpu.cfs_quota_us of version 1). The smallest quota of its group and the groups around it
 * counts, rounded up. At least 1. A group whose files cannot be read limits nothing. */
int dcr_cores(void);
/** dcr_cores_of_quota - whole cores for the content of cpu.max: "max 100000", "150000 100000" (2).
 *  returns  0 = no limit, or not understood */
int dcr_cores_of_quota(const char *text);
/** dcr_cores_work - counts threads of this process, or processes beside it, that begin (1 and more) or end (-1) long
 * work.
 *  dcr_cores_spare   would one more thread have a core to itself? If so, its work counts as begun, and the caller must
 *                    end it. This is a guess, since others may begin meanwhile. Any thread */
void dcr_cores_work(int change);
int dcr_cores_spare(void);

enum { DCR_MAX_CPUS = 4096 };
/** dcr_add_cpus - adds the processors of a list as the kernel writes it ("0-1,4") to a set. Parsing stops at the first
 * invalid entry. */
void dcr_add_cpus(unsigned char set[DCR_MAX_CPUS], const char *list);

#endif
