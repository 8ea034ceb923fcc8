import type { Client } from '../client/types.ts'
import { CliError } from '../errors.ts'
import { uidOnWire } from '../uid.ts'
import type { EditRow, RowResult } from './records.ts'

const lineOf = ({ uid, redirectUrl, expected }: EditRow): string =>
  `${JSON.stringify({ uid: uidOnWire(uid), redirectUrl, ...(expected === undefined ? {} : { expected }) })}\n`

/** Strings of some size: a write a row would cost more than the rows. */
function* bodyOf(rows: readonly EditRow[]): Generator<string> {
  for (let i = 0; i < rows.length; i += 500)
    yield rows
      .slice(i, i + 500)
      .map(lineOf)
      .join('')
}

export type EditResult = RowResult & { readonly status: 'changed' | 'unchanged' | 'failed' }

/** Sends rows in one request; the daemon's answers come with the rows' own numbers. */
export async function* sendRows(
  client: Client,
  rows: readonly EditRow[],
  dryRun: boolean,
): AsyncGenerator<EditResult> {
  const answers = client.stream('POST /chips/batch', {
    query: dryRun ? { dryRun: 'true' } : {},
    upload: { contentType: 'application/x-ndjson', content: { [Symbol.iterator]: () => bodyOf(rows) } },
  })
  let count = 0
  for await (const { row, status, previous, error } of answers) {
    const sent = rows[row - 1]
    if (sent === undefined) continue
    count += 1
    yield {
      row: sent.row,
      uid: sent.uid,
      status,
      ...(previous === undefined ? {} : { previous }),
      ...(error === undefined ? {} : { error }),
    }
  }
  if (count < rows.length)
    throw new CliError(`The daemon answered ${count} of ${rows.length} rows, and stopped.`)
}
