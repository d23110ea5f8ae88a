/* memory.cpp - of the emulator: the memory of the device, separate from the host's. Every allocation ends right before
 * a page that may not be touched, begins full of NaN, and is closed while the host runs. */
#include "tests/gpu/emulator/inside.h"

#include <cstdio>
#include <map>
#include <sys/mman.h>

enum { PAGE = 4096, ALIGN = 256, UNTOUCHED = 4 << 20 };

struct allocation {
    char *base; /* of the mapping */
    size_t mapped, bytes, slack;
};

static std::map<char *, allocation> device, pinned;
static size_t used;
static bool is_open;

static size_t up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static const allocation *find(const std::map<char *, allocation> &all, const void *p)
{
    auto next = all.upper_bound((char *)p);
    if (next == all.begin())
        return nullptr;
    --next;
    return (char *)p < next->first + next->second.bytes ? &next->second : nullptr;
}

bool emulator_is_device(const void *p)
{
    return find(device, p) != nullptr;
}

bool emulator_is_pinned(const void *p)
{
    return find(pinned, p) != nullptr;
}

void emulator_name_address(const void *p, char *text, size_t size)
{
    auto next = device.upper_bound((char *)p);
    if (next == device.begin()) {
        snprintf(text, size, "at %p", p);
        return;
    }
    --next;
    snprintf(text, size, "%td bytes from the start of an allocation of %zu", (char *)p - next->first,
             next->second.bytes);
}

void emulator_check_range(const void *p, size_t bytes, const char *what)
{
    auto next = device.upper_bound((char *)p);
    if (bytes == 0)
        return;
    if (next != device.begin()) {
        --next;
        if ((char *)p + bytes <= next->first + next->second.bytes)
            return;
    }
    char where[200];
    emulator_name_address(p, where, sizeof where);
    emulator_die("%s: %zu bytes %s", what, bytes, where);
}

/* All of it except the page after it. */
static void set_access(const allocation &a, int access)
{
    if (mprotect(a.base, a.mapped - PAGE, access) != 0)
        emulator_die("mprotect failed");
}

