import { describe, expect, test } from 'vitest'
import { EmulatedCard } from '../../../src/nfc/emulator/card.ts'
import { factoryMemory } from '../../../src/nfc/emulator/memory.ts'
import { NDEF_FILE } from '../../../src/nfc/ntag424/layout.ts'
import { apply, recover } from '../../../src/nfc/provision/apply.ts'
import {
  AuthenticationDelayed,
  ChipLocked,
  ForeignKeyInSlot,
  ForeignKeys,
  LrpChip,
  NotNtag424,
  OtherTemplate,
  TornChip,
  WrongChip,
} from '../../../src/nfc/provision/errors.ts'
import { type Inspection, inspect, RandomIdChip } from '../../../src/nfc/provision/inspect.ts'
import {
  type Plan,
  parsePlan,
  plan,
  planReset,
  sourcesOf,
  targetFile,
} from '../../../src/nfc/provision/plan.ts'
import { readBack } from '../../../src/nfc/provision/read-back.ts'
import { readTap } from '../../../src/nfc/read-tap.ts'
import { runScript, type Script } from '../../../src/nfc/script.ts'
import { VirtualHalo } from '../../support/virtual-halo.ts'
import { deps, keysOf, TestChip, template, uid, uidBytes } from '../virtual-card.ts'

const first = { keySet: 101, generation: 0 } as const
const planned = plan({ uid, from: ['factory'], target: first, template })

function* provision(made: Plan): Script<string> {
  return yield* apply(made, yield* inspect(), deps())
}

function* recovering(made: Plan): Script<string> {
  return yield* recover(made, yield* inspect(), deps())
}

async function setUp(made: Plan = planned): Promise<TestChip> {
  const chip = new TestChip()
  await chip.run(provision(made))
  await chip.run(readBack(made, deps()))
  return chip
}

const holds = (chip: TestChip, made: Plan): void => {
  const keys = made.target === 'factory' ? undefined : keysOf(made.target, uidBytes)
  chip.memory.keys.forEach(({ key, version }, keyNo) => {
    expect({ key, version }).toEqual({
      key: keys?.[keyNo]?.key ?? Buffer.alloc(16),
      version: keys?.[keyNo]?.version ?? 0,
    })
  })
}

describe('setting a chip up', () => {
  test('takes no more than 23 APDUs and one authentication, reading back not counted', async () => {
    const chip = new TestChip()
    expect(await chip.run(provision(planned))).toBe('applied')
    expect(chip.sent).toBe(23)
    holds(chip, planned)
  })

  test('reads back a tap that verifies, with the first count', async () => {
    const chip = new TestChip()
    await chip.run(provision(planned))
    const tap = await chip.run(readBack(planned, deps()))
    expect(tap).toMatchObject({ counter: 1, url: expect.stringContaining('?d=101&') })
    expect(tap?.url).toMatch(/^https:\/\/n\.example\/t\?d=101&e=[0-9A-F]{32}&c=[0-9A-F]{16}$/)
    expect(chip.memory.failedAuthentications).toBe(0)
  })

  test('locks the file: nobody writes it without key 0', async () => {
    const chip = await setUp()
    expect(chip.memory.files.get(NDEF_FILE)?.settings.toString('hex').toUpperCase()).toMatch(/^4000E0C1F121/)
  })

  test('a second run changes nothing, and proves the chip by a tap', async () => {
    const chip = await setUp()
    const before = JSON.stringify({ ...Object(chip.chip.toJSON()), sdmReadCounter: 0 })
    expect(await chip.run(provision(planned))).toBe('unchanged')
    expect(JSON.stringify({ ...Object(chip.chip.toJSON()), sdmReadCounter: 0 })).toBe(before)
    expect(chip.memory.sdmReadCounter).toBe(2)
  })

  test('gives a chip other keys when its old ones are named', async () => {
    const chip = await setUp()
    const again = plan({ uid, from: [first], target: { keySet: 102, generation: 1 }, template })
    expect(await chip.run(provision(again))).toBe('applied')
    holds(chip, again)
    // The settings are the same ones, so the counter goes on; under the new keys that is as good as any.
    expect(await chip.run(readBack(again, deps()))).toMatchObject({
      counter: 2,
      url: expect.stringContaining('?d=102&'),
    })
  })

  test.each([140, 160, 173, 174, 175])(
    'fits a URL of %i bytes more than its parameters, up to the end of the file, in pieces that any reader passes',
    async (length) => {
      const long = { ...template, baseUrl: `https://${'n'.repeat(length)}.example` }
      const made = plan({ uid, from: ['factory'], target: first, template: long })
      const chip = new TestChip()
      // What somebody wrote there shows nowhere.
      chip.memory.files.get(NDEF_FILE)?.bytes.fill(0xa5)
      await chip.run(provision(made))
      expect(chip.sent).toBe(25)
      expect(await chip.run(readBack(made, deps()))).toMatchObject({ counter: 1 })
      const back = planReset({ uid, from: [first] })
      await chip.run(provision(back))
      expect(await chip.run(readBack(back, deps()))).toBeNull()
    },
  )

  test('goes on where the application is not selected any more, which looks as if the chip were locked', async () => {
    const chip = new TestChip()
    const inspection = await chip.run(inspect())
    // Another program had the card in between.
    expect(await chip.run(apply(planned, inspection, deps()))).toBe('applied')
    holds(chip, planned)
    expect(chip.memory.failedAuthentications).toBe(0)
  })
})

