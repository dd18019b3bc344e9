import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type uPlot from 'uplot'
import { bytes } from '../api/format.js'
import { texts } from '../texts.js'
import { theme } from '../theme.js'

interface Series {
  title: string
  values: number[]
  isArea?: boolean
}

interface Props {
  title: string
  total: string
  times: string[]
  series: Series[]
  format: (value: number) => string
}

const height = 170

/** Values over time. uPlot is fetched when the first chart is shown: no other view needs it. */
export function Chart({ title, total, times, series, format }: Props) {
  const frame = useRef<HTMLDivElement>(null)
  const library = useSignal<typeof uPlot | undefined>(undefined)
  useEffect(() => {
    void import('uplot').then((module) => (library.value = module.default))
  }, [library])
  const key = JSON.stringify([times, series])
  useEffect(() => {
    const UPlot = library.value
    const parent = frame.current
    if (!UPlot || !parent) return
    const plot = new UPlot(
      optionsOf(UPlot, parent, series, format),
      [times.map((time) => Date.parse(time) / 1000), ...series.map(({ values }) => values)],
      parent,
    )
    const watch = new ResizeObserver(() => plot.setSize({ width: parent.clientWidth, height }))
    watch.observe(parent)
    return () => {
      watch.disconnect()
      plot.destroy()
    }
  }, [key, library.value, theme.value])
  return (
    <figure class="card chart" aria-label={texts.overview.chartLabel(title, total)}>
      <figcaption>
        <h3>{title}</h3>
        <strong>{total}</strong>
      </figcaption>
      <div ref={frame} class="plot" />
    </figure>
  )
}

const widened = ([one = 0, two = 0]: ArrayLike<number> & Iterable<number>, first: number, last: number): [number, number] => {
  const half = (two - one) / 2
  return [first - half, last + half]
}

/** Round to who counts bytes. */
const byteSteps = [0, 1, 2, 3, 4, 5].flatMap((power) =>
  [1, 2, 4, 8, 16, 32, 64, 128, 256, 512].map((step) => step * 1024 ** power),
)

const dayOf = (seconds: number) => {
  const moment = new Date(seconds * 1000)
  return moment.getHours() === 0
    ? moment.toLocaleDateString('en', { month: 'short', day: 'numeric' })
    : moment.toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
}

function optionsOf(UPlot: typeof uPlot, parent: HTMLElement, series: Series[], format: (value: number) => string): uPlot.Options {
  const style = getComputedStyle(parent)
  const [line, grid, text] = [colourOf(parent, '--chart-1'), colourOf(parent, '--line'), colourOf(parent, '--text-3')]
  const font = `11px ${style.fontFamily}`
  const axis = { stroke: text, font, grid: { stroke: grid, width: 1 }, ticks: { show: false } }
  return {
    width: parent.clientWidth,
    height,
    padding: [8, 8, 0, 0],
    cursor: { points: { size: 6 }, drag: { x: false, y: false } },
    legend: { live: true },
    scales: {
      // Bars stand on their moments: half of the first and of the last would be cut off.
      x: { range: (plot, first, last) => (series[0]?.isArea ? [first, last] : widened(plot.data[0], first, last)) },
      y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.1)] },
    },
    axes: [
      { ...axis, grid: { show: false }, space: 64, size: 26, values: (_plot, values) => values.map(dayOf) },
      {
        ...axis,
        size: 58,
        ...(format === bytes && { incrs: byteSteps }),
        values: (_plot, values) => values.map((value) => (Number.isInteger(value) ? format(value) : '')),
      },
    ],
    series: [
      {
        value: (_plot, time) =>
          time === null ? '' : new Date(time * 1000).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'short' }),
      },
      ...series.map(({ title, isArea }, at): uPlot.Series => {
        const colour = at === 0 ? line : colourOf(parent, '--chart-2')
        const shape = isArea
          ? { width: 1.5, fill: `${colour}22`, paths: UPlot.paths.linear!() }
          : { width: 0, fill: colour, paths: UPlot.paths.bars!({ size: [0.6, 24] }) }
        const value = (_plot: uPlot, known: number | null) => (known === null ? '' : format(known))
        return { label: title, stroke: colour, points: { show: false }, value, ...shape }
      }),
    ],
  }
}

/** A token's colour as a canvas takes it: `light-dark()` is resolved by an element alone. */
function colourOf(parent: HTMLElement, token: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${token})`
  parent.append(probe)
  const [red = 0, green = 0, blue = 0] =
    getComputedStyle(probe)
      .color.match(/[\d.]+/g)
      ?.map(Number) ?? []
  probe.remove()
  return `#${[red, green, blue].map((part) => part.toString(16).padStart(2, '0')).join('')}`
}
