import type { FastifyInstance } from 'fastify'
import type { Context } from '../context.ts'
import { batchRow } from '../contract/chips.ts'
import { endpoints } from '../contract/index.ts'
import { checkEdit, type Edit, editRows } from '../domain/chips/edit-batch.ts'
import { bindAll } from '../http/bind.ts'
import { CheckedLines, type CheckLine, lineBy } from '../http/checked-lines.ts'
import { sendLines } from '../http/streams.ts'

export function batchRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'POST /chips/batch': async ({ query, request, reply, teamId, actor }) => {
      const { bodyLimit } = endpoints['POST /chips/batch']
      const lines = await CheckedLines.read(request, bodyLimit, editLine)
      await lines.refuseBad()
      return sendLines(reply, editRows(ctx, { teamId, actor }, lines.goodLines(), query.dryRun === 'true'))
    },
  })
}

const asRow = lineBy(batchRow)

const editLine: CheckLine<Edit> = async (value) => {
  const row = await asRow(value)
  return 'problem' in row ? row : checkEdit(row.value)
}
