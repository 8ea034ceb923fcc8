import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { type ChipMemory, factoryMemory } from '../../../src/nfc/emulator/memory.ts'
import { VirtualNtag424 } from '../../../src/nfc/emulator/ntag424.ts'
import { answerLrpChallenge, openLrpSession } from '../../../src/nfc/ntag424/authenticate.ts'
import { AesKey } from '../../../src/nfc/ntag424/cmac.ts'
import { authenticate, changeKey, changeKeyData, getCardUid } from '../../../src/nfc/ntag424/commands.ts'
import { originalityOf } from '../../../src/nfc/ntag424/originality.ts'
import { runScript } from '../../../src/nfc/script.ts'
import { selectApplication } from '../../../src/nfc/type4.ts'

// Real chips said this. The virtual one draws the same random numbers, and must say the same to the byte.

const hex = z
  .string()
  .regex(/^([0-9A-F]{2})*$/)
  .transform((text) => Buffer.from(text, 'hex'))
const byNumber = z.record(z.string(), hex).default({})
const { sessions, excerpts } = z
  .object({
    excerpts: z.array(
      z.object({
        name: z.string(),
        keyNo: z.literal(1),
        key: hex,
        version: z.int(),
        plain: hex,
        uid: hex,
        exchanges: z.array(z.tuple([hex, hex])).length(2),
      }),
    ),
    sessions: z.array(
      z.object({
        name: z.string(),
        source: z.string(),
        chip: z.object({
          uid: hex,
          lrp: z.boolean().default(false),
          tamper: z
            .union([
              z.literal(true),
              z.object({
                enabled: z.boolean(),
                keyNo: z.int(),
                permanent: z.enum(['C', 'O']),
                current: z.enum(['C', 'O']),
              }),
            ])
            .optional(),
          signature: hex.optional(),
          production: hex.optional(),
          keys: byNumber,
          files: byNumber,
          settings: byNumber,
        }),
        random: z.array(hex),
        exchanges: z.array(
          z.union([z.tuple([z.string(), z.string().nullable()]), z.object({ commands: z.int() })]),
        ),
      }),
    ),
  })
  .parse(
    JSON.parse(
      readFileSync(new URL('../../../fixtures/vectors/ntag424-sessions.json', import.meta.url), 'utf8'),
    ),
  )

type Chip = (typeof sessions)[number]['chip']

function memoryOf({ uid, lrp, tamper, keys, files, settings, ...rest }: Chip): ChipMemory {
  const { signature = 'test', production } = rest
  const memory = factoryMemory(uid, { lrp, tamper: tamper !== undefined, signature })
  if (production) memory.production = production
  if (typeof tamper === 'object') memory.tamper = tamper
  for (const [number, slot] of memory.keys.entries()) slot.key = keys[number] ?? slot.key
  for (const [number, file] of memory.files) {
    file.bytes = files[number] ?? file.bytes
    file.settings = settings[number] ?? file.settings
  }
  return memory
}

/** Plain reads of the NDEF file, which count as any command does. */
const READ = Buffer.from('90AD0000070200000001000000', 'hex')

test.each(sessions.map((session) => [session.name, session] as const))('%s', (_, session) => {
  const random = [...session.random]
  const chip = new VirtualNtag424(memoryOf(session.chip), (length) => {
    const next = random.shift()
    if (next?.length !== length) throw new Error(`Nothing random of ${length} bytes is left`)
    return next
  })
  const said = session.exchanges.map((exchange) => {
    if (!Array.isArray(exchange)) {
      for (let i = 0; i < exchange.commands; i += 1) chip.process(READ)
      return exchange
    }
    const [command, answer] = exchange
    const answered = chip.process(Buffer.from(command, 'hex')).toString('hex').toUpperCase()
    if (answer === null) expect(answered).toMatch(/(9100|91AF)$/)
    return [command, answer === null ? null : answered]
  })
  expect(said).toEqual(session.exchanges)
  const { uid, signature } = session.chip
  if (signature) expect(originalityOf(uid, signature)).toBe('genuine')
  expect(random).toEqual([])
})

test('the reader answers the challenge of AuthenticateLRPFirst as NXP prints it', () => {
  const printed = sessions.find(({ name }) => name === 'AuthenticateLRPFirst as NXP prints it')
  const [, first = [], second = []] = (printed?.exchanges ?? []).map((one) => (Array.isArray(one) ? one : []))
  const [command = '', answer] = second
  const rndA = Buffer.from(command, 'hex').subarray(5, 21)
  const challenge = answerLrpChallenge(new AesKey(Buffer.alloc(16)), rndA, Buffer.from(first[1] ?? '', 'hex'))
  expect(challenge.apdu.toString('hex').toUpperCase()).toBe(command)
  expect(openLrpSession(challenge, Buffer.from(answer ?? '', 'hex')).isLrp).toBe(true)
})

test.each(excerpts.map((one) => [one.name, one] as const))(
  '%s: the same was sent, and the virtual chip answers alike',
  async (_, { keyNo, key, version, plain, uid, exchanges }) => {
    expect(changeKeyData({ keyNo, newKey: key, oldKey: key, version })).toEqual(plain)
    const chip = new VirtualNtag424(factoryMemory(uid))
    const said: [number, string][] = []
    const transmit = async (apdu: Uint8Array) => {
      const answer = chip.process(apdu)
      said.push([apdu.length, `${answer.length} ${answer.subarray(-2).toString('hex')}`])
      return answer
    }
    await runScript({ transmit }, selectApplication())
    const session = await runScript({ transmit }, authenticate(0, new AesKey(key), Buffer.alloc(16, 1)))
    said.length = 0
    await runScript({ transmit }, changeKey(session, { keyNo, newKey: key, oldKey: key, version }))
    expect(await runScript({ transmit }, getCardUid(session))).toEqual(uid)
    const seen = exchanges.map(([command, answer]) => [
      command.length,
      `${answer.length} ${answer.subarray(-2).toString('hex')}`,
    ])
    expect(said).toEqual(seen)
  },
)
