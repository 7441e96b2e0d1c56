/** Columns of the tables: the people of the tracker, in the order of their ids. */
type Cells = readonly [ann: string, bob: string, cleo: string, dan: string, eve: string, fay: string]

/**
 * What people may do with the records of the tracker: `r` read, `u` update, `d` delete; `-`: the record does not exist for
 * them. Ann is a manager of Acme (project 1, 2), bob a member. Cleo is a member of Acme and a manager of Beta (project 3).
 * Dan is a guest of project 1 and a member of Gamma (project 4). Eve has no company. Fay is a manager of Gamma.
 */
export const permitted: readonly (readonly [resource: string, id: number, field: object, ...Cells])[] = [
  ['company', 1, { name: 'Acme' }, 'ru', 'r', 'r', '-', '-', '-'],
  ['company', 2, { name: 'Beta' }, '-', '-', 'ru', '-', '-', '-'],
  ['company', 3, { name: 'Gamma' }, '-', '-', '-', 'r', '-', 'ru'],
  ['person', 1, { username: 'ann' }, 'ru', 'r', 'r', 'r', '-', '-'],
  ['person', 2, { username: 'bob' }, 'r', 'ru', 'r', 'r', '-', '-'],
  ['person', 3, { username: 'cleo' }, 'r', 'r', 'ru', 'r', '-', '-'],
  ['person', 4, { username: 'dan' }, 'r', 'r', 'r', 'ru', '-', 'r'],
  ['person', 5, { username: 'eve' }, '-', '-', '-', '-', 'ru', '-'],
  ['person', 6, { username: 'fay' }, '-', '-', '-', 'r', '-', 'ru'],
  ['membership', 1, { role: 'manager' }, 'r', 'r', 'r', '-', '-', '-'],
  ['membership', 2, { role: 'member' }, 'rud', 'r', 'r', '-', '-', '-'],
  ['membership', 3, { role: 'member' }, 'rud', 'r', 'r', '-', '-', '-'],
  ['membership', 4, { role: 'manager' }, '-', '-', 'r', '-', '-', '-'],
  ['membership', 5, { role: 'member' }, '-', '-', '-', 'r', '-', 'rud'],
  ['membership', 6, { role: 'manager' }, '-', '-', '-', 'r', '-', 'r'],
  ['project', 1, { name: 'Atlas' }, 'rud', 'r', 'r', 'r', '-', '-'],
  ['project', 2, { name: 'Apollo' }, 'rud', 'r', 'r', '-', '-', '-'],
  ['project', 3, { name: 'Saturn' }, '-', '-', 'rud', '-', '-', '-'],
  ['project', 4, { name: 'Gemini' }, '-', '-', '-', 'r', '-', 'rud'],
  ['guest', 1, { person_id: 4 }, 'rud', 'r', 'r', 'r', '-', '-'],
  ['task', 1, { title: 'Draw' }, 'rud', 'rud', 'rud', 'r', '-', '-'],
  ['task', 2, { title: 'Build' }, 'rud', 'rud', 'rud', '-', '-', '-'],
  ['task', 3, { title: 'Hide' }, '-', '-', 'rud', '-', '-', '-'],
  ['task', 4, { title: 'Pack' }, '-', '-', '-', 'rud', '-', 'rud'],
  // Task 5 of project 1 has been deleted, with comment 5 and entry 4.
  ['task', 5, { title: 'Forget' }, '-', '-', '-', '-', '-', '-'],
  ['tag', 1, { label: 'urgent' }, 'r', 'r', 'r', 'r', 'r', 'r'],
  ['tag', 2, { label: 'red' }, 'rud', 'ru', 'ru', '-', '-', '-'],
  ['tag', 3, { label: 'black' }, '-', '-', 'rud', '-', '-', '-'],
  ['comment', 1, { text: 'First sketch' }, 'rd', 'rud', 'r', 'r', '-', '-'],
  ['comment', 2, { text: 'Looks good' }, 'rd', 'r', 'r', 'rud', '-', '-'],
  ['comment', 3, { text: 'Tell nobody' }, '-', '-', 'rud', '-', '-', '-'],
  ['comment', 4, { text: 'On it' }, '-', '-', '-', 'rud', '-', 'rd'],
  ['comment', 5, { text: 'Never mind' }, '-', '-', '-', '-', '-', '-'],
  ['entry', 1, { minutes: 90 }, 'r', 'rud', 'r', '-', '-', '-'],
  ['entry', 2, { minutes: 60 }, 'r', 'r', 'rud', '-', '-', '-'],
  ['entry', 3, { minutes: 240 }, '-', '-', 'rud', '-', '-', '-'],
  ['entry', 4, { minutes: 30 }, '-', '-', '-', '-', '-', '-'],
  ['entry', 5, { minutes: 45 }, '-', '-', '-', 'rud', '-', 'r'],
  // Invoice 1 has been sent, invoice 4 paid.
  ['invoice', 1, { number: 'A-1' }, 'r', 'r', 'r', '-', '-', '-'],
  ['invoice', 2, { number: 'A-2' }, 'rud', 'r', 'r', '-', '-', '-'],
  ['invoice', 3, { number: 'B-1' }, '-', '-', 'rud', '-', '-', '-'],
  ['invoice', 4, { number: 'A-3' }, 'r', 'r', 'r', '-', '-', '-'],
  ['line', 1, { quantity: 2 }, 'r', 'r', 'r', '-', '-', '-'],
  ['line', 2, { quantity: 1 }, 'rud', 'r', 'r', '-', '-', '-'],
  ['line', 3, { quantity: 1 }, '-', '-', 'rud', '-', '-', '-'],
  ['rate', 1, { hourly: 120 }, 'rud', '-', '-', '-', '-', '-'],
  ['rate', 2, { hourly: 80 }, 'rud', '-', '-', '-', '-', '-'],
  ['rate', 3, { hourly: 150 }, '-', '-', 'rud', '-', '-', '-'],
  ['rate', 4, { hourly: 70 }, '-', '-', '-', '-', '-', 'rud'],
  ['apikey', 1, { name: 'reports' }, '-', 'rud', '-', '-', '-', '-'],
]