void emulator_open_memory(bool open)
{
    if (open == is_open)
        return;
    is_open = open;
    for (auto &one : device)
        set_access(one.second, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

/* The few bytes that alignment leaves after an allocation must stay as they were made. */
static void check_slack(char *p, const allocation &a)
{
    for (size_t i = 0; i < a.slack; i++)
        if ((unsigned char)p[a.bytes + i] != 0xff)
            emulator_die("something wrote %zu bytes behind an allocation of %zu", i, a.bytes);
}

cudaError_t emulator_malloc(void **out, size_t bytes)
{
    *out = nullptr;
    if (cudaError_t status = emulator_entered())
        return status;
    if (cudaError_t status = emulator_may_not_record())
        return status;
    if (bytes == 0)
        return cudaSuccess;
    const size_t size = up(bytes, ALIGN), pages = up(size, PAGE);
    if (used + size > emulator_settings.memory_bytes)
        return cudaErrorMemoryAllocation;
    char *base =
        (char *)mmap(nullptr, pages + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return cudaErrorMemoryAllocation;
    char *p = base + pages - size;
    if (bytes < UNTOUCHED)
        memset(p, 0xff, size);
    else /* cuBLAS's workspaces: untouched pages cost nothing */
        memset(p + bytes, 0xff, size - bytes);
    if (mprotect(base, pages, is_open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0 ||
        mprotect(base + pages, PAGE, PROT_NONE) != 0)
        emulator_die("mprotect failed");
    device[p] = {base, pages + PAGE, bytes, size - bytes};
    used += size;
    emulator_counted.n_live++;
    *out = p;
    return cudaSuccess;
}

cudaError_t cudaFree(void *p)
{
    if (cudaError_t status = emulator_entered())
        if (status != emulator_stuck) /* memory of a failed device is released too */
            return status;
    if (!p)
        return cudaSuccess;
    (void)emulator_finish();
    auto one = device.find((char *)p);
    if (one == device.end())
        return cudaErrorInvalidValue;
    set_access(one->second, PROT_READ);
    check_slack(one->first, one->second);
    munmap(one->second.base, one->second.mapped);
    used -= up(one->second.bytes, ALIGN);
    device.erase(one);
    emulator_counted.n_live--;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    if (cudaError_t status = emulator_entered())
        return status;
    *total = emulator_settings.memory_bytes;
    *free_bytes = emulator_settings.memory_bytes > used ? emulator_settings.memory_bytes - used : 0;
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned)
{
    *out = nullptr;
    if (cudaError_t status = emulator_entered())
        return status;
    if (cudaError_t status = emulator_may_not_record())
        return status;
    if (bytes == 0)
        return cudaErrorInvalidValue;
    char *p = (char *)mmap(nullptr, up(bytes, PAGE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return cudaErrorMemoryAllocation;
    pinned[p] = {p, up(bytes, PAGE), bytes, 0};
    emulator_counted.n_live++;
    *out = p;
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *p)
{
    if (cudaError_t status = emulator_entered())
        if (status != emulator_stuck)
            return status;
    auto one = pinned.find((char *)p);
    if (one == pinned.end())
        return cudaErrorInvalidValue;
    (void)emulator_finish();
    munmap(one->second.base, one->second.mapped);
    pinned.erase(one);
    emulator_counted.n_live--;
    return cudaSuccess;
}

/* ---- copies -------------------------------------------------------------------------------------------------------
 */

/* Do the pointers belong to the kind of copy? */
static bool fits(const void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (bytes == 0)
        return true;
    return emulator_is_device(to) == to_device && emulator_is_device(from) == from_device;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    if (cudaError_t status = emulator_entered())
        return status;
    if (!fits(to, from, bytes, kind))
        return cudaErrorInvalidValue;
    if (bytes == 0)
        return cudaSuccess;
    if (kind == cudaMemcpyHostToDevice && !emulator_is_pinned(from)) { /* ordinary memory is read before the call
                                                                        * returns */
        if (emulator_may_not_record() != cudaSuccess)
            return cudaErrorStreamCaptureUnsupported; /* CUDA would read the pointer at every launch, which is not
                                                       * intended */
        std::vector<char> staged((const char *)from, (const char *)from + bytes);
        return emulator_enqueue(stream, [to, staged]() {
            emulator_counted.n_copies++;
            emulator_check_range(to, staged.size(), "copy to the device");
            memcpy(to, staged.data(), staged.size());
        });
    }
    cudaError_t status = emulator_enqueue(stream, [to, from, bytes, kind]() {
        emulator_counted.n_copies++;
        if (kind != cudaMemcpyDeviceToHost)
            emulator_check_range(to, bytes, "copy to the device");
        if (kind != cudaMemcpyHostToDevice)
            emulator_check_range(from, bytes, "copy from the device");
        memcpy(to, from, bytes);
    });
    if (status == cudaSuccess && kind == cudaMemcpyDeviceToHost && !emulator_is_pinned(to))
        return emulator_may_not_record() == cudaSuccess ? cudaStreamSynchronize(stream)
                                                        : cudaErrorStreamCaptureUnsupported;
    return status;
}

/* On the default stream, which does not wait for streams made with cudaStreamNonBlocking. */
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    if (cudaError_t status = emulator_may_not_record())
        return status;
    cudaError_t status = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
    if (status == cudaSuccess && kind != cudaMemcpyHostToDevice)
        status = cudaStreamSynchronize(nullptr);
    return status;
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind)
{
    if (width > to_pitch || width > from_pitch)
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < height; i++)
        if (cudaError_t status =
                cudaMemcpy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, width, kind))
            return status;
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    if (cudaError_t status = emulator_entered())
        return status;
    if (bytes > 0 && !emulator_is_device(to))
        return cudaErrorInvalidValue;
    return emulator_enqueue(stream, [to, value, bytes]() {
        emulator_counted.n_copies++;
        emulator_check_range(to, bytes, "memset");
        memset(to, value, bytes);
    });
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    if (cudaError_t status = emulator_may_not_record())
        return status;
    return cudaMemsetAsync(to, value, bytes, nullptr);
}
