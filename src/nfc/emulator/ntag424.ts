import { randomBytes } from 'node:crypto'
import { answerTo, challenge, delaysOwed, type Handshake } from './authentication.ts'
import { TYPE_4_ATR, type VirtualChip } from './card.ts'
import { TapView } from './files.ts'
import { readBinary, type Selection, select, updateBinary } from './iso-commands.ts'
import { type ChipMemory, memoryFromJson, memoryToJson } from './memory.ts'
import { type CommandContext, OWN_COMMANDS, type OwnCommand, versionFrames } from './own-commands.ts'
import { type Channel, MAC } from './secure-channel.ts'
import { Refusal, STATUS, withStatus } from './status.ts'
import { TamperLoop } from './tamper.ts'

const AUTHENTICATE_FIRST = 0x71
const AUTHENTICATE_NON_FIRST = 0x77
const GET_VERSION = 0x60
const MORE = 0xaf

/** A command that waits for its next frame. */
type PendingCommand =
  | { kind: 'handshake'; handshake: Handshake }
  | { kind: 'version'; sent: 1 | 2; mac: boolean }

/** An NTAG 424 DNA, or its TagTamper variant. Source: NT4H2421Gx, NT4H2421Tx */
export class VirtualNtag424 implements VirtualChip {
  readonly atr = TYPE_4_ATR
  readonly memory: ChipMemory
  readonly #random: (length: number) => Buffer
  readonly #loop: TamperLoop
  readonly #taps: TapView
  #powered = false
  #selection: Selection = { application: false, file: undefined }
  #channel: Channel | undefined
  #pending: PendingCommand | undefined

  /** @param random generates RndB, TI, and the padding of taps */
  constructor(memory: ChipMemory, random: (length: number) => Buffer = randomBytes) {
    this.memory = memory
    this.#random = random
    this.#loop = new TamperLoop(memory)
    this.#taps = new TapView(memory, random, this.#loop)
  }

  /** @param value from toJSON @throws ZodError */
  static fromJSON(value: unknown, random?: (length: number) => Buffer): VirtualNtag424 {
    return new VirtualNtag424(memoryFromJson(value), random)
  }

  toJSON(): unknown {
    return memoryToJson(this.memory)
  }

  powerOff(): void {
    this.#powered = false
    this.#selection = { application: false, file: undefined }
    this.#channel = undefined
    this.#pending = undefined
    this.#taps.end()
  }

