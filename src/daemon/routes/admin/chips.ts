import type { FastifyInstance } from 'fastify'
import { uidToHex } from '../../../nfc/uid.ts'
import { importedColumns } from '../../../values/chip-columns.ts'
import { permits } from '../../../values/scopes.ts'
import { endpoints } from '../../contract/index.ts'
import type { Actor } from '../../domain/access/credentials.ts'
import { resolveTeam } from '../../domain/access/teams.ts'
import { applyRows } from '../../domain/chips/apply-chips.ts'
import { type ApplyRow, readApplyLine } from '../../domain/chips/apply-row.ts'
import { linkChip, unlinkChip } from '../../domain/chips/chip-links.ts'
import { addNote, type ChipNote, listNotes, removeNote } from '../../domain/chips/chip-notes.ts'
import { type ChipRecord, showChip, type UidReadings } from '../../domain/chips/chip-record.ts'
import { replaceChip } from '../../domain/chips/chip-replace.ts'
import { disableChip, enableChip, removeChip } from '../../domain/chips/chip-state.ts'
import { exportChips } from '../../domain/chips/chips.ts'
import {
  beginImport,
  type ImportCounts,
  type ImportedPiece,
  importChips,
  planImport,
} from '../../domain/chips/import-chips.ts'
import type { RegisterResult } from '../../domain/chips/register-chips.ts'
import { undoImport } from '../../domain/chips/undo-import.ts'
import { publicPageOf } from '../../domain/tap-page/public-page.ts'
import { chipHistory } from '../../domain/taps/chip-history.ts'
import { simulateTaps } from '../../domain/taps/simulate-tap.ts'
import { bindAll } from '../../http/bind.ts'
import { CheckedLines, type CheckLine } from '../../http/checked-lines.ts'
import { openSheet } from '../../http/sheet.ts'
import { sendLines, sendLineText } from '../../http/streams.ts'
import type { Context } from '../../process/context.ts'
import { pick, tokenOnWire } from '../wire-shapes.ts'

