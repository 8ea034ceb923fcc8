import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  answerChallenge,
  authenticateFirst,
  ev2SessionKeys,
  openSession,
} from '../../../src/nfc/ntag424/authenticate.ts'
import { AesKey, oddBytes } from '../../../src/nfc/ntag424/cmac.ts'
import {
  AnswerFormatError,
  ChipError,
  ChipNotAuthenticError,
  ChipStatusError,
  ResponseMacError,
  SessionEndedError,
} from '../../../src/nfc/ntag424/errors.ts'
import { type CommMode, SecureSession } from '../../../src/nfc/ntag424/secure-session.ts'

const ti = Buffer.from('9D00C4DF', 'hex')
const encRaw = Buffer.from('1309C877509E5A215007FF0ED19CA564', 'hex')
const macRaw = Buffer.from('4C6626F5E72EA694202139295C7A7FC7', 'hex')
const enc = new AesKey(encRaw)
const mac = new AesKey(macRaw)
const ok = Buffer.from('9100', 'hex')
const read = { ins: 0xad, header: Buffer.of(2, 0, 0, 0, 0, 0, 0), data: Buffer.alloc(0) }

/** The chip's side: an answer, protected as NT4H2421Gx s9.1.9 and s9.1.10 have it. */
function answer(data: Uint8Array, mode: CommMode, counter: number): Buffer {
  const ctr = Buffer.alloc(2)
  ctr.writeUInt16LE(counter)
  let body: Buffer = Buffer.from(data)
  if (mode === 'plain') return Buffer.concat([body, ok])
  if (mode === 'full' && data.length > 0) {
    const padding = Buffer.alloc(16 - (data.length % 16))
    padding[0] = 0x80
    const iv = enc.encryptBlock(Buffer.concat([Buffer.from('5AA5', 'hex'), ti, ctr, Buffer.alloc(8)]))
    body = enc.encryptCbc(iv, Buffer.concat([data, padding]))
  }
  return Buffer.concat([body, oddBytes(mac.cmac(Buffer.concat([Buffer.of(0), ctr, ti, body]))), ok])
}

let session: SecureSession
beforeEach(() => {
  session = new SecureSession({ ti, enc, mac, counter: 0 })
})

describe('a session', () => {
  test('reads what the chip answered, in every mode, counting every command', () => {
    const step = fc.record({
      mode: fc.constantFrom<CommMode>('plain', 'mac', 'full'),
      data: fc.uint8Array({ maxLength: 100 }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 10 }), (steps) => {
        const many = new SecureSession({ ti, enc, mac, counter: 0 })
        steps.forEach(({ mode, data }, i) => {
          many.wrap(read, mode)
          expect(many.unwrap(answer(data, mode, i + 1), mode)).toEqual(Buffer.from(data))
        })
      }),
    )
  })

  test('ends when any byte of an answer was changed', () => {
    const good = answer(Buffer.from('some data'), 'full', 1)
    for (let at = 0; at < good.length - 2; at += 1) {
      const changed = Buffer.from(good)
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
      const fresh = new SecureSession({ ti, enc, mac, counter: 0 })
      fresh.wrap(read, 'full')
      expect(() => fresh.unwrap(changed, 'full')).toThrow(ResponseMacError)
      expect(fresh.open).toBe(false)
      expect(() => fresh.wrap(read, 'full')).toThrow(SessionEndedError)
      expect(() => fresh.unwrap(good, 'full')).toThrow(SessionEndedError)
    }
  })

  test('takes no answer to an earlier command', () => {
    const first = answer(Buffer.of(1), 'mac', 1)
    session.wrap(read, 'mac')
    session.unwrap(first, 'mac')
    session.wrap(read, 'mac')
    expect(() => session.unwrap(first, 'mac')).toThrow(ResponseMacError)
  })

  test('ends with the status when the chip refuses', () => {
    session.wrap(read, 'mac')
    const refused = () => session.unwrap(Buffer.from('919D', 'hex'), 'mac')
    expect(refused).toThrow(new ChipStatusError(0x919d))
    expect(session.open).toBe(false)
  })

  test('names the status and what it means', () => {
    const error = new ChipStatusError(0x91ad)
    expect(error).toBeInstanceOf(ChipError)
    expect(error).toMatchObject({ name: 'ChipStatusError', status: 0x91ad })
    expect(error.message).toMatch(/^The chip answered 91AD: too many failed authentications/)
    expect(new ChipStatusError(0x6f00).message).toBe('The chip answered 6F00: an unexpected status')
  })

  test.each(['', '91', '9100', '00112233445566'])('takes %j for no answer in MAC mode', (text) => {
    const bytes = text.length > 4 ? Buffer.concat([Buffer.from(text, 'hex'), ok]) : Buffer.from(text, 'hex')
    session.wrap(read, 'mac')
    expect(() => session.unwrap(bytes, 'mac')).toThrow(AnswerFormatError)
  })

  test('says that the chip is gone when an answer is empty', () => {
    session.wrap(read, 'mac')
    expect(() => session.unwrap(Buffer.alloc(0), 'mac')).toThrow(/did not answer. Hold it still/)
  })

  test('refuses a command too long for one APDU, and stays open', () => {
    const write = { ins: 0x8d, header: Buffer.alloc(7), data: Buffer.alloc(240) }
    expect(() => session.wrap(write, 'full')).toThrow(RangeError)
    session.wrap(read, 'mac')
    expect(session.unwrap(answer(Buffer.alloc(0), 'mac', 1), 'mac')).toHaveLength(0)
  })

  test('ends when the command counter is used up', () => {
    const old = new SecureSession({ ti, enc, mac, counter: 0xffff })
    expect(() => old.wrap(read, 'mac')).toThrow(SessionEndedError)
    expect(old.open).toBe(false)
  })

  test('is over after the last answer, which has no MAC', () => {
    session.unwrapLast(ok)
    expect(session.open).toBe(false)
    expect(() => session.unwrapLast(ok)).toThrow(SessionEndedError)
    const other = new SecureSession({ ti, enc, mac, counter: 0 })
    expect(() => other.unwrapLast(Buffer.from('009100', 'hex'))).toThrow(AnswerFormatError)
  })
})

