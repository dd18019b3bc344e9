import type { ComponentChildren } from 'preact'
import { useId, useRef } from 'preact/hooks'
import { Icon } from './icon.js'

export function Menu({ label, children }: { label: string; children: ComponentChildren }) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const positionMenu = () => {
    const { bottom, right } = button.current!.getBoundingClientRect()
    Object.assign(list.current!.style, { top: `${bottom + 4}px`, right: `${document.documentElement.clientWidth - right}px` })
  }
  return (
    <>
      <button
        ref={button}
        type="button"
        class="button quiet square"
        aria-label={label}
        title={label}
        popovertarget={id}
        onClick={positionMenu}
      >
        <Icon name="more" />
      </button>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the handler only closes the menu after a click on one of its buttons, which also support the keyboard. */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the handler only closes the menu after a click on one of its buttons, which also support the keyboard. */}
      <div ref={list} id={id} popover="auto" class="menu-list" onClick={() => list.current?.hidePopover()}>
        {children}
      </div>
    </>
  )
}
