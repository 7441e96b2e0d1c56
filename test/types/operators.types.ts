/** The operators of a text in the typed client are those of the service: read by the compiler alone. */

import type { Operands } from '../../src/client/operators'
import type { OperatorName } from '../../src/value/value-type'

function holds<_ extends true>(): void {}
holds<[keyof Operands<string>] extends [OperatorName] ? true : false>()
holds<[OperatorName] extends [keyof Operands<string>] ? true : false>()
