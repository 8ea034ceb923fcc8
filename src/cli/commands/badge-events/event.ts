import { argument } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { eventId, readId } from '../named.ts'

export const eventArgument = { event: argument('event', 'The id of the event: tapchip badge-events list') }

export const readEventId = (text: string): number =>
  readId(text, { noun: 'badge event', list: 'badge-events list' }, eventId)

export const decide = async (ctx: CliContext, event: string, verb: 'approve' | 'reject'): Promise<void> => {
  ctx.needAdmin()
  const params = { id: readEventId(event) }
  const decided =
    verb === 'approve'
      ? await ctx.call('POST /admin/badge-events/:id/approve', { params })
      : await ctx.call('POST /admin/badge-events/:id/reject', { params })
  await ctx.io.one(decided, ({ id, name, status }) => ({ Id: id, Name: name, Status: status }))
}
