import type { ColumnOptions } from 'typeorm'
import type { Json } from '../../../src/value/value-type'
import type { TypeRow } from './row'

const safe = 2n ** 53n - 1n
const jsonOf = (value: bigint): Json => (value >= -safe && value <= safe ? Number(value) : String(value))

export function integers(types: readonly string[], min: bigint, max: bigint, options?: ColumnOptions): TypeRow {
  const isWide = max > safe
  return {
    types,
    ...(options && { options }),
    json: `number from ${min} to ${max}${isWide ? ', a string beyond ±(2^53−1)' : ''}`,
    filters: 'order',
    same: [7, 0, jsonOf(min), jsonOf(max), ...(isWide ? ['9007199254740993', 9007199254740991] : [])],
    refused: [jsonOf(min - 1n), jsonOf(max + 1n), 1.5, '7', true, [7], {}, ''],
    finds: [
      ['eq', '007'],
      ['gt', '6'],
      ['lte', '7'],
      ['in', '6,7'],
    ],
    misses: [
      ['eq', '70'],
      ['lt', '7'],
      ['in', '6,8'],
    ],
    unreadable: [String(max + 1n), '1.0', '7x', '', '0x7'],
  }
}

export function doubles(types: readonly string[], least: number): TypeRow {
  return {
    types,
    json: 'number',
    filters: 'order',
    same: [1.5, 0, -0.25, 0.1, 1 / 3, 1e21, least, -least, Number.MAX_VALUE, -Number.MAX_VALUE],
    refused: ['1.5', true, [1.5], {}],
    finds: [
      ['eq', '15e-1'],
      ['eq', '1.50'],
      ['gt', '1.4999999'],
    ],
    misses: [['eq', '1.5000001']],
    unreadable: ['1e999', 'NaN', 'Infinity', '1,5', ''],
  }
}

export function singles(types: readonly string[], least: number): TypeRow {
  return {
    types,
    json: 'number with the digits that 32 bits hold',
    filters: 'order',
    same: [0.1, 0, -2.5, 16777216, 3.4028235e38, least],
    shownAs: [
      [16777217, 16777216],
      [0.123456789, 0.12345679],
      [3.4e38, 3.4e38],
    ],
    refused: [3.5e38, '0.1', true],
    finds: [['eq', '0.10']],
    misses: [['eq', '0.1001']],
    unreadable: ['1e39', 'x'],
  }
}

export const decimalRefused: readonly Json[] = [5, '1e5', 'NaN', '', '.5', '5.', '+5', ' 5', '1,5', true]

export function booleans(types: readonly string[]): TypeRow {
  return {
    types,
    json: '`true` or `false`',
    filters: 'equality',
    same: [true, false],
    refused: [1, 0, 'true', ''],
    finds: [
      ['eq', 'TRUE'],
      ['eq', '1'],
      ['is', 'true'],
      ['in', 'true,false'],
    ],
    misses: [
      ['eq', '0'],
      ['is', 'false'],
    ],
    unreadable: ['yes', '2', ''],
  }
}

/** Decimals with 30 digits, ten of them after the decimal point. */
export function scaledDecimals(types: readonly string[]): TypeRow {
  return {
    types,
    options: { precision: 30, scale: 10 },
    json: 'string within its precision, with the decimals of its scale',
    filters: 'order',
    same: ['12.5000000000', '12345678901234567890.0123456789', '-0.0000000001'],
    shownAs: [
      ['-0.10', '-0.1000000000'],
      ['0.0000001', '0.0000001000'],
      ['007.50000000000000', '7.5000000000'],
    ],
    refused: [...decimalRefused, '123456789012345678901', '0.12345678901'],
    finds: [['eq', '12.5']],
    misses: [['gt', '12.5']],
    unreadable: ['x', ''],
  }
}
