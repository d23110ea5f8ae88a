/* share.h - ranks that were given the same GPU. NCCL refuses two ranks on one device of one host; told that they are on
 * hosts of their own, it goes over sockets, as between nodes. That is for tests where there is a single GPU: such a run
 * is emulated and says so. Called by backend_cuda.c, on the host. */
#ifndef TRAINER_GPU_SHARE_H
#define TRAINER_GPU_SHARE_H

#include "trainer/ranks/comm.h"

/** share_check - does every rank have a GPU of its own? Collective; before the first call of NCCL.
 *  bus_id     of this rank's device on its machine; machines are told apart by their kernel's boot, so that two
 *             containers on one machine are seen to share. device: its name, for the sentence
 *  may_share  --share-gpu: then NCCL is told so (NCCL_HOSTID, unless the user has set it) when ranks do share
 *  most       overwritten: ranks on the device that has most of them; 1 = each has its own
 *  errors     DCR_FAIL, the same on all ranks: some share a device and may not. Names two of them */
int share_check(struct comm *c, const char *bus_id, const char *device, int may_share, int *most,
                struct dcr_err *err) DCR_MUST_CHECK;

#endif
