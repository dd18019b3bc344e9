import { createParameterDecorator, Extensions, type MiddlewareFn, UseMiddleware } from 'type-graphql'
import { requireScope, type Scope } from '../auth/actor.js'
import { AssayError, forbidden, httpStatus, type PublicError } from '../errors.js'
import type { Operation } from '../ledger/entry.js'
import { publicError } from '../public-error.js'
import type { Attempt, Call } from './call.js'

/** Who may: a scope, any valid credential, or anybody at all. */
export type Access = Scope | 'any' | 'public'

export const operationOf = (access: Access): Operation | null =>
  access === 'any' || access === 'public' || access === 'admin' ? null : access

/**
 * The one place where a root field's scope is checked and its call is logged (contract §2 and §5). A middleware and not
 * `@Authorized`, which runs before every middleware, so that a 403 would never be seen by the log.
 * `tenantWide` marks what tells of the whole tenant: not for a key that is restricted to some contexts.
 */
export function Requires(access: Access, { tenantWide = false }: { tenantWide?: boolean } = {}): MethodDecorator {
  const middleware: MiddlewareFn<Call> = async ({ context: call, info }, next) => {
    if (access === 'public') return next()
    if (info.path.prev) {
      if (access !== 'any') requireScope(call.requireActor(), access)
      return next()
    }
    const attempt = call.begin(String(info.path.key), operationOf(access))
    let result: unknown
    try {
      const actor = call.requireActor()
      await call.admit(actor)
      if (access !== 'any') requireScope(actor, access)
      if (tenantWide && actor.contexts)
        throw forbidden('This API key is restricted to some contexts; this tells of the whole tenant.')
      result = await next()
    } catch (error) {
      if (!attempt.settled) await recordFailure(attempt, error)
      throw error
    }
    if (!attempt.settled) {
      const entry = attempt.succeed()
      if (entry.call) await call.gate.record(entry)
    }
    return result
  }
  return ((target: object, key: string | symbol, descriptor: PropertyDescriptor) => {
    Extensions({ access, tenantWide })(target, key, descriptor)
    UseMiddleware(middleware)(target, key, descriptor)
  }) as MethodDecorator
}

/** Logs what went wrong. Where even that cannot be written, the caller hears of the first fault, not of the second. */
export async function recordFailure(attempt: Attempt, error: unknown, told: PublicError = publicError(error)): Promise<void> {
  if (error instanceof AssayError && httpStatus[error.code] === 503 && error.cause)
    attempt.call.gate.outage?.(attempt.call, error)
  const entry = attempt.fail(told)
  if (entry.call) await attempt.call.gate.record(entry).catch(() => {})
}

/** The attempt under way, for services that commit their call row together with what they do. */
export const CurrentAttempt = () => createParameterDecorator<Call>(({ context, info }) => context.attemptOf(info))

/** Who performs. */
export const By = () => createParameterDecorator<Call>(({ context }) => context.requireActor())

/** The whole request. */
export const CurrentCall = () => createParameterDecorator<Call>(({ context }) => context)
