import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { CardGone } from '../../../src/nfc/card.ts'
import type { TearOff } from '../../../src/nfc/emulator/card.ts'
import { factoryMemory, memoryFromJson } from '../../../src/nfc/emulator/memory.ts'
import {
  androidApplication,
  besideUri,
  encodeNdef,
  parseNdef,
  textRecord,
  textsIn,
} from '../../../src/nfc/ndef.ts'
import { KEY_NUMBERS } from '../../../src/nfc/ntag424/layout.ts'
import { type Applied, apply, recover } from '../../../src/nfc/provision/apply.ts'
import { carryOut } from '../../../src/nfc/provision/carry-out.ts'
import { inspect } from '../../../src/nfc/provision/inspect.ts'
import {
  type KeysOf,
  type Plan,
  parsePlan,
  plan,
  planReset,
  sourcesOf,
  targetFile,
} from '../../../src/nfc/provision/plan.ts'
import { readBack } from '../../../src/nfc/provision/read-back.ts'
import type { Script } from '../../../src/nfc/script.ts'
import { readNdefFile, selectApplication } from '../../../src/nfc/type4.ts'
import { templateKinds } from '../../support/chip-templates.ts'
import { deps as chipDeps, keysOf, TestChip, template, uid, uidBytes } from '../virtual-card.ts'

const first = { keySet: 101, generation: 0 } as const
const setUp = plan({ uid, from: ['factory'], target: first, template })
const again = plan({ uid, from: [first], target: { keySet: 102, generation: 1 }, template })
const moved = plan({
  uid,
  from: [first],
  target: { keySet: 101, generation: 1 },
  template: { ...template, baseUrl: 'https://another.example' },
})
const reset = planReset({ uid, from: [first] })

const inLrp = { ...template, lrp: true } as const
const lrp = plan({ uid, from: ['factory'], target: first, template: inLrp })
const supplied = { supplied: [1, 0, 0, 2, 0] } as const
const third = { keySet: 101, generation: 2 } as const
const taken = plan({ uid, from: [supplied], target: third, template })
const takenToLrp = plan({ uid, from: [supplied], target: third, template: inLrp })
const freed = planReset({ uid, from: [supplied] })

/** Keys of another system, most of which have the factory's version. */
const theirs = supplied.supplied.map((version, keyNo) => ({ version, key: Buffer.alloc(16, 0x51 + keyNo) }))
const deps = (seed: string) => ({
  ...chipDeps(seed),
  keysOf: (source: Parameters<KeysOf>[0], bytes: Buffer) =>
    'supplied' in source
      ? KEY_NUMBERS.map((keyNo) => ({ keyNo, ...(theirs[keyNo] ?? { version: 0, key: Buffer.alloc(0) }) }))
      : keysOf(source, bytes),
})

const tamper = plan({ uid, from: ['factory'], target: first, template: { ...template, tamper: true } })

function* whole(made: Plan): Script<unknown> {
  return yield* carryOut(made, yield* inspect(), { ...deps('begun'), isBegun: false })
}

/** As the daemon recovers: from what was written down. */
function* recovered(made: Plan): Script<Applied> {
  const kept = parsePlan(JSON.parse(JSON.stringify(made)))
  const outcome = yield* recover(kept, yield* inspect(), deps('recovered'))
  yield* readBack(kept, deps('read back'))
  return outcome
}

function expectWhole(chip: TestChip, made: Plan): void {
  const keys = made.target === 'factory' ? undefined : keysOf(made.target, uidBytes)
  chip.memory.keys.forEach(({ key, version }, keyNo) => {
    const wanted = keys?.[keyNo] ?? { key: Buffer.alloc(16), version: 0 }
    expect({ keyNo, key, version }).toEqual({ keyNo, key: wanted.key, version: wanted.version })
  })
  expect(chip.memory.failedAuthentications).toBeLessThan(10)
  if (made.template) expect(chip.memory.lrp).toBe(made.template.lrp === true)
  if (made.template?.tamper) expect(chip.memory.tamper?.enabled).toBe(true)
  if (made.target !== 'factory') return
  expect(lasting(chip)).toEqual(lasting(new TestChip()))
}

/** An enabled loop and LRP mode stay for ever. */
const lasting = (chip: TestChip): object => {
  const { sdmReadCounter: _, tamper: __, lrp: ___, ...rest } = Object(chip.chip.toJSON())
  return rest
}

