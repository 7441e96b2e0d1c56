/**
 * Type tests of an application that declares further properties of principals. They use the built package, because the
 * declaration applies to the whole program.
 */
import {
  type AccessRequest,
  anonymous,
  type FilterObject,
  type Mounted,
  type Principal,
  Resource,
  type Rule,
  userRule,
} from 'typeorm-resources'

declare module 'typeorm-resources' {
  interface Principal {
    readonly company: number
    readonly roles?: readonly string[]
  }
}

class Project {
  id!: number
  company!: Project
}

Resource({ auth: userRule(), scope: (me) => ({ company: me.company }) })(Project)
Resource({ scope: (me): FilterObject | boolean => me.roles?.includes('auditor') ?? { company: me.company } })(Project)
// @ts-expect-error a misspelt property of the principal
Resource({ scope: (me) => ({ company: me.compny }) })(Project)
// @ts-expect-error the property may be missing
Resource({ scope: (me) => ({ id__in: me.roles }) })(Project)

export const token: Rule = ({ context }) => ({ id: 1, company: Number(context.get('x-company')) })
export const users: Rule = async ({ authenticate }) => (await authenticate()) ?? anonymous
// @ts-expect-error a principal without the property
export const incomplete: Rule = () => ({ id: 1 })
export const principal: Principal = anonymous
export const companyOf = async ({ authenticate }: AccessRequest): Promise<number | undefined> =>
  (await authenticate())?.company
export const projects = ({ visible }: Mounted) => visible(Project, { id: 1, company: 1 })
