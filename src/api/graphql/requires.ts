import { createParameterDecorator, Extensions, type MiddlewareFn, type ResolverData, UseMiddleware } from 'type-graphql'
import { requireAccess } from '../../access/admission.js'
import type { Call } from '../../access/call.js'
import type { Access, Endpoint } from '../../access/endpoint.js'

/** Returns the requirements that depend on the field's arguments, or undefined if the declared requirements apply. */
export type GetEndpoint = (data: ResolverData<Call>) => Endpoint | undefined

/**
 * Declares the requirements of a field. For a root field, `Admission` checks them and logs the call. For other fields, only the
 * scope is checked. `@Authorized` is unsuitable: it runs before all middleware, so its 403 errors would not be logged.
 */
export function Requires(access: Access, options: Omit<Endpoint, 'access'> = {}, getEndpoint?: GetEndpoint): MethodDecorator {
  const declared: Endpoint = { access, ...options }
  const middleware: MiddlewareFn<Call> = async (data, next) => {
    const { context: call, info } = data
    const endpoint = getEndpoint?.(data) ?? declared
    if (access === 'public') return next()
    if (options.orNull && !call.actor && !call.rejection) return null
    if (!info.path.prev) return call.run(String(info.path.key), endpoint, next)
    requireAccess(call.requireActor(), endpoint)
    return next()
  }
  return ((target: object, key: string | symbol, descriptor: PropertyDescriptor) => {
    Extensions({ endpoint: declared })(target, key, descriptor)
    UseMiddleware(middleware)(target, key, descriptor)
  }) as MethodDecorator
}

/** Injects the current attempt. Services use it to commit the call log row together with their change. */
export const CurrentAttempt = () =>
  createParameterDecorator<Call>(({ context, info }) => {
    let { path } = info
    while (path.prev) path = path.prev
    return context.getAttempt(String(path.key))
  })

export const CurrentActor = () => createParameterDecorator<Call>(({ context }) => context.requireActor())

export const CurrentCall = () => createParameterDecorator<Call>(({ context }) => context)