async function chipFor(made: Plan): Promise<TestChip> {
  const chip = new TestChip(factoryMemory(uidBytes, { tamper: made === tamper }))
  if (made.from.includes(supplied))
    for (const [keyNo, slot] of chip.memory.keys.entries()) Object.assign(slot, theirs[keyNo])
  else if (made.from.length > 0 && !made.from.includes('factory')) await chip.run(whole(setUp))
  return chip
}

const inState = (state: string): TestChip => new TestChip(memoryFromJson(JSON.parse(state)))

/**
 * Each state that a chip is left in when a script is torn. An APDU that is torn before the chip has it leaves what the
 * one before it left, and one that only reads leaves the chip as it was: a recovery, which sees no more than the chip,
 * would do the same again.
 */
async function tornStates(start: TestChip, script: () => Script<unknown>): Promise<string[]> {
  const state = JSON.stringify(start.chip)
  const untorn = inState(state)
  await untorn.run(script())
  expect(untorn.sent).toBeGreaterThan(20)
  const states = new Set([state])
  for (let apdu = 1; apdu <= untorn.sent; apdu += 1) {
    const chip = inState(state)
    await expect(chip.run(script(), { apdu, when: 'after' })).rejects.toThrow(CardGone)
    states.add(JSON.stringify(chip.chip))
  }
  expect(states.size).toBeGreaterThan(5)
  return [...states]
}

const plans = {
  'a set-up': setUp,
  'a set-up of a TagTamper': tamper,
  'new keys': again,
  'new keys and a new URL': moved,
  'a reset': reset,
  'a set-up in LRP mode': lrp,
  "a set-up of another system's chip": taken,
  "a set-up of another system's chip in LRP mode": takenToLrp,
  "a reset of another system's chip": freed,
}

describe.each(Object.entries(plans))('%s, torn at every APDU', (_, made) => {
  let states: string[] = []
  beforeAll(async () => {
    states = await tornStates(await chipFor(made), () => whole(made))
  })

  test('ends where it should, with no failed authentication', async () => {
    for (const state of states) {
      const chip = inState(state)
      await chip.run(recovered(made))
      expectWhole(chip, made)
      expect(chip.memory.failedAuthentications).toBe(0)
      // Nothing shows that the whole file is empty, so a reset is carried out again.
      expect(await chip.run(recovered(made))).toBe(
        [reset, tamper, freed].includes(made) ? 'applied' : 'unchanged',
      )
      expectWhole(chip, made)
    }
  })

  test('can be taken back to the factory instead', async () => {
    for (const state of states) {
      const chip = inState(state)
      const back = planReset({ uid, from: sourcesOf(made) })
      await chip.run(recovered(back))
      expectWhole(chip, back)
    }
  })
})

