import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BaseError, type Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import { unguessableAddress } from '../../src/daemon/chain/dev-chain/anvil-process.ts'
import { connectTo } from '../../src/daemon/chain/dev-chain/connect.ts'
import { endOrphan } from '../../src/daemon/chain/dev-chain/orphan.ts'
import { ChainUnavailable } from '../../src/daemon/chain/rpc-connection.ts'
import {
  clientOf,
  killNow,
  paid,
  payee,
  relayer,
  send,
  silent,
  storedIn,
  transfer,
  transfers,
  until,
} from '../support/dev-chain.ts'
import { ownedDevChains, spawnOwner } from '../support/dev-chain-process.ts'

const chains = ownedDevChains()

const folder = (dataDir: string) => join(dataDir, 'dev-chain')
const states = (dataDir: string) =>
  readdirSync(folder(dataDir))
    .filter((name) => /^state-.*\.gz$/.test(name))
    .sort()
const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0)
    // What has ended and waits for init has no command line.
    return process.platform !== 'linux' || readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== ''
  } catch {
    return false
  }
}
const post = async (url: string, method: string, ...params: unknown[]): Promise<unknown> => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  return (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).json()
}

describe('kill -9', () => {
  // Before a state, after some, near the end.
  for (const [storedBefore, whom] of [
    [1, 'both'],
    [100, 'both'],
    [300, 'both'],
    [590, 'both'],
    [200, 'the daemon'],
    [500, 'the daemon'],
  ] as const) {
    test(`of ${whom} after ${storedBefore} of 600 were stored loses no stored transaction`, async () => {
      const dataDir = chains.dir()
      const owner = await spawnOwner(dataDir, 600)
      await until(() => storedIn(dataDir).length >= storedBefore)
      await owner.kill()
      if (whom === 'both') killNow(owner.chainPid)
      const stored = storedIn(dataDir)
      const chain = await chains.start({ dataDir, signedSince: () => [stored] })
      expect(await clientOf(chain).getTransactionCount({ address: relayer.address })).toBe(stored.length)
      expect(new Set(await paid(chain, stored.length))).toEqual(new Set([1n]))
      expect(isAlive(owner.chainPid)).toBe(false)
      expect(chain.pid).not.toBe(owner.chainPid)
    })
  }

  test('of both keeps what a wallet sent over the published RPC before the last seconds', async () => {
    const dataDir = chains.dir()
    const owner = await spawnOwner(dataDir, 0)
    await owner.done()
    for (const raw of await transfers(3))
      expect(await post(owner.rpcUrl, 'eth_sendRawTransaction', raw)).toHaveProperty('result')
    const before = states(dataDir)
    // The first state after this may have been begun before the last of the three.
    for (const many of [1, 2]) {
      await post(owner.rpcUrl, 'eth_sendRawTransaction', await transfer(2 + many))
      await until(() => states(dataDir).filter((name) => !before.includes(name)).length >= many)
    }
    await owner.kill()
    killNow(owner.chainPid)
    const chain = await chains.start({ dataDir })
    expect(await paid(chain, 3)).toEqual([1n, 1n, 1n])
  })
})

test('what is sent again may hold every attempt of a nonce, and gaps that nothing fills', async () => {
  const first = await transfer(0)
  const dearer = await relayer.signTransaction({
    type: 'eip1559',
    chainId: 31337,
    nonce: 0,
    to: payee(0),
    value: 1n,
    gas: 21_000n,
    maxFeePerGas: 6_000_000_000n,
    maxPriorityFeePerGas: 2_000_000_000n,
  })
  const asked: number[] = []
  const signedSince = (_: string, nonce: number) => {
    asked.push(nonce)
    return nonce === 0 ? [[first, dearer], [first], raws.slice(1)] : []
  }
  const raws = [first, await transfer(1), await transfer(3)]
  const dataDir = chains.dir()
  const chain = await chains.start({ dataDir, signedSince })
  const client = clientOf(chain)
  expect(await client.getTransactionCount({ address: relayer.address })).toBe(2)
  expect(await paid(chain, 4)).toEqual([1n, 1n, 0n, 0n])
  await send(chain, await transfer(2))
  await until(async () => (await client.getTransactionCount({ address: relayer.address })) === 4)
  await chain.stop()
  await chains.start({ dataDir, signedSince })
  expect(asked).toEqual([0, 4])
})

