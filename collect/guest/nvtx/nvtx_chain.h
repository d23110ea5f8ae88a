/* nvtx_chain.h - another NVTX tool that was there before us (DCC_CHAIN_NVTX) goes on seeing everything: each call of
 * the program reaches us, then it. Handles and range numbers that the program holds are ours; the other gets its own
 * back. Without another tool nothing of this is in the way: its functions are installed only when there is one. */
#ifndef DCC_NVTX_CHAIN_H
#define DCC_NVTX_CHAIN_H

#include "collect/guest/nvtx/nvtx_abi.h"

/** nvtx_chain_attach - let the other tool attach to this copy of NVTX, then take what it installed.
 *  core, core2  our own functions, shape (NVTXABI_CORE_SIZE), (NVTXABI_CORE2_SIZE); NULL where we have none
 *  returns      1 when there is another tool: *core and *core2 now call both */
int nvtx_chain_attach(nvtxabi_export_table_fn export_table, nvtxabi_fn *core, nvtxabi_fn *core2);
/** nvtx_chain_extension - the other tool's InitializeInjectionNvtxExtension, or NULL. */
nvtxabi_extension_fn nvtx_chain_extension(void);
/** nvtx_chain_domain - the other tool's handle of our domain. */
const void *nvtx_chain_domain(const void *domain);
/** nvtx_chain_range / nvtx_chain_take_range - the other's number of a process range, kept and taken back. */
void nvtx_chain_range(uint64_t ours, uint64_t theirs);
uint64_t nvtx_chain_take_range(uint64_t ours);

#endif
