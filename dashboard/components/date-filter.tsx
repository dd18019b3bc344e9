import { useSignal } from '@preact/signals'
import { formatDateTime } from '../api/format.js'
import { query, updateQuery } from '../router.js'
import { texts } from '../texts.js'
import { Field, Select } from './field.js'

const t = texts.dateRanges

const presetDays = { today: 1, week: 7, month: 30, quarter: 90 } as const
type Preset = keyof typeof presetDays

const presets = Object.keys(presetDays) as Preset[]

/** Returns the first day of a preset range in UTC, because the service filters by UTC days. */
const getFirstDay = (preset: Preset): string =>
  new Date(Date.now() - (presetDays[preset] - 1) * 86_400_000).toISOString().slice(0, 10)

/** Date filter with preset ranges and custom dates. The URL contains absolute dates, so that shared links stay correct. */
export function DateFilter() {
  const isCustom = useSignal(false)
  const [from, to] = [query.value.get('from') ?? '', query.value.get('to') ?? '']
  const preset = to === '' ? presets.find((each) => from === getFirstDay(each)) : undefined
  // Show an exact range as text, because bars in hourly charts link to ranges with times, which date fields cannot show.
  const exactRange = from.includes('T') && to ? t.exact(formatDateTime(from), formatDateTime(to)) : undefined
  const isRange = isCustom.value || (!preset && (from !== '' || to !== ''))
  const selectRange = (value: string) => {
    isCustom.value = value === 'custom'
    if (value === 'custom') return
    updateQuery({ from: value === '' ? null : getFirstDay(value as Preset), to: null })
  }
  const options = [
    ['', t.any] as const,
    ...presets.map((each) => [each, t.presets[each]] as const),
    ...(exactRange ? [['exact', exactRange] as const] : []),
    ['custom', t.custom] as const,
  ]
  return (
    <>
      <Select
        label={t.label}
        value={exactRange && !isCustom.value ? 'exact' : isRange ? 'custom' : (preset ?? '')}
        options={options}
        onChange={selectRange}
      />
      {isRange && (!exactRange || isCustom.value) && (
        <>
          <DateField name="from" label={texts.startDate} />
          <DateField name="to" label={texts.endDate} />
        </>
      )}
    </>
  )
}

const DateField = ({ name, label }: { name: 'from' | 'to'; label: string }) => (
  <Field
    type="date"
    label={label}
    value={(query.value.get(name) ?? '').slice(0, 10)}
    onInput={(value) => updateQuery({ [name]: value }, { replace: true })}
  />
)
