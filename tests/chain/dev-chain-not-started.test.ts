import { chmodSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { anvilBinary } from '../../src/daemon/chain/dev-chain/anvil-binary.ts'
import { AnvilNotStarted, isResourceLimit, notSpawned } from '../../src/daemon/chain/dev-chain/not-started.ts'
import { clientOf, devChains, payee, send, transfer } from '../support/dev-chain.ts'

const chains = devChains()
afterEach(() => chains.clean())

const states = (dataDir: string): string[] =>
  readdirSync(join(dataDir, 'dev-chain')).filter((name) => /^state-.*\.gz$/.test(name))

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

describe('a system that npm installs no anvil for', () => {
  const { value = 'x64' } = Object.getOwnPropertyDescriptor(process, 'arch') ?? {}
  const { PATH = '' } = process.env
  let dir: string
  beforeEach(() => {
    dir = chains.dir()
    Object.defineProperty(process, 'arch', { value: 'riscv64' })
    process.env.PATH = dir
    symlinkSync('/bin/sh', join(dir, 'sh'))
  })
  afterEach(() => {
    Object.defineProperty(process, 'arch', { value })
    process.env.PATH = PATH
  })
  const anvilInPath = (version: string) =>
    writeFileSync(join(dir, 'anvil'), `#!/bin/sh\necho "${version}"\n`, { mode: 0o700 })

  test('uses the one in PATH', () => {
    anvilInPath('anvil Version: 1.8.0-stable')
    expect(anvilBinary()).toBe(join(dir, 'anvil'))
  })

  test('is told what to install, and how to do without', () => {
    expect(() => anvilBinary()).toThrow(
      /did not install anvil for linux-riscv64, and there is none in PATH\. Install Foundry .*TAPCHIP_DEV_CHAIN=off/,
    )
  })

  test('is told where the one in PATH is too old', () => {
    anvilInPath('anvil 0.2.0 (f625d0f 2024-01-01)')
    expect(() => anvilBinary()).toThrow(/anvil is version 0\.2\.0, and 1\.7\.1 is needed\. Update Foundry/)
  })
})

test('a shortage is told from an end, however it was wrapped', () => {
  for (const code of ['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM']) {
    const error = Object.assign(new Error(code), { code })
    expect(isResourceLimit(new Error('in words', { cause: error }))).toBe(true)
    expect(notSpawned('anvil', error)).toMatchObject({
      hasRun: false,
      message: expect.stringContaining(code),
    })
  }
  expect(isResourceLimit(Object.assign(new Error(), { code: 'ECONNREFUSED' }))).toBe(false)
})
