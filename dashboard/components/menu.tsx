import type { ComponentChildren } from 'preact'
import { useId, useRef } from 'preact/hooks'
import { Icon } from './icon.js'

/** What can be done with one thing of a list, behind three dots. */
export function Menu({ label, children }: { label: string; children: ComponentChildren }) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const positionList = () => {
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
        onClick={positionList}
      >
        <Icon name="more" />
      </button>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: a click on one of its buttons closes it, also by key. */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a click on one of its buttons closes it, also by key. */}
      <div ref={list} id={id} popover="auto" class="menu-list" onClick={() => list.current?.hidePopover()}>
        {children}
      </div>
    </>
  )
}
