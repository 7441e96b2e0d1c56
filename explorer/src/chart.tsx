import { BarChart } from 'chartist'
import { useEffect, useRef } from 'preact/hooks'

/** A bar of a chart. */
export interface Bar {
  readonly label: string
  readonly value: number
}

/** Height of a bar with the space below it, in pixels. */
const barHeight = 28
const axisHeight = 30
/** Maximum length of a label, in characters. */
const labelLength = 28

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 })

/** Bar chart with horizontal bars, which leave room for the labels on narrow screens too. */
export function Chart({ bars, title }: { readonly bars: readonly Bar[]; readonly title: string }) {
  const container = useRef<HTMLDivElement>(null)
  const text = JSON.stringify(bars)
  useEffect(() => {
    if (container.current === null) return
    const labels = bars.map(({ label }) => (label.length > labelLength ? `${label.slice(0, labelLength)}…` : label))
    const chart = new BarChart(
      container.current,
      { labels, series: [bars.map(({ value }) => value)] },
      {
        horizontalBars: true,
        // Chartist draws the first bar at the bottom, but the first row of the table is at the top.
        reverseData: true,
        height: bars.length * barHeight + axisHeight,
        chartPadding: { top: 5, right: 25, bottom: 0, left: 0 },
        axisX: {
          labelInterpolationFnc: (value) => compact.format(Number(value)),
          onlyInteger: bars.every(({ value }) => Number.isInteger(value)),
          scaleMinSpace: 80,
          offset: 20,
        },
        axisY: { offset: 110, showGrid: false },
      },
    )
    return () => {
      chart.detach()
    }
  }, [text])
  return <div ref={container} class="chart" role="img" aria-label={title} />
}
