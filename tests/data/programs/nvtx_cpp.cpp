// nvtx_cpp.cpp - NVTX's C++ interface (nvtx3.hpp) and its payload extension, as C++ programs use them.
#include <nvtx3/nvtx3.hpp>
#include <nvtx3/nvToolsExtPayload.h>

#include <cstddef>
#include <cstdint>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

struct library {
    static constexpr char const *name{"cpp library"};
};
struct load_message {
    static constexpr char const *message{"registered load"};
};
struct io_category {
    static constexpr char const *name{"io"};
    static constexpr uint32_t id{7};
};

struct shape {
    int32_t rows;
    int32_t pad;
    double density;
};

static void function()
{
    NVTX3_FUNC_RANGE_IN(library);
    nvtx3::mark_in<library>("a mark", nvtx3::payload{3.5}, nvtx3::rgb{1, 2, 3});
}

static void payloads()
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("cpp payloads");
    nvtxPayloadSchemaEntry_t entries[2] = {};
    entries[0].type = NVTX_PAYLOAD_ENTRY_TYPE_INT32;
    entries[0].name = "rows";
    entries[1].type = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE;
    entries[1].name = "density";
    entries[1].offset = offsetof(shape, density);
    nvtxPayloadSchemaAttr_t schema = {};
    schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
    schema.name = "shape";
    schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    schema.entries = entries;
    schema.numEntries = 2;
    schema.payloadStaticSize = sizeof(shape);
    uint64_t id = nvtxPayloadSchemaRegister(domain, &schema);
    nvtxPayloadEnum_t words[2] = {{"few", 1, 0}, {"many", 258, 0}};
    nvtxPayloadEnumAttr_t enumeration = {};
    enumeration.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                            NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE;
    enumeration.entries = words;
    enumeration.numEntries = 2;
    enumeration.sizeOfEnum = 4;
    entries[0].type = nvtxPayloadEnumRegister(domain, &enumeration);
    uint64_t counted = nvtxPayloadSchemaRegister(domain, &schema);
    shape s = {258, 0, 0.5};
    nvtxEventAttributes_t a = {};
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = "with a shape";
    NVTX_PAYLOAD_EVTATTR_SET(&a, id, &s, sizeof s);
    nvtxDomainRangePushEx(domain, &a);
    nvtxDomainRangePop(domain);
    unsigned char big[5000] = {1, 2, 3};
    nvtxPayloadData_t items[2] = {{id, sizeof s, &s}, {NVTX_TYPE_PAYLOAD_SCHEMA_RAW, sizeof big, big}};
    a.message.ascii = "too much";
    a.payload.ullValue = (uint64_t)(uintptr_t)items;
    a.reserved0 = 2;
    nvtxDomainMarkEx(domain, &a);
    nvtxRangePushPayload(domain, items, 1);
    nvtxRangePopPayload(domain, nullptr, 0);
    a.message.ascii = "ended with a shape";
    a.payloadType = 0;
    nvtxDomainRangePushEx(domain, &a);
    nvtxRangePopPayload(domain, items, 1);
    nvtxRangeId_t range = nvtxRangeStartPayload(domain, items, 1);
    nvtxRangeEndPayload(domain, range, items, 1);
    nvtxPayloadData_t count = {counted, sizeof s, &s};
    nvtxMarkPayload(domain, &count, 1);
    nvtxResourceAttributes_t resource = {};
    resource.version = NVTX_VERSION;
    resource.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
    nvtxDomainResourceDestroy(nvtxDomainResourceCreate(domain, &resource));
    pid_t child = fork(); /* its trace needs the schemas that were registered here */
    if (child == 0) {
        nvtxMarkPayload(domain, &count, 1);
        _exit(0);
    }
    if (child > 0)
        waitpid(child, nullptr, 0);
}

int main()
{
    nvtx3::scoped_range outer{"outer", nvtx3::payload{int64_t{-3}}};
    {
        nvtx3::scoped_range_in<library> load{nvtx3::registered_string_in<library>::get<load_message>(),
                                             nvtx3::named_category_in<library>::get<io_category>()};
        function();
    }
    nvtx3::unique_range_in<library> moved{"started here"};
    std::thread other([m = std::move(moved)]() mutable { nvtx3::unique_range_in<library> ended_there{std::move(m)}; });
    other.join();
    payloads();
    return 0;
}
