import { type Group, wordsOfMember } from './aggregate'
import { type Bar, Chart } from './chart'
import type { LabelOf } from './labels'
import type { Field } from './model'

/** Maximum number of bars in a chart. */
const maxBars = 50

interface GroupChartProps {
  readonly groups: readonly Group[]
  readonly keys: readonly Field[]
  /** The function that the bars show. */
  readonly measure: string
  readonly labelOf: LabelOf
}

/** Chart of a page of groups, if the values of the function are numbers. */
export function GroupChart({ groups, keys, measure, labelOf }: GroupChartProps) {
  const bars = groups.slice(0, maxBars).map((group): Bar => {
    const label = keys.map((key) => labelOf(key, group) ?? String(group[key.name])).join(' · ')
    return { label, value: Number(group[measure] ?? 0) }
  })
  if (bars.length === 0 || bars.some(({ value }) => !Number.isFinite(value))) return null
  const words = `${wordsOfMember(measure)}, grouped by ${keys.map(({ name }) => wordsOfMember(name)).join(' and ')}`
  return (
    <figure>
      <figcaption>
        {words}
        {groups.length > maxBars && `: the first ${maxBars} groups of the page`}
      </figcaption>
      <Chart bars={bars} title={`Bar chart: ${words}. The table below has the values.`} />
    </figure>
  )
}
