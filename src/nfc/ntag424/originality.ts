import { Field } from '@noble/curves/abstract/modular'
import { weierstrass } from '@noble/curves/abstract/weierstrass'
import { secp256k1 } from '@noble/curves/secp256k1'
import { type Script, send } from '../script.ts'
import { AnswerFormatError, hasSucceeded, SIGNATURE_OK } from './errors.ts'
import type { SecureSession } from './secure-session.ts'

// The originality signature, which NXP writes at production: ECDSA over secp224r1 of the chip's seven UID bytes, which
// are not hashed. It proves that NXP made a chip with this UID, and not that this is the chip: a copy can carry both.
// Source: AN12196 s8.2; SEC 2 s2.6.2 for the curve

/** r ‖ s, 28 bytes each. */
const SIGNATURE = 56
const READ_SIG = Buffer.of(0x90, 0x3c, 0x00, 0x00, 0x01, 0x00, 0x00)

/** AN12196 Table 30. */
const NXP = point(
  '048A9B380AF2EE1B98DC417FECC263F8449C7625CECE82D9B916C992DA209D68422B81EC20B65A66B5102A61596AF3379200599316A00A1410',
)
/** The public half of the key that signs the UIDs of virtual chips. */
const EMULATOR = point(
  '0443AAF05D800B71376AA850E683CAE428F51D745107CF04BB9AA68DDAEEE2CF42D60AFB0A95E5D12139846309E0D99FCAC1C74BDF397A7645',
)

/**
 * The chips that may be set up from factory keys. `genuine`: those that NXP signed. `emulated`: virtual ones as well.
 * `any`: all, whoever made them.
 */
export type Originality = 'genuine' | 'emulated' | 'any'

/** From the strictest. */
const KINDS: readonly Originality[] = ['genuine', 'emulated', 'any']

/** True if `wanted` takes all chips that `kind` takes. */
export const accepts = (required: Originality, kind: Originality): boolean =>
  KINDS.indexOf(kind) <= KINDS.indexOf(required)

let curve: ReturnType<typeof weierstrass> | undefined

/** secp224r1, made when the first chip is looked at: few processes see one. */
function curveOfSignatures(): ReturnType<typeof weierstrass> {
  if (curve) return curve
  const field = Field(2n ** 224n - 2n ** 96n + 1n)
  // Nothing is hashed, but the library asks for the means; these are in the bundle in any case.
  const { hash, hmac, randomBytes } = secp256k1.CURVE
  curve = weierstrass({
    Fp: field,
    a: field.create(-3n),
    b: 0xb4050a850c04b3abf54132565044b0b7d7bfd8ba270b39432355ffb4n,
    n: 0xffffffffffffffffffffffffffff16a2e0b8f03e13dd29455c5c2a3dn,
    Gx: 0xb70e0cbd6bb4bf7f321390b94a03c1d356c21122343280d6115c1d21n,
    Gy: 0xbd376388b5f723fb4c22dfe6cd4375a05a07476444d5819985007e34n,
    h: 1n,
    lowS: false,
    hash,
    hmac,
    randomBytes,
  })
  return curve
}

/**
 * Read_Sig. In a burst it comes last, since a copy may refuse it. @returns 56 bytes; undefined when it was refused
 * @throws AnswerFormatError when the chip left. Source: NT4H2421Gx s10.9.1
 */
export function* readSignature(session?: SecureSession): Script<Buffer | undefined> {
  if (session) return yield* readSignatureIn(session)
  const answer = yield* send(READ_SIG)
  if (answer.length < 2) throw new AnswerFormatError('58', answer.length)
  return hasSucceeded(answer) ? Buffer.from(answer.subarray(0, -2)) : undefined
}

/** In the session of a key, also a chip with a random UID gives its signature. */
function* readSignatureIn(session: SecureSession): Script<Buffer | undefined> {
  const command = { ins: READ_SIG.readUInt8(1), header: Buffer.of(0x00), data: Buffer.alloc(0) }
  const answer = yield* send(session.wrap(command, 'mac'))
  return hasSucceeded(answer) ? session.unwrap(answer, 'full', SIGNATURE_OK) : undefined
}

/**
 * The strictest kind that the chip belongs to; each look at a key takes milliseconds.
 * @param uid 7 bytes @param signature as Read_Sig answers it; undefined when the chip has none
 */
export function originalityOf(uid: Uint8Array, signature: Uint8Array | undefined): Originality {
  if (signature?.length !== SIGNATURE) return 'any'
  if (verified(signature, uid, NXP)) return 'genuine'
  return verified(signature, uid, EMULATOR) ? 'emulated' : 'any'
}

function verified(signature: Uint8Array, uid: Uint8Array, key: Uint8Array): boolean {
  try {
    return curveOfSignatures().verify(Uint8Array.from(signature), Uint8Array.from(uid), key, {
      prehash: false,
      lowS: false,
    })
  } catch {
    // r or s is outside its range.
    return false
  }
}

function point(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex, 'hex'))
}
