import { timingSafeEqual } from 'node:crypto'
import { type AesKey, BLOCK, oddBytes } from './cmac.ts'
import { AnswerFormatError, answerData, DONE, ResponseMacError, SessionEndedError } from './errors.ts'
import type { LrpKey } from './lrp.ts'

export interface Command {
  readonly ins: number
  /** Sent in plain: file number, offset, length, key number. */
  readonly header: Uint8Array
  /** Encrypted in CommMode.FULL. */
  readonly data: Uint8Array
}

/** Source: NT4H2421Gx s9.1.8 to s9.1.10 */
export type CommMode = 'plain' | 'mac' | 'full'

const MAC = BLOCK / 2
const EMPTY = Buffer.alloc(0)
/** Lc is one byte. */
const MAX_BODY = 255

/** In AES mode two keys; in LRP mode one, whose updated keys make MACs and encrypt. */
type SessionKeys = { readonly enc: AesKey; readonly mac: AesKey } | { readonly lrp: LrpKey }

/** The updated key that encrypts. */
const SESSION_ENC = 1

/**
 * An authenticated session with a chip. It does no I/O: send each wrapped APDU once, in order, and unwrap the answers in
 * the same order. Any error ends the session.
 */
export class SecureSession {
  readonly #keys: SessionKeys
  /** EncCtr of LRP mode: the blocks that were encrypted in both directions. */
  #blocks: number
  readonly #ti: Buffer
  /** CmdCtr of the next command. */
  #counter: number
  /** CmdCtr of each answer that is still to come. */
  readonly #pendingCounters: number[] = []
  #open = true

  /**
   * @param state transaction identifier (4 bytes), session keys, CmdCtr of the next command, and in LRP mode the blocks
   * that were encrypted so far
   */
  constructor(state: SessionKeys & { ti: Uint8Array; counter: number; blocks?: number }) {
    if (state.ti.length !== 4)
      throw new RangeError(`A transaction identifier has 4 bytes, not ${state.ti.length}`)
    this.#ti = Buffer.from(state.ti)
    this.#keys = state
    this.#blocks = state.blocks ?? 0
    this.#counter = state.counter
  }

  get isLrp(): boolean {
    return 'lrp' in this.#keys
  }

  /** False once the session has ended. */
  get open(): boolean {
    return this.#open
  }

