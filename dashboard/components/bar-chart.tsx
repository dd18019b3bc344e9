import { useSignal } from '@preact/signals'
import type { TargetedKeyboardEvent } from 'preact'
import { texts } from '../texts.js'

interface Series {
  title: string
  values: readonly number[]
  tone: 'accent' | 'bad'
  getHref: (index: number) => string
}

interface Props {
  title: string
  /** Formatted total, such as the sum of all bars. */
  total: string
  /** Name of each time interval, and a short form for the axis. */
  labels: readonly { full: string; short: string }[]
  series: readonly Series[]
  format: (value: number) => string
  /** If false, the legend shows the latest value instead of the sum of all values. Default: true. */
  isSum?: boolean
}

/** Stacked bar chart whose bars are links. The Tab key focuses one bar, and the arrow keys move between bars. */
export function BarChart({ title, total, labels, series, format, isSum = true }: Props) {
  const selected = useSignal<number | undefined>(undefined)
  const visible = series.filter(({ values }) => values.some((value) => value > 0))
  const max = roundUpAxisMaximum(Math.max(1, ...labels.map((_, at) => sum(visible.map(({ values }) => values[at] ?? 0)))), format)
  const index = selected.value !== undefined && selected.value < labels.length ? selected.value : undefined
  const formatLegendValue = ({ values }: Series) =>
    format(index === undefined ? (isSum ? sum(values) : (values.at(-1) ?? 0)) : (values[index] ?? 0))
  return (
    <figure class="card chart" aria-label={texts.overview.chartLabel(title, total)}>
      <figcaption>
        <h3>{title}</h3>
        <strong>{total}</strong>
      </figcaption>
      <div class="plot">
        <div class="plot-axis" aria-hidden="true">
          <span>{format(max)}</span>
          <span>{format(max / 2)}</span>
          <span>{format(0)}</span>
        </div>
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for form fields, and these are links. */}
        <div
          class="plot-bars"
          role="group"
          aria-label={title}
          onKeyDown={moveFocusByArrowKey}
          onPointerLeave={() => (selected.value = undefined)}
        >
          {labels.map(({ full, short }, at) => (
            <div key={full} class="slot" onPointerEnter={() => (selected.value = at)} onFocusIn={() => (selected.value = at)}>
              <Bar {...{ index: at, fullLabel: full, max, series: visible, format, isLast: at === labels.length - 1 }} />
              {hasAxisLabel(at, labels.length) && (
                <span class="tick" aria-hidden="true">
                  {short}
                </span>
              )}
            </div>
          ))}
        </div>
      </div>
      <ul class="legend">
        {visible.map((each) => (
          <li key={each.title}>
            <i class={each.tone} /> {each.title} <strong>{formatLegendValue(each)}</strong>
          </li>
        ))}
        <li class="legend-label">{index === undefined ? '' : labels[index]!.full}</li>
      </ul>
    </figure>
  )
}

interface BarProps {
  index: number
  fullLabel: string
  max: number
  series: readonly Series[]
  format: (value: number) => string
  isLast: boolean
}

/** Bar for one time interval. Each segment is a link, but only the first segment of the last bar is in the tab order. */
const Bar = ({ index, fullLabel, max, series, format, isLast }: BarProps) => (
  <div class="bar-stack">
    {series
      .map(({ values, ...rest }) => ({ ...rest, value: values[index] ?? 0 }))
      .filter(({ value }) => value > 0)
      .map(({ title, tone, value, getHref }, segment) => (
        <a
          key={title}
          class={tone}
          href={getHref(index)}
          tabIndex={isLast && segment === 0 ? 0 : -1}
          style={{ height: `${(value / max) * 100}%` }}
        >
          <span class="hidden">{texts.overview.barLabel(fullLabel, title, format(value))}</span>
        </a>
      ))}
  </div>
)

const sum = (values: readonly number[]) => values.reduce((all, each) => all + each, 0)

/** The axis has at most five labels, starting with the first time interval. */
const hasAxisLabel = (index: number, count: number) => index % Math.max(1, Math.ceil(count / 5)) === 0

/** Rounds the axis maximum up to a value whose half also has a short label. Byte counts are rounded up to a power of two. */
function roundUpAxisMaximum(value: number, format: (value: number) => string): number {
  if (format(1024).endsWith('KB')) return 2 ** Math.ceil(Math.log2(Math.max(2, value)))
  const power = 10 ** Math.floor(Math.log10(value))
  return Math.max(2, [1, 2, 4, 6, 8, 10].map((factor) => factor * power).find((step) => step >= value) ?? value)
}

function moveFocusByArrowKey(event: TargetedKeyboardEvent<HTMLDivElement>): void {
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: 1, ArrowDown: -1 }[event.key]
  const links = [...event.currentTarget.querySelectorAll<HTMLAnchorElement>('a')]
  const focused = links.indexOf(document.activeElement as HTMLAnchorElement)
  const next = step && links[focused + step]
  if (!next) return
  event.preventDefault()
  next.focus()
}
