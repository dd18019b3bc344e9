import { formatDateTime, formatRelativeTime, formatUtc } from '../api/format.js'
import { texts } from '../texts.js'

/** Shows a time in the user's time zone. The tooltip shows it in UTC, which the logs also use. */
export const Time = ({ at, relative = false }: { at: string | null | undefined; relative?: boolean }) =>
  at ? (
    <time dateTime={at} title={relative ? `${formatDateTime(at)} · ${formatUtc(at)}` : formatUtc(at)}>
      {relative ? formatRelativeTime(at) : formatDateTime(at)}
    </time>
  ) : (
    <span class="dim">{texts.never}</span>
  )