test('a conversation that broke off within an authentication costs the next one nothing', async () => {
  const chip = new TestChip()
  await chip.run(provision(planned))
  const link = { transmit: async (apdu: Uint8Array) => chip.chip.process(apdu) }
  const breakOff = () => {
    for (const hex of ['00A4040007D276000085010100', '9071000002000000'])
      chip.chip.process(Buffer.from(hex, 'hex'))
  }
  breakOff()
  expect(await runScript(link, inspect())).toMatchObject({ uid })
  breakOff()
  expect(await runScript(link, readTap())).toMatchObject({ family: 'ntag424' })
})

describe('a chip that is not for this plan', () => {
  const refused = async (chip: TestChip, made: Plan, error: new (...args: never[]) => Error) => {
    const before = JSON.stringify(chip.chip.toJSON()).replace(/"(sdmReadCounter|failed\w+)":\d+/g, '')
    await expect(chip.run(provision(made))).rejects.toThrow(error)
    expect(JSON.stringify(chip.chip.toJSON()).replace(/"(sdmReadCounter|failed\w+)":\d+/g, '')).toBe(before)
    return chip.memory.failedAuthentications
  }

  test('of another key set with the same key version: refused without an authentication', async () => {
    const other = plan({ uid, from: ['factory'], target: { keySet: 102, generation: 0 }, template })
    expect(await refused(await setUp(), other, ForeignKeys)).toBe(0)
  })

  test('with key versions of nobody: refused without an authentication', async () => {
    const chip = await setUp(plan({ uid, from: ['factory'], target: { keySet: 7, generation: 8 }, template }))
    expect(await refused(chip, planned, ForeignKeys)).toBe(0)
  })

  test("another's keys that pretend to be the factory's: refused after one failed authentication", async () => {
    const chip = new TestChip()
    for (const slot of chip.memory.keys) slot.key = Buffer.alloc(16, 7)
    expect(await refused(chip, planned, ForeignKeys)).toBe(1)
  })

  test('set up with the same keys and another URL', async () => {
    const moved = plan({
      uid,
      from: ['factory'],
      target: first,
      template: { ...template, baseUrl: 'https://m.example' },
    })
    expect(await refused(await setUp(), moved, OtherTemplate)).toBe(0)
  })

  test.each([
    ['locked for ever', '00EFEE'],
    ['open to be changed by another key', '00E3EE'],
  ])('%s: refused before anything is tried', async (_, settings) => {
    const chip = new TestChip()
    const file = chip.memory.files.get(NDEF_FILE)
    if (file) file.settings = Buffer.from(settings, 'hex')
    expect(await refused(chip, planned, ChipLocked)).toBe(0)
  })

  test('with a key 0 that failed too often', async () => {
    const chip = new TestChip()
    const [slot] = chip.memory.keys
    if (slot) slot.failedInAll = 1000
    expect(await refused(chip, planned, ChipLocked)).toBe(0)
  })

  test('in LRP mode, where its URL is planned for AES mode: refused with nothing changed, and reset in its own mode', async () => {
    const chip = new TestChip(factoryMemory(uidBytes, { lrp: true }))
    expect(await refused(chip, planned, LrpChip)).toBe(0)
    const back = planReset({ uid, from: [] })
    expect(await chip.run(provision(back))).toBe('unchanged')
    expect(await chip.run(readBack(back, deps()))).toBeNull()
  })

  test('that delays authentication: the delay is spent by trying, within a bound', async () => {
    const chip = new TestChip()
    const [slot] = chip.memory.keys
    if (slot) slot.failedInRow = 150
    expect(await refused(chip, planned, AuthenticationDelayed)).toBe(0)
    expect(chip.sent).toBe(12 + 64)
    // What was spent is spent.
    expect(await chip.run(provision(planned))).toBe('applied')
    expect(chip.memory.failedAuthentications).toBe(0)
  })

  test('torn, with no plan known that was begun on it', async () => {
    const chip = new TestChip()
    await expect(chip.run(provision(planned), { apdu: 16, when: 'after' })).rejects.toThrow()
    expect(await refused(chip, planned, TornChip)).toBe(0)
  })

  test('with another UID than the plan, or a random one', async () => {
    const other = new TestChip(factoryMemory(Buffer.from('04000000000001', 'hex')))
    await refused(other, planned, WrongChip)
    await refused(new TestChip(factoryMemory(uidBytes, { randomId: true })), planned, RandomIdChip)
  })

  test.each([
    ['set up', planned],
    ['reset', planReset({ uid, from: [first] })],
  ])('that says another UID in plain than under its key: not %s, with nothing changed', async (_, made) => {
    const liar = new TestChip(factoryMemory(Buffer.from('04000000000001', 'hex')))
    if (made.target === 'factory') {
      const other = { ...planned, uid: String(0x04000000000001) }
      await liar.run(provision(other))
      // With keys of the first UID, as a chip whose GetVersion was garbled at its set-up would have had them.
      for (const { keyNo, key } of keysOf(first, uidBytes))
        Object.assign(liar.memory.keys[keyNo] ?? {}, { key })
    }
    const before = JSON.stringify(liar.chip.toJSON())
    const inspection = { ...(await liar.run(inspect())), uid }
    await expect(liar.run(apply(made, inspection, deps()))).rejects.toThrow(WrongChip)
    await expect(liar.run(recover(made, inspection, deps()))).rejects.toThrow(WrongChip)
    expect(JSON.stringify(liar.chip.toJSON())).toBe(before)
  })

  test('but a HaLo tag, or no tag at all', async () => {
    const halo = runScript(new EmulatedCard('test', new VirtualHalo()), inspect())
    await expect(halo).rejects.toThrow(NotNtag424)
    const classic = { transmit: async () => Buffer.from('6300', 'hex') }
    const atr = Buffer.from('3B8F8001804F0CA000000306030001000000006A', 'hex')
    await expect(runScript(classic, inspect(atr))).rejects.toThrow(/the card is a MIFARE Classic 1K/)
  })

  test('a slot with a hidden key stops the set-up, and the chip can be reset', async () => {
    const chip = new TestChip()
    const hidden = chip.memory.keys[3]
    if (hidden) hidden.key = Buffer.alloc(16, 9)
    const error = await chip.run(provision(planned)).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ForeignKeyInSlot)
    expect(error).toMatchObject({ keyNo: 3 })
    expect(chip.memory.failedAuthentications).toBe(0)
    expect(chip.memory.keys.map(({ version }) => version)).toEqual([0, 1, 1, 0, 0])
    // All others are freed, and the hidden one is not passed over in silence.
    const back = planReset({ uid, from: sourcesOf(planned) })
    await chip.run(recovering(back))
    const named = await chip.run(readBack(back, deps())).catch((thrown: unknown) => thrown)
    expect(named).toBeInstanceOf(ForeignKeyInSlot)
    expect(named).toMatchObject({ keyNo: 3, message: expect.stringContaining('Key 3') })
    expect(chip.memory.keys.map(({ version }) => version)).toEqual([0, 0, 0, 0, 0])
    expect(chip.memory.failedAuthentications).toBe(0)
  })
})

