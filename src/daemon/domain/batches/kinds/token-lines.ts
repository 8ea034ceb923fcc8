import { parseUid } from '../../../../nfc/uid.ts'
import type { JsonObject } from '../../../../values/json.ts'
import { canonicalTokenId, tokenChecks } from '../../../../values/token.ts'
import type { CurrentToken } from '../../phygitals/batch-row.ts'
import { isChip, type RowTarget } from '../../phygitals/batch-row.ts'
import { LineProblem } from './lines.ts'
import { describeRow } from './sent-rows.ts'

/** Reads the token that a line names, directly or by its chip. @throws LineProblem */
export function targetIn({ uid, contractAddress, chainId, tokenId }: JsonObject): RowTarget {
  const parts = { contractAddress, chainId, tokenId }
  const given = Object.values(parts).filter((part) => part != null).length
  if (given !== (uid == null ? 3 : 0))
    throw new LineProblem('must name its token: either uid, or contractAddress, chainId and tokenId')
  if (uid != null) {
    const parsed = parseUid(String(uid))
    if (!parsed.ok) throw new LineProblem(`uid ${parsed.reason}`)
    return { uid: parsed.uid }
  }
  for (const column of ['contractAddress', 'chainId', 'tokenId'] as const) {
    const why = tokenChecks[column](String(parts[column]))
    if (why !== undefined) throw new LineProblem(`${column} ${why}`)
  }
  return {
    contractAddress: String(contractAddress),
    chainId: Number(chainId),
    tokenId: canonicalTokenId(String(tokenId)),
  }
}

/** Finds an earlier row for the same token. @param seen tokens of earlier rows @returns the first row for it */
export function firstWith(
  seen: Map<string, number>,
  row: number,
  token: CurrentToken | undefined,
): number | undefined {
  if (!token || token.tokenId === null) return undefined
  const key = `${token.chainId}/${token.contractAddress}/${token.tokenId}`
  const first = seen.get(key)
  if (first === undefined) seen.set(key, row)
  return first
}

/** The message of `describeRow`, or a clearer one if the row named a chip. */
export const describeTarget = (message: string, target: RowTarget): string =>
  isChip(target) && message.startsWith('No such token')
    ? 'The chip carries no token. Give it one: tapchip chips link'
    : describeRow(message)
