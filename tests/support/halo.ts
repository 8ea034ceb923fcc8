import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1'

// A HaLo chip for tests: real secp256k1 keys, signing what the chip signs. ECDSA is randomised, so two chips of one
// seed show the same keys and rnd but other signatures.

/** A chip that taps. Each tap raises its counter, as the real one does. */
export interface HaloChip {
  /** Uncompressed public keys, 130 hex digits in upper case. */
  readonly pk1: string
  readonly pk2: string
  /** What an older chip shows instead of pk1 and pk2. */
  readonly static: string
  /** The query parameters of the next tap, or of one with a chosen counter. */
  tap(counter?: number): { pk1: string; pk2: string; rnd: string; rndsig: string }
  /** What it signs with that counter, without the signature. */
  challenge(counter: number): Buffer
  /** As a chip of the older family shows it. */
  olderTap(counter?: number): { static: string; cmd: string; res: string }
}

/** @param seed makes the same keys each time; left out, they are random */
export function haloChip(seed?: string): HaloChip {
  const first = keyPair(seed === undefined ? undefined : `${seed}/1`)
  const second = keyPair(seed === undefined ? undefined : `${seed}/2`)
  let next = 1
  const challenge = (counter: number) => {
    next = counter + 1
    const rnd = createHash('sha256').update(`${second.point}/${counter}`).digest()
    rnd.writeUInt32BE(counter)
    return rnd
  }
  return {
    challenge,
    olderTap(counter = next) {
      const rnd = challenge(counter)
      const res = Buffer.from(secp256k1.sign(rnd, second.scalar, { lowS: false }).toDERRawBytes())
      const keys = `41${first.point}41${second.point}`
      return { static: keys.padEnd(400, '0'), cmd: `8102${hex(rnd)}00`, res: hex(padded(res)) }
    },
    pk1: first.point,
    pk2: second.point,
    static: `41${first.point}41${second.point}00`,
    tap(counter = next) {
      const rnd = challenge(counter)
      const signature = sign(
        'sha256',
        Buffer.concat([Buffer.from('\x19Attest counter pk2:\n'), rnd]),
        second.key,
      )
      return { pk1: first.point, pk2: second.point, rnd: hex(rnd), rndsig: hex(padded(signature)) }
    },
  }
}

/** A maker who attests keys: its compressed public key (33 bytes) and a function that attests a pk2 in hex. */
export function haloAttestor(): { publicKey: Buffer; attest(pk2: string): Buffer } {
  const { key, point } = keyPair()
  const bytes = Buffer.from(point, 'hex')
  const odd = bytes.subarray(-1).readUInt8() & 1
  return {
    publicKey: Buffer.concat([Buffer.of(2 + odd), bytes.subarray(1, 33)]),
    attest: (pk2) =>
      sign('sha256', Buffer.concat([Buffer.from('\x19Attest pk2:\n'), Buffer.from(pk2, 'hex')]), key),
  }
}

/** The chip's field for a signature has 72 bytes; a shorter one is followed by what lay there before. */
function padded(signature: Buffer): Buffer {
  return Buffer.concat([signature, Buffer.alloc(Math.max(0, 72 - signature.length), 0x04)])
}

function keyPair(seed?: string): { key: KeyObject; point: string; scalar: Buffer } {
  const key =
    seed === undefined
      ? generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey
      : privateKey(createHash('sha256').update(seed).digest())
  const { x, y, d } = key.export({ format: 'jwk' })
  const point = Buffer.concat([
    Buffer.of(0x04),
    Buffer.from(x ?? '', 'base64url'),
    Buffer.from(y ?? '', 'base64url'),
  ])
  return { key, point: hex(point), scalar: Buffer.from(d ?? '', 'base64url') }
}

/** SEC 1 ECPrivateKey with the secp256k1 OID, wrapped as PKCS #8; OpenSSL computes the public point itself. */
function privateKey(scalar: Buffer): KeyObject {
  const prefix = Buffer.from('303e020100301006072a8648ce3d020106052b8104000a042730250201010420', 'hex')
  return createPrivateKey({ key: Buffer.concat([prefix, scalar]), format: 'der', type: 'pkcs8' })
}

function hex(bytes: Buffer): string {
  return bytes.toString('hex').toUpperCase()
}
