import { BLOCK, double } from './cmac.ts'

// AES-128 in JavaScript, for a key that encrypts a few blocks and is gone: setting up a native cipher costs ten times as
// much as that. Its lookups can be timed, unlike those of the processor, so it is not for keys that stay: who shows a tap
// again repeats what was computed, and learns nothing that is ever used for something else.
// Source: FIPS 197 s5.1 and s5.2

const WORDS = 44
const sbox = new Uint8Array(256)
/** SubBytes and MixColumns of a byte, as a column. */
const mixed = new Int32Array(256)
const schedule = new Int32Array(WORDS)
const state = new Int32Array(4)

const doubled = (byte: number): number => ((byte << 1) ^ (byte & 0x80 ? 0x11b : 0)) & 0xff
const rotated = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits))

// Walks through the field: `power` by the generator 3, `inverse` by its inverse.
for (let step = 0, power = 1, inverse = 1; step < 255; step += 1) {
  let byte = 0x63
  for (let bits = 0; bits < 5; bits += 1) byte ^= ((inverse << bits) | (inverse >> (8 - bits))) & 0xff
  sbox[power] = byte
  power = doubled(power) ^ power
  inverse ^= inverse << 1
  inverse ^= inverse << 2
  inverse = (inverse ^ (inverse << 4)) & 0xff
  if (inverse & 0x80) inverse ^= 0x09
}
sbox[0] = 0x63
for (const [byte, s] of sbox.entries()) {
  const twice = doubled(s)
  mixed[byte] = (twice << 24) | (s << 16) | (s << 8) | (twice ^ s)
}

const sub = (word: number, bits: number): number => sbox[(word >>> bits) & 0xff] as number
const mix = (word: number, bits: number): number => mixed[(word >>> bits) & 0xff] as number

function expand(key: Uint8Array): void {
  const view = new DataView(key.buffer, key.byteOffset, BLOCK)
  for (let at = 0; at < 4; at += 1) schedule[at] = view.getInt32(4 * at)
  let constant = 1
  for (let at = 4; at < WORDS; at += 1) {
    let word = schedule[at - 1] as number
    if (at % 4 === 0) {
      word = (sub(word, 16) << 24) | (sub(word, 8) << 16) | (sub(word, 0) << 8) | sub(word, 24)
      word ^= constant << 24
      constant = doubled(constant)
    }
    schedule[at] = (schedule[at - 4] as number) ^ word
  }
}

const column = (a: number, b: number, c: number, d: number, at: number): number =>
  mix(a, 24) ^
  rotated(mix(b, 16), 8) ^
  rotated(mix(c, 8), 16) ^
  rotated(mix(d, 0), 24) ^
  (schedule[at] as number)
const lastColumn = (a: number, b: number, c: number, d: number, at: number): number =>
  ((sub(a, 24) << 24) | (sub(b, 16) << 16) | (sub(c, 8) << 8) | sub(d, 0)) ^ (schedule[at] as number)

/** Encrypts the state in place. */
function encrypt(): void {
  let a = (state[0] as number) ^ (schedule[0] as number)
  let b = (state[1] as number) ^ (schedule[1] as number)
  let c = (state[2] as number) ^ (schedule[2] as number)
  let d = (state[3] as number) ^ (schedule[3] as number)
  for (let at = 4; at < WORDS - 4; at += 4) {
    const [e, f, g] = [column(a, b, c, d, at), column(b, c, d, a, at + 1), column(c, d, a, b, at + 2)]
    d = column(d, a, b, c, at + 3)
    a = e
    b = f
    c = g
  }
  state[0] = lastColumn(a, b, c, d, WORDS - 4)
  state[1] = lastColumn(b, c, d, a, WORDS - 3)
  state[2] = lastColumn(c, d, a, b, WORDS - 2)
  state[3] = lastColumn(d, a, b, c, WORDS - 1)
}

function stateToBytes(): Buffer {
  const out = Buffer.allocUnsafe(BLOCK)
  for (let at = 0; at < 4; at += 1) out.writeInt32BE(state[at] as number, 4 * at)
  return out
}

function addToState(block: Buffer, offset: number): void {
  for (let at = 0; at < 4; at += 1) state[at] = (state[at] as number) ^ block.readInt32BE(offset + 4 * at)
}

/**
 * AES-CMAC, 16 bytes, by a key that is used for this message alone; `AesKey.cmac` is for all others.
 * @param key 16 bytes @throws RangeError Source: RFC 4493 s2.4
 */
export function cmacOnce(key: Uint8Array, message: Uint8Array): Buffer {
  if (key.length !== BLOCK) throw new RangeError(`An AES-128 key has 16 bytes, not ${key.length}`)
  expand(key)
  state.fill(0)
  encrypt()
  const k1 = double(stateToBytes())
  const blocks = Math.max(1, Math.ceil(message.length / BLOCK))
  const input = Buffer.alloc(blocks * BLOCK)
  input.set(message)
  const isWhole = message.length === input.length
  if (!isWhole) input[message.length] = 0x80
  state.fill(0)
  for (let at = 0; at < input.length; at += BLOCK) {
    addToState(input, at)
    if (at + BLOCK === input.length) addToState(isWhole ? k1 : double(k1), 0)
    encrypt()
  }
  const mac = stateToBytes()
  schedule.fill(0)
  return mac
}
