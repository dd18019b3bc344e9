import type { ComponentChildren } from 'preact'
import { query, setQuery } from '../router.js'
import { Field, Select } from './field.js'

const getFilter = (name: string) => query.value.get(name) ?? ''

/** Filters of a list. They are stored in the URL, so that a filtered list can be shared. */
export function Filters({ children }: { children: ComponentChildren }) {
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      {children}
    </form>
  )
}

interface FilterProps {
  /** Name of the query parameter. */
  name: string
  label: string
}

/** Text filter. It replaces the history entry, so that not every typed letter becomes a step back. */
export function FilterField({ name, ...more }: FilterProps & { type?: 'search' | 'date'; placeholder?: string }) {
  return <Field value={getFilter(name)} onInput={(value) => setQuery({ [name]: value }, { replace: true })} {...more} />
}

export function FilterSelect({ name, ...more }: FilterProps & { options: readonly (readonly [value: string, text: string])[] }) {
  return <Select value={getFilter(name)} onChange={(value) => setQuery({ [name]: value })} {...more} />
}

export { FilterDates } from './date-filter.js'
