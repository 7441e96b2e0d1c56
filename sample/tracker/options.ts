import type { MountOptions } from 'typeorm-resources'

/** The mount fails if a resource has no row scope. All access rules count where a request follows a relation. */
export const trackerOptions: MountOptions = {
  requireScope: true,
  strictRelations: true,
  info: { title: 'Project tracker' },
}
