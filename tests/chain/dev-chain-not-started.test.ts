import { chmodSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { anvilBinary } from '../../src/daemon/chain/dev-chain/anvil-process.ts'
import { AnvilNotStarted, isShortage, notSpawned } from '../../src/daemon/chain/dev-chain/not-started.ts'
import { clientOf, devChains, payee, send, transfer } from '../support/dev-chain.ts'

const chains = devChains()
afterEach(() => chains.clean())

const states = (dataDir: string): string[] =>
  readdirSync(join(dataDir, 'dev-chain')).filter((name) => name.startsWith('state-'))

test.each([
  [
    'is not there',
    () => '/nowhere/anvil',
    /\/nowhere\/anvil: it does not exist\. Install .*TAPCHIP_DEV_CHAIN=off/,
  ],
  [
    'may not be run',
    (dir: string) => {
      const file = join(dir, 'anvil')
      writeFileSync(file, '#!/bin/sh\n')
      chmodSync(file, 0o600)
      return file
    },
    /this user may not run it\. .*chmod 755.*EACCES/,
  ],
])(
  'an anvil that %s is named, with what to do, and no state of the chain is blamed',
  async (_what, place, words) => {
    const dataDir = chains.dir()
    const first = await chains.start({ dataDir })
    await send(first, await transfer(0))
    await first.stop()
    const kept = states(dataDir)
    expect(kept.length).toBeGreaterThan(0)
    const failing = chains.start({ dataDir, binary: place(chains.dir()) })
    await expect(failing).rejects.toThrow(words)
    await expect(failing).rejects.toBeInstanceOf(AnvilNotStarted)
    expect(states(dataDir)).toEqual(kept)
    const again = await chains.start({ dataDir })
    expect(await clientOf(again).getBalance({ address: payee(0) })).toBe(1n)
  },
)

test('an anvil that ends at once is told with what it said last', async () => {
  const binary = join(chains.dir(), 'anvil')
  writeFileSync(binary, '#!/bin/sh\necho no room for a chain here >&2\nexit 3\n', { mode: 0o700 })
  await expect(chains.start({ binary })).rejects.toThrow(/anvil says: no room for a chain here/)
})

test('a system that anvil is not installed for is told what to install', () => {
  const { value = 'x64' } = Object.getOwnPropertyDescriptor(process, 'arch') ?? {}
  Object.defineProperty(process, 'arch', { value: 'riscv64' })
  try {
    expect(() => anvilBinary()).toThrow(/npm install --no-save @foundry-rs\/anvil-linux-riscv64/)
  } finally {
    Object.defineProperty(process, 'arch', { value })
  }
})

test('a shortage is told from an end, however it was wrapped', () => {
  for (const code of ['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM']) {
    const error = Object.assign(new Error(code), { code })
    expect(isShortage(new Error('in words', { cause: error }))).toBe(true)
    expect(notSpawned('anvil', error)).toMatchObject({
      hasRun: false,
      message: expect.stringContaining(code),
    })
  }
  expect(isShortage(Object.assign(new Error(), { code: 'ECONNREFUSED' }))).toBe(false)
})
