import type { ComponentChildren } from 'preact'
import type { ApiError } from '../api/api-error.js'
import { formatDateTime } from '../api/format.js'
import { texts } from '../texts.js'
import { Button } from './button.js'
import { CopyButton } from './copy-button.js'
import { Icon, type IconName } from './icon.js'

/** Error message that screen readers announce. */
export function ErrorNotice({ error, onRetry }: { error: ApiError | undefined; onRetry?: () => void }) {
  if (!error) return null
  return (
    <div class="notice bad" role="alert">
      <Icon name="warning" />
      <p>{toErrorMessage(error)}</p>
      {onRetry && <Button onClick={onRetry}>{texts.tryAgain}</Button>}
    </div>
  )
}

/** Returns the error message. It states the end of a sign-in lock in the user's time zone instead of UTC. */
function toErrorMessage({ message, details }: ApiError): string {
  if (details.second_factor !== 'locked') return message
  const until = details.locked_until
  return typeof until === 'string' ? texts.signIn.locked(formatDateTime(until)) : texts.signIn.lockedUntilReset
}

interface EmptyProps {
  icon: IconName
  title: string
  children: ComponentChildren
  /** curl command that performs the same operation with the API. */
  curl?: string
}

/** Placeholder for an empty list that explains the next step. */
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

export const CodeLine = ({ text }: { text: string }) => (
  <div class="codeline">
    <code>{text}</code>
    <CopyButton text={text} />
  </div>
)

export const Skeleton = ({ lines = 6 }: { lines?: number }) => (
  <div class="skeleton" role="status" aria-busy="true" aria-label={texts.loading}>
    {Array.from({ length: lines }, (_, at) => (
      <span key={at} />
    ))}
  </div>
)
