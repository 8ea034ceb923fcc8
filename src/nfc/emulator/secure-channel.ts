import { Refusal } from './status.ts'
import { counterBytes, type Suite } from './suites.ts'

// The chip's side of secure messaging, from NT4H2421Gx s9.1.8 to s9.1.10. It shares no code with the reader's side
// (ntag424/secure-session.ts), so that it rejects mistakes made there.

/** CommMode values of FileOption and of the command table. */
export const PLAIN = 0
export const MAC = 1
export const FULL = 3

/** The chip's state of an authenticated session. */
export class Channel {
  readonly keyNo: number
  readonly ti: Buffer
  /** CmdCtr. */
  counter: number
  readonly #suite: Suite

  constructor(keyNo: number, ti: Buffer, counter: number, suite: Suite) {
    this.keyNo = keyNo
    this.ti = ti
    this.counter = counter
    this.#suite = suite
  }

  /** Verifies and decrypts a command. @param body header and data @throws Refusal integrity, length */
  open(ins: number, body: Buffer, headerLength: number, mode: number): { header: Buffer; data: Buffer } {
    if (this.counter >= 0xffff) throw new Refusal('integrity')
    const end = mode === PLAIN ? body.length : body.length - 8
    if (end < headerLength) throw new Refusal('length')
    const header = Buffer.from(body.subarray(0, headerLength))
    const data = Buffer.from(body.subarray(headerLength, end))
    // Real chips look at the length before the MAC.
    if (mode === FULL && data.length % 16 !== 0) throw new Refusal('length')
    if (mode !== PLAIN) {
      const expected = this.#tag(ins, Buffer.concat([header, data]))
      if (!body.subarray(end).equals(expected)) throw new Refusal('integrity')
    }
    if (mode !== FULL || data.length === 0) return { header, data }
    return { header, data: unpadded(this.#suite.decrypt('command', this, data)) }
  }

  /** Increments the counter, and encrypts and signs the answer. @param status SW2, which the MAC covers */
  close(data: Buffer, mode: number, status = 0x00): Buffer {
    this.counter += 1
    if (mode === PLAIN) return data
    let body = data
    if (mode === FULL && data.length > 0) {
      const padding = Buffer.alloc(16 - (data.length % 16))
      padding[0] = 0x80
      body = this.#suite.encrypt('response', this, Buffer.concat([data, padding]))
    }
    return Buffer.concat([body, this.#tag(status, body)])
  }

  #tag(first: number, rest: Buffer): Buffer {
    return this.#suite.tag(Buffer.concat([Buffer.of(first), counterBytes(this.counter), this.ti, rest]))
  }
}

function unpadded(bytes: Buffer): Buffer {
  let end = bytes.length - 1
  while (end >= 0 && bytes[end] === 0) end -= 1
  if (end < 0 || bytes[end] !== 0x80 || bytes.length - end > 16) throw new Refusal('integrity')
  return Buffer.from(bytes.subarray(0, end))
}
