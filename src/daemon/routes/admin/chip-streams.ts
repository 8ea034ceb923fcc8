import type { FastifyInstance } from 'fastify'
import { chipColumns } from '../../../values/chip-row.ts'
import type { Context } from '../../context.ts'
import { permits } from '../../domain/access/scopes.ts'
import { resolveTeam } from '../../domain/access/teams.ts'
import {
  beginImport,
  type ImportCounts,
  type ImportedPiece,
  importChips,
  planImport,
} from '../../domain/chips/import-chips.ts'
import type { Registered } from '../../domain/chips/register-chips.ts'
import { bindAll } from '../../http/bind.ts'
import { openSheet } from '../../http/sheet.ts'
import { sendLineText } from '../../http/streams.ts'

export function chipStreamRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'POST /admin/chips/import': async ({ query, request, reply, keyTeam, actor, token }) => {
      const team = await resolveTeam(ctx, { name: query.team, keyTeam })
      const plan = await planImport(ctx, {
        teamId: team.id,
        actor,
        chipGroup: query.chipGroup,
        keySetId: query.keySet,
        isSimulated: query.simulated ?? false,
        mayBind: permits(token.scopes, 'transfer'),
        dryRun: query.dryRun ?? false,
      })
      const sheet = await openSheet(request.body, request.headers['content-type'], chipColumns)
      try {
        const pieces = importChips(ctx, await beginImport(ctx, plan), sheet.blocks)
        return sendLineText(reply, query.report === 'failures' ? failureLines(pieces) : resultLines(pieces))
      } catch (error) {
        sheet.drain()
        throw error
      }
    },
  })
}

// Rows per chunk, so that a slow reader holds back the reading of rows.
const rowsAText = 2000

/** One line per row. Text is built by hand because a million rows may pass here. */
async function* resultLines(pieces: AsyncIterable<ImportedPiece>): AsyncGenerator<string> {
  for await (const { firstRow, results } of pieces) {
    for (let from = 0; from < results.length; from += rowsAText) {
      let text = ''
      const to = Math.min(from + rowsAText, results.length)
      for (let at = from; at < to; at++) {
        const result = results[at]
        if (!result) continue
        text +=
          result.status === 'failed'
            ? failureLine(firstRow + at, result)
            : `{"row":${firstRow + at},"uid":"${result.uid}","status":"${result.status}"}\n`
      }
      yield text
    }
  }
}

/** Failed rows, and a last line with the counts. */
async function* failureLines(pieces: AsyncGenerator<ImportedPiece, ImportCounts>): AsyncGenerator<string> {
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
      if (text !== '') yield text
    }
  } finally {
    // If the reader is gone, the import ends here and records that.
    await pieces.return({ created: 0, unchanged: 0, failed: 0 })
  }
}

const failureLine = (row: number, result: Extract<Registered, { status: 'failed' }>): string =>
  `${JSON.stringify({ row, uid: result.uid, status: result.status, error: result.error })}\n`
