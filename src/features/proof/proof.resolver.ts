import { Arg, Args, ID, Mutation, Query, Resolver } from 'type-graphql'
import type { Attempt } from '../../access/admission.js'
import { PageArgs } from '../../api/graphql/page.js'
import { CurrentActor, CurrentAttempt, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import type { LogService } from './log.service.js'
import type { LogShareService } from './log-share.service.js'
import { FileReceipt, LogCheckpoint, LogShare, LogSharePage, NewLogShare, ReceiptArgs, ShareLogArgs } from './proof.types.js'
import type { ReceiptService } from './receipt.service.js'

@Resolver()
export class ProofResolver {
  readonly #log: LogService
  readonly #receipts: ReceiptService
  readonly #shares: LogShareService

  constructor(parts: { log: LogService; receipts: ReceiptService; logShares: LogShareService }) {
    this.#log = parts.log
    this.#receipts = parts.receipts
    this.#shares = parts.logShares
  }

  @Requires('metadata')
  @Query(() => FileReceipt, {
    description: 'Returns the signed receipt for a file or an upload call, with a proof that the transparency log contains it.',
  })
  receipt(@CurrentAttempt() attempt: Attempt, @Args(() => ReceiptArgs) args: ReceiptArgs) {
    return this.#receipts.issue(attempt, args)
  }

  @Requires('admin', { tenantWide: true })
  @Query(() => LogCheckpoint, { description: 'Returns the current signed checkpoint of the transparency log.' })
  async logCheckpoint(@CurrentActor() { tenantId }: Actor): Promise<LogCheckpoint> {
    const { origin, size, root, note } = await this.#log.createCheckpoint(tenantId)
    const verifierKey = await this.#log.getVerifierKey(tenantId)
    return { origin, size, rootHash: root.toString('base64'), checkpoint: note, verifierKey }
  }

  @Requires('admin')
  @Query(() => LogSharePage, { description: 'Lists the access tokens for the transparency log, newest first.' })
  logShares(@CurrentActor() actor: Actor, @Args(() => PageArgs) args: PageArgs) {
    return this.#shares.list(actor, args)
  }

  @Requires('admin')
  @Mutation(() => NewLogShare, {
    description: 'Creates a token that can only read the transparency log, for example for an auditor.',
  })
  shareLog(@CurrentActor() actor: Actor, @Args(() => ShareLogArgs) { days }: ShareLogArgs) {
    return this.#shares.create(actor, days)
  }

  @Requires('admin')
  @Mutation(() => LogShare, { description: 'Revokes an access token for the transparency log immediately.' })
  revokeLogShare(
    @CurrentActor() actor: Actor,
    @Arg('shareId', () => ID, { description: 'ID of the access token: `shr_` followed by a ULID.' }) shareId: string,
  ) {
    return this.#shares.revoke(actor, shareId)
  }
}
