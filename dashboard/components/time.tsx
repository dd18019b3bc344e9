import { ago, moment, utc } from '../api/format.js'
import { texts } from '../texts.js'

/** In the viewer's zone; UTC, as the logs have it, on hover. */
export const Time = ({ at, relative = false }: { at: string | null | undefined; relative?: boolean }) =>
  at ? (
    <time dateTime={at} title={relative ? `${moment(at)} · ${utc(at)}` : utc(at)}>
      {relative ? ago(at) : moment(at)}
    </time>
  ) : (
    <span class="dim">{texts.never}</span>
  )