describe.each(Object.entries(templateKinds))('%s', (_, kind) => {
  const { template: text, tamper: tamperAt, isTagTamper, isLrp, aar, text: note, ...rest } = kind
  const records = [
    ...(aar === undefined ? [] : [androidApplication(aar)]),
    ...(note === undefined ? [] : [textRecord(note)]),
  ]
  const url = {
    ...rest,
    text,
    tamperAt,
    baseUrl: template.baseUrl,
    tamper: isTagTamper,
    lrp: isLrp,
    records: encodeNdef(records).toString('hex'),
  }
  const begun = plan({ uid, from: ['factory'], target: first, template: url })
  const rekeyed = plan({ uid, from: [first], target: { keySet: 101, generation: 1 }, template: url })
  const fresh = (): TestChip => new TestChip(factoryMemory(uidBytes, { tamper: isTagTamper === true }))

  test('shows the URL with what was asked for, and each tap is a new one', async () => {
    const chip = fresh()
    const tap = await chip.run(whole(begun))
    const again = await chip.run(readBack(begun, deps('again')))
    expect(again).toMatchObject({ counter: Object(tap).counter + 1 })
    expect(await chip.run(applied(begun))).toBe('unchanged')
    const { url: planned } = targetFile(begun)
    expect(Object(again).url.replace(/[0-9A-F]{6,}|(?<=tamper=|&t=)../g, '')).toBe(
      planned?.replace(/[0-9A-F]{6,}|(?<=tamper=|&t=)../g, ''),
    )
    if (isTagTamper) expect(again).toMatchObject({ status: 'CC' })
    if (kind.fileData !== undefined)
      expect(Object(again).fileData.toString()).toMatch(new RegExp(`^${kind.fileData} *`))
    const file = await chip.run(readNdef())
    expect(besideUri(parseNdef(file.subarray(2)))).toEqual(records)
    expect(textsIn(parseNdef(file.subarray(2)))).toEqual(note === undefined ? [] : [note])
  })

  if (isTagTamper)
    test('is written to a chip without a loop too', async () => {
      const chip = new TestChip()
      const plain = plan({ uid, from: ['factory'], target: first, template: { ...url, tamper: undefined } })
      const tap = await chip.run(whole(plain))
      const hasPlace = tamperAt !== undefined || text.includes('{tt}')
      expect(tap).toMatchObject({ counter: 1, status: hasPlace ? '00' : undefined })
    })

  test('is not as planned with other data or records', async () => {
    const chip = fresh()
    await chip.run(whole(begun))
    const { ndef, settings } = targetFile(begun)
    const { encrypted } = settings.sdm ?? {}
    for (const at of [encrypted?.offset, records.length > 0 ? ndef.length - 1 : undefined]) {
      if (at === undefined) continue
      const bytes = chip.memory.files.get(2)?.bytes
      const place = isTagTamper && tamperAt === 'enc:0' ? at + 2 : at
      bytes?.writeUInt8(bytes.readUInt8(place) ^ 1, place)
      await expect(chip.run(readBack(begun, deps('changed')))).rejects.toThrow(/different content/)
      bytes?.writeUInt8(bytes.readUInt8(place) ^ 1, place)
    }
    await chip.run(readBack(begun, deps('unchanged')))
  })

  test('torn at every command, its set-up is completed, and new keys and a reset follow', async () => {
    for (const state of await tornStates(fresh(), () => whole(begun))) {
      const chip = inState(state)
      await chip.run(recovered(begun))
      expectWhole(chip, begun)
      expect(chip.memory.failedAuthentications).toBe(0)
    }
    const untorn = fresh()
    await untorn.run(whole(begun))
    for (const next of [rekeyed, planReset({ uid, from: sourcesOf(rekeyed) })]) {
      await untorn.run(whole(next))
      expectWhole(untorn, next)
    }
  })
})

function* applied(made: Plan): Script<Applied> {
  return yield* apply(made, yield* inspect(), deps('applied'))
}

function* readNdef(): Script<Buffer> {
  yield* selectApplication()
  return yield* readNdefFile()
}

test('torn before its last key and then at every APDU of its reset, a chip ends in the state of the factory', async () => {
  // Its URL reaches into the last piece that a reset writes, and key 0 was the factory's all along.
  const long = { ...template, baseUrl: `https://${'n'.repeat(175)}.example` }
  const begun = plan({ uid, from: ['factory'], target: first, template: long })
  const back = planReset({ uid, from: sourcesOf(begun) })
  const chip = new TestChip()
  await expect(chip.run(whole(begun), { apdu: 22, when: 'before' })).rejects.toThrow(CardGone)
  expect(chip.memory.keys.map(({ version }) => version)).toEqual([0, 1, 1, 1, 1])
  for (const state of await tornStates(chip, () => recovered(back))) {
    const torn = inState(state)
    await torn.run(recovered(back))
    expectWhole(torn, back)
  }
})

test('recovering takes one authentication, and reading back another', async () => {
  const chip = new TestChip()
  await expect(chip.run(whole(setUp), { apdu: 14, when: 'after' })).rejects.toThrow(CardGone)
  const sent = await chip.commands(recovered(setUp))
  expect(sent.filter(([, ins]) => ins === 0x71)).toHaveLength(2)
})

test('torn again and again, with a change of mind now and then, a chip is never lost', async () => {
  const tear = fc.record({
    apdu: fc.integer({ min: 1, max: 45 }),
    when: fc.constantFrom<TearOff['when']>('before', 'after'),
  })
  const step = fc.record({ tear, turn: fc.constantFrom('go on', 'reset', 'new keys') })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (steps) => {
      const chip = new TestChip()
      let current = setUp
      let generation = 1
      await chip.run(whole(current), { apdu: 15, when: 'after' }).catch(() => undefined)
      for (const { tear, turn } of steps) {
        const from = sourcesOf(current)
        generation += 1
        if (turn === 'reset') current = planReset({ uid, from })
        if (turn === 'new keys') current = plan({ uid, from, target: { keySet: 101, generation }, template })
        await chip.run(recovered(current), tear).catch((error: unknown) => {
          expect(error).toBeInstanceOf(CardGone)
        })
      }
      await chip.run(recovered(current))
      expectWhole(chip, current)
      expect(chip.memory.failedAuthentications).toBe(0)
    }),
    { numRuns: 60 },
  )
})
