/** Draws the results of `npm run bench` on SQLite: requests per second by kind of request. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import * as echarts from 'echarts'

interface Result {
  readonly work: string
  readonly engine: string
  readonly implementation: string
  readonly rate: number
}

const root = resolve(__dirname, '../../../..')
const picture = resolve(root, 'docs/images/performance.svg')

const panels = [
  ['list', 'a list of 20'],
  ['join', 'a list of 20 by a joined field'],
  ['item', 'one record'],
  ['update', 'an update'],
] as const

/** From bottom to top. */
const titles = [
  ['nest-crud', 'Nest, @dataui/crud'],
  ['nest-paginate', 'Nest, nestjs-paginate'],
  ['remult', 'remult'],
  ['zenstack', 'ZenStack 3'],
  ['typeorm-people', 'Koa, findAndCount, save'],
  ['typeorm-experts', 'Koa, find, insert, update'],
  ['limit', 'Koa, SQL by hand'],
  ['ours', 'typeorm-resources'],
] as const

const { results }: { readonly results: readonly Result[] } = JSON.parse(
  readFileSync(resolve(root, 'bench/results.json'), 'utf8'),
)
const rateOf = (work: string, name: string): number | undefined =>
  results.find((one) => one.work === work && one.implementation === name && one.engine === 'sqlite')?.rate

const shown = titles.filter(([name]) => rateOf('list', name) !== undefined)
const [width, height, left, gap] = [1000, 330, 190, 24]
const panelWidth = (width - left - gap * panels.length) / panels.length
const at = (index: number): number => left + index * (panelWidth + gap)
const ink = '#57606a'

const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height })
chart.setOption({
  animation: false,
  // Without a background, the dark labels could not be read on a dark page.
  backgroundColor: '#ffffff',
  title: panels.map(([, text], index) => ({
    text,
    left: at(index),
    top: 8,
    textStyle: { color: ink, fontSize: 13, fontWeight: 'normal' },
  })),
  grid: panels.map((_, index) => ({ left: at(index), top: 36, width: panelWidth, bottom: 28 })),
  xAxis: panels.map((_, index) => ({ gridIndex: index, type: 'value', show: false })),
  yAxis: panels.map((_, index) => ({
    gridIndex: index,
    type: 'category',
    data: shown.map(([, title]) => title),
    axisLabel: { show: index === 0, color: ink, fontSize: 13 },
    axisLine: { lineStyle: { color: ink } },
    axisTick: { show: false },
  })),
  series: panels.map(([work], index) => ({
    type: 'bar',
    xAxisIndex: index,
    yAxisIndex: index,
    data: shown.map(([name]) => {
      const value = rateOf(work, name) ?? 0
      const isLong = value > (rateOf(work, 'ours') ?? 0) / 2
      return {
        value,
        itemStyle: { color: name === 'ours' ? '#1a7f37' : '#8c959f' },
        label: isLong ? { position: 'insideRight', color: '#ffffff' } : { position: 'right', color: ink },
      }
    }),
    label: {
      show: true,
      fontSize: 12,
      formatter: ({ value }: { value: unknown }) => Number(value).toLocaleString('en'),
    },
  })),
  graphic: {
    type: 'text',
    left,
    bottom: 6,
    style: { text: 'requests per second, one core, SQLite with 100,000 rows', fill: ink, fontSize: 12 },
  },
})
mkdirSync(dirname(picture), { recursive: true })
writeFileSync(picture, chart.renderToSVGString())
// Its timers would keep the process running.
chart.dispose()
