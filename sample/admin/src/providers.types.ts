/** That the libraries take the providers for theirs: read by the compiler alone. */

import type { DataProvider as RefineProvider } from '@refinedev/core'
import type { AuthProvider, DataProvider } from 'react-admin'
import { createBasicAuth, createDataProvider } from 'typeorm-resources/react-admin'
import * as refine from 'typeorm-resources/refine'

export const ofReactAdmin: DataProvider = createDataProvider('/api')
export const auth: AuthProvider = createBasicAuth('/api').authProvider
export const ofRefine: RefineProvider = refine.createDataProvider('/api')
