import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type uPlot from 'uplot'
import { formatBytes } from '../api/format.js'
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

/** Time series chart. Only charts need uPlot, so it is loaded with the first one. */
export function Chart({ title, total, times, series, format }: Props) {
  const container = useRef<HTMLDivElement>(null)
  const uPlotLibrary = useSignal<typeof uPlot | undefined>(undefined)
  useEffect(() => {
    void import('uplot').then((module) => (uPlotLibrary.value = module.default))
  }, [uPlotLibrary])
  const dataKey = JSON.stringify([times, series])
  useEffect(() => {
    const UPlot = uPlotLibrary.value
    const parent = container.current
    if (!UPlot || !parent) return
    const plot = new UPlot(
      toPlotOptions(UPlot, parent, series, format),
      [times.map((time) => Date.parse(time) / 1000), ...series.map(({ values }) => values)],
      parent,
    )
    const resizeObserver = new ResizeObserver(() => plot.setSize({ width: parent.clientWidth, height }))
    resizeObserver.observe(parent)
    return () => {
      resizeObserver.disconnect()
      plot.destroy()
    }
  }, [dataKey, uPlotLibrary.value, theme.value])
  return (
    <figure class="card chart" aria-label={texts.overview.chartLabel(title, total)}>
      <figcaption>
        <h3>{title}</h3>
        <strong>{total}</strong>
      </figcaption>
      <div ref={container} class="plot" />
    </figure>
  )
}

const widenRange = ([one = 0, two = 0]: ArrayLike<number> & Iterable<number>, first: number, last: number): [number, number] => {
  const half = (two - one) / 2
  return [first - half, last + half]
}

/** Axis steps in bytes: powers of two, so that labels are round numbers of KB, MB and GB. */
const byteSteps = [0, 1, 2, 3, 4, 5].flatMap((power) =>
  [1, 2, 4, 8, 16, 32, 64, 128, 256, 512].map((step) => step * 1024 ** power),
)

const formatTick = (seconds: number) => {
  const time = new Date(seconds * 1000)
  return time.getHours() === 0
    ? time.toLocaleDateString('en', { month: 'short', day: 'numeric' })
    : time.toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
}

function toPlotOptions(
  UPlot: typeof uPlot,
  parent: HTMLElement,
  series: Series[],
  format: (value: number) => string,
): uPlot.Options {
  const style = getComputedStyle(parent)
  const [line, grid, text] = [resolveColor(parent, '--chart-1'), resolveColor(parent, '--line'), resolveColor(parent, '--text-3')]
  const font = `11px ${style.fontFamily}`
  const axis = { stroke: text, font, grid: { stroke: grid, width: 1 }, ticks: { show: false } }
  return {
    width: parent.clientWidth,
    height,
    padding: [8, 8, 0, 0],
    cursor: { points: { size: 6 }, drag: { x: false, y: false } },
    legend: { live: true },
    scales: {
      // Bars are centered on their timestamps. Without the wider range, the first and last bar would be cut in half.
      x: { range: (plot, first, last) => (series[0]?.isArea ? [first, last] : widenRange(plot.data[0], first, last)) },
      y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.1)] },
    },
    axes: [
      { ...axis, grid: { show: false }, space: 64, size: 26, values: (_plot, values) => values.map(formatTick) },
      {
        ...axis,
        size: 58,
        ...(format === formatBytes && { incrs: byteSteps }),
        values: (_plot, values) => values.map((value) => (Number.isInteger(value) ? format(value) : '')),
      },
    ],
    series: [
      {
        value: (_plot, time) =>
          time === null ? '' : new Date(time * 1000).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'short' }),
      },
      ...series.map(({ title, isArea }, at): uPlot.Series => {
        const color = at === 0 ? line : resolveColor(parent, '--chart-2')
        const seriesStyle = isArea
          ? { width: 1.5, fill: `${color}22`, paths: UPlot.paths.linear!() }
          : { width: 0, fill: color, paths: UPlot.paths.bars!({ size: [0.6, 24] }) }
        const value = (_plot: uPlot, point: number | null) => (point === null ? '' : format(point))
        return { label: title, stroke: color, points: { show: false }, value, ...seriesStyle }
      }),
    ],
  }
}

/** Resolves a CSS variable to a hexadecimal color. A canvas cannot resolve `light-dark()`, but an element can. */
function resolveColor(parent: HTMLElement, token: string): string {
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