describe('AuthenticateEV2First', () => {
  const key = new AesKey(Buffer.alloc(16, 0x42))
  const rndA = Buffer.from('13C5DB8A5930439FC3DEF9A4C675360F', 'hex')
  const rndB = Buffer.from('B9E2FC789B64BF237CCCAA20EC7E6E48', 'hex')
  const zero = Buffer.alloc(16)
  const first = Buffer.concat([key.encryptBlock(rndB), Buffer.from('91AF', 'hex')])
  const rotate = (b: Buffer) => Buffer.concat([b.subarray(1), b.subarray(0, 1)])
  const second = (echo: Buffer) =>
    Buffer.concat([key.encryptCbc(zero, Buffer.concat([ti, echo, Buffer.alloc(12)])), ok])

  test('names the key', () => {
    expect(authenticateFirst(3).toString('hex')).toBe('9071000002030000')
  })

  test('opens the session that the chip opens', () => {
    const challenge = answerChallenge(key, rndA, first)
    expect(key.decryptCbc(zero, challenge.apdu.subarray(5, 37))).toEqual(Buffer.concat([rndA, rotate(rndB)]))
    const opened = openSession(key, challenge, second(rotate(rndA)))
    const keys = ev2SessionKeys(key, rndA, rndB)
    const expected = new SecureSession({
      ti,
      enc: new AesKey(keys.enc),
      mac: new AesKey(keys.mac),
      counter: 0,
    })
    expect(opened.wrap(read, 'mac')).toEqual(expected.wrap(read, 'mac'))
  })

  test('refuses a chip that does not know the key', () => {
    const challenge = answerChallenge(key, rndA, first)
    expect(() => openSession(key, challenge, second(rndA))).toThrow(ChipNotAuthenticError)
  })

  test('passes on that the chip refused the key', () => {
    expect(() => answerChallenge(key, rndA, Buffer.from('91AD', 'hex'))).toThrow(new ChipStatusError(0x91ad))
    const challenge = answerChallenge(key, rndA, first)
    expect(() => openSession(key, challenge, Buffer.from('91AE', 'hex'))).toThrow(new ChipStatusError(0x91ae))
  })

  test('refuses answers of another length', () => {
    expect(() => answerChallenge(key, rndA, first.subarray(1))).toThrow(AnswerFormatError)
    expect(() => answerChallenge(key, rndA, Buffer.alloc(0))).toThrow(AnswerFormatError)
    const challenge = answerChallenge(key, rndA, first)
    expect(() => openSession(key, challenge, ok)).toThrow(AnswerFormatError)
    expect(() => answerChallenge(key, rndA.subarray(1), first)).toThrow(RangeError)
  })
})