type Statuses = readonly [ann: number, bob: number, cleo: number, dan: number, eve: number, fay: number]

/** The status of a POST by each person. */
export const creations: readonly (readonly [resource: string, body: object, ...Statuses])[] = [
  ['company', { name: 'Delta' }, 403, 403, 403, 403, 403, 403],
  ['person', { username: 'gil', password: 'gil' }, 403, 403, 403, 403, 403, 403],
  ['membership', { company_id: 1, person_id: 4 }, 201, 403, 403, 400, 400, 400],
  ['membership', { company_id: 1, person_id: 5 }, 400, 400, 400, 400, 400, 400],
  ['membership', { company_id: 3, person_id: 4, role: 'manager' }, 400, 400, 400, 403, 400, 409],
  ['project', { name: 'Vega', company_id: 1 }, 201, 403, 403, 400, 400, 400],
  ['project', { name: 'Vega', company_id: 2 }, 400, 400, 201, 400, 400, 400],
  ['guest', { project_id: 1, person_id: 2 }, 201, 403, 403, 403, 400, 400],
  ['guest', { project_id: 3, person_id: 5 }, 400, 400, 400, 400, 400, 400],
  ['task', { title: 'Plan', project_id: 1 }, 201, 201, 201, 403, 400, 400],
  ['task', { title: 'Plan', project_id: 3 }, 400, 400, 201, 400, 400, 400],
  ['tag', { label: 'new' }, 403, 403, 403, 403, 403, 403],
  ['tag', { label: 'new', company_id: 1 }, 201, 201, 201, 400, 400, 400],
  ['comment', { text: 'Well', task_id: 1 }, 201, 201, 201, 201, 400, 400],
  ['comment', { text: 'Well', task_id: 3 }, 400, 400, 201, 400, 400, 400],
  ['comment', { text: 'Well', task_id: 5 }, 400, 400, 400, 400, 400, 400],
  ['entry', { minutes: 5, day: '2026-03-04', task_id: 1 }, 201, 201, 201, 403, 400, 400],
  ['entry', { minutes: 5, day: '2026-03-04', task_id: 5 }, 400, 400, 400, 400, 400, 400],
  ['invoice', { number: 'A-9', project_id: 1 }, 201, 403, 403, 403, 400, 400],
  ['invoice', { number: 'A-9', project_id: 1, status: 'sent' }, 403, 403, 403, 403, 400, 400],
  ['line', { text: 'More', price: '1.00', invoice_id: 2 }, 201, 403, 403, 400, 400, 400],
  ['line', { text: 'More', price: '1.00', invoice_id: 1 }, 403, 403, 403, 400, 400, 400],
  ['rate', { hourly: 1, company_id: 1, person_id: 3 }, 201, 403, 403, 400, 400, 400],
  ['apikey', { name: 'backup' }, 201, 201, 201, 201, 201, 201],
]
