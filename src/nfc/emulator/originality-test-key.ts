import { createECDH, createHmac } from 'node:crypto'

// Virtual chips sign their UID as NXP signs that of real ones (NT4H2421Gx s10.10: ECDSA over secp224r1, with the UID in
// place of a hash), with a key that everybody knows. Its public point is in ntag424/, where it is trusted for virtual
// chips alone. It shares no code with the verifier, so that it rejects mistakes made there.

/** SHA-224 of "tapchip emulator originality test key". */
const PRIVATE_TEST_KEY = Buffer.from('E0651C3D2E5FFFF4FB4A3FD02E258F5C212A70F5EAB8BC2FB5CE5FB3', 'hex')
const CURVE = 'secp224r1'
const BYTES = 28
/** Parameters of secp224r1. Source: SEC 2 s2.6.2 */
const ORDER = 0xffffffffffffffffffffffffffff16a2e0b8f03e13dd29455c5c2a3dn

/** @param uid 7 bytes @returns 56 bytes: r, then s; the same for each call */
export function testSignature(uid: Uint8Array): Buffer {
  // A nonce that depends on the UID alone is safe only because the key is public anyway.
  const nonce = createHmac('sha224', PRIVATE_TEST_KEY).update(uid).digest()
  const point = createECDH(CURVE)
  point.setPrivateKey(nonce)
  const r = toNumber(point.getPublicKey().subarray(1, 1 + BYTES)) % ORDER
  const s = (inverse(toNumber(nonce)) * (toNumber(uid) + r * toNumber(PRIVATE_TEST_KEY))) % ORDER
  return Buffer.concat([toBytes(r), toBytes(s)])
}

/** By Fermat's little theorem, since the order is a prime. */
function inverse(value: bigint): bigint {
  let [result, base] = [1n, value % ORDER]
  for (let exponent = ORDER - 2n; exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) result = (result * base) % ORDER
    base = (base * base) % ORDER
  }
  return result
}

function toNumber(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
}

function toBytes(value: bigint): Buffer {
  return Buffer.from(value.toString(16).padStart(2 * BYTES, '0'), 'hex')
}