  process(apdu: Uint8Array): Buffer {
    const bytes = Buffer.from(apdu)
    const [cla, ins = 0] = bytes
    if (!this.#powered) this.#loop.powerUp()
    this.#powered = true
    const continuesTap = (cla === 0x00 && ins === 0xb0) || (cla === 0x90 && ins === 0xad)
    if (!continuesTap) this.#taps.end()
    try {
      if (cla === 0x90) return this.#nativeCommand(bytes, ins)
      if (cla === 0x00) return this.#iso(bytes, ins)
      throw new Refusal('isoClass')
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      // s9.1.9: an error ends the session.
      this.#channel = undefined
      this.#pending = undefined
      this.#taps.end()
      return withStatus(error.status)
    }
  }

  #nativeCommand(apdu: Buffer, ins: number): Buffer {
    const body = bodyOf(apdu)
    const pending = this.#pending
    this.#pending = undefined
    if (ins === MORE) return this.#more(pending, body)
    if (pending) throw new Refusal('aborted')
    if (ins === GET_VERSION) return this.#version(body)
    if (ins === AUTHENTICATE_FIRST || ins === AUTHENTICATE_NON_FIRST) return this.#authenticate(ins, body)
    const command = OWN_COMMANDS.get(ins)
    if (!command) throw new Refusal('unknownCommand')
    if (!this.#selection.application && !command.anywhere) throw new Refusal('permissionDenied')
    return this.#run(ins, command, body)
  }

  #run(ins: number, command: OwnCommand, body: Buffer): Buffer {
    const channel = this.#channel
    const { memory } = this
    const context: CommandContext = { memory, taps: this.#taps, loop: this.#loop, keyNo: channel?.keyNo }
    if (body.length < command.headerLength) throw new Refusal('length')
    const { request, answer } = command.modes(context, body.subarray(0, command.headerLength))
    const { header, data } = channel
      ? channel.open(ins, body, command.headerLength, request)
      : { header: body.subarray(0, command.headerLength), data: body.subarray(command.headerLength) }
    if (data.length > 0 && !command.takesData) throw new Refusal('length')
    const result = command.run(context, header, data)
    const status = command.status ?? STATUS.done
    if (!result) {
      this.#channel = undefined
      return withStatus(status)
    }
    return withStatus(status, channel ? channel.close(result, answer, status & 0xff) : result)
  }

  #authenticate(ins: number, body: Buffer): Buffer {
    if (!this.#selection.application) throw new Refusal('permissionDenied')
    const first = ins === AUTHENTICATE_FIRST
    const [keyNo = 0, count = 0] = body
    if (first ? body.length !== 2 + count : body.length !== 1) throw new Refusal('length')
    const capabilities = Buffer.from(body.subarray(2))
    // Table 19: a chip in LRP mode refuses AES, and one in AES mode lets the reader fall back.
    if (first && this.memory.lrp && ((capabilities[0] ?? 0) & 0x02) === 0)
      throw new Refusal('permissionDenied')
    const previous = first ? undefined : this.#channel
    if (!first && !previous) throw new Refusal('permissionDenied')
    this.#delay(keyNo)
    const { handshake, answer } = challenge(this.memory, { keyNo, previous, capabilities }, this.#random)
    this.#channel = undefined
    this.#pending = { kind: 'handshake', handshake }
    return withStatus(STATUS.additionalFrame, answer)
  }

  #delay(keyNo: number): void {
    const slot = this.memory.keys[keyNo]
    if (!slot) return
    const isDelayed = slot.failedDelays < delaysOwed(slot)
    slot.failedDelays = isDelayed ? slot.failedDelays + 1 : 0
    if (isDelayed) throw new Refusal('authenticationDelay')
  }

  #version(body: Buffer): Buffer {
    if (this.#channel) this.#channel.open(GET_VERSION, body, 0, MAC)
    else if (body.length > 0) throw new Refusal('length')
    this.#pending = { kind: 'version', sent: 1, mac: this.#channel !== undefined }
    return withStatus(STATUS.additionalFrame, versionFrames(this.memory)[0])
  }

  #more(pending: PendingCommand | undefined, body: Buffer): Buffer {
    // No table has the case of a second half of an authentication without its first.
    if (!pending) throw new Refusal(body.length > 0 ? 'permissionDenied' : 'unknownCommand')
    if (pending.kind === 'handshake') {
      const { channel, answer } = answerTo(this.memory, pending.handshake, body, this.#random)
      this.#channel = channel
      return withStatus(STATUS.done, answer)
    }
    if (body.length > 0) throw new Refusal('length')
    const frames = versionFrames(this.memory)
    if (pending.sent === 1) {
      this.#pending = { ...pending, sent: 2 }
      return withStatus(STATUS.additionalFrame, frames[1])
    }
    // The MAC covers all three frames and follows the last.
    const all = Buffer.concat(frames)
    const closed = this.#channel ? this.#channel.close(all, MAC).subarray(all.length) : Buffer.alloc(0)
    return withStatus(STATUS.done, Buffer.concat([frames[2], closed]))
  }

  #iso(apdu: Buffer, ins: number): Buffer {
    // Tables 86, 89 and 92: a command of several frames is given up, which costs the next one.
    if (this.#pending) throw new Refusal('isoConditions')
    const [, , p1 = 0, p2 = 0] = apdu
    const offset = ((p1 & 0x7f) << 8) | p2
    const authenticated = this.#channel !== undefined
    switch (ins) {
      case 0xa4:
        if (select(this.#selection, p1, p2, isoData(apdu))) this.#channel = undefined
        return withStatus(STATUS.isoDone)
      case 0xb0: {
        if (apdu.length !== 5) throw new Refusal('isoLength')
        const request = { offset, le: apdu.readUInt8(4), authenticated }
        return withStatus(STATUS.isoDone, readBinary(this.memory, this.#taps, this.#selection, request))
      }
      case 0xd6:
        updateBinary(this.memory, this.#selection, { offset, data: isoData(apdu), authenticated })
        return withStatus(STATUS.isoDone)
      default:
        throw new Refusal('isoUnknown')
    }
  }
}

/** The data after Lc. All of the chip's own commands end with Le 00. @throws Refusal length */
function bodyOf(apdu: Buffer): Buffer {
  if (apdu.length < 5 || apdu.readUInt16BE(2) !== 0 || apdu[apdu.length - 1] !== 0)
    throw new Refusal('length')
  if (apdu.length === 5) return apdu.subarray(5)
  if (apdu.readUInt8(4) !== apdu.length - 6) throw new Refusal('length')
  return apdu.subarray(5, -1)
}

/** Le is optional. @throws Refusal isoLength */
function isoData(apdu: Buffer): Buffer {
  const length = apdu[4] ?? 0
  if (apdu.length !== 5 + length && apdu.length !== 6 + length) throw new Refusal('isoLength')
  return apdu.subarray(5, 5 + length)
}
