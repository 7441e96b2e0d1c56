import bodyParser from 'koa-bodyparser'
import type { DataSource } from 'typeorm'
import { describeAction, type Mounted, problem } from 'typeorm-resources'
import { Invoice } from './billing'

const payment = describeAction({
  summary: 'Mark an invoice as paid',
  description: 'Managers of the company confirm the amount that was paid, which must be the total of the lines.',
  requestBody: {
    required: true,
    content: {
      'application/json': {
        schema: {
          type: 'object',
          properties: { amount: { type: 'string', examples: ['120.50'] } },
          required: ['amount'],
        },
      },
    },
  },
  responses: {
    204: { description: 'The invoice is paid' },
    404: { description: 'There is no such invoice in a company whose manager you are' },
    409: { description: 'The invoice has not been sent, or is paid already' },
  },
})

/** Adds the actions of the tracker that no change of a single record can express. */
export function addActions(mounted: Pick<Mounted, 'router'>, dataSource: DataSource): void {
  mounted.router('invoice').post('/:id/pay/', payment, bodyParser(), async (context) => {
    const { principal, visible } = context.state
    const { id = '' } = context['params']
    const invoice = await visible<Invoice>('invoice')
      .innerJoin('invoice.project', 'project')
      .innerJoin('project.company', 'company')
      .innerJoin('company.memberships', 'manager', "manager.person = :me AND manager.role = 'manager'")
      .leftJoinAndSelect('invoice.lines', 'line')
      .andWhere('invoice.id = :id')
      .setParameters({ me: principal.id, id: /^\d{1,9}$/.test(id) ? Number(id) : 0 })
      .getOne()
    if (invoice === null) throw problem(404, 'there is no such invoice')
    if (invoice.status !== 'sent') throw problem(409, `the invoice is ${invoice.status}: only sent invoices are paid`)
    const { amount } = Object(context.request.body)
    if (amount !== totalOf(invoice)) throw problem(400, `must be ${totalOf(invoice)}`, { field: 'amount' })
    // Two requests at the same time must not both pay it.
    const { affected } = await dataSource
      .getRepository(Invoice)
      .update({ id: invoice.id, status: 'sent' }, { status: 'paid' })
    if (affected !== 1) throw problem(409, 'the invoice is paid already')
    context.status = 204
  })
}

function totalOf({ lines }: Invoice): string {
  const cents = lines.reduce((sum, { quantity, price }) => sum + quantity * Math.round(Number(price) * 100), 0)
  return (cents / 100).toFixed(2)
}
