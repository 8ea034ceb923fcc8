import { createHash, type KeyObject, verify } from 'node:crypto'
import { isHaloKey, keyOfPoint, notAHaloKey, parseHaloPublicKey } from '../../values/halo-public-key.ts'

// Taps of HaLo chips: the chip signs a counter and random bytes with its key number 2 and shows both in the URL.
// Source: libhalo, docs/halo-command-set.md (sign_random) and its rnd_rndsig_validation example.

/** The parameters of a tap's URL that are read. `static` stands for pk1 and pk2 on older chips. */
export const haloParameters = ['static', 'pk1', 'pk2', 'rnd', 'rndsig'] as const
export type HaloParameter = (typeof haloParameters)[number]
export type HaloParams = Readonly<Partial<Record<HaloParameter, string | undefined>>>

/** A tap as it reads, before anything is verified. */
export interface HaloTap {
  /** 65 bytes, uncompressed; undefined when the URL has only the key that signs taps. */
  readonly pk1: Buffer | undefined
  /** 65 bytes, uncompressed. */
  readonly pk2: Buffer
  /** 32 bytes: the counter and 28 random bytes. */
  readonly rnd: Buffer
  /** A DER signature, freed of the padding that chips put after it. */
  readonly rndsig: Buffer
  /** 0 to 4294967295; the first four bytes of rnd. */
  readonly counter: number
}

export type HaloTapParse =
  | { readonly ok: true; readonly tap: HaloTap }
  /** `reason` can follow the parameter's name. */
  | { readonly ok: false; readonly parameter: HaloParameter; readonly reason: string }

const PUBLIC_KEY = 65
const RND = 32
const TAP_PREFIX = Buffer.from('\x19Attest counter pk2:\n')
const ATTESTATION_PREFIX = Buffer.from('\x19Attest pk2:\n')

/** The maker's key that signs the pk2 of genuine chips: 33 bytes, compressed. */
const ATTESTOR = Buffer.from('029502cb849e4d9e451687a239f3feee74e0c0cdebb10dc8c2a00b3744ffdafb35', 'hex')

/** Whether a query belongs to a HaLo chip, well-formed or not. */
export function isHaloTap(params: HaloParams): boolean {
  return haloParameters.some((name) => given(params[name]))
}

/** Reads the parameters of a tap. `static` comes before pk1 and pk2 when a URL has both. */
export function parseHaloTap(params: HaloParams): HaloTapParse {
  const keys = given(params.static) ? keysFromStatic(params.static) : keysFromParameters(params)
  if (!keys.ok) return keys
  const rnd = bytes(params.rnd)
  if (rnd?.length !== RND) return no('rnd', 'must be 64 hex digits')
  const rndsig = trimDer(bytes(params.rndsig))
  if (rndsig === undefined) return no('rndsig', 'must be a DER signature in hex')
  return { ok: true, tap: { pk1: keys.pk1, pk2: keys.pk2, rnd, rndsig, counter: rnd.readUInt32BE(0) } }
}

/**
 * Whether the chip that has the key signed this tap. Says nothing about whose chip that is: look pk2 up, or check
 * its attestation. @param key of the tap's pk2, when it was kept
 */
export function verifyHaloTap(
  tap: Pick<HaloTap, 'pk2' | 'rnd' | 'rndsig'>,
  key = keyOfPoint(tap.pk2),
): boolean {
  return key !== undefined && signed(Buffer.concat([TAP_PREFIX, tap.rnd]), key, tap.rndsig)
}

/**
 * Whether the maker vouches for a chip's key. @param pk2 65 bytes @param attestation a DER signature, with or
 * without the two bytes that chips put before it @param attestor 33 bytes, compressed: the maker's own by default
 */
export function verifyHaloAttestation(
  pk2: Uint8Array,
  attestation: Uint8Array,
  attestor: Uint8Array = ATTESTOR,
): boolean {
  const key = keyOfPoint(attestor)
  const signature = trimDer(attestation) ?? trimDer(attestation.subarray(2))
  if (key === undefined || signature === undefined || pk2.length !== PUBLIC_KEY) return false
  return signed(Buffer.concat([ATTESTATION_PREFIX, pk2]), key, signature)
}

/**
 * The UID of a chip that was registered without one, as a decimal string below 2^53, since clients parse it as a
 * number: the first 7 bytes of SHA-256(pk2) without the top three bits.
 * @param pk2 65 bytes, uncompressed @throws RangeError when it is not
 */
export function haloUid(pk2: Uint8Array): string {
  if (!isHaloKey(pk2)) throw new RangeError('A HaLo public key has 65 bytes and begins with 04')
  const digest = createHash('sha256').update(pk2).digest()
  return String((digest.readUIntBE(0, 3) & 0x1fffff) * 2 ** 32 + digest.readUInt32BE(3))
}

type Keys = { ok: true; pk1: Buffer | undefined; pk2: Buffer } | Extract<HaloTapParse, { ok: false }>

/** Length-prefixed keys, 41 ‖ 65 bytes each, until a length of zero or the end; the first two are read. */
function keysFromStatic(hex: string): Keys {
  const all = bytes(hex)
  if (all === undefined) return no('static', 'must be hex digits')
  const keys: Buffer[] = []
  for (let at = 0; at < all.length && all[at] !== 0 && keys.length < 2; at += 1 + PUBLIC_KEY) {
    const key = all.subarray(at + 1, at + 1 + PUBLIC_KEY)
    if (all[at] !== PUBLIC_KEY || !isHaloKey(key))
      return no('static', `must hold keys of 65 bytes; the one at byte ${at} is none`)
    keys.push(key)
  }
  const [pk1, pk2] = keys
  return pk2 === undefined ? no('static', 'must hold two keys') : { ok: true, pk1, pk2 }
}

function keysFromParameters(params: HaloParams): Keys {
  const pk1 = given(params.pk1) ? parseHaloPublicKey(params.pk1) : undefined
  if (given(params.pk1) && pk1 === undefined) return no('pk1', notAHaloKey)
  const pk2 = parseHaloPublicKey(params.pk2 ?? '')
  return pk2 === undefined ? no('pk2', notAHaloKey) : { ok: true, pk1, pk2 }
}

function no(parameter: HaloParameter, reason: string): Extract<HaloTapParse, { ok: false }> {
  return { ok: false, parameter, reason }
}

function given(value: string | undefined): value is string {
  return value !== undefined && value !== ''
}

function bytes(hex: string | undefined): Buffer | undefined {
  return hex !== undefined && /^([0-9A-Fa-f]{2})+$/.test(hex) ? Buffer.from(hex, 'hex') : undefined
}

/** Cuts a DER sequence to its length: chips fill a field of fixed size and leave what lay behind. */
function trimDer(padded: Uint8Array | undefined): Buffer | undefined {
  const length = padded?.[1]
  if (padded?.[0] !== 0x30 || length === undefined || length >= 0x80 || length + 2 > padded.length)
    return undefined
  return Buffer.from(padded.subarray(0, length + 2))
}

function signed(message: Buffer, key: KeyObject, signature: Buffer): boolean {
  try {
    return verify('sha256', message, key, signature)
  } catch {
    return false
  }
}
