import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildChild, type Crashed, crashRelayer } from '../support/relayer/crash.ts'
import { openWeb3signer } from '../support/web3signer.ts'

let program: string
beforeAll(async () => {
  program = await buildChild()
})
afterAll(() => rmSync(program, { force: true }))

const amid = { kills: 0, underWay: 0 }

test.each(Array.from({ length: 24 }, (_, index) => index + 1))(
  'process and chain killed amid a hundred intents, seed %i: each effect comes exactly once',
  async (seed) => {
    const killed = await crashRelayer(program, seed)
    amid.kills += killed.kills
    amid.underWay += killed.underWay
    expectOnce(killed)
  },
)

function expectOnce({ effects, changedAnswers, intents, states, nonces }: Crashed): void {
  expect(effects).toEqual(effects.map(() => 1))
  expect(effects.length).toBe(100)
  expect([intents, changedAnswers]).toEqual([100, 0])
  expect([...states]).toEqual(['confirmed'])
  expect(nonces.used).toBe(nonces.given)
}

test.each([101, 102, 103, 104])(
  'killed with a key in a remote signer that comes and goes, seed %i: each effect comes exactly once',
  async (seed) => {
    const signer = await openWeb3signer([
      '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
      `0x${'a1'.repeat(32)}`,
    ])
    try {
      expectOnce(await crashRelayer(program, seed, { signer }))
    } finally {
      await signer.close()
    }
  },
)

test('the kills came while intents were under way', () => {
  expect(amid.underWay / amid.kills).toBeGreaterThan(10)
})
