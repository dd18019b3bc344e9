import { Field, ObjectType } from 'type-graphql'
import { LongScalar } from '../../api/graphql/scalars.js'

@ObjectType('StorageHealth', {
  description: 'Whether the tenant’s counters, rows, blobs and journal agree: all 0 in health.',
})
export class StorageHealthType {
  @Field(() => LongScalar, { description: 'Counters that differ from a recount.' })
  countersDrift!: number
  @Field(() => LongScalar, { description: 'Files whose blob is not there.' })
  filesWithoutBlob!: number
  @Field(() => LongScalar, { description: 'Blobs that belong to no file and to no upload under way.' })
  blobsWithoutFile!: number
  @Field(() => LongScalar, { description: 'Files whose blob has another size than was uploaded.' })
  corrupted!: number
  @Field(() => LongScalar, {
    description: 'Places where the journal’s end is not what its hashes say; the operator’s verify recomputes all of it.',
  })
  journalDrift!: number
}
