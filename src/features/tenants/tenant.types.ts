import { Int } from 'type-graphql'
import { IntegerRange, SingleLineText } from '../../api/graphql/rules.js'
import { LongScalar } from '../../api/graphql/scalars.js'
import { field, inputType, nodeId, nodeType, update } from '../../api/graphql/type-declarations.js'

export const Tenant = nodeType('Tenant', 'The tenant that the credential belongs to.', {
  tenantId: nodeId('ID of the tenant: `ten_` followed by a ULID.'),
  name: field(String, 'Name of the tenant, 1 to 255 characters.'),
  storageQuotaMb: field(Int, 'Storage quota of the tenant in MB (1 MB is 1,048,576 bytes).'),
  storageQuotaCeilingMb: field(
    Int,
    "Maximum storage quota that the tenant's admins can set, in MB. Only the operator can change it.",
  ),
  secondFactorRequired: field(Boolean, 'True if dashboard users must have a second factor.'),
  storageUsedBytes: field(LongScalar, "Exact total size of the tenant's files in bytes, including files in the trash."),
  createdAt: field(Date, 'Time at which the tenant was created.'),
  updatedAt: field(Date, 'Time at which the tenant was last changed.'),
})
export type Tenant = InstanceType<typeof Tenant>

export const UpdateTenantInput = inputType('UpdateTenantInput', 'Tenant fields to change. Omitted fields keep their values.', {
  name: update(String, 'Name of the tenant, 1 to 255 characters.', SingleLineText(1, 255)),
  storageQuotaMb: update(
    Int,
    'Storage quota of the tenant in MB, from 1 to the maximum that the operator set.',
    IntegerRange(1, 2_147_483_647),
  ),
})
export type UpdateTenantInput = InstanceType<typeof UpdateTenantInput>
