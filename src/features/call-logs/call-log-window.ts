import { toWindow, type Window } from '../../api/graphql/rules.js'
import { firstIdAt } from '../../platform/ids.js'
import type { CallLogsArgs } from './call-log.types.js'

export type CallLogFilter = Partial<Pick<CallLogsArgs, 'apiKeyId' | 'operation' | 'status' | 'startDate' | 'endDate'>>

/** The stretch that a filter and the retention leave. */
export function loggedWindow(filter: CallLogFilter, horizon: Date | null): Window {
  const { from, until } = toWindow(filter)
  return { from: from && horizon ? (from > horizon ? from : horizon) : (from ?? horizon), until }
}

/** The same stretch as bounds of ids, which begin with their time. */
export const idBounds = ({ from, until }: Window): { from: string | null; until: string | null } => ({
  from: from && firstIdAt('call', from),
  until: until && firstIdAt('call', until),
})
