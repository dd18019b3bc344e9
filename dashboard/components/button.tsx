import { useSignal } from '@preact/signals'
import type { ComponentChildren, TargetedMouseEvent } from 'preact'
import { Icon, type IconName } from './icon.js'

interface Props {
  children?: ComponentChildren
  icon?: IconName
  kind?: 'primary' | 'plain' | 'quiet' | 'danger'
  /** Accessible name. Required if the button has only an icon. */
  label?: string
  type?: 'button' | 'submit'
  disabled?: boolean
  isBusy?: boolean
  onClick?: (event: TargetedMouseEvent<HTMLButtonElement>) => unknown
}

/** Button that ignores clicks until the promise of its `onClick` handler settles. */
export function Button({ children, icon, kind = 'plain', label, type = 'button', disabled, isBusy, onClick }: Props) {
  const isWorking = useSignal(false)
  const isPending = isBusy || isWorking.value
  const handleClick = async (event: TargetedMouseEvent<HTMLButtonElement>) => {
    if (isPending || !onClick) return
    isWorking.value = true
    await Promise.resolve(onClick(event)).finally(() => {
      isWorking.value = false
    })
  }
  return (
    <button
      type={type}
      class={`button ${kind}${children ? '' : ' square'}`}
      aria-label={label}
      title={children ? undefined : label}
      aria-busy={isPending}
      disabled={disabled}
      onClick={onClick ? handleClick : undefined}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}
