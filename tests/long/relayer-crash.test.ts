import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildChild, crashRelayer } from '../support/relayer/crash.ts'

let program: string
beforeAll(async () => {
  program = await buildChild()
})
afterAll(() => rmSync(program, { force: true }))

const amid = { kills: 0, underWay: 0 }

test.each(Array.from({ length: 24 }, (_, index) => index + 1))(
  'process and chain killed amid a hundred intents, seed %i: each effect comes exactly once',
  async (seed) => {
    const { effects, changedAnswers, intents, states, nonces, ...killed } = await crashRelayer(program, seed)
    amid.kills += killed.kills
    amid.underWay += killed.underWay
    expect(effects).toEqual(effects.map(() => 1))
    expect(effects.length).toBe(100)
    expect([intents, changedAnswers]).toEqual([100, 0])
    expect([...states]).toEqual(['confirmed'])
    expect(nonces.used).toBe(nonces.given)
  },
)

test('the kills came while intents were under way', () => {
  expect(amid.underWay / amid.kills).toBeGreaterThan(10)
})
