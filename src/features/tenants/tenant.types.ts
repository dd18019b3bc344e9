import { Field, ID, InputType, Int, OutputType } from '../../api/graphql/decorators.js'
import { AsNodeId, Node } from '../../api/graphql/node.js'
import { IntegerRange, SingleLineText, UpdateField } from '../../api/graphql/rules.js'
import { LongScalar } from '../../api/graphql/scalars.js'

@OutputType('The tenant that the credential belongs to.', { implements: Node })
export class Tenant {
  @AsNodeId()
  @Field(() => ID, 'ID of the tenant: `ten_` followed by a ULID.')
  tenantId!: string
  @Field(() => String, 'Name of the tenant, 1 to 255 characters.')
  name!: string
  @Field(() => Int, 'Storage quota of the tenant in MB (1 MB is 1,048,576 bytes).')
  storageQuotaMb!: number
  @Field(() => Int, "Maximum storage quota that the tenant's admins can set, in MB. Only the operator can change it.")
  storageQuotaCeilingMb!: number
  @Field(() => Boolean, 'True if dashboard users must have a second factor.')
  secondFactorRequired!: boolean
  @Field(() => LongScalar, "Exact total size of the tenant's files in bytes, including files in the trash.")
  storageUsedBytes!: number
  @Field(() => Date, 'Time at which the tenant was created.')
  createdAt!: Date
  @Field(() => Date, 'Time at which the tenant was last changed.')
  updatedAt!: Date
}

@InputType('Tenant fields to change. Omitted fields keep their values.')
export class UpdateTenantInput {
  @UpdateField(() => String, 'Name of the tenant, 1 to 255 characters.')
  @SingleLineText(1, 255)
  name?: string
  @UpdateField(() => Int, 'Storage quota of the tenant in MB, from 1 to the maximum that the operator set.')
  @IntegerRange(1, 2_147_483_647)
  storageQuotaMb?: number
}
