import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { devChains, killNow, paid, send, transfer, until } from '../support/dev-chain.ts'
import { limitFiles } from '../support/full-disk.ts'

const chains = devChains()
afterEach(() => chains.clean())

test('a full disk stops no transaction, leaves no half state, and is saved to once there is room', async () => {
  const dataDir = chains.dir()
  const files = () => readdirSync(join(dataDir, 'dev-chain')).filter((name) => /^state-/.test(name))
  const chain = await chains.start({ dataDir, saveAfterMs: 50 })
  await send(chain, await transfer(0))
  await until(async () => (await paid(chain, 1))[0] === 1n)
  await chain.dump()
  const before = files()
  const lift = limitFiles(0)
  try {
    await send(chain, await transfer(1))
    await until(async () => (await paid(chain, 2))[1] === 1n)
    for (let tried = 0; tried < 5; tried += 1) await expect(chain.dump()).rejects.toThrow()
  } finally {
    lift()
  }
  expect(files()).toEqual(before)
  await until(() => files().length > before.length)
  const restarted = new Promise<void>((resolve) => {
    chain.onRestart(resolve)
  })
  killNow(chain.pid)
  await restarted
  expect(await paid(chain, 2)).toEqual([1n, 1n])
})
