import type { ComponentChildren } from 'preact'
import type { ApiError } from '../api/api-error.js'
import { formatDateTime } from '../api/format.js'
import { texts } from '../texts.js'
import { Button } from './button.js'
import { CopyButton } from './copy-button.js'
import { Icon, type IconName } from './icon.js'

/** What went wrong; said aloud by screen readers. */
export function ErrorNotice({ error, onRetry }: { error: ApiError | undefined; onRetry?: () => void }) {
  if (!error) return null
  return (
    <div class="notice bad" role="alert">
      <Icon name="warning" />
      <p>{toMessage(error)}</p>
      {onRetry && <Button onClick={onRetry}>{texts.tryAgain}</Button>}
    </div>
  )
}

/** The service names times in UTC, for programs. */
function toMessage({ message, details }: ApiError): string {
  if (details.second_factor !== 'locked') return message
  const until = details.locked_until
  return typeof until === 'string' ? texts.signIn.locked(formatDateTime(until)) : texts.signIn.lockedUntilReset
}

interface EmptyProps {
  icon: IconName
  title: string
  children: ComponentChildren
  /** The same by the API. */
  curl?: string
}

/** Nothing is there yet: what to do next, here and on the command line. */
export const EmptyState = ({ icon, title, children, curl }: EmptyProps) => (
  <div class="empty">
    <span class="empty-icon">
      <Icon name={icon} />
    </span>
    <h3>{title}</h3>
    <div class="stack">{children}</div>
    {curl && <CodeLine text={curl} />}
  </div>
)

/** A line for a shell, to copy. */
export const CodeLine = ({ text }: { text: string }) => (
  <div class="codeline">
    <code>{text}</code>
    <CopyButton text={text} />
  </div>
)

/** Grey lines where a list will be. */
export const Skeleton = ({ lines = 6 }: { lines?: number }) => (
  <div class="skeleton" role="status" aria-busy="true" aria-label={texts.loading}>
    {Array.from({ length: lines }, (_, at) => (
      <span key={at} />
    ))}
  </div>
)