describe('resetting a chip', () => {
  const reset = planReset({ uid, from: [first] })

  test('leaves it as it left the factory', async () => {
    const chip = await setUp()
    expect(await chip.run(provision(reset))).toBe('applied')
    expect(await chip.run(readBack(reset, deps()))).toBeNull()
    const { sdmReadCounter: _, ...rest } = Object(chip.chip.toJSON())
    const { sdmReadCounter: __, ...factory } = Object(new TestChip().chip.toJSON())
    expect(rest).toEqual(factory)
  })

  test('of a factory chip is no change', async () => {
    const chip = new TestChip()
    expect(await chip.run(provision(planReset({ uid, from: [] })))).toBe('unchanged')
  })

  test('empties what somebody wrote on a chip with factory keys', async () => {
    const chip = new TestChip()
    chip.memory.files.get(NDEF_FILE)?.bytes.write('0005D101015504', 'hex')
    expect(await chip.run(provision(planReset({ uid, from: [] })))).toBe('applied')
    expect(chip.memory.files.get(NDEF_FILE)?.bytes).toEqual(Buffer.alloc(256))
  })
})

describe('a plan', () => {
  test('survives being written down, and holds no key', () => {
    const text = JSON.stringify(planned)
    expect(parsePlan(JSON.parse(text))).toEqual(planned)
    for (const { key } of keysOf(first, uidBytes))
      expect(text.toUpperCase()).not.toContain(key.toString('hex').toUpperCase())
  })

  test('is refused where two sources could not be told apart', () => {
    expect(() =>
      plan({ uid, from: ['factory', { keySet: 5, generation: 0 }], target: first, template }),
    ).toThrow(/told apart/)
  })

  test('that follows an unfinished one starts from all of its sources', () => {
    const next = planReset({ uid, from: sourcesOf(planned) })
    expect(next).toMatchObject({ from: [first], target: 'factory' })
  })

  test.each([
    ['a URL that is too long', { ...template, baseUrl: `https://${'n'.repeat(200)}.example` }],
    ['a URL with a query', { ...template, baseUrl: 'https://n.example/?x=1' }],
    ['a URL that is not ASCII', { ...template, baseUrl: 'https://ñ.example' }],
  ])('is refused with %s', (_, bad) => {
    expect(() => plan({ uid, from: ['factory'], target: first, template: bad })).toThrow(RangeError)
  })
})

