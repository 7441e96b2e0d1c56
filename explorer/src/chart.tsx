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
/** Greatest length of a label, in characters. */
const labelLength = 28

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 })

/** Bar chart with horizontal bars, which leave room for the labels on narrow screens too. */
export function Chart({ bars, title }: { readonly bars: readonly Bar[]; readonly title: string }) {
  const place = useRef<HTMLDivElement>(null)
  const text = JSON.stringify(bars)
  useEffect(() => {
    if (place.current === null) return
    const labels = bars.map(({ label }) => (label.length > labelLength ? `${label.slice(0, labelLength)}…` : label))
    const chart = new BarChart(
      place.current,
      { labels, series: [bars.map(({ value }) => value)] },
      {
        horizontalBars: true,
        // The axis begins below, the table above.
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
  return <div ref={place} class="chart" role="img" aria-label={title} />
}
