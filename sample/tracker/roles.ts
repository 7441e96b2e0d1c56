import type { Principal } from 'typeorm-resources'

declare module 'typeorm-resources' {
  interface Principal {
    /** 1 if the person is a manager of every company whose projects they see, otherwise 0. */
    readonly managesAll?: number
  }
}

/**
 * Permits persons who are managers of all companies whose projects they see. A field permission depends on the principal,
 * not on the record, so a person who is a manager of one company and a member of another must not have it.
 */
export const managesAll = (me: Principal): boolean => me.managesAll === 1

/** SQL that computes `managesAll` of a person. */
export const managesAllSql = (person: string): string => `
  SELECT CASE WHEN EXISTS (SELECT 1 FROM membership WHERE person_id = ${person}.id)
    AND NOT EXISTS (SELECT 1 FROM membership WHERE person_id = ${person}.id AND role <> 'manager')
    AND NOT EXISTS (SELECT 1 FROM guest WHERE person_id = ${person}.id)
    THEN 1 ELSE 0 END`

/** The same filter for all writes. */
export const writes = <Rule>(rule: Rule) => ({ create: rule, update: rule, delete: rule })

/*
 * Filters of the records that a person may see or write. Two filters of an object that follow the same relation refer to
 * the same record: the membership with the role is the one of the person.
 */

export const inOwnCompany = (me: Principal) => ({ company__memberships__person: me.id })
export const inManagedCompany = (me: Principal) => ({
  company__memberships__person: me.id,
  company__memberships__role: 'manager',
})
export const inProjectOfOwnCompany = (me: Principal) => ({ project__company__memberships__person: me.id })
export const inManagedProject = (me: Principal) => ({
  project__company__memberships__person: me.id,
  project__company__memberships__role: 'manager',
})