  /**
   * @returns the command's APDU @throws SessionEndedError; RangeError when it does not fit into one APDU
   * Source: AN12196 Table 7 (MAC), Table 17 (FULL)
   */
  wrap(command: Command, mode: CommMode): Buffer {
    if (!this.#open) throw new SessionEndedError()
    // NT4H2421Gx s9.1.2: at FFFF the chip accepts no further command.
    if (this.#counter >= 0xffff) {
      this.#open = false
      throw new SessionEndedError()
    }
    const counter = this.#counter
    const data = mode === 'full' ? this.#encrypt(command.data, counter) : command.data
    const mac = mode === 'plain' ? EMPTY : this.#truncatedMac(command.ins, counter, command.header, data)
    const body = Buffer.concat([command.header, data, mac])
    if (body.length > MAX_BODY)
      throw new RangeError(
        `A command carries at most ${MAX_BODY} bytes, not ${body.length}: write in smaller pieces`,
      )
    // NT4H2421Gx s9.1.8: CmdCtr rises on plain commands too.
    this.#counter += 1
    this.#pendingCounters.push(this.#counter)
    const lc = body.length > 0 ? Buffer.of(body.length) : EMPTY
    return Buffer.concat([Buffer.of(0x90, command.ins, 0x00, 0x00), lc, body, Buffer.of(0x00)])
  }

  /**
   * @param answer to the oldest command without one, in the same mode @param status the one of success
   * @returns its data
   * @throws ChipStatusError, AnswerFormatError, ResponseMacError
   */
  unwrap(answer: Uint8Array, mode: CommMode, status = DONE): Buffer {
    if (!this.#open) throw new SessionEndedError()
    // Reopened only after a valid answer, since the chip ends the session on any error too: NT4H2421Gx s9.1.9.
    this.#open = false
    const data = this.#read(answer, mode, status)
    this.#open = true
    return data
  }

  /**
   * Checks the answer to a ChangeKey of this session's own key: 9100 without a MAC. Ends the session.
   * @throws ChipStatusError, AnswerFormatError
   * Source: AN12196 Table 26
   */
  unwrapLast(answer: Uint8Array): void {
    if (!this.#open) throw new SessionEndedError()
    this.#open = false
    this.#pendingCounters.length = 0
    if (answerData(answer).length > 0) throw new AnswerFormatError('2', answer.length)
  }

  #read(answer: Uint8Array, mode: CommMode, status: number): Buffer {
    const counter = this.#pendingCounters.shift()
    if (counter === undefined) throw new Error('This answer belongs to no command')
    const body = answerData(answer, status)
    if (mode === 'plain') return Buffer.from(body)
    if (body.length < MAC) throw new AnswerFormatError('10 or more', answer.length)
    const data = body.subarray(0, body.length - MAC)
    // An answer's MAC covers SW2.
    const expected = this.#truncatedMac(status & 0xff, counter, EMPTY, data)
    if (!timingSafeEqual(expected, body.subarray(body.length - MAC))) throw new ResponseMacError()
    return mode === 'mac' || data.length === 0 ? Buffer.from(data) : this.#decrypt(data, counter)
  }

  #truncatedMac(first: number, counter: number, header: Uint8Array, data: Uint8Array): Buffer {
    const start = Buffer.of(first, counter & 0xff, counter >> 8)
    const key = 'lrp' in this.#keys ? this.#keys.lrp : this.#keys.mac
    return oddBytes(key.cmac(Buffer.concat([start, this.#ti, header, data])))
  }

  #encrypt(data: Uint8Array, counter: number): Buffer {
    if (data.length === 0) return EMPTY
    // ISO 9797-1 method 2: 80, then zeros up to a whole block.
    const padded = Buffer.alloc((Math.floor(data.length / BLOCK) + 1) * BLOCK)
    padded.set(data)
    padded[data.length] = 0x80
    if ('lrp' in this.#keys) return this.#keys.lrp.encrypt(SESSION_ENC, this.#nextBlocks(padded), padded)
    return this.#keys.enc.encryptCbc(iv(this.#keys.enc, [0xa5, 0x5a], this.#ti, counter), padded)
  }

  #decrypt(data: Uint8Array, counter: number): Buffer {
    if (data.length % BLOCK !== 0) throw new AnswerFormatError('whole encrypted blocks', data.length)
    const padded =
      'lrp' in this.#keys
        ? this.#keys.lrp.decrypt(SESSION_ENC, this.#nextBlocks(data), data)
        : this.#keys.enc.decryptCbc(iv(this.#keys.enc, [0x5a, 0xa5], this.#ti, counter), data)
    const end = padded.lastIndexOf(0x80)
    if (end < padded.length - BLOCK || padded.subarray(end + 1).some((byte) => byte !== 0))
      throw new AnswerFormatError('padded data', data.length)
    return padded.subarray(0, end)
  }

  /**
   * A command that is wrapped before an earlier one was answered counts on an answer without encrypted data, as those
   * that write have. Source: NT4H2421Gx s9.2.4
   */
  #nextBlocks(data: Uint8Array): Buffer {
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(this.#blocks)
    this.#blocks += data.length / BLOCK
    return counter
  }
}

/** NT4H2421Gx s9.1.4: E(label ‖ TI ‖ CmdCtr ‖ 0^8). */
function iv(key: AesKey, label: readonly [number, number], ti: Uint8Array, counter: number): Buffer {
  const block = Buffer.alloc(BLOCK)
  block.set([...label, ...ti])
  block.writeUInt16LE(counter, 6)
  return key.encryptBlock(block)
}
