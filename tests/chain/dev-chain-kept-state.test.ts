import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, expect, test } from 'vitest'
import { BlockMaker } from '../../src/daemon/chain/dev-chain/block-maker.ts'
import { StateKeeper, saveState } from '../../src/daemon/chain/dev-chain/saved-states.ts'
import { RpcConnection } from '../../src/daemon/chain/rpc-connection.ts'
import { rpcOverHttp } from '../../src/daemon/chain/rpc-http.ts'
import { startAnvil } from '../support/anvil.ts'
import { until } from '../support/dev-chain.ts'

const dir = mkdtempSync(join(tmpdir(), 'tapchip-kept-state-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

// anvil_dumpState reads receipts first and accounts after: a block made in between is half in it.
test('no block is made while the state is read, and none is read while one is made', async () => {
  const anvil = await startAnvil(['--no-mining'])
  const wire = rpcOverHttp(anvil.url)
  const calls: string[] = []
  let letGo = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const connection = new RpcConnection(
    anvil.url,
    {
      post: async (body, limits) => {
        const [method] = /anvil_mine|anvil_dumpState/.exec(body) ?? []
        if (method !== undefined) calls.push(`${method} begins`)
        const answer = await wire.post(body, limits)
        if (method === 'anvil_mine' && calls.length === 1) await held
        if (method !== undefined) calls.push(`${method} ends`)
        return answer
      },
      close: () => wire.close(),
    },
    { timeoutMs: 60_000, maxBytes: 1e8 },
  )
  const clock = { now: () => Date.now(), monotonic: () => performance.now() }
  const nothing = () => undefined
  const blocks = new BlockMaker({ connection, clock, maxCatchUp: 1, mined: nothing, failed: nothing })
  try {
    const mined = blocks.mine()
    const kept = saveState(dir, { connection, blocks })
    const minedAgain = blocks.betweenBlocks(async () => undefined).then(() => blocks.mine())
    // The state's other calls are answered by now, so only the block is waited for.
    await connection.call('txpool_content')
    await connection.call('txpool_content')
    letGo()
    await Promise.all([mined, kept, minedAgain])
    expect(calls.length).toBe(6)
    for (const [at, call] of calls.entries())
      if (call.endsWith('begins')) expect(calls[at + 1]).toBe(call.replace('begins', 'ends'))
  } finally {
    await blocks.close()
    connection.close()
    await anvil.kill()
  }
})

test('a state that had to wait for blocks does not keep the next one waiting for long', async () => {
  const anvil = await startAnvil(['--no-mining'])
  const connection = new RpcConnection(anvil.url, rpcOverHttp(anvil.url), {
    timeoutMs: 60_000,
    maxBytes: 1e8,
  })
  const folder = mkdtempSync(join(dir, 'busy-'))
  const blocks = {
    betweenBlocks: async <T>(job: () => Promise<T>) => {
      await new Promise((resolve) => setTimeout(resolve, 500))
      return job()
    },
  }
  const log = pino({ level: 'silent' })
  const keeper = new StateKeeper({ dir: folder, log, chain: () => ({ connection, blocks }), saveAfterMs: 20 })
  try {
    const started = performance.now()
    for (const states of [1, 2]) {
      keeper.changed()
      await until(() => readdirSync(folder).filter((name) => /^state-.*\.gz$/.test(name)).length === states)
    }
    // Twenty times what the first one waited would be ten seconds.
    expect(performance.now() - started).toBeLessThan(8000)
  } finally {
    await keeper.close({ withSave: false })
    connection.close()
    await anvil.kill()
  }
})
