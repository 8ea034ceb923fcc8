import type { FastifyInstance, FastifyReply } from 'fastify'
import type * as z from 'zod'
import { KeyedMutex } from '../../values/semaphore.ts'
import { endpoints } from '../contract/index.ts'
import { metadataRow, moveRow } from '../contract/phygital-batches.ts'
import { type ChainTotals, totalsAsText } from '../domain/chain/prices.ts'
import type { RowTarget } from '../domain/phygitals/batch-row.ts'
import { checkMoves } from '../domain/phygitals/check-batch.ts'
import { checkMetadataRows, replaceMetadataRows } from '../domain/phygitals/metadata-batch.ts'
import { type TransferRow, transferRows } from '../domain/phygitals/transfer-batch.ts'
import { bindAll } from '../http/bind.ts'
import { type BadLine, CheckedLines, inLineOrder, lineBy, type ReadLine } from '../http/checked-lines.ts'
import { asJsonLines, mapped, sendLines, sendLineText } from '../http/streams.ts'
import type { Context } from '../process/context.ts'

/** A batch may be resumed much later than a request is repeated. */
const keyLifetimeMs = 30 * 24 * 3_600_000

export function phygitalBatchRoutes(app: FastifyInstance, ctx: Context): void {
  const minting = new KeyedMutex()
  const feeCap = (chainId: number) =>
    ctx.config.chains.find((chain) => chain.chainId === chainId)?.maxFeePerGas
  bindAll(app, ctx, {
    'POST /phygitals/transfer/check': async ({ request, reply, teamId }) => {
      const { bodyLimit } = endpoints['POST /phygitals/transfer/check']
      const lines = await CheckedLines.read(request, bodyLimit, lineBy(moveRow))
      const rows = mapped(lines.goodLines(), ({ row, value }) => ({
        row,
        target: targetOf(value),
        recipient: value.recipient,
      }))
      const checked = checkMoves(ctx, { teamId, feeCap }, rows)
      return sendLines(reply, inLineOrder(invalidIn(lines), mapped(checked, totalsOnWire)))
    },
    'POST /phygitals/transfer/batch': async ({ request, reply, teamId, actor }) => {
      const { bodyLimit } = endpoints['POST /phygitals/transfer/batch']
      const lines = await CheckedLines.read(request, bodyLimit, lineBy(moveRow))
      await lines.refuseBad()
      const rows = mapped(lines.goodLines(), (line) => moveOf(ctx, line, teamId))
      return sendEach(reply, transferRows({ ...ctx, minting }, { teamId, actor }, rows))
    },
    'POST /phygitals/metadata/batch': async ({ query, request, reply, teamId, actor }) => {
      const { bodyLimit } = endpoints['POST /phygitals/metadata/batch']
      const { dryRun = false } = query
      const lines = await CheckedLines.read(request, bodyLimit, lineBy(metadataRow))
      if (!dryRun) await lines.refuseBad()
      const rows = mapped(lines.goodLines(), ({ row, value }) => ({
        row,
        target: targetOf(value),
        metadata: value.metadata,
        expected: value.expected,
      }))
      if (!dryRun)
        return sendEach(reply, mapped(replaceMetadataRows(ctx, { teamId, actor }, rows), conflictOnWire))
      const checked = mapped(checkMetadataRows(ctx, { teamId, feeCap }, rows), conflictOnWire)
      return sendLines(reply, inLineOrder(invalidIn(lines), mapped(checked, totalsOnWire)))
    },
  })
}

const invalidIn = (lines: CheckedLines<unknown>) =>
  mapped(lines.badLines(), ({ row, problem }: BadLine) => ({
    row,
    status: 'invalid' as const,
    error: problem,
  }))

/** The schema guarantees one or the other. */
function targetOf(row: Omit<z.output<typeof moveRow>, 'recipient'>): RowTarget {
  const { uid, contractAddress = '', chainId = 0, tokenId = '' } = row
  return uid === undefined ? { contractAddress, chainId, tokenId } : { uid }
}

function moveOf(
  { idempotency }: Context,
  { row, value }: ReadLine<z.output<typeof moveRow>>,
  teamId: number,
): TransferRow {
  const { recipient, idempotencyKey: key } = value
  const target = targetOf(value)
  const request = { target, recipient }
  const claim =
    key === undefined
      ? undefined
      : idempotency.claim({ scope: `team:${teamId}`, key, request, lifetimeMs: keyLifetimeMs })
  return { row, target, recipient, claim }
}

const totalsOnWire = <T extends object>(line: T | { totals: ChainTotals[] }) =>
  'totals' in line ? { ...line, totals: line.totals.map(totalsAsText) } : line

/** Older clients know no conflicts. */
const conflictOnWire = <T extends object>(line: T) =>
  'status' in line && line.status === 'conflict' ? { ...line, status: 'failed' as const } : line

/** Each line is sent at once: the client relies on it to know what is done. */
const sendEach = (reply: FastifyReply, lines: AsyncIterable<unknown>): FastifyReply =>
  sendLineText(reply, asJsonLines(lines))
