import { describe, expect, test } from 'vitest'
import { CardGone } from '../../../src/nfc/card.ts'
import { EmulatedCard } from '../../../src/nfc/emulator/card.ts'
import { type ApplyDeps, recover } from '../../../src/nfc/provision/apply.ts'
import { ReaderLimit } from '../../../src/nfc/provision/errors.ts'
import { inspect } from '../../../src/nfc/provision/inspect.ts'
import { type Plan, plan, planReset } from '../../../src/nfc/provision/plan.ts'
import { readBack } from '../../../src/nfc/provision/read-back.ts'
import { runScript, type Script } from '../../../src/nfc/script.ts'
import { deps, TestChip, template, uid } from '../virtual-card.ts'

type CardOptions = ConstructorParameters<typeof EmulatedCard>[2]

const first = { keySet: 101, generation: 0 } as const

describe('a reader that passes no more than 59 bytes', () => {
  const limit = { maxLc: 59 }
  const on = async <Result>(chip: TestChip, script: Script<Result>, options: CardOptions = limit) => {
    const card = new EmulatedCard('test', chip.chip, options)
    try {
      return await runScript(card, script)
    } finally {
      card.lift()
    }
  }
  const long = plan({
    uid,
    from: ['factory'],
    target: first,
    template: { ...template, baseUrl: `https://${'n'.repeat(160)}.example` },
  })
  const short = { ...deps(), ...limit }
  function* whole(made: Plan, given: ApplyDeps): Script<unknown> {
    yield* recover(made, yield* inspect(), given)
    return yield* readBack(made, given)
  }

  test('is named by its refusal, and the chip goes on from there with short ones', async () => {
    const chip = new TestChip()
    await expect(on(chip, whole(long, deps()))).rejects.toThrow(ReaderLimit)
    expect(chip.memory.keys.map(({ version }) => version)).toEqual([0, 1, 1, 1, 1])
    expect(await on(chip, whole(long, short))).toMatchObject({ counter: 1 })
  })

  test.each([
    ['set-up', long],
    ['reset', planReset({ uid, from: [first] })],
  ])('has a chip whose %s is torn anywhere recovered', async (_, made) => {
    const fresh = async (): Promise<TestChip> => {
      const chip = new TestChip()
      if (made !== long) await chip.run(whole(long, short))
      return chip
    }
    const apdus = (await (await fresh()).commands(whole(made, short))).length
    for (let apdu = 1; apdu <= apdus; apdu += 1) {
      const torn = await fresh()
      const tear = { ...limit, tear: { apdu, when: 'after' as const } }
      await expect(on(torn, whole(made, short), tear)).rejects.toThrow(CardGone)
      expect((await on(torn, whole(made, short))) === null).toBe(made !== long)
      expect(torn.memory.failedAuthentications).toBe(0)
    }
  })

  test('gets none longer, and others none above 96, in any script', async () => {
    for (const [most, given] of [
      [59, short],
      [96, deps()],
      [96, { ...deps(), maxLc: 255 }],
    ] as const) {
      const chip = new TestChip()
      const again = plan({
        uid,
        from: [first],
        target: { keySet: 102, generation: 1 },
        template: long.template ?? template,
      })
      const back = planReset({ uid, from: [{ keySet: 102, generation: 1 }] })
      const sent = [long, again, back].map((made) => () => chip.commands(whole(made, given)))
      const lcs: number[] = []
      for (const send of sent)
        lcs.push(...(await send()).map((apdu) => (apdu.length > 5 ? (apdu[4] ?? 0) : 0)))
      expect(Math.max(...lcs)).toBe(most)
    }
  })
})
