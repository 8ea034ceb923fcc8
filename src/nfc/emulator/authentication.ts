import { AesKey } from '../ntag424/cmac.ts'
import { LrpKey } from '../ntag424/lrp.ts'
import type { ChipMemory, KeySlot } from './memory.ts'
import { Channel } from './secure-channel.ts'
import { Refusal } from './status.ts'
import { AesSuite, LrpSuite } from './suites.ts'

// The chip's side of authentication, from NT4H2421Gx s9.1 and s9.2. It shares no code with the reader's side
// (ntag424/authenticate.ts), so that it rejects mistakes made there.

/** Failed attempts in a row before the chip delays. */
const DELAY_FROM = 50
/** AuthMode of AuthenticateLRPFirst: Table 38. */
const LRP_MODE = 0x01
const ZERO = Buffer.alloc(16)

export interface Handshake {
  readonly keyNo: number
  readonly rndB: Buffer
  /** The session that a NonFirst authentication continues. */
  readonly previous: Channel | undefined
  /** PCDCap2, as it was asked. */
  readonly capabilities: Buffer
}

interface OpenOptions {
  readonly keyNo: number
  readonly previous?: Channel | undefined
  /** Up to 6 bytes. */
  readonly capabilities?: Buffer
}

/** @throws Refusal */
export function challenge(
  memory: ChipMemory,
  { keyNo, previous, capabilities = Buffer.alloc(0) }: OpenOptions,
  random: (length: number) => Buffer,
): { handshake: Handshake; answer: Buffer } {
  const slot = slotOf(memory, keyNo)
  const { enabled, limit } = memory.failures
  if (enabled && slot.failedInAll >= limit) throw new Refusal('permissionDenied')
  const rndB = random(16)
  const handshake = { keyNo, rndB, previous, capabilities }
  return {
    handshake,
    answer: memory.lrp ? Buffer.concat([Buffer.of(LRP_MODE), rndB]) : new AesKey(slot.key).encryptBlock(rndB),
  }
}

/**
 * Number of 91AD answers in a row before a key accepts the next attempt. The data sheet specifies a delay, which is
 * spent by trying; here each refusal counts as a part of it. Real chips keep it without power too.
 */
export function delaysOwed(slot: KeySlot): number {
  return Math.max(0, slot.failedInRow - DELAY_FROM + 1)
}

/** @throws Refusal; a failed authentication is counted */
export function answerTo(
  memory: ChipMemory,
  handshake: Handshake,
  proof: Buffer,
  random: (length: number) => Buffer,
): { channel: Channel; answer: Buffer } {
  const slot = slotOf(memory, handshake.keyNo)
  if (proof.length !== 32) throw new Refusal('length')
  const agreed = memory.lrp
    ? agreeLrp(slot.key, handshake.rndB, proof)
    : agreeAes(slot.key, handshake.rndB, proof)
  if (!agreed) {
    slot.failedInRow += 1
    slot.failedInAll += 1
    memory.failedAuthentications += 1
    throw new Refusal('authentication')
  }
  slot.failedInRow = 0
  slot.failedInAll = Math.max(0, slot.failedInAll - memory.failures.decrement)
  const { previous, keyNo, capabilities } = handshake
  const ti = previous ? previous.ti : random(4)
  // Only First authentications exchange TI and capabilities: s9.1.6, s9.2.6.
  const sessionInfo = previous
    ? undefined
    : Buffer.concat([ti, ...capabilitiesOf(memory), sixBytes(capabilities)])
  const channel = new Channel(keyNo, ti, previous?.counter ?? 0, agreed.suite)
  return { channel, answer: agreed.answer(sessionInfo) }
}

interface AgreedSession {
  readonly suite: AesSuite | LrpSuite
  /** @param sessionInfo TI and capabilities, 16 bytes */
  readonly answer: (sessionInfo: Buffer | undefined) => Buffer
}

/** Source: NT4H2421Gx s9.1.5 @returns undefined if the reader does not have the key */
function agreeAes(bytes: Buffer, b: Buffer, proof: Buffer): AgreedSession | undefined {
  const key = new AesKey(bytes)
  const plain = key.decryptCbc(ZERO, proof)
  const a = Buffer.from(plain.subarray(0, 16))
  if (!plain.subarray(16).equals(rotated(b))) return undefined
  const common = [Buffer.from('00010080', 'hex'), ...context(a, b)]
  const session = (label: string): Buffer => key.cmac(Buffer.concat([Buffer.from(label, 'hex'), ...common]))
  return {
    suite: new AesSuite({ enc: session('A55A'), mac: session('5AA5') }),
    answer: (sessionInfo) =>
      key.encryptCbc(
        ZERO,
        sessionInfo
          ? Buffer.concat([sessionInfo.subarray(0, 4), rotated(a), sessionInfo.subarray(4)])
          : rotated(a),
      ),
  }
}

/** Source: NT4H2421Gx s9.2.5, s9.2.7 @returns undefined if the reader does not have the key */
function agreeLrp(bytes: Buffer, b: Buffer, proof: Buffer): AgreedSession | undefined {
  const a = Buffer.from(proof.subarray(0, 16))
  const vector = [Buffer.from('00010080', 'hex'), ...context(a, b), Buffer.from('9669', 'hex')]
  const suite = new LrpSuite(new LrpKey(new AesKey(bytes)).cmac(Buffer.concat(vector)))
  if (!proof.subarray(16).equals(suite.mac(Buffer.concat([a, b])))) return undefined
  return {
    suite,
    answer: (sessionInfo) => {
      const data = sessionInfo ? suite.encrypt('response', undefined, sessionInfo) : Buffer.alloc(0)
      return Buffer.concat([data, suite.mac(Buffer.concat([b, a, data]))])
    },
  }
}

/** 26 bytes of both random numbers: s9.1.7, s9.2.7. */
function context(a: Buffer, b: Buffer): Buffer[] {
  const mixed = Buffer.from(a.subarray(2, 8).map((byte, i) => byte ^ b.readUInt8(i)))
  return [a.subarray(0, 2), mixed, b.subarray(6), a.subarray(8)]
}

/** PDCap2, 6 bytes. */
function capabilitiesOf({ lrp, capabilities }: ChipMemory): Buffer[] {
  return [Buffer.of(lrp ? 0x02 : 0x00, 0, 0, 0), capabilities]
}

function sixBytes(bytes: Buffer): Buffer {
  const out = Buffer.alloc(6)
  bytes.copy(out, 0, 0, 6)
  return out
}

function slotOf(memory: ChipMemory, keyNo: number): KeySlot {
  const slot = memory.keys[keyNo]
  if (!slot) throw new Refusal('noSuchKey')
  return slot
}

function rotated(bytes: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(1), bytes.subarray(0, 1)])
}
