import { Arg, Args, ID, Mutation, Query, Resolver } from 'type-graphql'
import type { Attempt } from '../../access/admission.js'
import { PageArgs } from '../../api/graphql/page.js'
import { By, CurrentAttempt, Requires } from '../../api/graphql/requires.js'
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
  @Query(() => FileReceipt, { description: 'The signed receipt of a verdict, with the proof that it stands in the log.' })
  receipt(@CurrentAttempt() attempt: Attempt, @Args(() => ReceiptArgs) args: ReceiptArgs) {
    return this.#receipts.issue(attempt, args)
  }

  @Requires('admin', { tenantWide: true })
  @Query(() => LogCheckpoint, { description: 'The signed state of the log.' })
  async logCheckpoint(@By() { tenantId }: Actor): Promise<LogCheckpoint> {
    const { origin, size, root, note } = await this.#log.checkpoint(tenantId)
    const verifierKey = await this.#log.verifierKey(tenantId)
    return { origin, size, rootHash: root.toString('base64'), checkpoint: note, verifierKey }
  }

  @Requires('admin')
  @Query(() => LogSharePage, { description: 'The tokens that read the log, newest first.' })
  logShares(@By() actor: Actor, @Args(() => PageArgs) args: PageArgs) {
    return this.#shares.list(actor, args)
  }

  @Requires('admin')
  @Mutation(() => NewLogShare, { description: 'Makes a token that reads the log and nothing else, for an auditor.' })
  shareLog(@By() actor: Actor, @Args(() => ShareLogArgs) { days }: ShareLogArgs) {
    return this.#shares.create(actor, days)
  }

  @Requires('admin')
  @Mutation(() => LogShare, { description: 'Ends a token of the log, at once.' })
  revokeLogShare(@By() actor: Actor, @Arg('shareId', () => ID, { description: 'Shape shr_….' }) shareId: string) {
    return this.#shares.revoke(actor, shareId)
  }
}
