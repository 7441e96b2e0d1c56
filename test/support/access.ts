import { anonymous, type Rule } from 'typeorm-resources'

/** Access rule that permits every request as an anonymous one. */
export const permitAll: Rule = () => anonymous

/** Access rule that permits every request as one of the user with the key 1. */
export const permitAllAsUser1: Rule = () => ({ id: 1 })
