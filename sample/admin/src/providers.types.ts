/** That the libraries take the providers for theirs: read by the compiler alone. */

import type { LiveProvider, AuthProvider as RefineAuthProvider, DataProvider as RefineProvider } from '@refinedev/core'
import type { AuthProvider, DataProvider } from 'react-admin'
import { createBasicAuth, createDataProvider, createLiveMethods, createTokenAuth } from 'typeorm-resources/react-admin'
import * as refine from 'typeorm-resources/refine'

export const ofReactAdmin: DataProvider = createDataProvider('/api')
export const liveOfReactAdmin: DataProvider = { ...createDataProvider('/api'), ...createLiveMethods('/api') }
export const auth: AuthProvider = createBasicAuth('/api').authProvider
export const tokenAuth: AuthProvider = createTokenAuth('/api', { login: () => 'x' }).authProvider
export const ofRefine: RefineProvider = refine.createDataProvider('/api')
export const liveOfRefine: LiveProvider = refine.createLiveProvider('/api')
export const authOfRefine: RefineAuthProvider = refine.createBasicAuth('/api').authProvider
export const tokenAuthOfRefine: RefineAuthProvider = refine.createTokenAuth('/api', { login: () => 'x' }).authProvider
