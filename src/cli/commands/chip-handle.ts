import { parseUid, uidOnWire } from '../../nfc/uid.ts'
import { ApiError, DaemonUnreachable } from '../client/errors.ts'
import type { CliContext } from '../context.ts'
import { UsageError } from '../errors.ts'
import { readUid } from '../uid.ts'

/**
 * The UID of a chip that a person named by its UID or by its label; a text that can be both is a UID.
 * @returns the UID in decimal. @throws UsageError
 */
export const chipUid = async (ctx: CliContext, text: string, where?: string): Promise<string> => {
  if (parseUid(text.trim()).ok || !ctx.config().hasCredential()) return readUid(text, where)
  const labelled = await uidLabelled(ctx, text).catch((error: unknown) => {
    // A spreadsheet's 1.2E+15 is refused even if no daemon answers.
    if (error instanceof DaemonUnreachable && /^[\d.,]+e\+?\d+$/i.test(text.trim()))
      return readUid(text, where)
    throw error
  })
  return labelled ?? refuse(text, where)
}

const refuse = (text: string, where?: string): string => {
  try {
    return readUid(text, where)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw new UsageError(
      error.message,
      `No chip has the label "${text}" either. See the labels: tapchip chips list`,
    )
  }
}

export const uidLabelled = async (ctx: CliContext, label: string): Promise<string | undefined> => {
  if (label.trim() === '' || label.length > 200) return undefined
  const client = await ctx.client()
  try {
    const query = { label: label.trim(), team: ctx.flags.team }
    for await (const { uid } of client.stream('GET /admin/chips/export', { query })) return uid
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'team_required') throw error
    throw new UsageError(
      `"${label}" is not a UID, and labels are looked up in one team.`,
      'Name the team with --team, where a command takes it, or use its API key, or the UID of the chip.',
    )
  }
  return undefined
}

export const chipOnWire = async (ctx: CliContext, text: string, where?: string): Promise<string> =>
  uidOnWire(await chipUid(ctx, text, where))
