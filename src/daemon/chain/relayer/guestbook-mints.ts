import { type Address, decodeFunctionData, encodeFunctionData, type Hex, isAddress, isHex } from 'viem'
import * as z from 'zod'
import { guestbookAbi } from '../artifacts/guestbook.ts'
import type { Builder } from './builder.ts'
import { CannotBuild } from './errors.ts'

/**
 * Mints the tokens of several calls of `mint` by one of `mintBatch`. The contract mints once for each intent ID, and a
 * recipient that refuses its token does not stop the others.
 */
export const guestbookMints: Builder = {
  async build(args) {
    const mints = Array.isArray(args) ? args.map(parse) : []
    const [{ contract } = {}] = mints
    if (contract === undefined || mints.some((mint) => mint.contract !== contract))
      throw new CannotBuild('a group is of one contract')
    const entries = mints.map(({ to, tokenId, intentId }) => ({ to, tokenId, intentId }))
    const data = encodeFunctionData({ abi: guestbookAbi, functionName: 'mintBatch', args: [entries] })
    return { to: contract, data }
  },

  async refusedOf(args, { hash, blockHash, client }) {
    const mints = args.map(parse)
    const [{ contract } = {}] = mints
    if (contract === undefined) return []
    const event = { abi: guestbookAbi, address: contract, eventName: 'MintRefused', blockHash } as const
    const logs = await client.getContractEvents(event)
    const refused = new Set(
      logs.filter(({ transactionHash }) => transactionHash === hash).map((log) => log.args.intentId),
    )
    return mints.flatMap(({ intentId }, at) => (refused.has(intentId) ? [at] : []))
  },
}

const recordedCall = z.object({
  to: z.custom<Address>((value) => typeof value === 'string' && isAddress(value)),
  data: z.custom<Hex>(isHex),
})

interface Mint {
  contract: Address
  to: Address
  tokenId: bigint
  intentId: Hex
}

/** @throws CannotBuild */
function parse(args: unknown): Mint {
  const call = recordedCall.safeParse(args)
  if (!call.success) throw new CannotBuild(`the mint is invalid: ${call.error.issues[0]?.message}`)
  const { functionName, args: values } = decodeFunctionData({ abi: guestbookAbi, data: call.data.data })
  if (functionName !== 'mint') throw new CannotBuild('a group is of mints')
  const [to, tokenId, intentId] = values
  return { contract: call.data.to, to, tokenId, intentId }
}
