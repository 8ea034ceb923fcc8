import { describe, expect, test } from 'vitest'
import { cases, unusable } from '../support/public-node/cases.ts'
import { swallow } from '../support/public-node/modes.ts'
import { assertOnce } from '../support/public-node/outcome.ts'
import { assertConfirmedOnce, honest, withStage } from '../support/public-node/run.ts'
import { eventually } from '../support/public-node/stage.ts'

// Nodes as the public ones are: each does something otherwise than geth on a machine of one's own.

// Each waits for blocks most of its time.
describe.concurrent('each action is confirmed once with', { timeout: 300_000 }, () => {
  test('an honest node', async () => {
    // Five actions, of which one is 30, and what they stand on.
    expect(await honest()).toMatchObject({ transactions: 38, failed: 0 })
  })

  test.for(cases.map((one) => [one.name, one] as const))('%s', ([, one]) => assertConfirmedOnce(one))

  test.for(unusable.map((one) => [one.name, one] as const))(
    '%s, once it is over, and it says so within 30 s',
    ([, one]) =>
      withStage({ age: 1000 }, async (stage) => {
        const [node] = stage.nodes
        if (!node) return
        node.modes = [swallow]
        await stage.act()
        if (one.lost === 'interference') await stage.interfere()
        node.modes = one.modes
        const began = performance.now()
        await eventually(() => stage.isReady(), false)
        await eventually(() => stage.chainWord(), expect.stringMatching(one.words))
        await eventually(() => stage.waiting(), expect.stringMatching(one.words))
        const seconds = (performance.now() - began) / 1000
        const searches = node.calls.filter(({ method, at }) => method === 'eth_getLogs' && at > began)
        // Each halves its range down to one block, and they are two seconds apart.
        expect(searches.length).toBeLessThan(12 * (seconds / 2 + 2))
        node.modes = []
        const { wei } = await assertOnce(stage)
        expect(Number(wei) / Number((await honest()).wei) / (one.gwei ?? 1)).toBeLessThanOrEqual(2)
      }),
  )
})
