import { formatDateTime, formatRelativeTime, formatUtc } from '../api/format.js'
import { texts } from '../texts.js'

/** In the viewer's zone; UTC, as the logs have it, on hover. */
export const Time = ({ at, relative = false }: { at: string | null | undefined; relative?: boolean }) =>
  at ? (
    <time dateTime={at} title={relative ? `${formatDateTime(at)} · ${formatUtc(at)}` : formatUtc(at)}>
      {relative ? formatRelativeTime(at) : formatDateTime(at)}
    </time>
  ) : (
    <span class="dim">{texts.never}</span>
  )
