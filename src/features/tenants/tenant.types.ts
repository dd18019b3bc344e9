import { Field, ID, InputType, Int, ObjectType } from 'type-graphql'
import { AsNodeId, Node } from '../../api/graphql/node.js'
import { Line, NotNull, Whole } from '../../api/graphql/rules.js'
import { LongScalar } from '../../api/graphql/scalars.js'

@ObjectType({ implements: Node, simpleResolvers: true, description: 'The tenant that the credential belongs to.' })
export class Tenant {
  @AsNodeId()
  @Field(() => ID, { description: 'Shape ten_….' })
  tenantId!: string
  @Field(() => String, { description: '1 to 255 characters.' })
  name!: string
  @Field(() => Int, { description: 'Quota of all its files, in MB of 1,048,576 bytes.' })
  storageQuotaMb!: number
  @Field(() => Int, { description: 'How far its admins may raise that quota, in MB; the operator’s to set.' })
  storageQuotaCeilingMb!: number
  @Field(() => Boolean, { description: 'Whether dashboard users must have a second factor.' })
  secondFactorRequired!: boolean
  @Field(() => LongScalar, { description: 'Bytes of all its files, exact.' })
  storageUsedBytes!: number
  @Field(() => Date, { description: 'When it was created.' })
  createdAt!: Date
  @Field(() => Date, { description: 'When it was last changed.' })
  updatedAt!: Date
}

@InputType({ description: 'What is to change; what is left out stays.' })
export class UpdateTenantInput {
  @Field(() => String, { nullable: true, description: '1 to 255 characters.' })
  @NotNull()
  @Line(1, 255)
  name?: string
  @Field(() => Int, { nullable: true, description: 'Quota, in MB: at least 1, at most the ceiling.' })
  @NotNull()
  @Whole(1, 2_147_483_647)
  storageQuotaMb?: number
}
