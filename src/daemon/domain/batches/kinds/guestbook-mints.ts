import type { JsonObject } from '../../../../values/json.ts'
import { checkTokenId, tokenChecks } from '../../../../values/token.ts'
import { groupsOf } from '../../chain/group-size.ts'
import { claimSample } from '../../chain/l1-fee.ts'
import { priced, totalsAsText } from '../../chain/prices.ts'
import { chainOf } from '../../chain/read-chain.ts'
import { DomainError } from '../../errors/errors.ts'
import type { EventRef } from '../../guestbook/find.ts'
import { checkMint, groupedMint, mintEvent } from '../../guestbook/mint.ts'
import { gasTaken, mintBatchGas } from '../../guestbook/receiver.ts'
import { mapConcurrently } from '../../phygitals/batch-row.ts'
import { sendRow } from '../../phygitals/send-row.ts'
import type { BatchDeps, BatchRun, NumberedRow, PlannedRow, RowResult, SentKind } from '../kind.ts'
import { idIn, LineProblem, lineReader, refuseOthers, textIn } from './lines.ts'
import { claimOfRow, describeRow, isPassing, mintTogether, rowsAtOnce } from './sent-rows.ts'

export type MintLine = NumberedRow & EventRef & { readonly recipient: string }

export interface MintResult extends RowResult {
  readonly contractAddress?: string
  readonly chainId?: number
  readonly tokenId?: string
  /** The address that a name resolved to. */
  readonly recipient?: string
  /** The gas limit of a mint to be sent. */
  readonly gas?: number
  /** The number of mints that share its transaction at most. */
  readonly sharedBy?: number
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

function requestOf(
  deps: BatchDeps,
  run: BatchRun,
  { row: line, planned: seen }: PlannedRow<MintLine, MintResult>,
  key: string,
) {
  const event = eventOf(line)
  // Sends to the address that the plan showed, even if the name points elsewhere by now.
  const recipient = seen?.recipient ?? line.recipient
  const request = { event, recipient }
  const idempotency = claimOfRow(deps, run, key, request)
  const { gas: _, sharedBy: __, ...known } = { ...seen, ...event, row: line.row, recipient }
  const result: MintResult = { ...known, status: 'minted' }
  return { request, idempotency, result }
}

export const guestbookMints: SentKind<MintLine, MintResult> = {
  names: ['guestbook mint'],
  how: 'sent',
  isAdmin: false,
  scope: 'transfer',
  concurrency: rowsAtOnce,
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
    const kinds = new Map<string, { chainId: number; gas: number; sharedBy: number; count: number }>()
    for await (const results of pieces)
      for (const { chainId = 0, contractAddress, gas = 0, sharedBy = 1 } of results.filter(isMint)) {
        const key = [chainId, contractAddress, gas, sharedBy].join('/')
        kinds.set(key, { chainId, gas, sharedBy, count: (kinds.get(key)?.count ?? 0) + 1 })
      }
    const parts = [...kinds.values()].map(({ chainId, gas, sharedBy, count }) => ({
      chainId,
      ...(groupsOf(mintBatchGas, count, sharedBy) ?? { count, gas: count * gasTaken(gas), largest: gas }),
    }))
    const ids = [...new Set(parts.map(({ chainId }) => chainId))].sort((one, other) => one - other)
    const totals = ids.map((id) => {
      const own = parts.filter(({ chainId }) => chainId === id)
      return priced(chainOf(deps.chains, id), deps.feeCap(id), {
        transactions: own.reduce((sum, { count }) => sum + count, 0),
        gas: BigInt(own.reduce((sum, { gas }) => sum + gas, 0)),
        gasLimit: BigInt(Math.max(...own.map(({ largest }) => largest))),
        // A mint has about as many bytes as a transfer.
        data: claimSample(),
      })
    })
    return { totals: (await Promise.all(totals)).map(totalsAsText) }
  },
  sendTogether: (deps, run, rows) =>
    mintTogether(deps, run, rows, async (row) => {
      const { request, idempotency, result } = requestOf(deps, run, row, row.key)
      if (await deps.idempotency.isKnown(idempotency)) return undefined
      const mint = await groupedMint(deps, { ...run, idempotency }, request)
      return mint && { ...mint, result }
    }),
  async send(deps, run, planned, key) {
    if (planned.planned?.status === 'failed') return planned.planned
    const { request, idempotency, result: shown } = requestOf(deps, run, planned, key)
    const { row } = shown
    const sent = await sendRow(deps, idempotency, () => mintEvent(deps, { ...run, idempotency }, request))
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
