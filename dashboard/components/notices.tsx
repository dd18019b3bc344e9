import type { ComponentChildren } from 'preact'
import type { Fault } from '../api/fault.js'
import { moment } from '../api/format.js'
import { texts } from '../texts.js'
import { Button } from './button.js'
import { Copy } from './copy.js'
import { Icon, type IconName } from './icon.js'

/** What went wrong; said aloud by screen readers. */
export function FaultNotice({ fault, again }: { fault: Fault | undefined; again?: () => void }) {
  if (!fault) return null
  return (
    <div class="notice bad" role="alert">
      <Icon name="warning" />
      <p>{toMessage(fault)}</p>
      {again && <Button onClick={again}>{texts.tryAgain}</Button>}
    </div>
  )
}

/** The service names times in UTC, for programs. */
function toMessage({ message, details }: Fault): string {
  if (details.second_factor !== 'locked') return message
  const until = details.locked_until
  return typeof until === 'string' ? texts.signIn.locked(moment(until)) : texts.signIn.lockedUntilReset
}

interface EmptyProps {
  icon: IconName
  title: string
  children: ComponentChildren
  /** The same by the API. */
  curl?: string
}

/** Nothing is there yet: what to do next, here and on the command line. */
export const Empty = ({ icon, title, children, curl }: EmptyProps) => (
  <div class="empty">
    <span class="mark">
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
    <Copy text={text} />
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
