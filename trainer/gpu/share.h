/* share.h - the GPU of a rank, and the ranks that share one. NCCL refuses two ranks on one PCI address of one host. If
 * it is told that they are on different hosts, it uses sockets, as between nodes, which slices (MIG) of a GPU need.
 * Ranks on the same device are only for tests with a single GPU: such a run is emulated and says so. Called by
 * backend_cuda.c. */
#ifndef TRAINER_GPU_SHARE_H
#define TRAINER_GPU_SHARE_H

#include "trainer/gpu/device.h"
#include "trainer/ranks/comm.h"

/** share_local_rank - number of lower ranks on this rank's host: ranks of a host take its devices in turn. Collective.
 */
int share_local_rank(struct comm *c);

/** share_check - does every rank have a separate GPU? Collective; before the first call of NCCL, which is told when
 *  ranks share a PCI address (NCCL_HOSTID, unless the user has set it).
 *  d          this rank's device. Machines are told apart by their kernel's boot id, so that two containers on one
 *           machine count as sharing
 *  may_share  --share-gpu
 *  most       overwritten: largest number of ranks on one device; 1 = each has a separate one
 *  errors     DCR_FAIL, the same on all ranks: some share a device and may not. Names two of them */
int share_check(struct comm *c, const struct gpu_description *d, int may_share, int *most,
                struct dcr_err *err) DCR_MUST_CHECK;

#endif
