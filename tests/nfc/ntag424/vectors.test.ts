import { verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { parseHaloTap, verifyHaloTap } from '../../../src/nfc/halo/tap.ts'
import {
  answerChallenge,
  authenticateFirst,
  ev2SessionKeys,
  openSession,
} from '../../../src/nfc/ntag424/authenticate.ts'
import { AesKey } from '../../../src/nfc/ntag424/cmac.ts'
import { changeKeyCommand, jamCrc32, type KeyChange } from '../../../src/nfc/ntag424/commands.ts'
import { an10922 } from '../../../src/nfc/ntag424/diversify.ts'
import { ResponseMacError } from '../../../src/nfc/ntag424/errors.ts'
import { type CommMode, SecureSession } from '../../../src/nfc/ntag424/secure-session.ts'
import {
  decryptFileData,
  decryptPiccData,
  type SdmMode,
  sdmSessionKeys,
  sunMac,
  verifySunMac,
} from '../../../src/nfc/ntag424/sun.ts'
import { keyOfPoint } from '../../../src/values/halo-public-key.ts'

// The published vectors: RFC 4493, NXP's application notes, real tags, and two derived ones that must fail.
// Every schema is strict, so no input or expected output of a vector goes unread.

const bytes = z
  .string()
  .regex(/^([0-9a-fA-F]{2})*$/)
  .transform((text) => Buffer.from(text, 'hex'))
const key = bytes.transform((raw) => new AesKey(raw))
const counter = bytes.transform((raw) => raw.readUIntLE(0, 3))
const upper = z.string().transform((text) => text.toUpperCase())

const hex = (buffer: Uint8Array) => Buffer.from(buffer).toString('hex').toUpperCase()
const withStatus = (body: Buffer, status: string) => Buffer.concat([body, Buffer.from(status, 'hex')])

const handlers: Record<string, (input: unknown, output: unknown) => void> = {
  'aes-cmac': (input, output) => {
    const i = z.strictObject({ key, msg: bytes }).parse(input)
    const o = z.strictObject({ cmac: upper }).parse(output)
    expect(hex(i.key.cmac(i.msg))).toBe(o.cmac)
  },

  'sdm-keys': (input, output) => {
    const i = z.strictObject({ key, uid: bytes, ctr: counter }).parse(input)
    const o = z.strictObject({ enc: upper, mac: upper }).parse(output)
    const keys = sdmSessionKeys(i.key, { uid: i.uid, counter: i.ctr })
    expect({ enc: hex(keys.enc), mac: hex(keys.mac) }).toEqual(o)
  },

  'picc-decrypt': (input, output) => {
    const i = z.strictObject({ key, e: bytes }).parse(input)
    const o = z.strictObject({ plain: upper, tag: upper, uid: upper, ctr: z.number() }).parse(output)
    expect(hex(i.key.decryptBlock(i.e))).toBe(o.plain)
    expect(o.plain.slice(0, 2)).toBe(o.tag)
    expectTap(decryptPiccData(i.key, i.e), o, 'aes')
  },

  sdmmac: (input, output) => {
    const i = z.strictObject({ key, uid: bytes, ctr: counter, inputAscii: z.string() }).parse(input)
    const o = z.strictObject({ sessionKey: upper.optional(), mact: upper }).parse(output)
    const tap = { uid: i.uid, counter: i.ctr, mode: 'aes' } as const
    if (o.sessionKey !== undefined) expect(hex(sdmSessionKeys(i.key, tap).mac)).toBe(o.sessionKey)
    expect(hex(sunMac(i.key, tap, i.inputAscii))).toBe(o.mact)
  },

  sun: (input, output) => sun(input, output, 'aes'),
  'sun-lrp': (input, output) => sun(input, output, 'lrp'),

  'sdm-file-decrypt': (input, output) => {
    const i = z.strictObject({ key, uid: bytes, ctr: counter, enc: bytes }).parse(input)
    const o = z.strictObject({ plain: upper }).parse(output)
    const plain = decryptFileData(i.key, { uid: i.uid, counter: i.ctr, mode: 'aes' }, i.enc)
    expect(plain && hex(plain)).toBe(o.plain)
  },

  an10922: (input, output) => {
    const i = z.strictObject({ key, m: bytes }).parse(input)
    const o = z.strictObject({ key: upper }).parse(output)
    expect(hex(an10922(i.key, i.m))).toBe(o.key)
  },

  'auth-ev2-first': (input, output) => {
    const i = z
      .strictObject({ key, encRndB: bytes, rndA: bytes, resp2: bytes, keyNo: z.number().default(0) })
      .parse(input)
    const o = z
      .strictObject({
        rndB: upper.optional(),
        cmd1: upper.optional(),
        cmd2: upper,
        ti: bytes,
        enc: upper,
        mac: upper,
      })
      .parse(output)
    if (o.cmd1 !== undefined) expect(hex(authenticateFirst(i.keyNo))).toBe(o.cmd1)
    const challenge = answerChallenge(i.key, i.rndA, withStatus(i.encRndB, '91AF'))
    if (o.rndB !== undefined) expect(hex(challenge.rndB)).toBe(o.rndB)
    expect(hex(challenge.apdu)).toBe(o.cmd2)
    const keys = ev2SessionKeys(i.key, challenge.rndA, challenge.rndB)
    expect({ enc: hex(keys.enc), mac: hex(keys.mac) }).toEqual({ enc: o.enc, mac: o.mac })
    // The session keeps its state to itself; that it is the right one shows in the APDUs that it makes.
    const opened = openSession(i.key, challenge, withStatus(i.resp2, '9100'))
    const expected = new SecureSession({
      ti: o.ti,
      enc: new AesKey(keys.enc),
      mac: new AesKey(keys.mac),
      counter: 0,
    })
    const command = { ins: 0x8d, header: Buffer.of(2, 0, 0, 0, 1, 0, 0), data: Buffer.of(0xff) }
    expect(hex(opened.wrap(command, 'full'))).toBe(hex(expected.wrap(command, 'full')))
  },

  'ev2-session-keys': (input, output) => {
    const i = z.strictObject({ key, rndA: bytes, rndB: bytes }).parse(input)
    const o = z.strictObject({ enc: upper, mac: upper }).parse(output)
    const keys = ev2SessionKeys(i.key, i.rndA, i.rndB)
    expect({ enc: hex(keys.enc), mac: hex(keys.mac) }).toEqual(o)
  },

  'cmd-mac': (input, output) => command(input, output, 'mac'),
  'cmd-full': (input, output) => command(input, output, 'full'),
  // CommMode.FULL with no data to encrypt: the command looks as in MAC mode, the answer is encrypted.
  'cmd-mac-fullresp': (input, output) => command(input, output, 'full'),

  'change-key': (input, output) => {
    const i = z
      .strictObject({
        ...sessionFields,
        keyNo: z.literal([0, 2]),
        authKey: z.literal(0),
        newKey: bytes,
        oldKey: bytes.optional(),
        ver: z.number(),
        resp: bytes,
      })
      .parse(input)
    const o = z.strictObject({ crc: upper.optional(), ivc: upper, apdu: upper }).parse(output)
    if (o.crc !== undefined) {
      const crc = Buffer.alloc(4)
      crc.writeUInt32LE(jamCrc32(i.newKey))
      expect(hex(crc)).toBe(o.crc)
    }
    const change: KeyChange =
      i.keyNo === 0
        ? { keyNo: 0, newKey: i.newKey, version: i.ver }
        : { keyNo: i.keyNo, newKey: i.newKey, oldKey: z.instanceof(Buffer).parse(i.oldKey), version: i.ver }
    const session = new SecureSession({ ...i, counter: i.ctr })
    expect(commandIv(i)).toBe(o.ivc)
    expect(hex(session.wrap(changeKeyCommand(change), 'full'))).toBe(o.apdu)
    if (i.keyNo === 0) session.unwrapLast(i.resp)
    else expect(session.unwrap(i.resp, 'full')).toHaveLength(0)
    expect(session.open).toBe(i.keyNo !== 0)
  },

  'halo-rndsig': (input, output) => {
    const i = z.strictObject({ pk2: z.string(), rnd: z.string(), rndsig: z.string() }).parse(input)
    const o = z
      .strictObject({ valid: z.literal(true), counter: z.number(), trailingJunkBytes: z.number() })
      .parse(output)
    const parsed = parseHaloTap(i)
    if (!parsed.ok) throw new Error(`${parsed.parameter} ${parsed.reason}`)
    expect(verifyHaloTap(parsed.tap)).toBe(o.valid)
    expect(parsed.tap.counter).toBe(o.counter)
    expect(parsed.tap.rndsig).toHaveLength(i.rndsig.length / 2 - o.trailingJunkBytes)
    const message = Buffer.concat([Buffer.from('\x19Attest counter pk2:\n'), parsed.tap.rnd])
    const publicKey = keyOfPoint(parsed.tap.pk2)
    expect(publicKey && verify('sha256', message, publicKey, parsed.tap.rndsig)).toBe(true)
  },
}

function sun(input: unknown, output: unknown, mode: SdmMode): void {
  const i = z
    .strictObject({
      metaKey: key,
      fileKey: key,
      picc: bytes,
      encFile: bytes.optional(),
      macInputAscii: z.string(),
      c: bytes,
    })
    .parse(input)
  const o = z
    .strictObject({
      valid: z.boolean().default(true),
      uid: upper.optional(),
      ctr: z.number().optional(),
      fileAscii: z.string().optional(),
    })
    .parse(output)
  const tap = decryptPiccData(i.metaKey, i.picc)
  if (tap === undefined) throw new Error('The PICCData does not decrypt')
  expect(tap.mode).toBe(mode)
  expect(verifySunMac(i.fileKey, tap, i.macInputAscii, i.c)).toBe(o.valid)
  expect(hex(sunMac(i.fileKey, tap, i.macInputAscii)) === hex(i.c)).toBe(o.valid)
  if (o.uid !== undefined) expectTap(tap, o, mode)
  if (i.encFile !== undefined)
    expect(decryptFileData(i.fileKey, tap, i.encFile)?.toString('latin1')).toBe(o.fileAscii)
}

function expectTap(
  tap: ReturnType<typeof decryptPiccData>,
  expected: { uid?: string | undefined; ctr?: number | undefined },
  mode: SdmMode,
): void {
  expect(tap && { uid: hex(tap.uid), ctr: tap.counter, mode: tap.mode }).toEqual({
    uid: expected.uid,
    ctr: expected.ctr,
    mode,
  })
}

const sessionFields = { enc: key, mac: key, ti: bytes, ctr: z.number() }

function command(input: unknown, output: unknown, mode: CommMode): void {
  const i = z
    .strictObject({
      ...sessionFields,
      ins: bytes.transform((raw) => raw.readUInt8()),
      header: bytes,
      data: bytes,
      resp: bytes,
    })
    .parse(input)
  const o = z
    .strictObject({
      ivc: upper.optional(),
      apdu: upper.optional(),
      plain: upper.optional(),
      respValid: z.boolean().default(true),
    })
    .parse(output)
  const session = new SecureSession({ ...i, counter: i.ctr })
  const apdu = hex(session.wrap(i, mode))
  if (o.ivc !== undefined) expect(commandIv(i)).toBe(o.ivc)
  if (o.apdu !== undefined) expect(apdu).toBe(o.apdu)
  if (o.respValid) expect(hex(session.unwrap(i.resp, mode))).toBe(o.plain)
  else expect(() => session.unwrap(i.resp, mode)).toThrow(ResponseMacError)
  expect(session.open).toBe(o.respValid)
}

/** The IV that the vectors print for commands; inside a session it shows only in the APDU. */
function commandIv({ enc, ti, ctr }: { enc: AesKey; ti: Buffer; ctr: number }): string {
  return hex(
    enc.encryptBlock(Buffer.concat([Buffer.from('A55A', 'hex'), ti, Buffer.of(ctr), Buffer.alloc(9)])),
  )
}

const file = new URL('../../../fixtures/vectors/ntag424.json', import.meta.url)
const { vectors } = z
  .object({
    schema: z.literal(1),
    vectors: z.array(
      z.strictObject({
        id: z.string(),
        op: z.string(),
        in: z.unknown(),
        out: z.unknown(),
        source: z.string(),
      }),
    ),
  })
  .parse(JSON.parse(readFileSync(file, 'utf8')))

const ran = new Set<string>()

for (const vector of vectors) {
  test(`${vector.id}: ${vector.source}`, () => {
    const handler = handlers[vector.op]
    if (handler === undefined) throw new Error(`Nothing handles the operation ${vector.op}`)
    handler(vector.in, vector.out)
    ran.add(vector.id)
  })
}

test('all 30 vectors ran, and every handler had one', () => {
  expect(vectors.filter(({ id }) => !ran.has(id)).map(({ id }) => id)).toEqual([])
  expect(ran.size).toBe(30)
  expect(Object.keys(handlers).sort()).toEqual([...new Set(vectors.map(({ op }) => op))].sort())
})
