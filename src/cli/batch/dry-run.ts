import { shownUrl } from '../before-write.ts'
import { addressOf } from '../client/address.ts'
import type { EndpointKey } from '../client/types.ts'
import type { CliContext } from '../context.ts'
import { clean, counted } from '../io/text.ts'

/** "Would send 4 rows by POST http://127.0.0.1:8484/chips/batch." Parameters of the path stay as their names. */
export const noteRequests = (ctx: CliContext, endpoint: EndpointKey, rows: number): void => {
  if (rows === 0) return
  const params = Object.fromEntries(
    [...endpoint.matchAll(/:([A-Za-z]+)/g)].map(([, name = '']) => [name, name.toUpperCase()]),
  )
  const { method, path } = addressOf(endpoint, { params }, ctx.config().wireBadge)
  ctx.io.note(clean(`Would send ${counted(rows, 'row')} by ${method} ${shownUrl(ctx.config(), path)}.`))
}
