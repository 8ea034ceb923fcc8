import { BLOCK } from './cmac.ts'
import type { Command } from './session.ts'

const INS_CHANGE_KEY = 0xc4

/**
 * A key to be written in a session that was opened with key 0. Changing key 0 itself needs no old key, and ends
 * the session, so it comes last.
 */
export type KeyChange =
  | { readonly keyNo: 0; readonly newKey: Uint8Array; readonly version: number }
  | {
      readonly keyNo: 1 | 2 | 3 | 4
      readonly newKey: Uint8Array
      readonly oldKey: Uint8Array
      readonly version: number
    }

/**
 * ChangeKey, to be wrapped in CommMode.FULL. Of key 0 the answer is for Session.unwrapLast, else for unwrap.
 * Write a record of both keys before sending it: a chip lifted now may hold either.
 * @throws RangeError when a key has not 16 bytes or the version is no byte
 * Source: NT4H2421Gx s10.6.1, AN12196 Tables 25 and 26
 */
export function changeKeyCommand(change: KeyChange): Command {
  return { ins: INS_CHANGE_KEY, header: Buffer.of(change.keyNo), data: changeKeyData(change) }
}

/** The plain data of ChangeKey: 21 bytes for keys 1 to 4, 17 for key 0. @throws RangeError as changeKeyCommand */
export function changeKeyData(change: KeyChange): Buffer {
  const { newKey, version } = change
  checkKey(newKey)
  if (!Number.isInteger(version) || version < 0 || version > 0xff)
    throw new RangeError(`A key version is a byte, not ${version}`)
  if (change.keyNo === 0) return Buffer.concat([newKey, Buffer.of(version)])
  const { oldKey } = change
  checkKey(oldKey)
  const xored = Buffer.from(newKey.map((byte, i) => byte ^ (oldKey[i] ?? 0)))
  const crc = Buffer.alloc(4)
  crc.writeUInt32LE(jamCrc32(newKey))
  return Buffer.concat([xored, Buffer.of(version), crc])
}

/** CRC-32 of IEEE 802.3 without the final inversion, which the chip expects. Source: AN12196 Table 25 */
export function jamCrc32(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return crc >>> 0
}

function checkKey(key: Uint8Array): void {
  if (key.length !== BLOCK) throw new RangeError(`An AES-128 key has 16 bytes, not ${key.length}`)
}
