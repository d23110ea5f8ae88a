/* test_nvtx_abi.c - compares our declarations of the NVTX tools interface with the real headers, if there are some. */
#include "collect/guest/nvtx/nvtx_abi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#ifdef HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#define SAME(ours, theirs) assert_int_equal((long)(ours), (long)(theirs))

static void numbers_are_the_same(void **state)
{
    (void)state;
    SAME(NVTXABI_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
    SAME(NVTXABI_TABLE_VERSION, NVTX_ETID_VERSIONINFO);
    SAME(NVTXABI_MODULE_CORE, NVTX_CB_MODULE_CORE);
    SAME(NVTXABI_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
    SAME(NVTXABI_MARK_EX, NVTX_CBID_CORE_MarkEx);
    SAME(NVTXABI_MARK_A, NVTX_CBID_CORE_MarkA);
    SAME(NVTXABI_MARK_W, NVTX_CBID_CORE_MarkW);
    SAME(NVTXABI_RANGE_START_EX, NVTX_CBID_CORE_RangeStartEx);
    SAME(NVTXABI_RANGE_START_A, NVTX_CBID_CORE_RangeStartA);
    SAME(NVTXABI_RANGE_START_W, NVTX_CBID_CORE_RangeStartW);
    SAME(NVTXABI_RANGE_END, NVTX_CBID_CORE_RangeEnd);
    SAME(NVTXABI_RANGE_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
    SAME(NVTXABI_RANGE_PUSH_A, NVTX_CBID_CORE_RangePushA);
    SAME(NVTXABI_RANGE_PUSH_W, NVTX_CBID_CORE_RangePushW);
    SAME(NVTXABI_RANGE_POP, NVTX_CBID_CORE_RangePop);
    SAME(NVTXABI_NAME_CATEGORY_A, NVTX_CBID_CORE_NameCategoryA);
    SAME(NVTXABI_NAME_CATEGORY_W, NVTX_CBID_CORE_NameCategoryW);
    SAME(NVTXABI_NAME_OS_THREAD_A, NVTX_CBID_CORE_NameOsThreadA);
    SAME(NVTXABI_NAME_OS_THREAD_W, NVTX_CBID_CORE_NameOsThreadW);
    SAME(NVTXABI_CORE_SIZE, NVTX_CBID_CORE_SIZE);
    SAME(NVTXABI_DOMAIN_MARK_EX, NVTX_CBID_CORE2_DomainMarkEx);
    SAME(NVTXABI_DOMAIN_RANGE_START_EX, NVTX_CBID_CORE2_DomainRangeStartEx);
    SAME(NVTXABI_DOMAIN_RANGE_END, NVTX_CBID_CORE2_DomainRangeEnd);
    SAME(NVTXABI_DOMAIN_RANGE_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
    SAME(NVTXABI_DOMAIN_RANGE_POP, NVTX_CBID_CORE2_DomainRangePop);
    SAME(NVTXABI_DOMAIN_RESOURCE_CREATE, NVTX_CBID_CORE2_DomainResourceCreate);
    SAME(NVTXABI_DOMAIN_RESOURCE_DESTROY, NVTX_CBID_CORE2_DomainResourceDestroy);
    SAME(NVTXABI_DOMAIN_NAME_CATEGORY_A, NVTX_CBID_CORE2_DomainNameCategoryA);
    SAME(NVTXABI_DOMAIN_NAME_CATEGORY_W, NVTX_CBID_CORE2_DomainNameCategoryW);
    SAME(NVTXABI_DOMAIN_REGISTER_STRING_A, NVTX_CBID_CORE2_DomainRegisterStringA);
    SAME(NVTXABI_DOMAIN_REGISTER_STRING_W, NVTX_CBID_CORE2_DomainRegisterStringW);
    SAME(NVTXABI_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
    SAME(NVTXABI_DOMAIN_CREATE_W, NVTX_CBID_CORE2_DomainCreateW);
    SAME(NVTXABI_DOMAIN_DESTROY, NVTX_CBID_CORE2_DomainDestroy);
    SAME(NVTXABI_INITIALIZE, NVTX_CBID_CORE2_Initialize);
    SAME(NVTXABI_CORE2_SIZE, NVTX_CBID_CORE2_SIZE);
    SAME(NVTXABI_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
    SAME(NVTXABI_MESSAGE_WIDE, NVTX_MESSAGE_TYPE_UNICODE);
    SAME(NVTXABI_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
    SAME(NVTXABI_PAYLOAD_U64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
    SAME(NVTXABI_PAYLOAD_I64, NVTX_PAYLOAD_TYPE_INT64);
    SAME(NVTXABI_PAYLOAD_F64, NVTX_PAYLOAD_TYPE_DOUBLE);
    SAME(NVTXABI_PAYLOAD_U32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
    SAME(NVTXABI_PAYLOAD_I32, NVTX_PAYLOAD_TYPE_INT32);
    SAME(NVTXABI_PAYLOAD_F32, NVTX_PAYLOAD_TYPE_FLOAT);
    SAME(NVTXABI_COLOR_ARGB, NVTX_COLOR_ARGB);
    SAME(NVTXABI_PAYLOAD_EXT, NVTX_PAYLOAD_TYPE_EXT);
    SAME(NVTXABI_EXT_PAYLOAD, NVTX_EXT_PAYLOAD_MODULEID);
    SAME(NVTXABI_SCHEMA_REGISTER, NVTX3EXT_CBID_nvtxPayloadSchemaRegister);
    SAME(NVTXABI_ENUM_REGISTER, NVTX3EXT_CBID_nvtxPayloadEnumRegister);
    SAME(NVTXABI_MARK_PAYLOAD, NVTX3EXT_CBID_nvtxMarkPayload);
    SAME(NVTXABI_PUSH_PAYLOAD, NVTX3EXT_CBID_nvtxRangePushPayload);
    SAME(NVTXABI_POP_PAYLOAD, NVTX3EXT_CBID_nvtxRangePopPayload);
    SAME(NVTXABI_START_PAYLOAD, NVTX3EXT_CBID_nvtxRangeStartPayload);
    SAME(NVTXABI_END_PAYLOAD, NVTX3EXT_CBID_nvtxRangeEndPayload);
    SAME(NVTXABI_DOMAIN_IS_ENABLED, NVTX3EXT_CBID_nvtxDomainIsEnabled);
    SAME(NVTXABI_SCHEMA_HAS_NAME, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME);
    SAME(NVTXABI_SCHEMA_HAS_SIZE, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE);
    SAME(NVTXABI_SCHEMA_HAS_ID, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID);
    SAME(NVTXABI_ENUM_HAS_NAME, NVTX_PAYLOAD_ENUM_ATTR_FIELD_NAME);
    SAME(NVTXABI_ENUM_HAS_SIZE, NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE);
    SAME(NVTXABI_ENUM_HAS_ID, NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID);
    assert_true(NVTXABI_SCHEMA_DYNAMIC_START == NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);
    SAME(NVTXABI_NO_TRACKING, NVTX_NO_PUSH_POP_TRACKING);
}

#define SAME_PLACE(ours, theirs) \
    SAME(offsetof(struct nvtxabi_attributes, ours), offsetof(nvtxEventAttributes_t, theirs))

static void layouts_are_the_same(void **state)
{
    (void)state;
    SAME(sizeof(struct nvtxabi_attributes), sizeof(nvtxEventAttributes_t));
    SAME_PLACE(version, version);
    SAME_PLACE(size, size);
    SAME_PLACE(category, category);
    SAME_PLACE(color_type, colorType);
    SAME_PLACE(color, color);
    SAME_PLACE(payload_type, payloadType);
    SAME_PLACE(payload, payload);
    SAME_PLACE(message_type, messageType);
    SAME_PLACE(message, message);
    SAME(sizeof(struct nvtxabi_callbacks), sizeof(NvtxExportTableCallbacks));
    SAME(offsetof(struct nvtxabi_callbacks, module_table), offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
    SAME(sizeof(nvtxRangeId_t), sizeof(uint64_t));
}

#define SAME_IN(ours_type, ours, theirs_type, theirs) SAME(offsetof(ours_type, ours), offsetof(theirs_type, theirs))

static void payload_layouts_are_the_same(void **state)
{
    (void)state;
    SAME_PLACE(reserved, reserved0);
    SAME(sizeof(struct nvtxabi_item), sizeof(nvtxPayloadData_t));
    SAME_IN(struct nvtxabi_item, bytes, nvtxPayloadData_t, payload);
    SAME(sizeof(struct nvtxabi_schema_entry), sizeof(nvtxPayloadSchemaEntry_t));
    SAME_IN(struct nvtxabi_schema_entry, offset, nvtxPayloadSchemaEntry_t, offset);
    SAME(sizeof(struct nvtxabi_schema), sizeof(nvtxPayloadSchemaAttr_t));
    SAME_IN(struct nvtxabi_schema, n_entries, nvtxPayloadSchemaAttr_t, numEntries);
    SAME_IN(struct nvtxabi_schema, id, nvtxPayloadSchemaAttr_t, schemaId);
    SAME(sizeof(struct nvtxabi_enum_entry), sizeof(nvtxPayloadEnum_t));
    SAME_IN(struct nvtxabi_enum_entry, value, nvtxPayloadEnum_t, value);
    SAME(sizeof(struct nvtxabi_enum), sizeof(nvtxPayloadEnumAttr_t));
    SAME_IN(struct nvtxabi_enum, n_entries, nvtxPayloadEnumAttr_t, numEntries);
    SAME_IN(struct nvtxabi_enum, size, nvtxPayloadEnumAttr_t, sizeOfEnum);
    SAME_IN(struct nvtxabi_enum, id, nvtxPayloadEnumAttr_t, schemaId);
    SAME(sizeof(struct nvtxabi_module), sizeof(nvtxExtModuleInfo_t));
    SAME_IN(struct nvtxabi_module, segments, nvtxExtModuleInfo_t, segments);
    SAME(sizeof(struct nvtxabi_segment), sizeof(nvtxExtModuleSegment_t));
    SAME_IN(struct nvtxabi_segment, slots, nvtxExtModuleSegment_t, functionSlots);
}

#else
static void numbers_are_the_same(void **state)
{
    (void)state;
    print_message("skipped: no NVTX headers here\n");
    skip();
}
static void layouts_are_the_same(void **state)
{
    numbers_are_the_same(state);
}
static void payload_layouts_are_the_same(void **state)
{
    numbers_are_the_same(state);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_the_same),
        cmocka_unit_test(layouts_are_the_same),
        cmocka_unit_test(payload_layouts_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
