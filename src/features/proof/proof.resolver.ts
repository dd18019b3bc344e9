import type { Attempt } from '../../access/admission.js'
import { Arg, Args, ID, Mutation, Query, Resolver } from '../../api/graphql/decorators.js'
import { PageArgs } from '../../api/graphql/page.js'
import { CurrentActor, CurrentAttempt, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import type { LogService } from './log.service.js'
import type { LogShareService } from './log-share.service.js'
import { FileReceipt, LogCheckpoint, LogShare, LogSharePage, NewLogShare, ReceiptArgs, ShareLogArgs } from './proof.types.js'
import type { ReceiptService } from './receipt.service.js'

@Resolver()
export class ProofResolver {
  constructor(private readonly services: { log: LogService; receipts: ReceiptService; logShares: LogShareService }) {}

  @Requires('metadata')
  @Query(
    () => FileReceipt,
    'Returns the signed receipt for a file or an upload call, with a proof that the transparency log contains the verdict.',
  )
  receipt(@CurrentAttempt() attempt: Attempt, @Args(() => ReceiptArgs) args: ReceiptArgs) {
    return this.services.receipts.issue(attempt, args)
  }

  @Requires('admin', { tenantWide: true })
  @Query(() => LogCheckpoint, 'Returns the current signed checkpoint of the transparency log.')
  async logCheckpoint(@CurrentActor() { tenantId }: Actor): Promise<LogCheckpoint> {
    const { origin, size, root, note } = await this.services.log.createCheckpoint(tenantId)
    const verifierKey = await this.services.log.getVerifierKey(tenantId)
    return { origin, size, rootHash: root.toString('base64'), checkpoint: note, verifierKey }
  }

  @Requires('admin')
  @Query(() => LogSharePage, 'Lists the access tokens for the transparency log, newest first.')
  logShares(@CurrentActor() actor: Actor, @Args(() => PageArgs) args: PageArgs) {
    return this.services.logShares.list(actor, args)
  }

  @Requires('admin')
  @Mutation(() => NewLogShare, 'Creates a token that can only read the transparency log, for example for an auditor.')
  shareLog(@CurrentActor() actor: Actor, @Args(() => ShareLogArgs) { days }: ShareLogArgs) {
    return this.services.logShares.create(actor, days)
  }

  @Requires('admin')
  @Mutation(() => LogShare, 'Revokes an access token for the transparency log immediately.')
  revokeLogShare(
    @CurrentActor() actor: Actor,
    @Arg('shareId', () => ID, 'ID of the access token: `shr_` followed by a ULID.') shareId: string,
  ) {
    return this.services.logShares.revoke(actor, shareId)
  }
}
