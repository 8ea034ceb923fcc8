import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, expect, test } from 'vitest'
import type { DevChain } from '../../src/daemon/chain/dev-chain/dev-chain.ts'
import { clientOf, devChains, killNow, payee, transfer, until } from '../support/dev-chain.ts'
import { limitFiles } from '../support/full-disk.ts'

const chains = devChains()
afterEach(() => chains.clean())

/** As any wallet sends it. */
async function sendByRpc({ rpcUrl }: DevChain, ...raws: Hex[]) {
  const calls = raws.map((raw, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'eth_sendRawTransaction',
    params: [raw],
  }))
  const body = JSON.stringify([{ jsonrpc: '2.0', id: 'head', method: 'eth_blockNumber' }, ...calls])
  const headers = { 'content-type': 'application/json' }
  const answers = (await (await fetch(rpcUrl, { method: 'POST', headers, body })).json()) as {
    result?: unknown
    error?: { message: string }
  }[]
  return answers
}

const balance = (chain: DevChain, nonce: number) => clientOf(chain).getBalance({ address: payee(nonce) })
const restarted = async (chain: DevChain) => {
  const before = chain.pid
  const up = new Promise<void>((resolve) => {
    chain.onRestart(resolve)
  })
  killNow(before)
  await up
}

// A state never comes by itself here: what a restart knows, it knows from the journal.
const neverKept = { blocks: 1_000_000, idleMs: 3_600_000 }

test('a transaction that cannot be written down is refused, does not happen, and goes once there is room', async () => {
  const dataDir = chains.dir()
  const failures: unknown[] = []
  const chain = await chains.start({
    dataDir,
    keepEvery: neverKept,
    writeFailed: (error) => failures.push(error),
  })
  const [first, second] = [await transfer(0), await transfer(1)]
  expect((await sendByRpc(chain, first))[1]).toHaveProperty('result')
  await until(async () => (await balance(chain, 0)) === 1n)
  const folder = join(dataDir, 'dev-chain')
  const journal = readdirSync(folder).filter((name) => name.startsWith('sent-'))
  const lift = limitFiles(statSync(join(folder, journal.at(-1) ?? '')).size)
  let answers: Awaited<ReturnType<typeof sendByRpc>>
  try {
    answers = await sendByRpc(chain, second)
  } finally {
    lift()
  }
  // Reads of the same batch are answered as ever.
  expect(answers[0]).toHaveProperty('result')
  expect(answers[1]?.error?.message).toMatch(/disk is full.*was not accepted/)
  expect(JSON.stringify(answers)).not.toMatch(/EFBIG|ENOSPC/)
  expect(failures).toHaveLength(1)
  await chain.mine()
  expect(await balance(chain, 1)).toBe(0n)
  await restarted(chain)
  expect(await balance(chain, 0)).toBe(1n)
  expect(await balance(chain, 1)).toBe(0n)

  expect((await sendByRpc(chain, second))[1]).toHaveProperty('result')
  await until(async () => (await balance(chain, 1)) === 1n)
})

test('what the chain refused does not happen after a restart either, when it would be taken', async () => {
  const poor = privateKeyToAccount(`0x${'77'.repeat(32)}`)
  // Whoever is funded is rich again at each start, before anything is sent again.
  const chain = await chains.start({ keepEvery: neverKept, fund: [poor.address] })
  await chain.request({ method: 'anvil_setBalance', params: [poor.address, '0x0'] })
  const raw = await transfer(0, poor, payee(7))
  expect((await sendByRpc(chain, raw))[1]?.error?.message).toMatch(/insufficient funds/i)
  await restarted(chain)
  await chain.mine()
  expect(await balance(chain, 7)).toBe(0n)
  // And it was refused for nothing that lasts.
  expect((await sendByRpc(chain, raw))[1]).toHaveProperty('result')
})

test('a disk that is full for long does not fill up with parts of the journal', async () => {
  const dataDir = chains.dir()
  const chain = await chains.start({ dataDir, keepEvery: { blocks: 1_000_000, idleMs: 3_600_000 } })
  const parts = () => readdirSync(join(dataDir, 'dev-chain')).filter((name) => name.startsWith('sent-'))
  const before = parts().length
  const lift = limitFiles(0)
  try {
    for (let tried = 0; tried < 5; tried += 1) await expect(chain.dump()).rejects.toThrow()
  } finally {
    lift()
  }
  expect(parts().length).toBeLessThanOrEqual(before + 1)
  expect(readdirSync(join(dataDir, 'dev-chain')).filter((name) => name.endsWith('.new'))).toEqual([])
  await chain.dump()
})
