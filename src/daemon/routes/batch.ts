import type { FastifyInstance } from 'fastify'
import type { Context } from '../context.ts'
import { batchRow } from '../contract/chips.ts'
import { endpoints } from '../contract/index.ts'
import { checkEditRow, type EditRow, editRows } from '../domain/edit-batch.ts'
import { DomainError } from '../domain/errors.ts'
import { bindAll } from '../http/bind.ts'
import { describeIssues } from '../http/parse-input.ts'
import { linesOf, sendLines } from '../http/streams.ts'

export function batchRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'POST /chips/batch': async ({ query, request, reply, teamId, actor }) => {
      const rows = await readRows(linesOf(request.body, endpoints['POST /chips/batch'].bodyLimit))
      return sendLines(reply, editRows(ctx, { teamId, actor }, rows, query.dryRun === 'true'))
    },
  })
}

const badRowsNamed = 1000
// A body that is all wrong is not read to its end.
const badRowsRead = 10_000
const rowsATurn = 2000

/** Reads and checks the whole body before anything is done. @throws DomainError invalid_input naming the bad rows */
async function readRows(lines: AsyncIterable<string>): Promise<EditRow[]> {
  const rows: EditRow[] = []
  const bad: string[] = []
  let count = 0
  let badCount = 0
  for await (const line of lines) {
    const checked = readRow(line, ++count)
    if (!('reason' in checked)) rows.push(checked)
    else if (++badCount <= badRowsNamed) bad.push(`row ${checked.row}: ${checked.reason}`)
    if (badCount >= badRowsRead) break
    // Taps are served in between.
    if (count % rowsATurn === 0) await new Promise(setImmediate)
  }
  if (badCount > 0) {
    const more = badCount > badRowsNamed ? `; and ${badCount - badRowsNamed} more` : ''
    throw new DomainError('invalid_input', `Nothing was changed. ${bad.join('; ')}${more}`)
  }
  if (count === 0)
    throw new DomainError('invalid_input', 'body is empty: send JSON lines of { "uid", "redirectUrl" }')
  return rows
}

function readRow(line: string, row: number): EditRow | { row: number; reason: string } {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return { row, reason: 'is not valid JSON' }
  }
  const parsed = batchRow.safeParse(value, {
    error: (issue) => (issue.input === undefined ? 'Required' : undefined),
  })
  if (!parsed.success) return { row, reason: describeIssues(parsed.error.issues) }
  return checkEditRow({ row, ...parsed.data })
}