/** A chain with these transfers in as many states. */
async function savedTransfers(count: number): Promise<string> {
  const dataDir = chains.dir()
  const chain = await chains.start({ dataDir })
  for (const [nonce, raw] of (await transfers(count)).entries()) {
    await send(chain, raw)
    await until(async () => (await paid(chain, nonce + 1)).at(-1) === 1n)
    await chain.dump()
  }
  await chain.stop()
  return dataDir
}

describe('the saved states', () => {
  test('are three, for their owner alone; damaged ones give way to the one before', async () => {
    const dataDir = await savedTransfers(6)
    const kept = states(dataDir)
    expect(kept).toHaveLength(3)
    if (process.platform !== 'win32')
      for (const name of readdirSync(folder(dataDir)).filter((entry) => entry !== 'cache'))
        expect(statSync(join(folder(dataDir), name)).mode & 0o077, name).toBe(0)
    const newest = join(folder(dataDir), kept.at(-1) ?? '')
    truncateSync(newest, Math.floor(statSync(newest).size / 2))
    writeFileSync(join(folder(dataDir), kept.at(-2) ?? ''), 'not a state')

    const raws = await transfers(6)
    const second = await chains.start({ dataDir, signedSince: (_, nonce) => [raws.slice(nonce)] })
    expect(await paid(second, 6)).toEqual([1n, 1n, 1n, 1n, 1n, 1n])
    await second.stop()
  })

  test('are not replaced by nothing: where none can be loaded the chain does not start, and says what to do', async () => {
    const dataDir = await savedTransfers(4)
    const kept = states(dataDir)
    const bytes = kept.map((name) => readFileSync(join(folder(dataDir), name)))
    for (const name of kept) writeFileSync(join(folder(dataDir), name), '')
    await expect(chains.start({ dataDir })).rejects.toThrow(/can be loaded.*move the folder away/)
    await expect(chains.start({ dataDir })).rejects.toThrow('can be loaded')
    for (const [index, name] of kept.entries()) writeFileSync(join(folder(dataDir), name), bytes[index] ?? '')
    const again = await chains.start({ dataDir })
    expect(await paid(again, 4)).toEqual([1n, 1n, 1n, 1n])
  })

  test('of an earlier version are loaded, and what it kept beside them is removed', async () => {
    const dataDir = await savedTransfers(2)
    const [name = ''] = states(dataDir).slice(-1)
    const older = name.replace('.gz', `-1790000000000-${'0123456789abcdef'.repeat(2)}.gz`)
    renameSync(join(folder(dataDir), name), join(folder(dataDir), older))
    for (const left of ['sent-00000001.log', 'loading.json', `${name}.0123.new`])
      writeFileSync(join(folder(dataDir), left), '0x')
    const chain = await chains.start({ dataDir })
    expect(await paid(chain, 2)).toEqual([1n, 1n])
    await chain.dump()
    await chain.stop()
    const left = readdirSync(folder(dataDir)).filter(
      (entry) => !/^(state-\d{8}.*\.gz|cache|anvil\.sock)$/.test(entry),
    )
    expect(left).toEqual([])
    const next = await chains.start({ dataDir })
    expect(await paid(next, 2)).toEqual([1n, 1n])
  })
})

