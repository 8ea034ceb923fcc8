import { uidOnWire } from '../../nfc/uid.ts'
import { ApiError } from '../client/errors.ts'
import type { CliContext } from '../context.ts'

/**
 * Asks the daemon about a chip of which a box did not record the end. @param uid decimal
 * @param chipGroup its name or ID; undefined: any @throws CliError without a daemon
 */
export const isProvisioned = async (
  ctx: CliContext,
  uid: string,
  keySet: number,
  chipGroup?: string,
): Promise<boolean> => {
  const wire = uidOnWire(uid)
  const plans = await ctx.call('GET /admin/nfc/journal', { query: { uid: wire } })
  if (plans.length > 0) return false
  try {
    const chip = await ctx.call('GET /admin/chips/:uid', { params: { uid: wire } })
    const { id, name } = chip.chipGroup
    return chip.keySet === keySet && (chipGroup === undefined || [String(id), name].includes(chipGroup))
  } catch (error) {
    if (error instanceof ApiError && error.statusCode === 404) return false
    throw error
  }
}
