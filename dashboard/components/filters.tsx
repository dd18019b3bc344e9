import type { ComponentChildren } from 'preact'
import { query, setQuery } from '../router.js'
import { texts } from '../texts.js'
import { Field, Select } from './field.js'

const getFilter = (name: string) => query.value.get(name) ?? ''

/** What narrows a list. It stands in the address, so that a view can be shared. */
export function Filters({ children }: { children: ComponentChildren }) {
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      {children}
    </form>
  )
}

interface FilterProps {
  /** Of the parameter in the address. */
  name: string
  label: string
}

/** Typing replaces the address: no step back for each letter. */
export function FilterField({ name, ...more }: FilterProps & { type?: 'search' | 'date'; placeholder?: string }) {
  return <Field value={getFilter(name)} onInput={(value) => setQuery({ [name]: value }, { replace: true })} {...more} />
}

export function FilterSelect({ name, ...more }: FilterProps & { options: readonly (readonly [value: string, text: string])[] }) {
  return <Select value={getFilter(name)} onChange={(value) => setQuery({ [name]: value })} {...more} />
}

/** The first and the last day. */
export function FilterDates() {
  return (
    <>
      <FilterField name="from" label={texts.startDate} type="date" />
      <FilterField name="to" label={texts.endDate} type="date" />
    </>
  )
}
