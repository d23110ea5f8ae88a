/* share.h - which GPU a rank has, and which ranks were given the same. NCCL refuses two ranks on one PCI address of one
 * host; told that they are on hosts of their own, it goes over sockets, as between nodes. Slices (MIG) of a GPU need
 * that. Ranks on the very same device are for tests where there is a single GPU: such a run is emulated and says so.
 * Called by backend_cuda.c. */
#ifndef TRAINER_GPU_SHARE_H
#define TRAINER_GPU_SHARE_H

#include "trainer/gpu/device.h"
#include "trainer/ranks/comm.h"

/** share_local_rank - how many lower ranks the host of this one has: ranks of a host take its devices in turn.
 *  Collective. */
int share_local_rank(struct comm *c);

/** share_check - does every rank have a GPU of its own? Collective; before the first call of NCCL, which is told when
 *  ranks share a PCI address (NCCL_HOSTID, unless the user has set it).
 *  d          this rank's device. Machines are told apart by their kernel's boot, so that two containers on one machine
 *             are seen to share
 *  may_share  --share-gpu
 *  most       overwritten: ranks on the device that has most of them; 1 = each has its own
 *  errors     DCR_FAIL, the same on all ranks: some share a device and may not. Names two of them */
int share_check(struct comm *c, const struct gpu_description *d, int may_share, int *most,
                struct dcr_err *err) DCR_MUST_CHECK;

#endif