test('inspecting tries no key and takes no count', async () => {
  const chip = await setUp()
  const before = JSON.stringify(chip.chip.toJSON())
  const seen: Inspection = await chip.run(inspect())
  expect(seen).toMatchObject({ uid, versions: [1, 1, 1, 1, 1] })
  expect(JSON.stringify(chip.chip.toJSON())).toBe(before)
})

test('a plan that the version before stored is read, and writes the same file', () => {
  const stored = (form: object) => ({
    version: 1,
    uid,
    from: ['factory'],
    target: { keySet: 101, generation: 0 },
    template: { baseUrl: 'https://n.example', d: '101', ...form },
  })
  const names = { e: 'e', c: 'c', d: 'd' }
  expect(parsePlan(stored({ names, from: 'd' }))).toEqual(planned)
  expect(targetFile(parsePlan(stored({ names, from: 'd', tamper: true })))).toEqual(
    targetFile(plan({ ...planned, target: first, template: { ...template, tamper: true } })),
  )
  expect(targetFile(parsePlan(stored({ names: { e: 'p', c: 'm', d: 'k' }, from: null }))).url).toBe(
    `https://n.example/t?k=101&p=${'0'.repeat(32)}&m=${'0'.repeat(16)}`,
  )
  const json = JSON.parse(JSON.stringify(planned))
  expect(parsePlan(json)).toEqual(planned)
})
