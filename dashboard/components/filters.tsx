import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { query, updateQuery } from '../router.js'
import { Field, Select } from './field.js'

const getFilterValue = (name: string) => query.value.get(name) ?? ''

/** Filters for a list. The URL stores them, so that users can share a filtered list. */
export function Filters({ children }: { children: ComponentChildren }) {
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      {children}
    </form>
  )
}

interface FilterProps {
  /** Name of the URL query parameter. */
  name: string
  label: string
}

/** Text filter that replaces the current history entry, so that typing does not fill the browser history. */
export function FilterField({ name, ...more }: FilterProps & { type?: 'search' | 'date'; placeholder?: string }) {
  return <Field value={getFilterValue(name)} onInput={(value) => updateQuery({ [name]: value }, { replace: true })} {...more} />
}

const searchDelayMs = 200

/** Text filter that is applied after a pause in typing, because each search reads many rows. */
export function FilterSearch({ name, ...more }: FilterProps & { placeholder?: string }) {
  const typed = useSignal<string | undefined>(undefined)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const onInput = (value: string) => {
    typed.value = value
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      typed.value = undefined
      updateQuery({ [name]: value }, { replace: true })
    }, searchDelayMs)
  }
  return <Field type="search" value={typed.value ?? getFilterValue(name)} onInput={onInput} {...more} />
}

export function FilterSelect({ name, ...more }: FilterProps & { options: readonly (readonly [value: string, text: string])[] }) {
  return <Select value={getFilterValue(name)} onChange={(value) => updateQuery({ [name]: value })} {...more} />
}

export { DateFilter } from './date-filter.js'
