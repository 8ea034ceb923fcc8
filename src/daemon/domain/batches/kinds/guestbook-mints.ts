import type { JsonObject } from '../../../../values/json.ts'
import { checkTokenId, tokenChecks } from '../../../../values/token.ts'
import { claimSample } from '../../chain/l1-fee.ts'
import { priced, totalsAsText } from '../../chain/prices.ts'
import { chainOf } from '../../chain/read-chain.ts'
import { DomainError } from '../../errors/errors.ts'
import type { EventRef } from '../../guestbook/find.ts'
import { checkMint, mintEvent } from '../../guestbook/mint.ts'
import { gasTaken } from '../../guestbook/receiver.ts'
import { mapConcurrently } from '../../phygitals/batch-row.ts'
import { sendRow } from '../../phygitals/send-row.ts'
import type { BatchDeps, NumberedRow, RowResult, SentKind } from '../kind.ts'
import { idIn, LineProblem, lineReader, refuseOthers, textIn } from './lines.ts'
import { claimOfRow, describeRow, isPassing } from './sent-rows.ts'

export type MintLine = NumberedRow & EventRef & { readonly recipient: string }

export interface MintResult extends RowResult {
  readonly contractAddress?: string
  readonly chainId?: number
  readonly tokenId?: string
  /** The address that a name resolved to. */
  readonly recipient?: string
  /** The gas limit of a mint to be sent. */
  readonly gas?: number
  readonly txnHash?: string
  readonly transactionId?: number | undefined
}

const known = new Set(['row', 'eventId', 'tokenId', 'contractId', 'contractAddress', 'chainId', 'recipient'])

/** @throws LineProblem */
function eventIn(line: JsonObject): EventRef {
  if (line.eventId !== undefined) return { eventId: idIn(line, 'eventId') }
  const tokenId = textIn(line, 'tokenId', 78) ?? ''
  const problem = checkTokenId(tokenId)
  if (problem !== undefined)
    throw new LineProblem(
      tokenId === ''
        ? 'must name its event: eventId, or tokenId with contractId or with contractAddress and chainId'
        : `tokenId ${problem}`,
    )
  if (line.contractId !== undefined) return { tokenId, contractId: idIn(line, 'contractId') }
  const contractAddress = textIn(line, 'contractAddress', 42) ?? ''
  const why = tokenChecks.contractAddress(contractAddress)
  if (why !== undefined) throw new LineProblem(`contractAddress ${why}`)
  return { tokenId, contractAddress, chainId: idIn(line, 'chainId') }
}

const isMint = ({ status }: RowResult): boolean => status === 'minted'

const eventOf = ({ row: _, recipient: __, ...event }: MintLine): EventRef => event

/** Rows checked concurrently. */
const concurrency = 100

async function planned(deps: BatchDeps, teamId: number, line: MintLine): Promise<MintResult> {
  const { row, recipient } = line
  try {
    const found = await checkMint(deps, teamId, { event: eventOf(line), recipient })
    return { row, ...found, status: 'minted' }
  } catch (error) {
    // An unreachable chain is not the row's fault.
    if (!(error instanceof DomainError) || isPassing(error.code)) throw error
    return { row, status: 'failed', error: describeRow(error.message) }
  }
}

export const guestbookMints: SentKind<MintLine, MintResult> = {
  names: ['guestbook mint'],
  how: 'sent',
  isAdmin: false,
  scope: 'transfer',
  concurrency: 128,
  readRow: lineReader((line, row) => {
    refuseOthers(line, known)
    const recipient = textIn(line, 'recipient', 255)
    if (recipient === undefined || recipient.trim() === '') throw new LineProblem('recipient is missing')
    return { row, ...eventIn(line), recipient }
  }),
  async plan(deps, { teamId }, rows) {
    const results: MintResult[] = []
    for await (const result of mapConcurrently(rows, concurrency, (row) => planned(deps, teamId, row)))
      results.push(result)
    return results
  },
  totals: (_, results) => ({ mints: results.filter(isMint).length }),
  async costs(deps, _run, pieces) {
    const sums = new Map<number, { transactions: number; gas: bigint; gasLimit: bigint }>()
    for await (const results of pieces)
      for (const { chainId, gas = 0 } of results.filter(isMint)) {
        const { transactions, ...sum } = sums.get(chainId ?? 0) ?? { transactions: 0, gas: 0n, gasLimit: 0n }
        sums.set(chainId ?? 0, {
          transactions: transactions + 1,
          gas: sum.gas + BigInt(gasTaken(gas)),
          gasLimit: BigInt(gas) > sum.gasLimit ? BigInt(gas) : sum.gasLimit,
        })
      }
    const ids = [...sums].sort(([one], [other]) => one - other)
    // A mint has about as many bytes as a transfer.
    const totals = ids.map(([id, sum]) =>
      priced(chainOf(deps.chains, id), deps.feeCap(id), { ...sum, data: claimSample() }),
    )
    return { totals: (await Promise.all(totals)).map(totalsAsText) }
  },
  async send(deps, run, { row: line, planned: seen }, key) {
    if (seen?.status === 'failed') return seen
    const { row } = line
    const event = eventOf(line)
    // Sends to the address that the plan showed, even if the name points elsewhere by now.
    const recipient = seen?.recipient ?? line.recipient
    const { teamId, actor } = run
    const idempotency = claimOfRow(deps, run, key, { event, recipient })
    const sent = await sendRow(deps, idempotency, () =>
      mintEvent(deps, { teamId, actor, idempotency }, { event, recipient }),
    )
    const { gas: _, ...shown } = { ...seen, ...event, row, recipient }
    if (sent.status === 'sent') return { ...shown, status: 'minted', txnHash: sent.hash }
    if (sent.status === 'queued') return { ...shown, status: 'queued' }
    const error = describeRow(sent.error)
    if (isPassing(sent.code)) return { row, retryReason: error }
    return { ...shown, status: 'failed', error, transactionId: sent.transactionId }
  },
  undo: {
    refusal: 'Mints cannot be undone: the tokens belong to their guests.',
    advice: 'See who got one: tapchip batch report BATCH',
  },
}
