import fc from 'fast-check'
import { parseDateTime, renderDateTime, resolution } from '../../src/value/date-time'

test.each([
  ['2024-02-29 10:20:30', '2024-02-29T10:20:30.000Z'],
  ['2024-02-29T10:20:30', '2024-02-29T10:20:30.000Z'],
  ['2024-02-29t10:20:30z', '2024-02-29T10:20:30.000Z'],
  ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ['2024-02-29T10:20', '2024-02-29T10:20:00.000Z'],
  ['2024-02-29T10:20:30.5', '2024-02-29T10:20:30.500Z'],
  ['2024-02-29T10:20:30,25Z', '2024-02-29T10:20:30.250Z'],
  ['2024-02-29T10:20:30.123456789Z', '2024-02-29T10:20:30.123Z'],
  ['2024-02-29T10:20:30+05:30', '2024-02-29T04:50:30.000Z'],
  ['2024-02-29T10:20:30-0800', '2024-02-29T18:20:30.000Z'],
  ['2024-02-29T10:20:30+01', '2024-02-29T09:20:30.000Z'],
  ['2024-01-01T00:00:00+00:01', '2023-12-31T23:59:00.000Z'],
  ['0001-01-01 00:00:00', '0001-01-01T00:00:00.000Z'],
  ['9999-12-31 23:59:59', '9999-12-31T23:59:59.000Z'],
])('Date-times: %s is parsed as %s', (text, expected) => {
  expect(parseDateTime(text)?.toISOString()).toBe(expected)
})

test.each([
  '',
  '2024',
  '2024-02',
  '2024-02-30',
  '2023-02-29',
  '2024-13-01',
  '2024-00-01',
  '2024-01-00',
  '2024-1-1',
  '0000-01-01',
  '20240229',
  '2024-02-29 24:00:00',
  '2024-02-29 10:60:00',
  '2024-02-29 10:20:60',
  '2024-02-29 10',
  '2024-02-29 10:20:30 +02:00',
  '2024-02-29T10:20:30+24:00',
  '2024-02-29T10:20:30+01:60',
  '2024-02-29Z',
  '2024-02-29T10:20:30.',
  '10000-01-01',
  '+275760-09-13',
  '0001-01-01T00:00:00+01:00',
  '9999-12-31T23:59:59-01:00',
  ' 2024-02-29',
  '2024-02-29 ',
  '２０２４-02-29',
  'now',
  '1709202030',
])('Date-times: %j is refused', (text) => {
  expect(parseDateTime(text)).toBeUndefined()
})

const instant = fc.date({
  min: new Date('0001-01-01T00:00:00Z'),
  max: new Date('9999-12-31T23:59:59.999Z'),
  noInvalidDate: true,
})

test('a rendered date-time can be parsed, and is the same to the second', () => {
  const property = fc.property(instant, (date) => {
    const read = parseDateTime(renderDateTime(date))
    expect(read?.getTime()).toBe(Math.floor(date.getTime() / 1000) * 1000)
    expect(parseDateTime(date.toISOString())?.getTime()).toBe(date.getTime())
  })
  fc.assert(property, { numRuns: 2000, seed: 11 })
})

test('a date-time without a fraction stands for the whole second', () => {
  expect(resolution(new Date('2024-01-01T10:20:30Z'))).toBe(1000)
  expect(resolution(new Date('2024-01-01T10:20:30.512Z'))).toBe(1)
})