describe('a chain left behind', () => {
  test('is ended, with what no one signed kept', async () => {
    const dataDir = chains.dir()
    const owner = await spawnOwner(dataDir, 0)
    await owner.done()
    const record: unknown = JSON.parse(readFileSync(join(folder(dataDir), 'anvil.json'), 'utf8'))
    const url = String((record as { url: string }).url)
    const past = connectTo(url)
    await past.call('anvil_setBalance', [payee(1), '0x5'])
    past.close()
    await owner.kill()
    expect(isAlive(owner.chainPid)).toBe(true)
    const chain = await chains.start({ dataDir })
    expect(isAlive(owner.chainPid)).toBe(false)
    expect(await paid(chain, 2)).toEqual([0n, 5n])
  })

  test('whose number another process has by now leaves that one alone', async () => {
    const dataDir = chains.dir()
    const stranger = spawn('sleep', ['30'], { stdio: 'ignore' })
    const neighbour = await chains.start()
    try {
      await (await chains.start({ dataDir })).stop()
      for (const pid of [stranger.pid, neighbour.pid]) {
        const record = { pid, url: neighbour.internalUrl, marker: '0xfe00' }
        writeFileSync(join(folder(dataDir), 'anvil.json'), JSON.stringify(record))
        await (await chains.start({ dataDir })).stop()
      }
      writeFileSync(join(folder(dataDir), 'anvil.json'), '{"pid":')
      await (await chains.start({ dataDir })).stop()
      expect(stranger.exitCode ?? stranger.signalCode).toBeNull()
      expect(await clientOf(neighbour).getChainId()).toBe(31337)
    } finally {
      stranger.kill('SIGKILL')
      await once(stranger, 'exit')
    }
  })
})

describe('where a system shows no command lines', () => {
  test('the mark in the chain itself tells whose it is', async () => {
    const dataDir = chains.dir()
    const chain = await chains.start({ dataDir })
    const record = readFileSync(join(folder(dataDir), 'anvil.json'), 'utf8')
    const pidFile = join(dataDir, 'pid.json')
    const rescued: string[] = []
    const rescue = async ({ url }: { url: string }) => {
      rescued.push(url)
    }
    const end = () => endOrphan({ pidFile, cacheDir: 'unknown', log: silent, rescue, platform: 'darwin' })
    writeFileSync(pidFile, record.replace(/0xfe[0-9a-f]+/, '0xfe00'))
    await end()
    const { pid } = chain
    expect(isAlive(pid ?? 0)).toBe(true)
    expect(rescued).toEqual([])
    writeFileSync(pidFile, record)
    await end()
    expect(isAlive(pid ?? 0)).toBe(false)
    expect(rescued).toEqual([chain.internalUrl])
    expect(unguessableAddress('darwin')).toEqual({ host: '127.0.0.1', port: 0 })
  })
})

describe('anvil, killed under load,', () => {
  test('is started again with everything that was accepted', async () => {
    const raws = await transfers(400)
    const stored: Hex[] = []
    const chain = await chains.start({ saveAfterMs: 50, signedSince: () => [stored] })
    const { internalUrl, pid: first } = chain
    let restarts = 0
    chain.onRestart(() => restarts++)
    const refused: string[] = []
    for (let at = 0; at < raws.length; at += 20) {
      if (at === 100 || at === 260) killNow(chain.pid)
      stored.push(...raws.slice(at, at + 20))
      const sendAgain = async (raw: Hex): Promise<void> => {
        try {
          await send(chain, raw)
        } catch (error) {
          const name = error instanceof Error ? error.name : ''
          // What was cut off may have arrived all the same.
          if (name !== 'ChainUnavailable') return
          refused.push(name)
          await new Promise((resolve) => setTimeout(resolve, 20))
          return sendAgain(raw)
        }
      }
      await Promise.all(raws.slice(at, at + 20).map(sendAgain))
    }
    const client = clientOf(chain)
    await until(async () => (await client.getTransactionCount({ address: relayer.address })) === 400)
    expect(new Set(await paid(chain, 400))).toEqual(new Set([1n]))
    expect(restarts).toBe(2)
    expect(refused.length).toBeGreaterThan(0)
    expect(chain.pid).not.toBe(first)
    expect(chain.internalUrl).toBe(internalUrl)
  })

  test.runIf(process.platform === 'linux')(
    'leaves no process behind when it is stopped meanwhile',
    async () => {
      const chain = await chains.start()
      killNow(chain.pid)
      await until(() => chain.pid === undefined)
      await expect(chain.request({ method: 'eth_chainId' })).rejects.toThrow('is restarting')
      const asked: unknown = await clientOf(chain)
        .getChainId()
        .catch((error: unknown) => error)
      expect(
        asked instanceof BaseError && asked.walk((cause) => cause instanceof ChainUnavailable),
      ).toBeTruthy()
      await chain.stop()
      await expect(chain.request({ method: 'eth_chainId' })).rejects.toThrow('stopped')
      expect(chain.pid).toBeUndefined()
    },
  )
})
