import { Badge } from '../components/badge.js'
import { texts } from '../texts.js'

const t = texts.files

interface Props {
  file: { quarantinedAt: string | null; hold?: object | null }
}

/** Status of a stored file. Only users with scope `admin` can see holds. */
export function FileStatus({ file: { quarantinedAt, hold } }: Props) {
  if (quarantinedAt) return <Badge tone="bad">{t.statuses.quarantined}</Badge>
  if (hold) return <Badge tone="warn">{t.statuses.onHold}</Badge>
  return <Badge tone="good">{t.statuses.available}</Badge>
}
