import type { MountOptions } from '../../src/site/mount-options'

/** Options of a mount that add operations to the document. */
const options: MountOptions = { batch: true }
export default options
