import { type Address, getAddress, type Hex, keccak256, parseGwei, toHex } from 'viem'
import { expect, vi } from 'vitest'
import * as z from 'zod'
import { chipUid, openPhygitals } from '../phygitals.ts'
import { openRemoteChain, remoteRelayer } from '../remote-chain.ts'
import { acmeKey, tokenSeed } from '../seeds.ts'
import { openReceiver } from '../webhooks.ts'
import type { Mode } from './modes.ts'
import { openPublicNode } from './node.ts'

const chainId = 7
export const sheetRows = 30
export const tokenOf = { transfer: 1, cancel: 2, sheet: (row: number) => 3 + row }
const someone = (n: number): Address => getAddress(`0x${(0xbeef00 + n).toString(16).padStart(40, '0')}`)
/** Who gets what. The sheet has one recipient: their signatures depend on each other. */
export const recipients = { transfer: someone(1), cancel: someone(2), sheet: someone(3), badge: someone(4) }

const seed = () => {
  const tokens = tokenSeed(2 + sheetRows, (n) => ({ uid: chipUid(n) }), chainId)
  const events = [{ name: 'Opening', tokenId: '1', metadata: { name: 'Opening' } }]
  const guestbookContracts = [{ symbol: 'GB', name: 'Guests', chainId, events }]
  return { ...tokens, teams: tokens.teams.map((team) => ({ ...team, guestbookContracts })) }
}

export interface Setting {
  /** What each of the chain's nodes does otherwise, from the start. All are in front of the same chain. */
  nodes?: readonly (readonly Mode[])[]
  confirmations?: number
  blockMs?: number | undefined
  /** How many blocks there are before, twelve seconds apart. */
  age?: number
  env?: Record<string, string>
}

/** Waits for it: `expect.poll` knows one test at a time, and these run beside each other. */
export const eventually = (ask: () => unknown, wanted: unknown, timeout = 180_000): Promise<void> =>
  vi.waitFor(async () => expect(await ask()).toEqual(wanted), { timeout, interval: 250 })

