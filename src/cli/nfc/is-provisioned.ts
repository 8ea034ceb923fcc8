import { ApiError } from '../client/errors.ts'
import type { CliContext } from '../context.ts'
import { uidOnWire } from '../uid.ts'

/** Asks the daemon about a chip of which a box did not record the end. @param uid decimal @throws CliError without a daemon */
export const isProvisioned = async (ctx: CliContext, uid: string, keySet: number): Promise<boolean> => {
  const wire = uidOnWire(uid)
  const plans = await ctx.call('GET /admin/nfc/journal', { query: { uid: wire } })
  if (plans.length > 0) return false
  try {
    return (await ctx.call('GET /admin/chips/:uid', { params: { uid: wire } })).keySet === keySet
  } catch (error) {
    if (error instanceof ApiError && error.statusCode === 404) return false
    throw error
  }
}