export function adminChipRoutes(app: FastifyInstance, ctx: Context): void {
  const show = async (actor: Actor, readings: UidReadings) => {
    const record = await showChip(ctx, actor, readings)
    const path = await publicPageOf(ctx, record.chip.uid)
    const publicPage = path === undefined ? null : `${ctx.baseUrl.replace(/\/+$/, '')}${path}`
    return { ...toWire(record), publicPage }
  }
  bindAll(app, ctx, {
    'GET /admin/chips/export': async ({
      query: { team: name, chipGroup, ...filter },
      teamId,
      keyTeam,
      reply,
    }) => {
      const team = await resolveTeam(ctx, { name, teamId, keyTeam })
      return sendLineText(reply, await exportChips(ctx, team.id, chipGroup, filter))
    },
    'GET /admin/chips/:uid': ({ params, actor, request }) =>
      show(actor, readingsOf(params.uid, request.params)),
    'GET /admin/chips/:uid/history': ({ params, query: { before, limit = 100 }, actor, request }) =>
      chipHistory(ctx, actor, readingsOf(params.uid, request.params), { before, limit }),
    'GET /admin/chips/:uid/notes': async ({ params, actor, request }) =>
      (await listNotes(ctx, actor, readingsOf(params.uid, request.params))).map(noteOnWire),
    'POST /admin/chips/:uid/notes': async ({ params, body, actor, request }) =>
      noteOnWire(await addNote(ctx, actor, readingsOf(params.uid, request.params), body.text)),
    'DELETE /admin/chips/:uid/notes/:id': async ({ params, actor, request }) => {
      await removeNote(ctx, actor, readingsOf(params.uid, request.params), params.id)
      return { success: true as const }
    },
    'POST /admin/chips/:uid/link': async ({ params, body, actor, holder, request }) => {
      const readings = readingsOf(params.uid, request.params)
      await linkChip(ctx, { actor, holder }, readings, body)
      return show(actor, readings)
    },
    'POST /admin/chips/:uid/unlink': async ({ params, body, actor, holder, request }) => {
      const readings = readingsOf(params.uid, request.params)
      await unlinkChip(ctx, { actor, holder }, readings, body)
      return show(actor, readings)
    },
    'POST /admin/chips/:uid/replace': async ({ params, body, actor, holder, request }) => {
      const other = readingsOf(body.with, request.body, 'with')
      const readings = readingsOf(params.uid, request.params)
      const { uid, status } = await replaceChip(ctx, { actor, holder }, readings, other)
      return { ...(await show(actor, [uid])), status }
    },
    'POST /admin/chips/:uid/disable': async ({ params, body, actor, request }) => {
      const readings = readingsOf(params.uid, request.params)
      await disableChip(ctx, actor, readings, body.reason)
      return show(actor, readings)
    },
    'POST /admin/chips/:uid/enable': async ({ params, actor, holder, request }) => {
      const readings = readingsOf(params.uid, request.params)
      await enableChip(ctx, { actor, holder }, readings)
      return show(actor, readings)
    },
    'DELETE /admin/chips/:uid': async ({ params, actor, request }) => {
      await removeChip(ctx, actor, readingsOf(params.uid, request.params))
      return { success: true as const }
    },
    'POST /admin/chips/import/undo': ({ body, query, actor }) =>
      undoImport(ctx, actor, { ...body, dryRun: query.dryRun ?? false }),
    'POST /admin/chips/:uid/simulate': ({ params, body, actor, holder, request }) =>
      simulateTaps(ctx, { actor, holder }, readingsOf(params.uid, request.params), body.count ?? 1),
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

const noteOnWire = (note: ChipNote) => pick(note, 'id', 'at', 'by', 'text')

function toWire({ chip, token, badgeEvents, guestbookEvents, isConfigured }: ChipRecord) {
  const { itemId, itemName, variantId } = chip
  return {
    ...pick(
      chip,
      'uid',
      'family',
      'generation',
      'publicKey',
      'label',
      'redirectUrl',
      'lastTapAt',
      'tamper',
      'openedAt',
    ),
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

const applyLine: CheckLine<ApplyRow> = async (value) => readApplyLine(value)

export function chipStreamRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'POST /admin/chips/apply': async ({ query, request, reply, teamId, keyTeam, actor, holder }) => {
      const team = await resolveTeam(ctx, { name: query.team, teamId, keyTeam })
      const { bodyLimit } = endpoints['POST /admin/chips/apply']
      const lines = await CheckedLines.read(request, bodyLimit, applyLine)
      await lines.refuseBad()
      const mayBind = permits(holder.scopes, 'transfer')
      const caller = { teamId: team.id, actor, mayBind, reason: query.reason }
      return sendLines(reply, applyRows(ctx, caller, lines.goodLines(), query.dryRun ?? false))
    },
    'POST /admin/chips/import': async ({ query, request, reply, teamId, keyTeam, actor, holder }) => {
      const team = await resolveTeam(ctx, { name: query.team, teamId, keyTeam })
      const plan = await planImport(ctx, {
        teamId: team.id,
        actor,
        chipGroup: query.chipGroup,
        keySetId: query.keySet ?? undefined,
        isSimulated: query.simulated ?? false,
        mayBind: permits(holder.scopes, 'transfer'),
        dryRun: query.dryRun ?? false,
      })
      const sheet = await openSheet(request.body, request.headers['content-type'], importedColumns)
      try {
        const pieces = importChips(ctx, await beginImport(ctx, plan), sheet.blocks)
        return sendLineText(reply, reportLines(pieces, query.report))
      } catch (error) {
        sheet.drop()
        throw error
      }
    },
  })
}

// Rows per chunk, so that a slow reader holds back the reading of rows.
const rowsPerChunk = 2000

const resultLine = (row: number, { uid, status }: RegisterResult): string =>
  `{"row":${row},"uid":"${uid}","status":"${status}"}\n`

/** One line per row. Text is built by hand because a million rows may pass here. */
async function* resultLines(pieces: AsyncIterable<ImportedPiece>): AsyncGenerator<string> {
  for await (const { firstRow, results } of pieces) {
    for (let from = 0; from < results.length; from += rowsPerChunk) {
      let text = ''
      const to = Math.min(from + rowsPerChunk, results.length)
      for (let at = from; at < to; at++) {
        const result = results[at]
        if (!result) continue
        text +=
          result.status === 'failed' ? failureLine(firstRow + at, result) : resultLine(firstRow + at, result)
      }
      yield text
    }
  }
}

const reportLines = (
  pieces: AsyncGenerator<ImportedPiece, ImportCounts>,
  report: 'all' | 'failures' | 'exceptions' = 'all',
): AsyncGenerator<string> =>
  report === 'all' ? resultLines(pieces) : someLines(pieces, report === 'exceptions')

/** Failed rows, already registered ones if requested, and a last line with the counts. */
async function* someLines(
  pieces: AsyncGenerator<ImportedPiece, ImportCounts>,
  withUnchanged: boolean,
): AsyncGenerator<string> {
  try {
    for (;;) {
      const next = await pieces.next()
      if (next.done) {
        yield `${JSON.stringify(next.value)}\n`
        return
      }
      const { firstRow, results } = next.value
      let text = ''
      for (const [at, result] of results.entries())
        if (result?.status === 'failed') text += failureLine(firstRow + at, result)
        else if (withUnchanged && result?.status === 'unchanged') text += resultLine(firstRow + at, result)
      if (text !== '') yield text
    }
  } finally {
    // If the reader disconnects, the import stops here and records that.
    await pieces.return({ created: 0, unchanged: 0, failed: 0 })
  }
}

const failureLine = (row: number, result: Extract<RegisterResult, { status: 'failed' }>): string =>
  `${JSON.stringify({ row, uid: result.uid, status: result.status, error: result.error })}\n`