/** A daemon on a chain whose nodes are as the public ones are, and five kinds of actions for it. */
export async function openStage(setting: Setting = {}) {
  const { nodes: modes = [[]], confirmations, blockMs = 1000, age = 0, env } = setting
  // Fees are tips alone, so that what is paid depends on no other block.
  const chain = await openRemoteChain({ confirmations, chainId, blockMs, args: ['--base-fee', '0'] })
  await chain.rpc('anvil_mine', [toHex(age), toHex(12)])
  const nodes = await Promise.all(modes.map((mode) => openPublicNode(chain.node.url, mode)))
  const p = await openPhygitals({
    seed: seed(),
    env: {
      ...chain.env,
      [`TAPCHIP_RPC_${chainId}`]: nodes.map(({ url }) => url).join(','),
      TAPCHIP_WEBHOOKS_PRIVATE: 'on',
      ...env,
    },
  })
  const receiver = await openReceiver()
  await p.ask('/admin/webhooks', { team: 'Acme', url: receiver.url }, { headers: p.admin })
  const admin = { headers: p.admin }
  const token = (n: number) => ({ contractAddress: p.addressOf('JKT'), chainId, tokenId: String(n) })
  const keyed = (key: string) => ({ key: acmeKey, headers: { 'idempotency-key': key } })

  /** As a client repeats a request until it is recorded: its answer may come before its transaction is sent. */
  const persist = async (what: () => ReturnType<typeof p.ask>) => {
    let body: Awaited<ReturnType<typeof p.ask>>['body']
    const isRecorded = async () => {
      const answer = await what()
      body = answer.body
      return answer.status === 200 || body.transactionId !== undefined ? 'recorded' : answer
    }
    await eventually(isRecorded, 'recorded')
    return body
  }

  const transfer = (n: number, recipient: Address) =>
    persist(() => p.ask('/phygitals/transfer', { ...token(n), recipient }, keyed(`token-${n}`)))

  const sheet = async () => {
    let left = Array.from({ length: sheetRows }, (_, row) => tokenOf.sheet(row))
    const send = async () => {
      const rows = left.map((n) => ({
        ...token(n),
        recipient: recipients.sheet,
        idempotencyKey: `token-${n}`,
      }))
      const answer = await p.app.inject({
        method: 'POST',
        url: '/phygitals/transfer/batch',
        headers: { 'x-svc-api-key': acmeKey, 'content-type': 'application/x-ndjson' },
        payload: rows.map((row) => JSON.stringify(row)).join('\n'),
      })
      const lines = answer.body.split('\n').filter((line) => line !== '')
      const failed = lines.map((line) => JSON.parse(line)).filter(({ status }) => status === 'failed')
      left = failed.map(({ row }) => left[row - 1] ?? 0)
      return failed.map(({ error }) => error)
    }
    await eventually(send, [])
  }

  const cancelled = async () => {
    await transfer(tokenOf.cancel, recipients.cancel)
    const { id } = (await stage.cancelled()) ?? {}
    const { status } = await p.ask(`/admin/transactions/${id}/cancel`, { reason: 'a mistake' }, admin)
    // 409: it has been mined already.
    expect([200, 409]).toContain(status)
  }

  const badge = async () => {
    const event = { contractAddress: p.addressOf('GB'), chainId, tokenId: '1' }
    await persist(() => p.ask('/events/mint', { ...event, recipient: recipients.badge }, keyed('badge')))
  }

  const deploy = () =>
    persist(() =>
      p.ask('/admin/contracts/deploy', { team: 'Acme', symbol: 'NEW', name: 'New', chainId }, admin),
    )

  let stolen: Hex | undefined
  let before = new Set<string>()
  const stage = {
    ...p,
    chain,
    nodes,
    age,
    receiver,
    /** Of the transactions that there were before the actions. */
    get earlierHashes() {
      return before
    },
    /** The hash of one with the relayer's key that is not the relayer's. */
    get stolen() {
      return stolen
    },

    /** All five at once, until each is recorded. */
    act: async () => {
      before = new Set((await p.transactions()).map(({ firstHash }) => String(firstHash)))
      await transfer(tokenOf.transfer, recipients.transfer)
      await Promise.all([sheet(), cancelled(), badge(), deploy()])
    },

    /** Waits until nothing is under way. @throws with what is left */
    allSettled: async () => {
      const left = async () =>
        (await p.transactions())
          .filter(({ settledAt }) => settledAt === null)
          .map(({ id, kind, state, nonce, waiting }) => `${id} ${kind} ${state} ${nonce} ${waiting}`)
      await eventually(left, [])
    },

    /**
     * What happens between a transaction's signing and its block: a program with the same key takes the lowest nonce, and
     * a stranger sends the first call of the sheet.
     */
    interfere: async () => {
      const nonce = Number(await chain.rpc('eth_getTransactionCount', [remoteRelayer.address, 'latest']))
      const fees = { maxFeePerGas: parseGwei('5'), maxPriorityFeePerGas: parseGwei('5') }
      const other = { type: 'eip1559', chainId, nonce, gas: 21_000n, to: someone(5), ...fees } as const
      stolen = keccak256(await remoteRelayer.signTransaction(other))
      await chain.rpc('eth_sendRawTransaction', [await remoteRelayer.signTransaction(other)])
      const isFirst = ({
        sequence,
        sequenceValue,
      }: {
        sequence: string | null
        sequenceValue: string | null
      }) => sequence?.endsWith(recipients.sheet.toLowerCase()) && sequenceValue === '0'
      const { to, data } = (await p.transactions()).find(isFirst) ?? {}
      const [stranger] = z.array(z.string()).parse(await chain.rpc('eth_accounts'))
      const copy = await chain.rpc('eth_sendTransaction', [{ from: stranger, to, data, gas: toHex(300_000) }])
      const mined = () => chain.rpc('eth_getTransactionReceipt', [copy])
      await eventually(mined, expect.objectContaining({ status: '0x1' }))
    },

    /** Its row. */
    cancelled: async () => {
      const ofIt = ({ subject }: { subject: string }) =>
        JSON.parse(subject).tokenId === String(tokenOf.cancel)
      return (await p.transactions()).find(ofIt)
    },

    /** `ok`, or what is wrong: as `/readyz` and lists of chains say it. */
    chainWord: async () => {
      const { status, body } = await p.ask('/readyz')
      const [{ trouble }] = (await p.ask('/admin/chains', undefined, admin)).body
      return status === 200 && trouble === null ? body.chains[chainId] : JSON.stringify({ body, trouble })
    },
    /** Of transactions that cannot go on, as lists of them say it. */
    waiting: async () =>
      JSON.stringify((await p.ask('/admin/transactions?waiting=true', undefined, admin)).body),
    isReady: async () => (await p.ask('/readyz')).status === 200,

    close: async () => {
      receiver.close()
      await p.close()
      for (const node of nodes) await node.close()
      await chain.close()
    },
  }
  return stage
}

export type Stage = Awaited<ReturnType<typeof openStage>>
