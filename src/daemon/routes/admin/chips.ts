import type { FastifyInstance } from 'fastify'
import { uidToHex } from '../../../nfc/uid.ts'
import type { Context } from '../../context.ts'
import { resolveTeam } from '../../domain/access/teams.ts'
import { linkChip, unlinkChip } from '../../domain/chips/chip-links.ts'
import { type ChipRecord, showChip, type UidReadings } from '../../domain/chips/chip-record.ts'
import { replaceChip } from '../../domain/chips/chip-replace.ts'
import { disableChip, enableChip, removeChip } from '../../domain/chips/chip-state.ts'
import { exportChips } from '../../domain/chips/chips.ts'
import { simulateTaps } from '../../domain/taps/simulate-tap.ts'
import { bindAll } from '../../http/bind.ts'
import { sendLineText } from '../../http/streams.ts'
import { pick, tokenOnWire } from '../wire-shapes.ts'

export function adminChipRoutes(app: FastifyInstance, ctx: Context): void {
  const show = async (readings: UidReadings) => toWire(await showChip(ctx, readings))
  bindAll(app, ctx, {
    'GET /admin/chips/export': async ({ query, keyTeam, reply }) => {
      const team = await resolveTeam(ctx, { name: query.team, keyTeam })
      return sendLineText(reply, await exportChips(ctx, team.id, query.chipGroup))
    },
    'GET /admin/chips/:uid': ({ params, request }) => show(readingsOf(params.uid, request.params)),
    'POST /admin/chips/:uid/link': async ({ params, body, actor, token, request }) => {
      const readings = readingsOf(params.uid, request.params)
      await linkChip(ctx, { actor, token }, readings, body)
      return show(readings)
    },
    'POST /admin/chips/:uid/unlink': async ({ params, body, actor, token, request }) => {
      const readings = readingsOf(params.uid, request.params)
      await unlinkChip(ctx, { actor, token }, readings, body)
      return show(readings)
    },
    'POST /admin/chips/:uid/replace': async ({ params, body, actor, token, request }) => {
      const other = readingsOf(body.with, request.body, 'with')
      const readings = readingsOf(params.uid, request.params)
      return show([await replaceChip(ctx, { actor, token }, readings, other)])
    },
    'POST /admin/chips/:uid/disable': async ({ params, body, actor, request }) => {
      const readings = readingsOf(params.uid, request.params)
      await disableChip(ctx, actor, readings, body.reason)
      return show(readings)
    },
    'POST /admin/chips/:uid/enable': async ({ params, actor, token, request }) => {
      const readings = readingsOf(params.uid, request.params)
      await enableChip(ctx, { actor, token }, readings)
      return show(readings)
    },
    'DELETE /admin/chips/:uid': async ({ params, actor, request }) => {
      await removeChip(ctx, actor, readingsOf(params.uid, request.params))
      return { success: true as const }
    },
    'POST /admin/chips/:uid/simulate': ({ params, body, actor, token, request }) =>
      simulateTaps(ctx, { actor, token }, readingsOf(params.uid, request.params), body.count ?? 1),
  })
}

/** @param parsed the UID as validated @param raw the input: 14 digits are hex unless no such chip exists */
function readingsOf(parsed: string, raw: unknown, name = 'uid'): UidReadings {
  const text: unknown =
    typeof raw === 'object' && raw !== null
      ? Object.entries(raw).find(([key]) => key === name)?.[1]
      : undefined
  return typeof text === 'string' && /^[1-9]\d{13}$/.test(text) ? [parsed, text] : [parsed]
}

function toWire({ chip, token, badgeEvents, guestbookEvents, isConfigured }: ChipRecord) {
  const { itemId, itemName, variantId } = chip
  return {
    ...pick(chip, 'uid', 'family', 'generation', 'publicKey', 'label', 'redirectUrl', 'lastTapAt'),
    ...pick(chip, 'disabledAt', 'disabledReason', 'replacedBy', 'createdAt'),
    uidHex: uidToHex(chip.uid),
    team: chip.teamName,
    chipGroup: { id: chip.chipGroupId, name: chip.chipGroupName },
    keySet: chip.keySetId,
    isConfigured,
    isSimulated: chip.simulated === 1,
    lastCounter: chip.lastCounter < 0 ? null : chip.lastCounter,
    item: itemId === null ? null : { id: itemId, name: itemName ?? itemId, variant: variantId },
    linkedToken: token
      ? {
          ...tokenOnWire(token),
          ownerAddress: token.owner,
          ...(token.note === undefined ? {} : { ownerNote: token.note }),
        }
      : null,
    badgeEvents,
    guestbookEvents,
  }
}
