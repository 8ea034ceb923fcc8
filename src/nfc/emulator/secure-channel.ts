import { AesKey, oddBytes } from '../ntag424/cmac.ts'
import type { ChipMemory, KeySlot } from './memory.ts'
import { Refusal } from './status.ts'

// The chip's side of authentication and secure messaging, from NT4H2421Gx s9.1. It shares no code with the reader's side
// (ntag424/authenticate.ts and secure-session.ts), so that it rejects mistakes made there.

/** Failed attempts: in a row before the chip delays, and in total before the key is disabled. */
const DELAY_FROM = 50
const DEAD_FROM = 1000
/** Each successful authentication reduces the total of failed ones by this number. */
const FORGIVEN = 10

/** CommMode values of FileOption and of the command table. */
export const PLAIN = 0
export const MAC = 1
export const FULL = 3

export interface Handshake {
  readonly keyNo: number
  readonly rndB: Buffer
  /** The session that AuthenticateEV2NonFirst continues. */
  readonly previous: Channel | undefined
}

/** @throws Refusal */
export function challenge(
  memory: ChipMemory,
  keyNo: number,
  previous: Channel | undefined,
  random: (length: number) => Buffer,
): { handshake: Handshake; answer: Buffer } {
  const slot = memory.keys[keyNo]
  if (!slot) throw new Refusal('noSuchKey')
  if (slot.failedInAll >= DEAD_FROM) throw new Refusal('permissionDenied')
  const rndB = random(16)
  return { handshake: { keyNo, rndB, previous }, answer: new AesKey(slot.key).encryptBlock(rndB) }
}

/**
 * Number of 91AD answers in a row before a key accepts the next attempt. The data sheet specifies a delay; here each
 * refusal counts as a part of it.
 */
export function delaysOwed(slot: KeySlot): number {
  return Math.max(0, slot.failedInRow - DELAY_FROM + 1)
}

/** @throws Refusal; a failed authentication is counted */
export function answerTo(
  memory: ChipMemory,
  { keyNo, rndB, previous }: Handshake,
  proof: Buffer,
  random: (length: number) => Buffer,
): { channel: Channel; answer: Buffer } {
  const slot = memory.keys[keyNo]
  if (!slot) throw new Refusal('noSuchKey')
  if (proof.length !== 32) throw new Refusal('length')
  const key = new AesKey(slot.key)
  const zero = Buffer.alloc(16)
  const plain = key.decryptCbc(zero, proof)
  const rndA = Buffer.from(plain.subarray(0, 16))
  if (!plain.subarray(16).equals(rotated(rndB))) {
    slot.failedInRow += 1
    slot.failedInAll += 1
    memory.failedAuthentications += 1
    throw new Refusal('authentication')
  }
  slot.failedInRow = 0
  slot.failedInAll = Math.max(0, slot.failedInAll - FORGIVEN)
  const ti = previous ? previous.ti : random(4)
  const channel = new Channel(keyNo, ti, previous?.counter ?? 0, sessionKeys(key, rndA, rndB))
  // EV2NonFirst returns only RndA': NT4H2421Gx s9.1.6.
  const capabilities = Buffer.alloc(12)
  const reply = previous ? rotated(rndA) : Buffer.concat([ti, rotated(rndA), capabilities])
  return { channel, answer: key.encryptCbc(zero, reply) }
}

/** The chip's state of an authenticated session. */
export class Channel {
  readonly keyNo: number
  readonly ti: Buffer
  /** CmdCtr. */
  counter: number
  readonly #enc: AesKey
  readonly #mac: AesKey

  constructor(keyNo: number, ti: Buffer, counter: number, keys: { enc: Buffer; mac: Buffer }) {
    this.keyNo = keyNo
    this.ti = ti
    this.counter = counter
    this.#enc = new AesKey(keys.enc)
    this.#mac = new AesKey(keys.mac)
  }

  /** Verifies and decrypts a command. @param body header and data @throws Refusal integrity, length */
  open(ins: number, body: Buffer, headerLength: number, mode: number): { header: Buffer; data: Buffer } {
    if (this.counter >= 0xffff) throw new Refusal('integrity')
    const end = mode === PLAIN ? body.length : body.length - 8
    if (end < headerLength) throw new Refusal('length')
    const header = Buffer.from(body.subarray(0, headerLength))
    const data = body.subarray(headerLength, end)
    if (mode !== PLAIN) {
      const expected = this.#tag(Buffer.of(ins), Buffer.concat([header, data]))
      if (!body.subarray(end).equals(expected)) throw new Refusal('integrity')
    }
    if (mode !== FULL || data.length === 0) return { header, data: Buffer.from(data) }
    if (data.length % 16 !== 0) throw new Refusal('length')
    return { header, data: unpadded(this.#enc.decryptCbc(this.#iv('A55A'), data)) }
  }

  /** Increments the counter, and encrypts and signs the answer. */
  close(data: Buffer, mode: number): Buffer {
    this.counter += 1
    if (mode === PLAIN) return data
    let body = data
    if (mode === FULL && data.length > 0) {
      const padding = Buffer.alloc(16 - (data.length % 16))
      padding[0] = 0x80
      body = this.#enc.encryptCbc(this.#iv('5AA5'), Buffer.concat([data, padding]))
    }
    return Buffer.concat([body, this.#tag(Buffer.of(0x00), body)])
  }

  #tag(first: Buffer, rest: Buffer): Buffer {
    return oddBytes(this.#mac.cmac(Buffer.concat([first, this.#counterBytes(), this.ti, rest])))
  }

  #iv(label: string): Buffer {
    const input = [Buffer.from(label, 'hex'), this.ti, this.#counterBytes(), Buffer.alloc(8)]
    return this.#enc.encryptBlock(Buffer.concat(input))
  }

  #counterBytes(): Buffer {
    return Buffer.of(this.counter & 0xff, this.counter >> 8)
  }
}

/** Source: NT4H2421Gx s9.1.7 */
function sessionKeys(key: AesKey, a: Buffer, b: Buffer): { enc: Buffer; mac: Buffer } {
  const mixed = Buffer.from(a.subarray(2, 8).map((byte, i) => byte ^ b.readUInt8(i)))
  const common = [Buffer.from('00010080', 'hex'), a.subarray(0, 2), mixed, b.subarray(6), a.subarray(8)]
  return {
    enc: key.cmac(Buffer.concat([Buffer.from('A55A', 'hex'), ...common])),
    mac: key.cmac(Buffer.concat([Buffer.from('5AA5', 'hex'), ...common])),
  }
}

function rotated(bytes: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(1), bytes.subarray(0, 1)])
}

function unpadded(bytes: Buffer): Buffer {
  let end = bytes.length - 1
  while (end >= 0 && bytes[end] === 0) end -= 1
  if (end < 0 || bytes[end] !== 0x80 || bytes.length - end > 16) throw new Refusal('integrity')
  return Buffer.from(bytes.subarray(0, end))
}
