import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { locale } from '../words/language.ts'

export interface Series {
  readonly label: string
  readonly values: readonly number[]
  /** A custom property of styles/tokens.css, such as `--good`. */
  readonly color: string
}

interface PlotProps {
  /** Seconds since 1970. */
  readonly at: readonly number[]
  /** Drawn on top of each other, the first at the bottom. */
  readonly series: readonly Series[]
  readonly kind?: 'bars' | 'line'
  readonly height?: number
  readonly title: string
  /** For those who do not see the plot. */
  readonly summary: string
}

const ticks = new Intl.NumberFormat(locale, { notation: 'compact' })
const hours = new Intl.DateTimeFormat(locale, { timeStyle: 'short' })
const days = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short' })

/** Each series with those below it added. */
function stacked(series: readonly Series[]): number[][] {
  const sums: number[][] = []
  for (const { values } of series) {
    const below = sums.at(-1)
    sums.push(values.map((value, index) => value + (below?.[index] ?? 0)))
  }
  return sums
}

const dayS = 86_400

function optionsOf(element: HTMLElement, { series, kind, height = 160 }: PlotProps): uPlot.Options {
  const style = getComputedStyle(element)
  const color = (name: string) => style.getPropertyValue(name).trim()
  const axis = {
    stroke: color('--text-quiet'),
    font: `11px ${style.fontFamily}`,
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  }
  // The first and the last bar stand in the plot whole.
  const wholeBars = ({ data: [at] }: uPlot, min: number, max: number): [number, number] => {
    const half = kind === 'line' ? 0 : ((at[1] ?? 0) - (at[0] ?? 0)) / 2
    return [min - half, max + half]
  }
  const bars = uPlot.paths.bars?.({ size: [0.8, 40, 1] })
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 20, 0, 0],
    scales: {
      x: { time: true, range: wholeBars },
      y: { range: (_, __, max) => [0, Math.max(4, Math.ceil(max * 1.1))] },
    },
    axes: [
      {
        ...axis,
        space: 72,
        size: 24,
        values: (_, splits) => {
          const span = (splits.at(-1) ?? 0) - (splits[0] ?? 0)
          return splits.map((s) => (span > 2 * dayS ? days : hours).format(s * 1000))
        },
      },
      {
        ...axis,
        size: 40,
        values: (_, splits) => splits.map((n) => (Number.isInteger(n) ? ticks.format(n) : '')),
      },
    ],
    // The highest sums first, so that the lower ones stand before them.
    series: [
      {},
      ...[...series].reverse().map(({ label, color: name }) => ({
        label,
        stroke: color(name),
        fill: kind === 'line' ? `${color(name)}33` : color(name),
        width: kind === 'line' ? 2 : 0,
        points: { show: false },
        ...(kind === 'line' || bars === undefined ? {} : { paths: bars }),
      })),
    ],
  }
}

const dataOf = ({ at, series }: PlotProps): uPlot.AlignedData => [[...at], ...stacked(series).reverse()]

/** A plot over time. Its numbers are text too: the summary, and the legend with sums. */
export function Plot(props: PlotProps) {
  const frame = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const latest = useRef(props)
  latest.current = props

  useEffect(() => {
    const element = frame.current
    if (!element) return
    const draw = () => {
      plot.current?.destroy()
      plot.current = new uPlot(optionsOf(element, latest.current), dataOf(latest.current), element)
    }
    draw()
    let { clientWidth } = element
    const resized = new ResizeObserver(() => {
      if (element.clientWidth === clientWidth) return
      clientWidth = element.clientWidth
      plot.current?.setSize({ width: clientWidth, height: latest.current.height ?? 160 })
    })
    resized.observe(element)
    const dark = matchMedia('(prefers-color-scheme: dark)')
    dark.addEventListener('change', draw)
    return () => {
      dark.removeEventListener('change', draw)
      resized.disconnect()
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [])
  useEffect(() => plot.current?.setData(dataOf(props)))

  const { title, summary, series, height = 160 } = props
  return (
    <figure class="plot">
      <figcaption>
        <span class="plot-title">{title}</span>
        <span class="plot-legend">
          {series.map(({ label, color }) => (
            <span key={label}>
              <span class="swatch" style={{ background: `var(${color})` }} aria-hidden="true" />
              {label}
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={frame} style={{ height: `${height}px` }} aria-hidden="true" />
      <p class="for-readers">{summary}</p>
    </figure>
  )
}
